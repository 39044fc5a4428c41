//! A rank's handle within an object of Python, until it is closed.
use crate::error::closed;
use pyo3::prelude::*;

/// A handle that is reached through `&mut` alone.
pub(crate) struct OwnHandle<H> {
    handle: Option<H>,
    what: &'static str,
}

// SAFETY: a shared reference to it gives no reference to the handle, so no two threads can reach that at
// once.
unsafe impl<H: Send> Sync for OwnHandle<H> {}

impl<H> OwnHandle<H> {
    pub(crate) fn new(what: &'static str, handle: H) -> Self {
        Self { handle: Some(handle), what }
    }

    /// The handle.
    ///
    /// # Errors
    /// The exception of one that is closed.
    pub(crate) fn open(&mut self, py: Python<'_>) -> PyResult<&mut H> {
        self.handle.as_mut().ok_or_else(|| closed(py, self.what))
    }

    /// Takes the handle out: it is closed from now on.
    pub(crate) fn take(&mut self) -> Option<H> {
        self.handle.take()
    }
}
