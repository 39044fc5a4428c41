//! Checks arguments from Python. An invalid argument raises an exception that names the parameter, the value
//! and the expected values.
use core::fmt::Display;
use core::ops::RangeInclusive;
use core::time::Duration;
use foregather::engine::host::forks;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::os::fd::{BorrowedFd, OwnedFd};

/// The longest timeout in seconds; longer ones wait forever.
const LONGEST_S: f64 = 1e9;

/// Converts a timeout in seconds; `None` waits forever.
pub(crate) fn timeout(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Duration>> {
    let Some(given) = given else { return Ok(None) };
    let expected = || format!("invalid timeout {}: expected seconds from 0 on, or None", shown(given));
    let seconds = match given.extract::<f64>() {
        Ok(seconds) => seconds,
        Err(error) if error.is_instance_of::<PyOverflowError>(given.py()) => {
            if given.lt(0)? {
                f64::MIN
            } else {
                f64::MAX
            }
        }
        Err(error) if error.is_instance_of::<PyTypeError>(given.py()) => {
            return Err(PyTypeError::new_err(expected()));
        }
        Err(error) => return Err(error),
    };
    if seconds > LONGEST_S {
        return Ok(None);
    }
    Duration::try_from_secs_f64(seconds).map(Some).map_err(|_| PyValueError::new_err(expected()))
}

/// Returns a whole number in `range`. In errors it is called the `what` of `thing`.
pub(crate) fn whole(what: &str, thing: impl Display, given: &Bound<'_, PyAny>, range: RangeInclusive<u64>) -> PyResult<u64> {
    let expected = |kind: &str| {
        let (least, most) = (range.start(), range.end());
        format!("invalid {what} {} of {thing}: expected {kind}{least} to {most}", shown(given))
    };
    match given.extract::<i64>() {
        Ok(number) => u64::try_from(number).ok().filter(|number| range.contains(number)),
        Err(error) if error.is_instance_of::<PyOverflowError>(given.py()) => None,
        Err(error) if error.is_instance_of::<PyTypeError>(given.py()) => {
            return Err(PyTypeError::new_err(expected("a whole number, ")));
        }
        Err(error) => return Err(error),
    }
    .ok_or_else(|| PyValueError::new_err(expected("")))
}

/// Like [`whole`], for 32-bit numbers.
pub(crate) fn whole32(what: &str, thing: impl Display, given: &Bound<'_, PyAny>, range: RangeInclusive<u32>) -> PyResult<u32> {
    whole(what, thing, given, u64::from(*range.start())..=u64::from(*range.end())).map(|number| number as u32)
}

/// Returns a copy of a descriptor, which the caller still owns.
pub(crate) fn descriptor(given: &Bound<'_, PyAny>) -> PyResult<OwnedFd> {
    let number = whole32("descriptor", "shared memory", given, 0..=i32::MAX as u32)?;
    // SAFETY: the number is not negative. Only the system checks it, and refuses to duplicate a descriptor
    // that is not open.
    let given = unsafe { BorrowedFd::borrow_raw(number as i32) };
    Ok(forks::undivided(|| given.try_clone_to_owned())?)
}

fn shown(given: &Bound<'_, PyAny>) -> String {
    given.repr().map_or_else(|_| "value".to_owned(), |value| value.to_string_lossy().into_owned())
}

/// Returns the contiguous buffer of an object.
pub(crate) fn buffer(parameter: &str, object: &Bound<'_, PyAny>) -> PyResult<PyUntypedBuffer> {
    let buffer = PyUntypedBuffer::get(object).map_err(|_| {
        PyTypeError::new_err(format!("{parameter}: an object with a buffer is needed, such as bytes or an array"))
    })?;
    if buffer.is_c_contiguous() {
        Ok(buffer)
    } else {
        Err(PyBufferError::new_err(format!("{parameter}: the buffer is not contiguous; send a copy of it")))
    }
}

/// Returns the bytes of a buffer, which the caller copies once.
pub(crate) fn bytes_of(buffer: &PyUntypedBuffer) -> &[u8] {
    if buffer.len_bytes() == 0 {
        return &[];
    }
    // SAFETY: the buffer is contiguous, and does not move while it is held. Its bytes are copied once; a
    // concurrent write by another thread of the program may or may not be sent, as with any buffer that is
    // written while it is read.
    unsafe { core::slice::from_raw_parts(buffer.buf_ptr().cast(), buffer.len_bytes()) }
}
