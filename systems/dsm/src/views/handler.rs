//! A touch of a closed page: its description, the handler it is reported to, and the process-wide signal
//! handler that reports it.
//!
//! The signal handler runs on the thread that has touched the page, and so does all that it calls. It
//! allocates nothing, takes no lock, initialises nothing lazily and leaves `errno` as it was. It passes
//! signals that belong to no space on to the previous handler.
mod decode;
mod previous;
mod registry;

pub(super) use registry::{Hook, enter, remove};

use super::layout::ViewAddress;
use super::stack;
use crate::Access;
use core::ffi::{c_int, c_void};
use foregather_machine::Error;

/// A thread touched a page that was closed for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The page of a view, and the byte in it.
    pub place: ViewAddress,
    /// The access that the thread wants.
    pub needs: Access,
    /// The address itself, for messages.
    pub address: usize,
    /// The processor's code, as x86-64 writes it: bit 0, the page was there; bit 1, a write; bit 2, by a
    /// program. 0 if the processor gives none.
    pub code: u64,
    /// The thread's number to the system if another thread makes this call on its behalf; `None` if it makes
    /// it itself.
    pub on_behalf_of: Option<u32>,
}

/// What the thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultEnd {
    /// It tries again: the page is open, or was for a moment.
    Retry,
    /// The touch was a mistake: the thread gets what it would have got without this handler.
    NotMine,
}

/// Opens pages when they are touched: the runtime's side of a fault.
pub trait Faults: Send + Sync {
    /// Called on the thread that has faulted, in a signal handler that has interrupted a load or store and
    /// nothing else, or by [`Space::ask`](super::Space::ask). It may wait. Several threads call it at once,
    /// also for one page: the second should find it open, or wait for the first.
    ///
    /// It must touch the privileged view only; a touch of a closed page in here never ends.
    fn fault(&self, fault: &Fault) -> FaultEnd;
}

/// Installs the handler for both signals. Called whenever a space is to be served: it finds handlers that a
/// program has installed in the meantime, and passes signals on to them.
pub(super) fn install() -> Result<(), Error> {
    // A stack overflow can only be reported on another stack, so SIGSEGV uses the thread's alternate stack if
    // there is one. SIGBUS uses the thread's own, where there is more room: Rust's alternate stacks are
    // small.
    previous::replace(libc::SIGSEGV, handle, libc::SA_ONSTACK)?;
    previous::replace(libc::SIGBUS, handle, 0)
}

/// Asks for a byte as a touch of it would, without a signal. If no handler serves it, or it is a mistake, the
/// touch itself finds out.
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

/// Serves the fault, if it is one of a space. Returns whether it did.
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

/// Writes a line to standard error, and ignores errors.
pub(super) fn say(text: &str) {
    for part in ["foregather: ", text, "\n"] {
        // SAFETY: the bytes are the text's own.
        let _ = unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
    }
}
