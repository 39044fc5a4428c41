//! What happens when a program loads the library, which stands aside if the user wants that, and when the
//! program ends.
use crate::table;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use foregather_host::affinity;
use foregather_host::dl::next_function;
use foregather_host::watched::lines;
use foregather_openmp::statistics;
use std::ffi::{CStr, CString, c_char, c_int};

/// `FOREGATHER=off`: whether the program shall keep the runtime that it has.
const SWITCH: &str = "FOREGATHER";

/// Whether another runtime serves instead.
static ASIDE: AtomicBool = AtomicBool::new(false);

/// Returns whether the program keeps the runtime that it has.
pub(crate) fn stands_aside() -> bool {
    ASIDE.load(Relaxed)
}

/// Runs when the program loads the library, before the constructors of other libraries (`-z initfirst`): a
/// preloaded library comes before the libgomp that the program links with, whose constructor binds the first
/// thread to one processor if the user asks for binding.
#[used]
#[unsafe(link_section = ".init_array")]
pub static LOAD: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = load;

extern "C" fn load(_: c_int, _: *const *const c_char, environment: *const *const c_char) {
    if is_switched_off(environment) {
        stand_aside();
    }
    affinity::record_start();
    // The loader is asked for the processor's number here, since that takes kilobytes of stack, and the first
    // thread with a region may have the least stack that there is.
    affinity::current();
}

/// Runs when the process ends.
#[used]
#[unsafe(link_section = ".fini_array")]
pub static END: extern "C" fn() = end;

extern "C" fn end() {
    lines::append_statistics(|| {
        let statistics = statistics();
        (statistics.regions > 0).then(|| statistics.line(std::process::id()))
    });
}

/// Reads the switch from the environment that the loader passes: the C library's own functions do not know it
/// yet.
fn is_switched_off(mut environment: *const *const c_char) -> bool {
    let mut is_off = false;
    // SAFETY: the loader of glibc passes an array of strings to every constructor, which ends with a null
    // pointer.
    while let Some(variable) = unsafe { environment.as_ref() }.filter(|variable| !variable.is_null()) {
        // SAFETY: the loader passes strings, which end with a zero.
        let variable = unsafe { CStr::from_ptr(*variable) };
        is_off |= variable.to_bytes().strip_prefix(SWITCH.as_bytes()) == Some(b"=off");
        // SAFETY: this entry was not the last one.
        environment = unsafe { environment.add(1) };
    }
    is_off
}

/// Every symbol is that of the next library which has it in the same version, if there is one.
#[cold]
fn stand_aside() {
    for entry in table::all() {
        let (Ok(name), Ok(node)) = (CString::new(entry.name), CString::new(entry.node)) else { continue };
        if let Some(function) = next_function(&name, Some(&node)) {
            entry.slot.store(function.as_ptr(), Relaxed);
            ASIDE.store(true, Relaxed);
        }
    }
}
