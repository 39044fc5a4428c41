//! Waits without the GIL in slices, so that Python can handle Ctrl-C and other signals in between.
use crate::error::timed_out;
use crate::label::Label;
use core::time::Duration;
use foregather::Error;
use foregather::engine::host::watched::waits::{self, WaitScope};
use foregather::engine::{Cause, Nanos};
use pyo3::prelude::*;
use std::time::Instant;

/// The maximum delay of a signal. Each slice costs tens of microseconds.
const SLICE: Duration = Duration::from_millis(200);

/// The ranks that a wait is for, each with the number of its process if one has taken its place.
pub(crate) type Awaited = Vec<(u32, Option<u32>)>;

/// Whether the wait of this thread is noted for `foregather hang`.
struct NotedHere(bool);

impl Drop for NotedHere {
    fn drop(&mut self) {
        if self.0 {
            waits::end();
        }
    }
}

/// Calls `attempt` with slices of the timeout until it does not time out or the timeout has passed.
///
/// # Errors
/// The attempt's error as an exception, with the message of `label` and the total time of the wait; or the
/// exception of a signal handler.
pub(crate) fn wait<T: Send>(
    py: Python<'_>,
    label: &Label,
    timeout: Option<Duration>,
    attempt: impl FnMut(Duration, &mut Awaited) -> Result<T, Error> + Send,
) -> PyResult<T> {
    wait_on(py, label, timeout, Duration::ZERO, attempt)
}

/// Continues a [`wait`] that has already taken `before`.
pub(crate) fn wait_on<T: Send>(
    py: Python<'_>,
    label: &Label,
    timeout: Option<Duration>,
    before: Duration,
    attempt: impl FnMut(Duration, &mut Awaited) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let left = timeout.map(|timeout| timeout.saturating_sub(before));
    let what = |error: &Error| match *error.cause() {
        Cause::TimedOut { rank, .. } => (label.call(rank), Some(rank)),
        _ => (label.to_string(), None),
    };
    sliced(py, left, timed_out, what, before, attempt)?.map_err(|(error, waited)| label.raised(py, &error, before + waited))
}

/// Like [`wait`], for any kind of error; `again` returns whether an error is a timeout. Returns the attempt's
/// error with the time that it took.
pub(crate) fn sliced<T: Send, E: Send>(
    py: Python<'_>,
    timeout: Option<Duration>,
    again: impl Fn(&E) -> bool,
    what: impl Fn(&E) -> (String, Option<u32>),
    before: Duration,
    mut attempt: impl FnMut(Duration, &mut Awaited) -> Result<T, E> + Send,
) -> PyResult<Result<T, (E, Duration)>> {
    let first = timeout.map_or(SLICE, |timeout| timeout.min(SLICE));
    // Reads the clock only after the first slice, because most waits end within it, and reading the clock
    // costs as much as the rest of the call.
    let (mut slice, mut first_ended) = (first, None);
    let mut noted = NotedHere(false);
    loop {
        let mut awaited = Awaited::new();
        let error = match py.detach(|| attempt(slice, &mut awaited)) {
            Ok(done) => return Ok(Ok(done)),
            Err(error) => error,
        };
        py.check_signals()?;
        let now = Instant::now();
        let waited = first + (now - *first_ended.get_or_insert(now));
        let left = timeout.map(|timeout| timeout.saturating_sub(waited));
        if !again(&error) || left == Some(Duration::ZERO) {
            return Ok(Err((error, waited)));
        }
        let ((what, rank), lasted) = (what(&error), before + waited);
        noted.0 = true;
        waits::note(WaitScope::Object, &what, rank, Nanos(u64::try_from(lasted.as_nanos()).unwrap_or(u64::MAX)), &awaited);
        slice = left.map_or(SLICE, |left| left.min(SLICE));
    }
}
