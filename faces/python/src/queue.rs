//! A broadcast, and its writing end.
use crate::error::raised;
use crate::handle::OwnHandle;
use crate::wait::{timeout, wait};
use foregather::Broadcast;
use foregather::broadcast;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// The memory of a broadcast.
#[pyclass(frozen, name = "Queue", module = "foregather._foregather")]
pub(crate) struct PyQueue(pub(crate) Broadcast);

#[pymethods]
impl PyQueue {
    #[staticmethod]
    fn create(py: Python<'_>, readers: u32, bytes: usize, skip: bool) -> PyResult<Self> {
        let made = if skip { Broadcast::skipping(readers, bytes) } else { Broadcast::create(readers, bytes) };
        made.map(Self).map_err(|error| raised(py, &error))
    }

    /// The queue of a descriptor, which it closes.
    #[staticmethod]
    fn attach(py: Python<'_>, descriptor: i32) -> PyResult<Self> {
        Broadcast::attach(own(descriptor)).map(Self).map_err(|error| raised(py, &error))
    }

    fn fileno(&self) -> i32 {
        self.0.as_fd().as_raw_fd()
    }

    #[getter]
    fn readers(&self) -> u32 {
        self.0.readers()
    }
}

/// A descriptor that Python hands over.
pub(crate) fn own(descriptor: i32) -> OwnedFd {
    // SAFETY: the package gives descriptors that it has just got from `multiprocessing` or `os.dup`, and uses
    // them no more. One that is not open is an error of the first call that uses it.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

/// The writing end.
#[pyclass(frozen, subclass, name = "Writer", module = "foregather._foregather")]
pub(crate) struct PyWriter(OwnHandle<broadcast::Writer>);

#[pymethods]
impl PyWriter {
    #[new]
    fn new(py: Python<'_>, queue: &PyQueue) -> PyResult<Self> {
        queue.0.writer().map(|writer| Self(OwnHandle::new("writer", writer))).map_err(|error| raised(py, &error))
    }

    /// send(message, timeout=None)
    /// --
    ///
    /// Sends the bytes of an object with a contiguous buffer: bytes, bytearray, memoryview, a NumPy array.
    #[pyo3(signature = (message, timeout = None))]
    fn send(&self, py: Python<'_>, message: &Bound<'_, PyAny>, timeout: Option<f64>) -> PyResult<()> {
        self.send_all(py, &[buffer("message", message)?], timeout)
    }

    /// send_parts(parts, timeout=None)
    /// --
    ///
    /// Sends the bytes of several such objects, one after the other, as one message.
    #[pyo3(signature = (parts, timeout = None))]
    fn send_parts(&self, py: Python<'_>, parts: Vec<Bound<'_, PyAny>>, timeout: Option<f64>) -> PyResult<()> {
        let buffers = parts.iter().map(|part| buffer("parts", part)).collect::<PyResult<Vec<_>>>()?;
        self.send_all(py, &buffers, timeout)
    }

    /// Ends the broadcast in order.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.0.call(py).map(|call| drop(call.take()))
    }

    /// Ends the broadcast because this side has failed.
    fn fail(&self, py: Python<'_>) -> PyResult<()> {
        self.0.call(py).map(|call| call.take().map_or((), broadcast::Writer::fail))
    }
}

impl PyWriter {
    fn send_all(&self, py: Python<'_>, buffers: &[PyUntypedBuffer], seconds: Option<f64>) -> PyResult<()> {
        let limit = timeout(seconds)?;
        let mut call = self.0.call(py)?;
        let writer = call.open(py)?;
        let parts: Vec<&[u8]> = buffers.iter().map(bytes_of).collect();
        let mut begun = false;
        wait(py, limit, |slice| {
            if core::mem::replace(&mut begun, true) {
                writer.go_on_timeout(&parts, slice)
            } else {
                writer.send_timeout(&parts, slice)
            }
        })
    }
}

/// The buffer of an object, in one piece.
fn buffer(parameter: &str, object: &Bound<'_, PyAny>) -> PyResult<PyUntypedBuffer> {
    let buffer = PyUntypedBuffer::get(object).map_err(|_| {
        PyTypeError::new_err(format!("{parameter}: an object with a buffer is needed, such as bytes or an array"))
    })?;
    if buffer.is_c_contiguous() {
        Ok(buffer)
    } else {
        Err(PyBufferError::new_err(format!("{parameter}: the buffer is not contiguous; send a copy of it")))
    }
}

fn bytes_of(buffer: &PyUntypedBuffer) -> &[u8] {
    if buffer.len_bytes() == 0 {
        return &[];
    }
    // SAFETY: the buffer is contiguous, and stays where it is as long as it is held. Its bytes are copied
    // once: what another thread of the program stores there meanwhile may or may not be sent, as with any
    // buffer that is written while it is read.
    unsafe { core::slice::from_raw_parts(buffer.buf_ptr().cast(), buffer.len_bytes()) }
}
