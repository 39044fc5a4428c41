//! The memory of a queue, and the object that provides its ends.
use crate::argument::{descriptor, whole, whole32};
use crate::handle::keep;
use crate::label::{Label, LabelKind};
use crate::reader::PyReader;
use crate::writer::PyWriter;
use core::time::Duration;
use foregather::Broadcast;
use foregather::Error;
use foregather::broadcast::Reader;
use foregather::engine::Cause;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

const MOST_READERS: u32 = 1023;
const BYTES: core::ops::RangeInclusive<u64> = 512..=8 << 30;

/// The shared memory of a queue.
#[pyclass(frozen, name = "Queue", module = "foregather._foregather")]
pub(crate) struct PyQueue(Broadcast);

#[pymethods]
impl PyQueue {
    #[staticmethod]
    #[pyo3(signature = (readers, size, skip, kind = "broadcast"))]
    fn create(py: Python<'_>, readers: &Bound<'_, PyAny>, size: &Bound<'_, PyAny>, skip: bool, kind: &str) -> PyResult<Self> {
        let label = Label { kind: LabelKind::of(kind)?, name: None };
        let readers = whole32("number of readers", format_args!("a {kind}"), readers, 1..=MOST_READERS)?;
        let bytes = whole("size", format_args!("a {kind} in bytes"), size, BYTES)? as usize;
        let made = if skip { Broadcast::skipping(readers, bytes) } else { Broadcast::create(readers, bytes) };
        made.map(Self).map_err(|error| label.raised(py, &error, Duration::ZERO))
    }

    /// Attaches to the queue of a descriptor, which the caller still owns.
    #[staticmethod]
    #[pyo3(signature = (descriptor, kind = "broadcast"))]
    fn attach(py: Python<'_>, descriptor: &Bound<'_, PyAny>, kind: &str) -> PyResult<Self> {
        let label = Label { kind: LabelKind::of(kind)?, name: None };
        let own = self::descriptor(descriptor)?;
        Broadcast::attach(own).map(Self).map_err(|error| label.raised(py, &error, Duration::ZERO))
    }

    fn fileno(&self) -> i32 {
        self.0.as_fd().as_raw_fd()
    }

    #[getter]
    fn readers(&self) -> u32 {
        self.0.readers()
    }
}

/// Provides the ends of a queue. The package derives its classes from this one, so that no Python code runs
/// between taking an end and returning it.
#[pyclass(frozen, subclass, weakref, name = "QueueEnds", module = "foregather._foregather")]
pub(crate) struct QueueEnds {
    queue: Broadcast,
    label: Arc<Label>,
    skip: bool,
}

#[pymethods]
impl QueueEnds {
    #[new]
    fn new(queue: &PyQueue, kind: &str, name: Option<String>, skip: bool) -> PyResult<Self> {
        Ok(Self { queue: queue.0.clone(), label: Arc::new(Label { kind: LabelKind::of(kind)?, name }), skip })
    }

    /// Returns the writing end. It can be taken once.
    fn writer<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyWriter>> {
        let writer = Bound::new(py, PyWriter::closed(&self.label))?;
        keep(writer.as_any())?;
        writer.get().open_with(self.queue.writer().map_err(|error| self.refusal(py, &error))?);
        Ok(writer)
    }

    /// Returns the reading end of `rank`. Readers count from 1. Each rank's end can be taken once.
    fn reader<'py>(&self, py: Python<'py>, rank: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyReader>> {
        let rank = self.rank(rank)?;
        self.reader_by(py, rank, |queue| queue.reader(rank))
    }

    /// Takes over the rank of a reader whose process has died, and returns its reading end. It receives
    /// messages that the writer starts sending after this call.
    fn replace<'py>(&self, py: Python<'py>, rank: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyReader>> {
        let rank = self.rank(rank)?;
        self.reader_by(py, rank, |queue| queue.replace(rank))
    }

    /// Returns the receiving end. It can be taken once.
    #[pyo3(name = "_receiver")]
    fn receiver<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyReader>> {
        self.reader_by(py, 1, |queue| queue.reader(1))
    }

    /// Returns the descriptor of the queue's memory.
    fn fileno(&self) -> i32 {
        self.queue.as_fd().as_raw_fd()
    }

    /// Returns the number of readers.
    #[getter]
    fn readers(&self) -> u32 {
        self.queue.readers()
    }

    /// Returns the name used in error messages, or `None`.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.label.name.as_deref()
    }

    /// Returns whether the writer drops the oldest message when the ring is full.
    #[getter]
    fn skip(&self) -> bool {
        self.skip
    }
}

impl QueueEnds {
    /// Returns the reading end that `take` returns as a Python object.
    fn reader_by<'py>(
        &self,
        py: Python<'py>,
        rank: u32,
        take: impl FnOnce(&Broadcast) -> Result<Reader, Error>,
    ) -> PyResult<Bound<'py, PyReader>> {
        let reader = Bound::new(py, PyReader::closed(&self.label, rank, self.queue.clone(), !self.skip))?;
        keep(reader.as_any())?;
        reader.get().open_with(take(&self.queue).map_err(|error| self.refusal(py, &error))?);
        Ok(reader)
    }

    fn rank(&self, given: &Bound<'_, PyAny>) -> PyResult<u32> {
        let label = &self.label;
        if given.extract::<i64>().is_ok_and(|rank| rank == 0) {
            return Err(PyValueError::new_err(format!(
                "{label}: invalid rank 0 of a reader: readers count from 1, and the writer is rank 0"
            )));
        }
        whole32("rank", format_args!("a reader of this {label}"), given, 1..=self.queue.readers())
    }

    /// Returns the exception for an end that cannot be taken.
    fn refusal(&self, py: Python<'_>, error: &Error) -> PyErr {
        let label = &self.label;
        match error.cause() {
            Cause::Rank { rank, .. } => PyValueError::new_err(format!(
                "{label}: rank {rank} is taken already: each rank's end is given out once, to one process"
            )),
            _ => label.raised(py, error, Duration::ZERO),
        }
    }
}
