//! A barrier in every failure case that its documentation describes.
mod anonymous;
mod forgotten;
mod members;
mod panics;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Long enough for an awaited thread to arrive, on any machine.
const SOON: Duration = Duration::from_millis(30);

/// Runs `body` on a thread of its own and fails if it hangs.
fn bounded<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, ended) = channel();
    let runs = thread::spawn(move || {
        let _ = done.send(body());
    });
    match ended.recv_timeout(Duration::from_secs(60)) {
        Ok(result) => result,
        Err(RecvTimeoutError::Disconnected) => std::panic::resume_unwind(runs.join().expect_err("it sent nothing")),
        Err(RecvTimeoutError::Timeout) => panic!("hangs"),
    }
}

/// Panics without printing anything.
fn panic_quietly() -> ! {
    std::panic::resume_unwind(Box::new("on purpose"))
}
