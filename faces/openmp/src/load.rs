//! What happens when a program loads the library: it says what of the environment it does not understand, and
//! stands aside if the user wants that.
use crate::table;
use core::sync::atomic::Ordering::Relaxed;
use foregather_openmp::settings;
use std::ffi::CString;

/// `FOREGATHER=off`: whether the program shall keep the runtime that it has.
const SWITCH: &str = "FOREGATHER";

/// Runs when the program loads the library, before it calls a symbol.
#[used]
#[unsafe(link_section = ".init_array")]
pub static LOAD: extern "C" fn() = load;

extern "C" fn load() {
    if std::env::var(SWITCH).is_ok_and(|value| value == "off") {
        return stand_aside();
    }
    for complaint in &settings().complaints {
        eprintln!("foregather: {complaint}");
    }
}

/// Every symbol is that of the next library which has it in the same version, if there is one.
#[cold]
fn stand_aside() {
    let mut kept = 0;
    for entry in table::all() {
        match next(entry.name, entry.node) {
            Some(function) => entry.slot.store(function.as_ptr(), Relaxed),
            None => kept += 1,
        }
    }
    if kept == table::all().count() {
        eprintln!("foregather: {SWITCH}=off, but the program has no other OpenMP runtime: this one serves it");
    }
}

/// The function that the program would call without this library.
fn next(name: &str, node: &str) -> Option<core::ptr::NonNull<()>> {
    let (name, node) = (CString::new(name).ok()?, CString::new(node).ok()?);
    // SAFETY: both are strings that end with a zero; the handle asks for the libraries after this one.
    let function = unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), node.as_ptr()) };
    core::ptr::NonNull::new(function.cast())
}
