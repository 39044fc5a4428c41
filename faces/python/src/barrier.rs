//! A barrier of processes.
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

/// The memory of a barrier.
#[pyclass(frozen, module = "foregather._foregather")]
pub(crate) struct Barrier(SharedBarrier);

#[pymethods]
impl Barrier {
    #[staticmethod]
    fn create(py: Python<'_>, members: &Bound<'_, PyAny>) -> PyResult<Self> {
        let members = whole32("number of members", "a barrier", members, 1..=MOST_MEMBERS)?;
        SharedBarrier::create(members).map(Self).map_err(|error| NO_NAME.raised(py, &error, Duration::ZERO))
    }

    /// The barrier of a descriptor, which stays the caller's.
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

/// What gives out the members of a barrier; as for the ends of queues, no code of Python runs after a rank is
/// taken.
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

    /// Returns the handle of that rank, from 0 on, for this process. Each is given out once.
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

    /// The descriptor of its memory.
    fn fileno(&self) -> i32 {
        self.barrier.as_fd().as_raw_fd()
    }

    /// The number of members.
    #[getter]
    fn members(&self) -> u32 {
        self.barrier.size()
    }

    /// The name that it was given, for the sentences of errors.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.label.name.as_deref()
    }
}

/// One rank's handle. Closing it ends the barrier for all that still need it.
#[pyclass(frozen, subclass, weakref, module = "foregather")]
pub(crate) struct Member {
    member: OwnHandle<SharedMember>,
    label: Arc<Label>,
    /// Changes within calls alone, so it needs no order.
    completed: AtomicU64,
    /// Its rank.
    #[pyo3(get)]
    rank: u32,
}

#[pymethods]
impl Member {
    /// Waits until all members have arrived. After a timeout or a signal's exception the arrival stays: the
    /// next call goes on with the same wait.
    #[pyo3(signature = (timeout = None))]
    fn wait(&self, py: Python<'_>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let limit = self::timeout(timeout)?;
        let mut call = self.member.call(py)?;
        let member = call.open(py)?;
        wait(py, &self.label, limit, |slice| member.wait_timeout(slice))?;
        self.completed.fetch_add(1, Relaxed);
        Ok(())
    }

    /// The number of waits that were completed: after an exception it says whether the interrupted one was.
    #[getter]
    fn completed(&self) -> u64 {
        self.completed.load(Relaxed)
    }

    /// Leaves: the others' waits end with an error.
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
