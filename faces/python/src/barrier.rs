//! A barrier between processes.
use crate::argument::{descriptor, timeout, whole32};
use crate::handle::{OwnHandle, keep};
use crate::label::{Label, LabelKind};
use crate::wait::wait;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use foregather::engine::Cause;
use foregather::processes::{SharedBarrier, SharedMember};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

const MOST_MEMBERS: u32 = 1023;
const NO_NAME: Label = Label { kind: LabelKind::Barrier, name: None };

/// The shared memory of a barrier.
#[pyclass(frozen, module = "foregather._foregather")]
pub(crate) struct Barrier(SharedBarrier);

#[pymethods]
impl Barrier {
    #[staticmethod]
    fn create(py: Python<'_>, members: &Bound<'_, PyAny>) -> PyResult<Self> {
        let members = whole32("number of members", "a barrier", members, 1..=MOST_MEMBERS)?;
        SharedBarrier::create(members).map(Self).map_err(|error| NO_NAME.raised(py, &error, Duration::ZERO))
    }

    /// Attaches to the barrier of a descriptor, which the caller still owns.
    #[staticmethod]
    fn attach(py: Python<'_>, descriptor: &Bound<'_, PyAny>) -> PyResult<Self> {
        let own = self::descriptor(descriptor)?;
        SharedBarrier::attach(own).map(Self).map_err(|error| NO_NAME.raised(py, &error, Duration::ZERO))
    }

    fn fileno(&self) -> i32 {
        self.0.as_fd().as_raw_fd()
    }

    #[getter]
    fn members(&self) -> u32 {
        self.0.size()
    }
}

/// Provides the members of a barrier. As for the ends of queues, no Python code runs between taking a rank
/// and returning it.
#[pyclass(frozen, subclass, weakref, module = "foregather._foregather")]
pub(crate) struct BarrierMembers {
    barrier: SharedBarrier,
    label: Arc<Label>,
}

#[pymethods]
impl BarrierMembers {
    #[new]
    fn new(barrier: &Barrier, name: Option<String>) -> Self {
        Self { barrier: barrier.0.clone(), label: Arc::new(Label { kind: LabelKind::Barrier, name }) }
    }

    /// Returns the handle of `rank` (0 to members - 1). Each handle can be taken once.
    fn member<'py>(&self, py: Python<'py>, rank: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Member>> {
        let label = &self.label;
        let rank = whole32("rank", format_args!("a member of this {label}"), rank, 0..=self.barrier.size() - 1)?;
        let (handle, completed) = (OwnHandle::closed("member"), AtomicU64::new(0));
        let member = Bound::new(py, Member { member: handle, label: label.clone(), completed, rank })?;
        keep(member.as_any())?;
        let taken = self.barrier.member(rank).map_err(|error| match error.cause() {
            Cause::Rank { .. } => PyValueError::new_err(format!(
                "{label}: rank {rank} is taken already: each rank's handle is given out once, to one process"
            )),
            _ => label.raised(py, &error, Duration::ZERO),
        })?;
        member.get().member.open_with(taken);
        Ok(member)
    }

    /// Returns the descriptor of the barrier's memory.
    fn fileno(&self) -> i32 {
        self.barrier.as_fd().as_raw_fd()
    }

    /// Returns the number of members.
    #[getter]
    fn members(&self) -> u32 {
        self.barrier.size()
    }

    /// Returns the name used in error messages, or `None`.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.label.name.as_deref()
    }
}

/// A member's handle. Closing it makes the other members' waits fail.
#[pyclass(frozen, subclass, weakref, module = "foregather")]
pub(crate) struct Member {
    member: OwnHandle<SharedMember>,
    label: Arc<Label>,
    /// Only changed within calls, so it needs no memory ordering.
    completed: AtomicU64,
    /// Returns the member's rank.
    #[pyo3(get)]
    rank: u32,
}

#[pymethods]
impl Member {
    /// Waits until all members have arrived. After a timeout or an exception from a signal handler, the
    /// member still counts as arrived; call again to resume the wait.
    #[pyo3(signature = (timeout = None))]
    fn wait(&self, py: Python<'_>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let limit = self::timeout(timeout)?;
        let mut call = self.member.call(py)?;
        let member = call.open(py)?;
        wait(py, &self.label, limit, |slice, awaited| {
            let end = member.wait_timeout(slice);
            if end.is_err() {
                awaited.extend(member.missing().unwrap_or_default());
            }
            end
        })?;
        self.completed.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Returns the number of completed waits. Compare it before and after an exception to see whether the
    /// interrupted wait completed.
    #[getter]
    fn completed(&self) -> u64 {
        self.completed.load(Relaxed)
    }

    /// Closes the handle. Waits of the other members then raise an error.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.member.call(py).map(|call| drop(call.take()))
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.close(py)
    }
}
