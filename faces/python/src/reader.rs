//! The reading end of a broadcast.
use crate::error::{raised, refused};
use crate::handle::{HandleCall, OwnHandle};
use crate::queue::PyQueue;
use crate::view::MessageBytes;
use crate::wait::{timeout, wait};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use foregather::Broadcast;
use foregather::broadcast::Reader;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A reading end.
#[pyclass(frozen, subclass, name = "Reader", module = "foregather._foregather")]
pub(crate) struct PyReader {
    reader: OwnHandle<Reader>,
    /// Is a message shown, which no other call may pass? It changes within calls alone, so it needs no order.
    shows: AtomicBool,
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
        let reader = OwnHandle::new("reader", reader);
        Ok(Self { reader, shows: AtomicBool::new(false), queue: queue.0.clone(), rank, views })
    }

    /// recv(timeout=None)
    /// --
    ///
    /// Waits for the next message.
    #[pyo3(signature = (timeout = None))]
    fn recv<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyBytes>> {
        let mut call = self.call(py)?;
        let reader = call.open(py)?;
        if !self.views {
            return joined(py, reader, timeout);
        }
        match shown(py, reader, timeout)? {
            None => joined(py, reader, timeout),
            Some(bytes) => {
                // SAFETY: the message lies there until it is passed below, and its writer keeps to that.
                let copy = PyBytes::new(py, unsafe { bytes.as_ref() });
                reader.pass().map(|()| copy).map_err(|error| raised(py, &error))
            }
        }
    }

    /// The next message where it lies, or a copy of it if it lies in several pieces. What lies there is shown
    /// until `end_view`.
    #[pyo3(signature = (timeout = None))]
    fn view<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        let mut call = self.call(py)?;
        let reader = call.open(py)?;
        match shown(py, reader, timeout)? {
            Some(bytes) => {
                let shown = Bound::new(py, MessageBytes::new(bytes, self.queue.clone()))?;
                self.shows.store(true, Relaxed);
                Ok(shown.into_any())
            }
            None => Ok(joined(py, reader, timeout)?.into_any()),
        }
    }

    /// Shows the message no more, and gives it back to the writer if it has been read.
    fn end_view(&self, py: Python<'_>, read: bool) -> PyResult<()> {
        if !self.shows.load(Relaxed) {
            return Ok(());
        }
        let mut call = self.reader.short_call();
        if self.shows.swap(false, Relaxed) && read {
            call.open(py)?.pass().map_err(|error| raised(py, &error))?;
        }
        Ok(())
    }

    /// Is a message there, or the end of the broadcast?
    fn ready(&self, py: Python<'_>) -> PyResult<bool> {
        self.call(py)?.open(py)?.is_ready().map_err(|error| raised(py, &error))
    }

    /// Lets the writer go on without this reader.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.reader.call(py).map(|call| drop(call.take()))
    }

    /// Leaves because this side has failed: the writer gets an error.
    fn fail(&self, py: Python<'_>) -> PyResult<()> {
        self.reader.call(py).map(|call| call.take().map_or((), Reader::fail))
    }
}

impl PyReader {
    /// Begins a call that may pass a message.
    fn call(&self, py: Python<'_>) -> PyResult<HandleCall<'_, Reader>> {
        let call = self.reader.call(py)?;
        if self.shows.load(Relaxed) {
            // Before any code of Python: `end_view` waits for this.
            drop(call);
            return Err(refused(py, "this reader shows a message: end the block that reads it first".to_owned()));
        }
        Ok(call)
    }
}

/// The next message, if it lies in one piece.
fn shown(py: Python<'_>, reader: &mut Reader, seconds: Option<f64>) -> PyResult<Option<NonNull<[u8]>>> {
    /// An address, on its way from the thread without the interpreter's lock to the same thread with it.
    struct Carried(Option<NonNull<[u8]>>);
    // SAFETY: an address alone; its bytes are used by the thread that asked for it.
    unsafe impl Send for Carried {}
    wait(py, timeout(seconds)?, |slice| reader.view(Some(slice)).map(Carried)).map(|carried| carried.0)
}

/// A copy of the next message.
fn joined<'py>(py: Python<'py>, reader: &mut Reader, seconds: Option<f64>) -> PyResult<Bound<'py, PyBytes>> {
    let message = wait(py, timeout(seconds)?, |slice| reader.receive_timeout(slice))?;
    Ok(PyBytes::new(py, &message))
}
