//! A touch of a closed page: what it is, who is asked, and the process-wide signal handler that asks.
//!
//! The handler runs on the thread that has touched the page, and whatever it calls runs there, too. It allocates nothing, takes no lock,
//! initialises nothing lazily and leaves `errno` as it was. What is not a space's goes on to whoever handled the signal before.
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
    /// Which page of which view, and where there.
    pub place: ViewAddress,
    /// What the thread wants to do: read, or write.
    pub needs: Access,
    /// The address itself, for messages.
    pub address: usize,
    /// What the processor says of it, as x86-64 writes it: bit 0, the page was there; bit 1, a write; bit 2, by a program. 0 if it says nothing.
    pub code: u64,
    /// The thread's number to the system if this call is made on its behalf by another; `None` if it makes it itself.
    pub on_behalf_of: Option<u32>,
}

/// What is to become of the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultEnd {
    /// It tries again: the page is open, or was for a moment.
    Retry,
    /// The touch was a mistake: it gets what it would have got without us.
    NotMine,
}

/// Opens pages when they are touched: the runtime's side of a fault.
pub trait Faults: Send + Sync {
    /// Called on the thread that has faulted, in a signal handler that has interrupted a load or store and nothing else, or by
    /// [`Space::ask`](super::Space::ask). It may wait.
    /// Several threads call it at once, for one page as well: the second should find it open, or wait for the first.
    ///
    /// It must touch the privileged view only; a touch of a closed page in here never ends.
    fn fault(&self, fault: &Fault) -> FaultEnd;
}

/// Sees to it that both signals come here. Called whenever a space is to be served, so handlers that a program has installed in the
/// meantime are found and passed on to.
pub(super) fn install() -> Result<(), Error> {
    // A stack that has overflowed can be told only on another one, so SIGSEGV uses the thread's alternate stack if there is one.
    // SIGBUS uses the thread's own, where there is more room: Rust's alternate stacks are small.
    previous::replace(libc::SIGSEGV, handle, libc::SA_ONSTACK)?;
    previous::replace(libc::SIGBUS, handle, 0)
}

/// Asks for a byte as a touch of it would, without a signal. What nobody serves, and what is a mistake, the touch itself finds out.
pub(super) fn ask(address: usize, needs: Access) {
    registry::with(address, true, |hook, place| hook.faults.fault(&Fault { place, needs, address, code: 0, on_behalf_of: None }));
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the C library's errno of this thread is always there.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    // SAFETY: the kernel passes both to a handler installed with SA_SIGINFO.
    if !unsafe { serve(signal, &*info, context) } {
        // SAFETY: as above.
        unsafe { previous::pass_on(signal, info, context) };
    }
    // SAFETY: as above.
    unsafe { *errno = before };
}

/// Was it a fault of a space, and is it served?
///
/// # Safety
/// `info` and `context` are what the kernel has passed to a handler of this signal.
unsafe fn serve(signal: c_int, info: &libc::siginfo_t, context: *mut c_void) -> bool {
    // What other processes send carries no address.
    if info.si_code <= 0 {
        return false;
    }
    // SAFETY: the kernel sends these signals with an address.
    let address = unsafe { info.si_addr() }.addr();
    let found = registry::with(address, true, |hook, place| {
        // SAFETY: as the caller says.
        let Some(decoded) = (hook.signal == Some(signal)).then(|| unsafe { decode::decode(context, address) }).flatten() else {
            return false;
        };
        // SAFETY: as the caller says.
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

/// Writes a line to standard error, whatever becomes of it.
pub(super) fn say(text: &str) {
    for part in ["foregather: ", text, "\n"] {
        // SAFETY: the bytes are the text's own.
        let _ = unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
    }
}
