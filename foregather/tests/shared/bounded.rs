//! No test hangs: a test that does not end kills the process.
use std::process::exit;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long a test may take on a machine under background load.
const LONG: Duration = Duration::from_secs(90);

/// Runs `act` with a time limit.
pub(crate) fn bounded<R>(act: impl FnOnce() -> R) -> R {
    let (done, over) = channel::<()>();
    let watch = std::thread::spawn(move || {
        if over.recv_timeout(LONG) == Err(RecvTimeoutError::Timeout) {
            eprintln!("a test has not come to its end within {LONG:?}");
            exit(98);
        }
    });
    let result = act();
    drop(done);
    watch.join().unwrap();
    result
}
