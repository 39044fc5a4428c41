//! Objects as messages: the number of buffers, their lengths and that of the pickle, the pickle, the buffers;
//! all of them at multiples of a cache line.
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
/// Out-of-band buffers came with this one.
const PROTOCOL: u32 = 5;

/// An object that is ready to be sent.
pub(crate) struct Pickled {
    head: Vec<u8>,
    /// The pickle, and the buffers.
    pieces: Vec<PyUntypedBuffer>,
}

impl Pickled {
    /// Pickles an object; the memory of its arrays is not copied.
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

    /// The parts of its message.
    pub(crate) fn parts(&self) -> Vec<&[u8]> {
        let pieces = [&self.head[..]].into_iter().chain(self.pieces.iter().map(bytes_of));
        pieces.flat_map(|piece| [piece, &ZEROS[..piece.len().next_multiple_of(ALIGN) - piece.len()]]).collect()
    }
}

/// The object of a message, whose bytes `owner` shows. Afterwards nothing of the object shows them.
///
/// # Errors
/// The exception of the unpickler, or that of a message which was not made from an object.
pub(crate) fn object<'py>(owner: &Bound<'py, PyAny>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let py = owner.py();
    let pieces = pieces(bytes).ok_or_else(|| PyValueError::new_err("put did not send it: get it by recv"))?;
    let (&(at, length), buffers) = pieces.split_first().expect("the pickle is one");
    let buffers = buffers.iter().map(|&(at, length)| PyByteArray::new(py, &bytes[at..at + length]));
    let options = PyDict::new(py);
    options.set_item("buffers", PyList::new(py, buffers.collect::<Vec<_>>())?)?;
    let whole = PyMemoryView::from(owner)?;
    let pickle = part(&whole, at, at + length)?;
    let loaded = loads(py).call((&pickle,), Some(&options));
    // Whatever still shows them is counted by the caller.
    let _ = pickle.call_method0("release").and_then(|_| whole.call_method0("release"));
    loaded
}

/// A view of those bytes of a view. `PySlice::new` of pyo3 would leak the two numbers at every call.
fn part<'py>(view: &Bound<'py, PyMemoryView>, from: usize, to: usize) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the call takes a valid object and returns a new reference, or null with an exception set.
    unsafe {
        let part = ffi::PySequence_GetSlice(view.as_ptr(), from as isize, to as isize);
        Bound::from_owned_ptr_or_err(view.py(), part)
    }
}

/// Where the pickle and the buffers are; `None` if the bytes are no object.
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

/// Finds the pickler and the unpickler when the module is loaded: a fork during a later search would leave
/// the child with one that never ends.
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
