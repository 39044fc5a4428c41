//! The signals that a launcher gets on behalf of its job: those that end it, those that its ranks get as they
//! are, and those that stop and continue it.
use foregather_machine::{Cause, Error};
use rustix::process::Signal;
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// In the order in which a look reports them.
const SIGNALS: [Signal; 8] =
    [Signal::USR1, Signal::USR2, Signal::TSTP, Signal::CONT, Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];
/// Stay ignored if `nohup` or a shell started this process like that.
const MAY_BE_IGNORED: [Signal; 3] = [Signal::TSTP, Signal::HUP, Signal::QUIT];

/// The signals that have come since the last look.
#[derive(Debug)]
pub struct JobSignals(Vec<(Signal, Arc<AtomicBool>)>);

impl JobSignals {
    /// Catches the signals for the rest of this process's life.
    ///
    /// # Errors
    /// If the system refuses the signal handlers.
    pub fn catch() -> Result<Self, Error> {
        let caught =
            SIGNALS.into_iter().filter(|signal| !(MAY_BE_IGNORED.contains(signal) && is_ignored(*signal))).map(|signal| {
                let came = Arc::new(AtomicBool::new(false));
                flag::register(signal.as_raw(), Arc::clone(&came)).map(|_| (signal, came))
            });
        caught.collect::<Result<_, _>>().map(Self).map_err(|error| {
            let remedy = "run it without the handlers of another runtime in this process";
            Error::from(Cause::Os { what: "installing signal handlers", errno: error.raw_os_error().unwrap_or(0), remedy })
        })
    }

    /// Takes the signals that have come, each once.
    pub fn take(&self) -> impl Iterator<Item = Signal> {
        self.0.iter().filter(|(_, came)| came.swap(false, Ordering::AcqRel)).map(|(signal, _)| *signal)
    }
}

/// Stops this process, as Ctrl-Z does without a handler. Returns when it is continued.
pub fn stop_here() {
    // The signal cannot be refused or blocked.
    let _ = signal_hook::low_level::raise(libc::SIGSTOP);
}

fn is_ignored(signal: Signal) -> bool {
    // SAFETY: zero is a valid value of the plain structure, and the call only writes the present action into
    // it.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        libc::sigaction(signal.as_raw(), core::ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::tests::this_test;
    use foregather_machine::Nanos;
    use signal_hook::low_level::raise;

    #[test]
    #[ignore = "runs in a child process of the next test, which its handlers would outlive"]
    fn catches() {
        // SAFETY: ignoring a signal needs no handler.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
        let signals = JobSignals::catch().unwrap();
        for signal in [Signal::TERM, Signal::USR1, Signal::USR1, Signal::TSTP, Signal::HUP] {
            raise(signal.as_raw()).unwrap();
        }
        assert_eq!(signals.take().collect::<Vec<_>>(), [Signal::USR1, Signal::TSTP, Signal::TERM]);
        assert_eq!(signals.take().count(), 0);
        println!("caught them");
    }

    #[test]
    fn each_signal_is_taken_once_and_an_ignored_one_stays_ignored() {
        let output = this_test("job_signals::tests::catches").output_within(Nanos::from_ms(60_000)).unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("caught them"), "{output:?}");
    }
}
