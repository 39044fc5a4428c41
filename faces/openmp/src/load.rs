//! What happens when a program loads the library, which stands aside if the user wants that, and when the
//! program ends.
use crate::table;
use core::sync::atomic::Ordering::Relaxed;
use foregather_host::affinity;
use foregather_host::watched::lines;
use foregather_openmp::statistics;
use std::ffi::{CStr, CString, c_char, c_int};
use std::io::ErrorKind;
use std::path::Path;

/// `FOREGATHER=off`: whether the program shall keep the runtime that it has.
const SWITCH: &str = "FOREGATHER";

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

/// The path of the file to which each process that had regions appends a line of statistics when it exits.
const STATS: &str = "FOREGATHER_STATS";

/// Runs when the process ends.
#[used]
#[unsafe(link_section = ".fini_array")]
pub static END: extern "C" fn() = end;

extern "C" fn end() {
    let Some(path) = std::env::var_os(STATS) else { return };
    let statistics = statistics();
    if statistics.regions == 0 {
        return;
    }
    let is_path = path.as_encoded_bytes().contains(&b'/');
    let appended = if is_path {
        lines::append(Path::new(&path), &statistics.line(std::process::id()))
    } else {
        Err(ErrorKind::InvalidInput.into())
    };
    if let Err(error) = appended {
        let path = path.to_string_lossy();
        eprintln!("foregather: appending statistics to {path}: {error}; let {STATS} name a file, such as ./statistics.jsonl");
    }
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
        if let Some(function) = next(entry.name, entry.node) {
            entry.slot.store(function.as_ptr(), Relaxed);
        }
    }
}

/// The function that the program would call without this library.
fn next(name: &str, node: &str) -> Option<core::ptr::NonNull<()>> {
    let (name, node) = (CString::new(name).ok()?, CString::new(node).ok()?);
    // SAFETY: both are strings that end with a zero; the handle asks for the libraries after this one.
    let function = unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), node.as_ptr()) };
    core::ptr::NonNull::new(function.cast())
}
