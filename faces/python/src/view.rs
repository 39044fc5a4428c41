//! A message in place, as a buffer: its memory is reused only after no object refers to it any more.
use core::ffi::c_int;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use foregather::Broadcast;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

/// The bytes of a message in the ring.
#[pyclass(frozen, name = "Bytes", module = "foregather._foregather")]
pub(crate) struct MessageBytes {
    bytes: NonNull<[u8]>,
    /// The number of buffers that refer to the bytes.
    shown: AtomicUsize,
    /// Keeps the memory mapped after the reader is closed.
    _memory: Broadcast,
}

// SAFETY: the bytes are shared memory that no thread writes while they are exported; the rest is atomic.
unsafe impl Send for MessageBytes {}
// SAFETY: several threads may read the bytes at once.
unsafe impl Sync for MessageBytes {}

impl MessageBytes {
    pub(crate) fn new(bytes: NonNull<[u8]>, memory: Broadcast) -> Self {
        Self { bytes, shown: AtomicUsize::new(0), _memory: memory }
    }

    /// Returns how many buffers refer to the bytes.
    pub(crate) fn exports(&self) -> usize {
        self.shown.load(Acquire)
    }
}

#[pymethods]
impl MessageBytes {
    /// # Safety
    /// `view` is a buffer that Python wants filled.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if flags & ffi::PyBUF_WRITABLE != 0 {
            return Err(PyBufferError::new_err("messages in the ring are read only"));
        }
        let bytes = slf.get().bytes;
        // SAFETY: `view` is valid by Python's buffer protocol; the bytes live as long as the segment, which
        // `slf` keeps mapped. The call takes a reference to `slf`, and returns -1 on failure.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), bytes.cast().as_ptr(), bytes.len() as isize, 1, flags) };
        if filled < 0 {
            return Err(PyErr::fetch(slf.py()));
        }
        slf.get().shown.fetch_add(1, AcqRel);
        Ok(())
    }

    /// # Safety
    /// The buffer was filled by `__getbuffer__`.
    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {
        self.shown.fetch_sub(1, AcqRel);
    }
}
