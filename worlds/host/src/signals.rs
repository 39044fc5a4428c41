//! Which signals may interrupt a thread. A signal that is sent to the process goes to any thread that does
//! not block it, and waits while all of them do.
use core::marker::PhantomData;
use rustix::fd::BorrowedFd;
use rustix::process::{Signal, pidfd_send_signal};

/// The calling thread blocks signals until this is dropped. A thread that is started meanwhile blocks them
/// for its whole life.
#[must_use = "they are let through again when this is dropped"]
pub struct Blocked {
    before: libc::sigset_t,
    /// It belongs to the thread that made it.
    _here: PhantomData<*const ()>,
}

/// The signals by which the processor reports a thread's own faults.
const FAULTS: [libc::c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP];

impl Blocked {
    /// Blocks all signals. A fault of the thread's own then ends the process, whatever its handlers.
    pub fn all() -> Self {
        Self::but(&[])
    }

    /// Blocks all signals that come from elsewhere: faults still find their handlers.
    pub fn but_faults() -> Self {
        Self::but(&FAULTS)
    }

    fn but(let_through: &[libc::c_int]) -> Self {
        // SAFETY: a signal set is made of integers, for which zero is valid; the calls write into the two
        // sets, change the calling thread's mask only, and cannot fail with these arguments.
        unsafe {
            let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = core::mem::zeroed();
            libc::sigfillset(&raw mut all);
            for &signal in let_through {
                libc::sigdelset(&raw mut all, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
            Self { before, _here: PhantomData }
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: `before` was filled when the signals were blocked; the call writes to no memory of ours.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, core::ptr::null_mut()) };
    }
}

/// Asks the process of a descriptor to end (SIGTERM), as launchers do with their ranks. One that has ended
/// gets nothing.
pub fn ask_to_end(process: BorrowedFd<'_>) {
    let _ = pidfd_send_signal(process, Signal::TERM);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(signal: libc::c_int) -> bool {
        // SAFETY: the calls only read the mask into a set that they fill.
        unsafe {
            let mut mask: libc::sigset_t = core::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, core::ptr::null(), &raw mut mask);
            libc::sigismember(&raw const mask, signal) == 1
        }
    }

    #[test]
    fn signals_are_blocked_for_a_while_and_for_the_life_of_threads_started_then() {
        assert!(!blocks(libc::SIGTERM));
        let blocked = Blocked::but_faults();
        assert!(blocks(libc::SIGTERM) && !blocks(libc::SIGSEGV));
        let inner = Blocked::all();
        assert!(blocks(libc::SIGSEGV));
        drop(inner);
        let started = std::thread::spawn(|| (blocks(libc::SIGTERM), blocks(libc::SIGSEGV)));
        drop(blocked);
        assert_eq!((started.join().unwrap(), blocks(libc::SIGTERM)), ((true, false), false));
    }
}
