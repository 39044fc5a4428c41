//! The library for Python: the extension module of the package `foregather`, whose Python part is in
//! `python/`.
//!
//! - `queue.rs`: a queue. `writer.rs`, `reader`: its ends. `object.rs`: objects as messages.
//!   `reader/block.rs`, `view.rs`: a message where it lies, as a block and as a buffer.
//! - `barrier.rs`: a barrier of processes. `thread_barrier.rs`: one of threads.
//! - `handle.rs`: a handle until it is closed. `wait.rs`: waits without the interpreter's lock, which Ctrl-C
//!   ends. `argument.rs`: arguments, checked. `label.rs`, `error.rs`: errors as exceptions.
//!
//! An exception may come between any two instructions of Python's code: of a signal's handler, or Ctrl-C. So
//! what must happen as a whole is one call of this module, which asks for signals only where it can be
//! interrupted.
mod argument;
mod barrier;
mod error;
mod handle;
mod label;
mod object;
mod queue;
mod reader;
mod thread_barrier;
mod view;
mod wait;
mod writer;

use pyo3::prelude::*;

/// What `foregather` is made of. Use the package.
#[pymodule(gil_used = false)]
mod _foregather {
    use super::PyModule;
    use super::{Bound, PyModuleMethods, PyResult};

    #[pymodule_export]
    use super::barrier::{Barrier, BarrierMembers, Member};
    #[pymodule_export]
    use super::queue::{PyQueue, QueueEnds};
    #[pymodule_export]
    use super::reader::MessageBlock;
    #[pymodule_export]
    use super::reader::PyReader;
    #[pymodule_export]
    use super::view::MessageBytes;
    #[pymodule_export]
    use super::writer::PyWriter;

    /// Adds the version, and a class whose name another one has here.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::object::init(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("ThreadBarrier", module.py().get_type::<super::thread_barrier::ResettableBarrier>())
    }
}
