//! Keeps this program's signal handlers across the loading of a library.
//!
//! Debian's libfabric brings libraries for older NICs along, and these install handlers of their own when
//! they are loaded: for the interrupts that stop a job, and for the faults that a debugger or a page protocol
//! wants to see. They load for some tenths of a second: signals wait that long, so that none finds such a
//! handler. A program's own other threads do not block them; programs that `foregather run` starts are spared
//! by a variable that those libraries look for (`IPATH_NO_BACKTRACE`).
use core::mem::MaybeUninit;
use core::ptr::null;
use foregather_host::signals::Blocked;
use std::sync::Mutex;

/// Two threads that load at once would take each other's handlers for the program's own.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs `load`, and puts the former handlers back. A handler that another thread installs meanwhile is lost.
pub(crate) fn kept<T>(load: impl FnOnce() -> T) -> T {
    let _one = ONE_AT_A_TIME.lock();
    let _blocked = Blocked::all();
    let before = (1..libc::SIGRTMIN()).map(handler);
    let before: Vec<_> = before.collect();
    let loaded = load();
    for (signal, before) in (1..).zip(before) {
        let (Some(before), Some(now)) = (before, handler(signal)) else { continue };
        if now.sa_sigaction != before.sa_sigaction {
            // SAFETY: the kernel gave us this handler for this signal.
            unsafe { libc::sigaction(signal, &raw const before, core::ptr::null_mut()) };
        }
    }
    loaded
}

/// This program's handler of a signal.
fn handler(signal: libc::c_int) -> Option<libc::sigaction> {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: the call only asks; it has written the action if the result is 0.
    unsafe { (libc::sigaction(signal, null(), action.as_mut_ptr()) == 0).then(|| action.assume_init()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_that_loading_installs_is_gone_afterwards() {
        extern "C" fn nothing(_: libc::c_int) {}
        let own = |signal| handler(signal).map(|action| action.sa_sigaction);
        let before = own(libc::SIGUSR2);
        kept(|| {
            // SAFETY: the handler does nothing.
            unsafe { libc::signal(libc::SIGUSR2, nothing as extern "C" fn(libc::c_int) as libc::sighandler_t) };
            assert_ne!(own(libc::SIGUSR2), before);
        });
        assert_eq!(own(libc::SIGUSR2), before);
    }

    #[test]
    fn libfabric_leaves_the_signals_alone_by_which_a_job_is_stopped() {
        match crate::library::Api::load() {
            Ok(_) => {
                for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGABRT, libc::SIGILL] {
                    assert_eq!(handler(signal).map(|action| action.sa_sigaction), Some(libc::SIG_DFL), "signal {signal}");
                }
            }
            Err(why) => {
                assert!(std::env::var_os("FOREGATHER_REQUIRE_PARTS").is_none(), "a part is missing: {why}");
                eprintln!("skipped: {why}");
            }
        }
    }
}
