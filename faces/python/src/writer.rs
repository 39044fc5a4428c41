//! The writing end of a queue.
use crate::argument::{buffer, bytes_of, timeout};
use crate::handle::OwnHandle;
use crate::label::Label;
use crate::object::Pickled;
use crate::wait::wait;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use foregather::Error;
use foregather::broadcast::Writer;
use foregather::engine::Cause;
use pyo3::prelude::*;
use std::sync::Arc;

/// The writing end of a queue. If its `with` block raises an exception, readers get `PeerFailed`.
#[pyclass(frozen, subclass, weakref, name = "Writer", module = "foregather")]
pub(crate) struct PyWriter {
    writer: OwnHandle<Writer>,
    label: Arc<Label>,
    /// Only changed within calls, so it needs no memory ordering.
    sent: AtomicU64,
}

#[pymethods]
impl PyWriter {
    /// Sends the bytes of an object with a contiguous buffer, such as bytes, a memoryview or a NumPy array.
    #[pyo3(signature = (message, timeout = None))]
    fn send(&self, py: Python<'_>, message: &Bound<'_, PyAny>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let buffer = buffer("message", message)?;
        self.send_all(py, &[bytes_of(&buffer)], timeout)
    }

    /// Sends the bytes of several objects with contiguous buffers as one message.
    #[pyo3(signature = (parts, timeout = None))]
    fn send_parts(&self, py: Python<'_>, parts: Vec<Bound<'_, PyAny>>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let buffers = parts.iter().map(|part| buffer("parts", part)).collect::<PyResult<Vec<_>>>()?;
        self.send_all(py, &buffers.iter().map(bytes_of).collect::<Vec<_>>(), timeout)
    }

    /// Sends any object that can be pickled. The data of its arrays is copied once, into the ring.
    #[pyo3(signature = (message, timeout = None))]
    fn put(&self, py: Python<'_>, message: &Bound<'_, PyAny>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        self.send_all(py, &Pickled::of(message)?.parts(), timeout)
    }

    /// Returns the number of messages sent, including those whose call raised `PeerLost`. Compare it before
    /// and after an exception to see whether the interrupted call sent its message.
    #[getter]
    fn sent(&self) -> u64 {
        self.sent.load(Relaxed)
    }

    /// Returns the ranks of dead readers that have not been replaced.
    #[getter]
    fn lost(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        let mut call = self.writer.call(py)?;
        let lost = call.open(py)?.lost().map(<[u32]>::to_vec);
        lost.map_err(|error| self.label.raised(py, &error, Duration::ZERO))
    }

    /// Closes the queue: readers get the messages already sent, and then `Closed`.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.writer.call(py).map(|call| drop(call.take()))
    }

    /// Ends the queue because this side has failed: readers get the messages already sent, and then
    /// `PeerFailed`.
    fn fail(&self, py: Python<'_>) -> PyResult<()> {
        self.writer.call(py).map(|call| call.take().map_or((), Writer::fail))
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        if kind.is_none() { self.close(py) } else { self.fail(py) }
    }
}

impl PyWriter {
    /// Creates a writer whose end has not been taken yet.
    pub(crate) fn closed(label: &Arc<Label>) -> Self {
        Self { writer: OwnHandle::closed("writer"), label: label.clone(), sent: AtomicU64::new(0) }
    }

    pub(crate) fn open_with(&self, writer: Writer) {
        self.writer.open_with(writer);
    }

    fn send_all(&self, py: Python<'_>, parts: &[&[u8]], seconds: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let limit = timeout(seconds)?;
        let mut call = self.writer.call(py)?;
        let writer = call.open(py)?;
        let mut begun = false;
        wait(py, &self.label, limit, |slice, awaited| {
            let end = match core::mem::replace(&mut begun, true) {
                true => writer.go_on_timeout(parts, slice),
                false => writer.send_timeout(parts, slice),
            };
            // A message that was sent to all readers except a dead one counts as sent.
            if Error::of(&end).is_none_or(|cause| matches!(cause, Cause::PeerLost { .. })) {
                self.sent.fetch_add(1, Relaxed);
            }
            end.inspect_err(|error| awaited.extend(writer.awaited(error)))
        })
    }
}
