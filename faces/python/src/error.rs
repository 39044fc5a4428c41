//! Errors as exceptions, which `python/foregather/_errors.py` defines.
use foregather::Error;
use foregather::engine::Cause;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The exception of that name, with its sentence and what it carries.
fn exception(py: Python<'_>, name: &'static str, sentence: String, carries: Option<u64>) -> PyResult<PyErr> {
    let class = py.import("foregather._errors")?.getattr(name)?;
    Ok(PyErr::from_value(class.call1((sentence, carries))?))
}

/// The exception for an error of a wait or of a set-up.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let (name, carries) = match error.cause() {
        Cause::TimedOut { peer, .. } => ("TimedOut", peer.map(u64::from)),
        Cause::PeerLost { rank, .. } => ("PeerLost", Some(u64::from(*rank))),
        Cause::Poisoned { by } => ("PeerFailed", by.map(u64::from)),
        Cause::Closed { peer } => ("Closed", peer.map(u64::from)),
        Cause::Skipped { messages } => ("Skipped", Some(*messages)),
        Cause::Setting { .. } | Cause::Size { .. } | Cause::Rank { .. } | Cause::Length { .. } => {
            return PyValueError::new_err(error.to_string());
        }
        _ => ("Error", None),
    };
    exception(py, name, error.to_string(), carries).unwrap_or_else(|failed| failed)
}

/// The exception of a call that cannot be made now.
pub(crate) fn refused(py: Python<'_>, sentence: String) -> PyErr {
    exception(py, "Error", sentence, None).unwrap_or_else(|failed| failed)
}

/// Is it that a wait's time is over?
pub(crate) fn timed_out(error: &Error) -> bool {
    matches!(error.cause(), Cause::TimedOut { .. })
}
