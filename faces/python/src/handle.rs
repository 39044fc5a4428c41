//! A rank's handle within an object of Python, until it is closed. Any thread may call, one at a time.
use crate::error::refused;
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// A handle that is reached by one call at a time.
pub(crate) struct OwnHandle<H> {
    handle: Mutex<Option<H>>,
    what: &'static str,
    process: u32,
}

impl<H> OwnHandle<H> {
    /// A handle that is still closed: [`OwnHandle::open_with`] opens it.
    pub(crate) fn closed(what: &'static str) -> Self {
        Self { handle: Mutex::new(None), what, process: std::process::id() }
    }

    /// Opens it.
    pub(crate) fn open_with(&self, handle: H) {
        *self.lock() = Some(handle);
    }

    fn lock(&self) -> MutexGuard<'_, Option<H>> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call. Waits for no other: a child of a fork that was made during a call has it for ever.
    ///
    /// # Errors
    /// The exception of a handle that another thread is in a call with.
    pub(crate) fn call(&self, py: Python<'_>) -> PyResult<HandleCall<'_, H>> {
        let handle = match self.handle.try_lock() {
            Ok(handle) => handle,
            Err(TryLockError::Poisoned(handle)) => handle.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(self.busy(py)),
        };
        Ok(HandleCall { handle, what: self.what })
    }

    /// Begins a call once another has ended that runs no code of Python, and waits for nothing.
    pub(crate) fn short_call(&self) -> HandleCall<'_, H> {
        HandleCall { handle: self.lock(), what: self.what }
    }

    #[cold]
    fn busy(&self, py: Python<'_>) -> PyErr {
        let what = self.what;
        refused(
            py,
            if self.process == std::process::id() {
                format!("this {what} is in a call of another thread: it takes one at a time")
            } else {
                format!("this {what} is the parent process's, which was in a call with it: let the child take a rank of its own")
            },
        )
    }
}

/// The one call that has the handle.
pub(crate) struct HandleCall<'a, H> {
    handle: MutexGuard<'a, Option<H>>,
    what: &'static str,
}

impl<H> HandleCall<'_, H> {
    /// The handle.
    ///
    /// # Errors
    /// The exception of one that is closed.
    pub(crate) fn open(&mut self, py: Python<'_>) -> PyResult<&mut H> {
        self.handle.as_mut().ok_or_else(|| refused(py, format!("this {} is closed", self.what)))
    }

    /// The handle, unless it is closed.
    pub(crate) fn if_open(&mut self) -> Option<&mut H> {
        self.handle.as_mut()
    }

    /// Takes the handle out: it is closed from now on.
    pub(crate) fn take(mut self) -> Option<H> {
        self.handle.take()
    }
}

/// Has a handle closed in order when this process ends in order.
pub(crate) fn keep(handle: &Bound<'_, PyAny>) -> PyResult<()> {
    handle.py().import("foregather._ends")?.getattr("keep")?.call1((handle,)).map(drop)
}
