//! Jobs that succeed and jobs that fail: every wait ends, and every error names the rank that caused it.
mod culprit;
mod failures;
mod forgotten;
mod launched;
mod nested;
mod programs;
mod recorded;
mod sizes;
mod timeouts;
mod waits;

use std::sync::mpsc::channel;
use std::time::Duration;

/// The time limit of a test: a longer one is stuck.
const LONG: Duration = Duration::from_secs(60);

/// Runs `act` on a thread of its own, and fails if that takes too long.
fn bounded<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    let worker = std::thread::spawn(move || sender.send(act()));
    match receiver.recv_timeout(LONG) {
        Ok(end) => end,
        Err(_) if worker.is_finished() => std::panic::resume_unwind(worker.join().expect_err("it sent nothing")),
        Err(_) => panic!("it has hung"),
    }
}
