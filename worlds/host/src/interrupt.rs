//! A request to stop (Ctrl-C, `kill`) that keeps the measurements so far: a flag, which loops look at. A
//! second request ends the program at once.
use crate::terminal;
use foregather_machine::{Cause, Error};
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::{flag, low_level};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The status that a shell shows for a program ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// The flag, or the system's error number if it could not be installed.
static FLAG: OnceLock<Result<Arc<AtomicBool>, i32>> = OnceLock::new();

/// Installs the handlers: the first SIGINT or SIGTERM sets the flag and the second one exits with status 130,
/// after it has restored the settings of a terminal that were kept ([`terminal::keep_settings`]). Installing
/// them again changes nothing.
///
/// # Errors
/// If the system refuses the signal handlers.
pub fn install() -> Result<(), Error> {
    let installed = FLAG.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            let is_second = flag.clone();
            let restore = move || {
                if is_second.load(Ordering::Relaxed) {
                    terminal::restore_settings();
                }
            };
            // In this order: the first signal must not find its own flag.
            // SAFETY: `restore` reads atomics and makes two calls that are async-signal-safe.
            unsafe { low_level::register(signal, restore) }
                .and_then(|_| flag::register_conditional_shutdown(signal, INTERRUPTED, flag.clone()))
                .and_then(|_| flag::register(signal, flag.clone()))
                .map_err(|error| error.raw_os_error().unwrap_or(0))?;
        }
        Ok(flag)
    });
    let remedy = "run it without the handlers of another runtime in this process";
    installed.as_ref().map(|_| ()).map_err(|&errno| Error::from(Cause::Os { what: "installing signal handlers", errno, remedy }))
}

/// Returns whether this program was asked to stop. Always false unless [`install`] was called.
#[inline]
pub fn requested() -> bool {
    matches!(FLAG.get(), Some(Ok(flag)) if flag.load(Ordering::Relaxed))
}

/// A request that a user may make again and again (SIGUSR1).
#[derive(Debug)]
pub struct RepeatedRequest(Arc<AtomicBool>);

impl RepeatedRequest {
    /// Catches the signal for the rest of this process's life.
    ///
    /// # Errors
    /// If the system refuses the signal handler.
    pub fn catch() -> Result<Self, Error> {
        let came = Arc::new(AtomicBool::new(false));
        let refused = |error: std::io::Error| {
            let remedy = "run it without the handlers of another runtime in this process";
            Error::from(Cause::Os { what: "installing signal handlers", errno: error.raw_os_error().unwrap_or(0), remedy })
        };
        flag::register(SIGUSR1, Arc::clone(&came)).map_err(refused)?;
        Ok(Self(came))
    }

    /// Returns whether the request was made since the last call.
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::AcqRel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::tests::this_test;
    use foregather_machine::Nanos;
    use signal_hook::low_level::raise;

    const PATIENCE: Nanos = Nanos::from_ms(60_000);

    #[test]
    #[ignore = "runs in a child process of the next test, which it interrupts"]
    fn interrupted_child() {
        install().unwrap();
        install().unwrap();
        assert!(!requested());
        raise(SIGTERM).unwrap();
        assert!(requested(), "a signal to one's own thread is delivered at once");
        println!("alive after the first");
        raise(SIGINT).unwrap();
        println!("alive after the second");
    }

    #[test]
    fn the_first_signal_sets_the_flag_and_the_second_exits() {
        let output = this_test("interrupt::tests::interrupted_child").output_within(PATIENCE).unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("alive after the first") && !said.contains("alive after the second"), "{output:?}");
        assert_eq!(output.status.code(), Some(INTERRUPTED), "{output:?}");
    }

    #[test]
    #[ignore = "runs in a child process of the next test, which its handler would outlive"]
    fn asked_child() {
        let request = RepeatedRequest::catch().unwrap();
        assert!(!request.take());
        raise(SIGUSR1).unwrap();
        assert!(request.take() && !request.take() && !requested());
        println!("asked once");
    }

    #[test]
    fn each_request_of_a_user_is_taken_once() {
        let output = this_test("interrupt::tests::asked_child").output_within(PATIENCE).unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("asked once"), "{output:?}");
    }

    #[test]
    fn nobody_asked_this_process() {
        assert!(!requested());
    }
}
