//! Objects as messages. A message consists of the number of buffers, the lengths of the pickle and of the
//! buffers, the pickle, and the buffers, each aligned to a cache line.
use crate::argument::{buffer, bytes_of};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyDict, PyList, PyMemoryView};

const ALIGN: usize = 64;
const ZEROS: [u8; ALIGN] = [0; ALIGN];
const WORD: usize = size_of::<u64>();
/// The first protocol with out-of-band buffers.
const PROTOCOL: u32 = 5;

/// A pickled object that is ready to be sent.
pub(crate) struct Pickled {
    head: Vec<u8>,
    /// The pickle, then its buffers.
    pieces: Vec<PyUntypedBuffer>,
}

impl Pickled {
    /// Pickles an object without copying the data of its arrays.
    ///
    /// # Errors
    /// The exception of the pickler.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let buffers = PyList::empty(py);
        let options = PyDict::new(py);
        options.set_item("protocol", PROTOCOL)?;
        options.set_item("buffer_callback", buffers.getattr("append")?)?;
        let pickle = dumps(py).call((object,), Some(&options))?;
        let raws = buffers.iter().map(|each| buffer("object", &each.call_method0("raw")?));
        let pieces = [buffer("object", &pickle)].into_iter().chain(raws).collect::<PyResult<Vec<_>>>()?;
        let lengths = pieces.iter().map(|piece| piece.len_bytes() as u64);
        let head = [pieces.len() as u64 - 1].into_iter().chain(lengths).flat_map(u64::to_le_bytes).collect();
        Ok(Self { head, pieces })
    }

    /// Returns the parts of the object's message.
    pub(crate) fn parts(&self) -> Vec<&[u8]> {
        let pieces = [&self.head[..]].into_iter().chain(self.pieces.iter().map(bytes_of));
        pieces.flat_map(|piece| [piece, &ZEROS[..piece.len().next_multiple_of(ALIGN) - piece.len()]]).collect()
    }
}

/// Unpickles the object of a message whose bytes `owner` exports. The object does not refer to these bytes.
///
/// # Errors
/// The exception of the unpickler, or a `ValueError` for a message that was not made from an object.
pub(crate) fn object<'py>(owner: &Bound<'py, PyAny>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let py = owner.py();
    let pieces = pieces(bytes).ok_or_else(|| PyValueError::new_err("put did not send it: receive it with recv"))?;
    let (&(at, length), buffers) = pieces.split_first().expect("the pickle is one");
    let buffers = buffers.iter().map(|&(at, length)| PyByteArray::new(py, &bytes[at..at + length]));
    let options = PyDict::new(py);
    options.set_item("buffers", PyList::new(py, buffers.collect::<Vec<_>>())?)?;
    let whole = PyMemoryView::from(owner)?;
    let pickle = part(&whole, at, at + length)?;
    let loaded = loads(py).call((&pickle,), Some(&options));
    // The caller counts the objects that still refer to the bytes.
    let _ = pickle.call_method0("release").and_then(|_| whole.call_method0("release"));
    loaded
}

/// Returns a slice of a view. pyo3's `PySlice::new` would leak the two numbers at every call.
fn part<'py>(view: &Bound<'py, PyMemoryView>, from: usize, to: usize) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the call takes a valid object and returns a new reference, or null with an exception set.
    unsafe {
        let part = ffi::PySequence_GetSlice(view.as_ptr(), from as isize, to as isize);
        Bound::from_owned_ptr_or_err(view.py(), part)
    }
}

/// Returns the offsets and lengths of the pickle and the buffers, or `None` if the bytes are malformed.
fn pieces(bytes: &[u8]) -> Option<Vec<(usize, usize)>> {
    let word = |at: usize| bytes.get(at * WORD..(at + 1) * WORD).map(|word| u64::from_le_bytes(word.try_into().expect("a word")));
    let count = usize::try_from(word(0)?).ok().filter(|&count| count < bytes.len() / WORD)?;
    let mut at = ((count + 2) * WORD).next_multiple_of(ALIGN);
    (1..count + 2)
        .map(|number| {
            let (begin, length) = (at, usize::try_from(word(number)?).ok()?);
            let end = begin.checked_add(length).filter(|&end| end <= bytes.len())?;
            at = end.next_multiple_of(ALIGN);
            Some((begin, length))
        })
        .collect()
}

static FUNCTIONS: PyOnceLock<[Py<PyAny>; 2]> = PyOnceLock::new();

/// Looks up the pickler and the unpickler when the module is loaded: if a process forked during a later
/// lookup, that lookup would never end in the child.
pub(crate) fn init(py: Python<'_>) -> PyResult<()> {
    let pickle = py.import("pickle")?;
    let found = [pickle.getattr("dumps")?.unbind(), pickle.getattr("loads")?.unbind()];
    let _ = FUNCTIONS.set(py, found);
    Ok(())
}

fn dumps(py: Python<'_>) -> &Bound<'_, PyAny> {
    FUNCTIONS.get(py).expect("the module is loaded")[0].bind(py)
}

fn loads(py: Python<'_>) -> &Bound<'_, PyAny> {
    FUNCTIONS.get(py).expect("the module is loaded")[1].bind(py)
}
