//! A rank's handle within a Python object, until it is closed. Any thread may make calls, one at a time.
use crate::error::refused;
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// A handle that one call at a time may use.
pub(crate) struct OwnHandle<H> {
    handle: Mutex<Option<H>>,
    what: &'static str,
    process: u32,
}

impl<H> OwnHandle<H> {
    /// Returns a closed handle; [`OwnHandle::open_with`] opens it.
    pub(crate) fn closed(what: &'static str) -> Self {
        Self { handle: Mutex::new(None), what, process: std::process::id() }
    }

    /// Opens the handle.
    pub(crate) fn open_with(&self, handle: H) {
        *self.lock() = Some(handle);
    }

    fn lock(&self) -> MutexGuard<'_, Option<H>> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call. Never waits for another call, because in a child that was forked during a call, that
    /// call never ends.
    ///
    /// # Errors
    /// An exception if another thread is in a call with the handle.
    pub(crate) fn call(&self, py: Python<'_>) -> PyResult<HandleCall<'_, H>> {
        let handle = match self.handle.try_lock() {
            Ok(handle) => handle,
            Err(TryLockError::Poisoned(handle)) => handle.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(self.busy(py)),
        };
        Ok(HandleCall { handle, what: self.what })
    }

    /// Begins a call right after another one. It must run no Python code and must not wait.
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

/// The call that holds the handle.
pub(crate) struct HandleCall<'a, H> {
    handle: MutexGuard<'a, Option<H>>,
    what: &'static str,
}

impl<H> HandleCall<'_, H> {
    /// Returns the handle.
    ///
    /// # Errors
    /// An exception if the handle is closed.
    pub(crate) fn open(&mut self, py: Python<'_>) -> PyResult<&mut H> {
        self.handle.as_mut().ok_or_else(|| refused(py, format!("this {} is closed", self.what)))
    }

    /// Returns the handle, unless it is closed.
    pub(crate) fn if_open(&mut self) -> Option<&mut H> {
        self.handle.as_mut()
    }

    /// Takes the handle out, which closes it.
    pub(crate) fn take(mut self) -> Option<H> {
        self.handle.take()
    }
}

/// Registers a handle to be closed when this process exits normally.
pub(crate) fn keep(handle: &Bound<'_, PyAny>) -> PyResult<()> {
    handle.py().import("foregather._ends")?.getattr("keep")?.call1((handle,)).map(drop)
}
