//! The process-wide signal handler, which reports accesses to closed pages.
//!
//! The handler, and everything that it calls, runs on the thread that accessed the page. It allocates
//! nothing, takes no lock, initialises nothing lazily and preserves `errno`. Signals that belong to no space
//! go to the previous handler.
mod decode;
mod previous;
mod registry;

pub(super) use registry::{Hook, enter, remove};

use super::end::say;
use super::fault::{Fault, FaultEnd};
use super::stack;
use crate::Access;
use core::ffi::{c_int, c_void};
use foregather_machine::Error;

/// Installs the handler for both signals. Called whenever a space starts to be served, to detect handlers
/// that the program has installed since, and to pass signals on to them.
pub(super) fn install() -> Result<(), Error> {
    // A stack overflow can only be reported on another stack, so SIGSEGV uses the thread's alternate stack if
    // there is one. SIGBUS uses the thread's own, where there is more room: Rust's alternate stacks are
    // small.
    previous::replace(libc::SIGSEGV, handle, libc::SA_ONSTACK)?;
    previous::replace(libc::SIGBUS, handle, 0)
}

/// Requests access to a byte like an access would, but without a signal. If no handler serves it, or it is a
/// mistake, the access itself will fault.
pub(super) fn ask(address: usize, needs: Access) {
    registry::with(address, true, |hook, place| hook.faults.fault(&Fault { place, needs, address, code: 0, on_behalf_of: None }));
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the C library's errno of this thread is always there.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: this thread's errno, which only this thread accesses.
    let before = unsafe { *errno };
    // SAFETY: the kernel passes both to a handler installed with SA_SIGINFO.
    if !unsafe { serve(signal, &*info, context) } {
        // SAFETY: the kernel has passed all three to this handler, which was installed with SA_SIGINFO.
        unsafe { previous::pass_on(signal, info, context) };
    }
    // SAFETY: this thread's errno, which only this thread accesses.
    unsafe { *errno = before };
}

/// Serves the fault if it belongs to a space. Returns whether it did.
///
/// # Safety
/// `info` and `context` are what the kernel has passed to a handler of this signal.
unsafe fn serve(signal: c_int, info: &libc::siginfo_t, context: *mut c_void) -> bool {
    // Signals that other processes send carry no address.
    if info.si_code <= 0 {
        return false;
    }
    // SAFETY: the kernel sends these signals with an address.
    let address = unsafe { info.si_addr() }.addr();
    let found = registry::with(address, true, |hook, place| {
        // SAFETY: by this function's contract `context` is what the kernel passed.
        let Some(decoded) = (hook.signal == Some(signal)).then(|| unsafe { decode::decode(context, address) }).flatten() else {
            return false;
        };
        // SAFETY: by this function's contract `context` is what the kernel passed.
        if signal == libc::SIGSEGV && unsafe { stack::is_small(context) } {
            say("this thread's signal stack is too small to serve faults of shared memory: call Stack::install in it first");
            return false;
        }
        let fault = Fault { place, needs: decoded.needs, address, code: decoded.code, on_behalf_of: None };
        hook.faults.fault(&fault) == FaultEnd::Retry
    });
    if found.is_none() && registry::with(address, false, |_, _| ()).is_some() {
        say("this process is a child of the one that made the shared memory it touches: fork before it is made");
    }
    found.unwrap_or(false)
}
