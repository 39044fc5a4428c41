//! Waits without the interpreter's lock, in slices, so that Ctrl-C and other signals are seen in between.
use crate::error::{raised, timed_out};
use core::time::Duration;
use foregather::Error;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::time::Instant;

/// How long a signal may have to wait. Each slice costs some tens of microseconds.
const SLICE: Duration = Duration::from_millis(200);
/// The longest timeout: longer ones are none.
const LONGEST_S: f64 = 1e9;

/// A timeout in seconds, as Python gives it.
pub(crate) fn timeout(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    match seconds {
        None => Ok(None),
        Some(seconds) if seconds > LONGEST_S => Ok(None),
        Some(seconds) => Duration::try_from_secs_f64(seconds)
            .map(Some)
            .map_err(|_| PyValueError::new_err(format!("timeout: {seconds} is no number of seconds from 0 on"))),
    }
}

/// Calls `attempt` with a slice of the time until it does not end in a timeout, or the time is over.
pub(crate) fn wait<T: Send>(
    py: Python<'_>,
    timeout: Option<Duration>,
    mut attempt: impl FnMut(Duration) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let first = timeout.map_or(SLICE, |timeout| timeout.min(SLICE));
    // The clock is first read after the first slice: most waits end in it, and a reading costs as much as the
    // rest of the call.
    let (mut slice, mut end) = (first, None);
    loop {
        let error = match py.detach(|| attempt(slice)) {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        py.check_signals()?;
        let now = Instant::now();
        let left = timeout.map(|timeout| *end.get_or_insert(now + (timeout - first)) - now);
        if !timed_out(&error) || left == Some(Duration::ZERO) {
            return Err(raised(py, &error));
        }
        slice = left.map_or(SLICE, |left| left.min(SLICE));
    }
}
