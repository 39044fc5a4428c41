//! A barrier of processes.
use crate::error::raised;
use crate::handle::OwnHandle;
use crate::queue::own;
use crate::wait::{timeout, wait};
use foregather::processes::{SharedBarrier, SharedMember};
use pyo3::prelude::*;
use std::os::fd::{AsFd, AsRawFd};

/// The memory of a barrier.
#[pyclass(frozen, module = "foregather._foregather")]
pub(crate) struct Barrier(SharedBarrier);

#[pymethods]
impl Barrier {
    #[staticmethod]
    fn create(py: Python<'_>, members: u32) -> PyResult<Self> {
        SharedBarrier::create(members).map(Self).map_err(|error| raised(py, &error))
    }

    /// The barrier of a descriptor, which it closes.
    #[staticmethod]
    fn attach(py: Python<'_>, descriptor: i32) -> PyResult<Self> {
        SharedBarrier::attach(own(descriptor)).map(Self).map_err(|error| raised(py, &error))
    }

    fn fileno(&self) -> i32 {
        self.0.as_fd().as_raw_fd()
    }

    #[getter]
    fn members(&self) -> u32 {
        self.0.size()
    }
}

/// One rank's handle.
#[pyclass(frozen, subclass, module = "foregather._foregather")]
pub(crate) struct Member {
    member: OwnHandle<SharedMember>,
    #[pyo3(get)]
    rank: u32,
}

#[pymethods]
impl Member {
    #[new]
    fn new(py: Python<'_>, barrier: &Barrier, rank: u32) -> PyResult<Self> {
        let member = barrier.0.member(rank).map_err(|error| raised(py, &error))?;
        Ok(Self { member: OwnHandle::new("member", member), rank })
    }

    /// wait(timeout=None)
    /// --
    ///
    /// Waits until all members have come.
    #[pyo3(signature = (timeout = None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        let limit = self::timeout(timeout)?;
        let mut call = self.member.call(py)?;
        let member = call.open(py)?;
        wait(py, limit, |slice| member.wait_timeout(slice))
    }

    /// Leaves: the others' waits end with an error.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.member.call(py).map(|call| drop(call.take()))
    }
}
