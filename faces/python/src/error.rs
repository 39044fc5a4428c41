//! Converts errors to exceptions, which `python/foregather/_errors.py` defines.
use foregather::Error;
use foregather::engine::Cause;
use pyo3::prelude::*;

/// Returns the exception `name` with a message and an optional number.
pub(crate) fn exception(py: Python<'_>, name: &str, sentence: String, carries: Option<u64>) -> PyResult<PyErr> {
    let class = py.import("foregather._errors")?.getattr(name)?;
    Ok(PyErr::from_value(class.call1((sentence, carries))?))
}

/// Returns the exception for a call that is not possible now.
pub(crate) fn refused(py: Python<'_>, sentence: String) -> PyErr {
    exception(py, "Error", sentence, None).unwrap_or_else(|failed| failed)
}

/// Returns whether a wait has timed out.
pub(crate) fn timed_out(error: &Error) -> bool {
    matches!(error.cause(), Cause::TimedOut { .. })
}
