//! The reading end of a queue.
mod block;

pub(crate) use block::MessageBlock;

use crate::argument::timeout;
use crate::error::{exception, refused};
use crate::handle::{HandleCall, OwnHandle};
use crate::label::Label;
use crate::object::object;
use crate::view::MessageBytes;
use crate::wait::{wait, wait_on};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use foregather::broadcast::{MessageView, Reader};
use foregather::engine::Cause;
use foregather::engine::host::clock;
use foregather::{Broadcast, Error};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// How a message is exposed: not at all, in a block, or in a call that unpickles it.
const NOTHING: u8 = 0;
pub(crate) const IN_A_BLOCK: u8 = 1;
const IN_A_CALL: u8 = 2;

/// A reading end of a queue. If an exception leaves its `with` block, the writer gets `PeerFailed`. Iterating
/// yields the bytes of each message until the writer closes the queue.
#[pyclass(frozen, subclass, weakref, name = "Reader", module = "foregather")]
pub(crate) struct PyReader {
    reader: OwnHandle<ReadingEnd>,
    label: Arc<Label>,
    queue: Broadcast,
    /// How a message is exposed, which no other call may then consume. This field and the next one are only
    /// changed within calls, so they need no memory ordering.
    shows: AtomicU8,
    received: AtomicU64,
    /// Returns the reader's rank.
    #[pyo3(get)]
    rank: u32,
    /// Whether messages can be read in place.
    views: bool,
}

/// The reader, and the next message if its parts had to be joined. Like a message in the ring, it is kept
/// until it is consumed.
pub(crate) struct ReadingEnd {
    reader: Reader,
    kept: Option<Py<PyBytes>>,
    /// An exception that a wait has left for the next call to raise.
    pending: Option<PyErr>,
}

/// The next message, which has not been consumed yet.
pub(crate) enum NextMessage<'py> {
    Shown(NonNull<[u8]>),
    Kept(Bound<'py, PyBytes>),
}

#[pymethods]
impl PyReader {
    /// Waits for the next message and returns its bytes.
    #[pyo3(signature = (timeout = None))]
    fn recv<'py>(&self, py: Python<'py>, timeout: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyBytes>> {
        let limit = self::timeout(timeout)?;
        let mut call = self.call(py)?;
        let end = call.open(py)?;
        let message = match self.next(py, end, limit)? {
            NextMessage::Kept(message) => message,
            // SAFETY: the message stays in the ring until it is consumed below, and the writer respects that.
            NextMessage::Shown(bytes) => PyBytes::new(py, unsafe { bytes.as_ref() }),
        };
        // A signal's exception must come before the message is consumed, not after.
        py.check_signals()?;
        self.pass(py, end).map(|()| message)
    }

