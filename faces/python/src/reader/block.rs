//! A context manager that reads a message in place.
use super::{IN_A_BLOCK, PyReader, exports};
use crate::error::refused;
use core::time::Duration;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The context manager of [`PyReader`]'s `read`. Entering and leaving it are a single call each, so no
/// exception of a signal handler can interrupt them. Dropping it also ends the block.
#[pyclass(frozen, name = "MessageBlock", module = "foregather._foregather")]
pub(crate) struct MessageBlock {
    reader: Py<PyReader>,
    limit: Option<Duration>,
    shown: Mutex<Option<ViewedMessage>>,
}

/// A message that is exposed to Python.
struct ViewedMessage {
    owner: Py<PyAny>,
    view: Py<PyMemoryView>,
}

#[pymethods]
impl MessageBlock {
    fn __enter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMemoryView>> {
        let reader = self.reader.get();
        let (owner, _) = reader.show(py, self.limit, IN_A_BLOCK)?;
        let view = match PyMemoryView::from(&owner) {
            Ok(view) => view,
            Err(error) => return reader.end_view(py, false).and(Err(error)),
        };
        *self.shown() = Some(ViewedMessage { owner: owner.unbind(), view: view.clone().unbind() });
        Ok(view)
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let shown = self.shown().take();
        let shown =
            shown.ok_or_else(|| refused(py, "this block has ended already: call `read` once for each message".to_owned()))?;
        self.end(py, &shown, kind.is_none())
    }
}

impl MessageBlock {
    pub(crate) fn new(reader: Py<PyReader>, limit: Option<Duration>) -> Self {
        Self { reader, limit, shown: Mutex::new(None) }
    }

    fn shown(&self) -> MutexGuard<'_, Option<ViewedMessage>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, py: Python<'_>, shown: &ViewedMessage, is_read: bool) -> PyResult<()> {
        // `exports` counts the objects that still refer to the message.
        let _ = shown.view.bind(py).call_method0("release");
        let is_kept = exports(shown.owner.bind(py)) > 0;
        self.reader.get().end_view(py, is_read && !is_kept)?;
        if is_read && is_kept {
            let sentence =
                "an object still shows the message that the block has read: copy it, or delete it before the block ends";
            return Err(PyBufferError::new_err(sentence));
        }
        Ok(())
    }
}

impl Drop for MessageBlock {
    fn drop(&mut self) {
        if let Some(shown) = self.shown().take() {
            let _ = Python::try_attach(|py| {
                // The block may be dropped while an exception is being raised.
                let raised = PyErr::take(py);
                let ended = self.end(py, &shown, false);
                if let Some(raised) = raised {
                    raised.restore(py);
                }
                ended
            });
        }
    }
}
