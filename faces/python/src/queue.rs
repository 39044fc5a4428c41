//! A broadcast, and its two ends.
use crate::error::raised;
use crate::handle::OwnHandle;
use crate::view::MessageBytes;
use crate::wait::{timeout, wait};
use foregather::Broadcast;
use foregather::broadcast;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// The memory of a broadcast.
#[pyclass(frozen, name = "Queue", module = "foregather._foregather")]
pub(crate) struct PyQueue(Broadcast);

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
#[pyclass(subclass, name = "Writer", module = "foregather._foregather")]
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
    fn send(&mut self, py: Python<'_>, message: &Bound<'_, PyAny>, timeout: Option<f64>) -> PyResult<()> {
        self.send_all(py, &[buffer("message", message)?], timeout)
    }

    /// send_parts(parts, timeout=None)
    /// --
    ///
    /// Sends the bytes of several such objects, one after the other, as one message.
    #[pyo3(signature = (parts, timeout = None))]
    fn send_parts(&mut self, py: Python<'_>, parts: Vec<Bound<'_, PyAny>>, timeout: Option<f64>) -> PyResult<()> {
        let buffers = parts.iter().map(|part| buffer("parts", part)).collect::<PyResult<Vec<_>>>()?;
        self.send_all(py, &buffers, timeout)
    }

    /// Ends the broadcast in order.
    fn close(&mut self) {
        drop(self.0.take());
    }

    /// Ends the broadcast because this side has failed.
    fn fail(&mut self) {
        if let Some(writer) = self.0.take() {
            writer.fail();
        }
    }
}

impl PyWriter {
    fn send_all(&mut self, py: Python<'_>, buffers: &[PyUntypedBuffer], seconds: Option<f64>) -> PyResult<()> {
        let limit = timeout(seconds)?;
        let writer = self.0.open(py)?;
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

/// A reading end.
#[pyclass(subclass, name = "Reader", module = "foregather._foregather")]
pub(crate) struct PyReader {
    reader: OwnHandle<broadcast::Reader>,
    queue: Broadcast,
    #[pyo3(get)]
    rank: u32,
    /// May messages be read where they are?
    #[pyo3(get)]
    views: bool,
}

#[pymethods]
impl PyReader {
    #[new]
    fn new(py: Python<'_>, queue: &PyQueue, rank: u32, views: bool) -> PyResult<Self> {
        let reader = queue.0.reader(rank).map_err(|error| raised(py, &error))?;
        Ok(Self { reader: OwnHandle::new("reader", reader), queue: queue.0.clone(), rank, views })
    }

    /// recv(timeout=None)
    /// --
    ///
    /// Waits for the next message.
    #[pyo3(signature = (timeout = None))]
    fn recv<'py>(&mut self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyBytes>> {
        if !self.views {
            return self.joined(py, timeout);
        }
        match self.shown(py, timeout)? {
            None => self.joined(py, timeout),
            Some(bytes) => {
                // SAFETY: the message lies there until it is passed below, and its writer keeps to that.
                let copy = PyBytes::new(py, unsafe { bytes.as_ref() });
                self.pass(py).map(|()| copy)
            }
        }
    }

    /// The next message where it lies, or a copy of it if it lies in several pieces. It must be given back by
    /// `pass`.
    #[pyo3(signature = (timeout = None))]
    fn view<'py>(&mut self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        match self.shown(py, timeout)? {
            Some(bytes) => Ok(Bound::new(py, MessageBytes::new(bytes, self.queue.clone()))?.into_any()),
            None => Ok(self.joined(py, timeout)?.into_any()),
        }
    }

    /// Gives the message that `view` has shown back to the writer.
    #[pyo3(name = "pass_")]
    fn pass(&mut self, py: Python<'_>) -> PyResult<()> {
        self.reader.open(py)?.pass().map_err(|error| raised(py, &error))
    }

    /// Is a message there, or the end of the broadcast?
    fn ready(&mut self, py: Python<'_>) -> PyResult<bool> {
        self.reader.open(py)?.is_ready().map_err(|error| raised(py, &error))
    }

    /// Lets the writer go on without this reader.
    fn close(&mut self) {
        drop(self.reader.take());
    }

    /// Leaves because this side has failed: the writer gets an error.
    fn fail(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.fail();
        }
    }
}

impl PyReader {
    fn shown(&mut self, py: Python<'_>, seconds: Option<f64>) -> PyResult<Option<core::ptr::NonNull<[u8]>>> {
        /// An address, on its way from the thread without the interpreter's lock to the same thread with it.
        struct Carried(Option<core::ptr::NonNull<[u8]>>);
        // SAFETY: an address alone; its bytes are used by the thread that asked for it.
        unsafe impl Send for Carried {}
        let limit = timeout(seconds)?;
        let reader = self.reader.open(py)?;
        wait(py, limit, |slice| reader.view(Some(slice)).map(Carried)).map(|carried| carried.0)
    }

    fn joined<'py>(&mut self, py: Python<'py>, seconds: Option<f64>) -> PyResult<Bound<'py, PyBytes>> {
        let limit = timeout(seconds)?;
        let reader = self.reader.open(py)?;
        let message = wait(py, limit, |slice| reader.receive_timeout(slice))?;
        Ok(PyBytes::new(py, &message))
    }
}