    /// Waits for an object that was sent with `put` and returns it. Its arrays are copies, writable if the
    /// originals were. A message that cannot be unpickled is skipped, and the call raises `BadMessage`.
    #[pyo3(signature = (timeout = None))]
    fn get<'py>(&self, py: Python<'py>, timeout: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let (owner, bytes) = self.show(py, self::timeout(timeout)?, IN_A_CALL)?;
        // SAFETY: the message stays in the ring until `end_view` consumes it, or `owner` is a copy of it.
        let got = object(&owner, unsafe { bytes.as_ref() });
        // A signal's exception must come before the message is consumed, not after; the message then remains.
        let signal = if got.is_ok() { py.check_signals() } else { Ok(()) };
        let stays = signal.is_err() || got.as_ref().is_err_and(|error| !error.is_instance_of::<PyException>(py));
        self.end_view(py, !stays)?;
        signal.and_then(|()| got.map_err(|error| if stays { error } else { self.bad_message(py, error) }))
    }

    /// Returns a context manager that yields the next message as a `memoryview` of the ring, without a copy.
    ///
    /// The memory is reused after the block. If an object such as a `numpy.frombuffer` array still refers to
    /// it, leaving the block raises `BufferError` and the message remains in the queue, as it does after an
    /// exception. A message larger than half the ring is copied, and so is every message of a queue with
    /// `skip`.
    #[pyo3(signature = (timeout = None))]
    fn read(slf: Bound<'_, Self>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<MessageBlock> {
        let limit = self::timeout(timeout)?;
        Ok(MessageBlock::new(slf.unbind(), limit))
    }

    /// Returns whether the next call would not block: a message is available or the queue has ended.
    fn ready(&self, py: Python<'_>) -> PyResult<bool> {
        let mut call = self.call(py)?;
        let end = call.open(py)?;
        Ok(end.kept.is_some() || end.pending.is_some() || end.reader.is_ready().map_err(|error| self.raised(py, &error))?)
    }

    /// Waits, for at most `seconds`, until the next call would not block. Returns whether that is the case.
    /// Consumes no message and raises no exception of the queue; both are left to the next call.
    #[pyo3(name = "_is_ready_within")]
    fn is_ready_within(&self, py: Python<'_>, seconds: &Bound<'_, PyAny>) -> PyResult<bool> {
        let limit = timeout(Some(seconds))?;
        let mut call = self.call(py)?;
        let end = call.open(py)?;
        if end.pending.is_some() {
            return Ok(true);
        }
        match self.next(py, end, limit) {
            Err(error) if error.matches(py, py.import("foregather._errors")?.getattr("TimedOut")?)? => Ok(false),
            next => {
                end.pending = next.err();
                Ok(true)
            }
        }
    }

    /// Waits for the next message without blocking the asyncio event loop, and returns its bytes. If the task
    /// is cancelled, the message remains for the next call.
    fn recv_async(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        in_event_loop(&slf, "recv")
    }

    /// Waits like `recv_async`, and returns an object that was sent with `put`.
    fn get_async(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        in_event_loop(&slf, "get")
    }

    fn __aiter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __anext__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        in_event_loop(&slf, "following")
    }

    /// Returns the number of messages consumed, including skipped ones. Compare it before and after an
    /// exception to see whether the interrupted call consumed a message.
    #[getter]
    fn received(&self) -> u64 {
        self.received.load(Relaxed)
    }

    /// Closes this reader. The writer no longer waits for it.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.reader.call(py).map(|call| drop(call.take()))
    }

    /// Closes this reader because this side has failed: the writer gets `PeerFailed`.
    fn fail(&self, py: Python<'_>) -> PyResult<()> {
        self.reader.call(py).map(|call| call.take().map_or((), |end| end.reader.fail()))
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        match self.recv(py, None) {
            Err(error) if error.matches(py, py.import("foregather._errors")?.getattr("Closed")?)? => Ok(None),
            received => received.map(Some),
        }
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

impl PyReader {
    /// Creates a reader whose end has not been taken yet.
    pub(crate) fn closed(label: &Arc<Label>, rank: u32, queue: Broadcast, views: bool) -> Self {
        let (shows, received) = (AtomicU8::new(NOTHING), AtomicU64::new(0));
        Self { reader: OwnHandle::closed("reader"), label: label.clone(), queue, shows, received, rank, views }
    }

    pub(crate) fn open_with(&self, reader: Reader) {
        self.reader.open_with(ReadingEnd { reader, kept: None, pending: None });
    }

    /// Begins a call that may consume a message.
    fn call(&self, py: Python<'_>) -> PyResult<HandleCall<'_, ReadingEnd>> {
        if let Some(call) = self.call_unless_shown(py)? {
            return Ok(call);
        }
        let label = &self.label;
        if self.shows.load(Relaxed) == IN_A_CALL {
            return Err(refused(py, format!("{label}: this reader is in a call of another thread: it takes one at a time")));
        }
        // An exception may have exited the block within a reference cycle.
        py.import("gc")?.getattr("collect")?.call0()?;
        self.call_unless_shown(py)?
            .ok_or_else(|| refused(py, format!("{label}: this reader shows a message: end the block that reads it first")))
    }

    /// Begins a call, unless a message is exposed. No Python code runs in between, because `end_view` waits
    /// for the call.
    fn call_unless_shown(&self, py: Python<'_>) -> PyResult<Option<HandleCall<'_, ReadingEnd>>> {
        let call = self.reader.call(py)?;
        Ok(Some(call).filter(|_| self.shows.load(Relaxed) == NOTHING))
    }

    /// Waits for the next message. It remains in the queue until [`PyReader::pass`].
    fn next<'py>(&self, py: Python<'py>, end: &mut ReadingEnd, limit: Option<Duration>) -> PyResult<NextMessage<'py>> {
        /// An address that is passed from the section without the GIL to the one with it.
        struct Carried(Option<NonNull<[u8]>>);
        // SAFETY: it is only an address; its bytes are used by the thread that requested it.
        unsafe impl Send for Carried {}
        if let Some(error) = end.pending.take() {
            return Err(error);
        }
        if let Some(kept) = &end.kept {
            return Ok(NextMessage::Kept(kept.bind(py).clone()));
        }
        let reader = &mut end.reader;
        let began = limit.map(|_| clock::now());
        if self.views
            && let Some(shown) = wait(py, &self.label, limit, |slice, awaited| {
                let shown = reader.view(Some(slice)).map(|view| Carried(view.map(MessageView::into_raw)));
                shown.inspect_err(|error| awaited.extend(reader.awaited(error)))
            })?
            .0
        {
            return Ok(NextMessage::Shown(shown));
        }
        let before = began.map_or(Duration::ZERO, |began| Duration::from_nanos((clock::now() - began).0));
        let message = wait_on(py, &self.label, limit, before, |slice, awaited| {
            reader.receive_timeout(slice).inspect_err(|error| {
                if let Cause::Skipped { messages } = *error.cause() {
                    self.received.fetch_add(messages, Relaxed);
                }
                awaited.extend(reader.awaited(error));
            })
        })?;
        let message = PyBytes::new(py, &message);
        end.kept = Some(message.clone().unbind());
        Ok(NextMessage::Kept(message))
    }

    /// Consumes the message that `next` returned.
    fn pass(&self, py: Python<'_>, end: &mut ReadingEnd) -> PyResult<()> {
        if end.kept.take().is_none() {
            end.reader.pass().map_err(|error| self.raised(py, &error))?;
        }
        self.received.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Waits for the next message, and exposes it until [`PyReader::end_view`]. Returns the object that
    /// exports it, and its address.
    pub(crate) fn show<'py>(
        &self,
        py: Python<'py>,
        limit: Option<Duration>,
        to: u8,
    ) -> PyResult<(Bound<'py, PyAny>, NonNull<[u8]>)> {
        let mut call = self.call(py)?;
        let end = call.open(py)?;
        let shown = match self.next(py, end, limit)? {
            NextMessage::Kept(message) => {
                let bytes = NonNull::from(message.as_bytes());
                (message.into_any(), bytes)
            }
            NextMessage::Shown(bytes) => (Bound::new(py, MessageBytes::new(bytes, self.queue.clone()))?.into_any(), bytes),
        };
        self.shows.store(to, Relaxed);
        Ok(shown)
    }

    /// Stops exposing the message, and consumes it if it has been read.
    pub(crate) fn end_view(&self, py: Python<'_>, is_read: bool) -> PyResult<()> {
        let mut call = self.reader.short_call();
        if self.shows.swap(NOTHING, Relaxed) != NOTHING
            && is_read
            && let Some(end) = call.if_open()
        {
            self.pass(py, end)?;
        }
        Ok(())
    }

    fn raised(&self, py: Python<'_>, error: &Error) -> PyErr {
        self.label.raised(py, error, Duration::ZERO)
    }

    /// Returns the exception for a message that could not be unpickled because of `error`, and was skipped.
    fn bad_message(&self, py: Python<'_>, error: PyErr) -> PyErr {
        let (label, number) = (&self.label, self.received());
        let sentence = format!(
            "{label}: message {number} of this reader cannot be unpickled and was skipped ({error}); the next call returns the next message"
        );
        let raised = exception(py, "BadMessage", sentence, Some(number)).unwrap_or_else(|failed| failed);
        raised.set_cause(py, Some(error));
        raised
    }
}

/// Returns the coroutine `name` for this reader.
fn in_event_loop<'py>(reader: &Bound<'py, PyReader>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    reader.py().import("foregather._asyncio")?.getattr(name)?.call1((reader,))
}

/// Returns how many buffers refer to a message in the ring. None refers to a copied message.
pub(crate) fn exports(owner: &Bound<'_, PyAny>) -> usize {
    owner.cast::<MessageBytes>().map_or(0, |bytes| bytes.get().exports())
}
