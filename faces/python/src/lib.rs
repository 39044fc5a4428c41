//! The extension module of the Python package `foregather`, whose Python part is in `python/`.
//!
//! - `queue.rs`: a queue. `writer.rs`, `reader`: its ends. `object.rs`: objects as messages.
//!   `reader/block.rs`, `view.rs`: a message in place, as a block and as a buffer.
//! - `barrier.rs`: a barrier between processes. `thread_barrier.rs`: a barrier for threads.
//! - `handle.rs`: a handle until it is closed. `wait.rs`: waits without the GIL, which Ctrl-C interrupts.
//!   `argument.rs`: checked arguments. `label.rs`, `error.rs`: errors as exceptions.
//!
//! Ctrl-C or a signal handler may raise an exception between any two bytecode instructions. Every atomic
//! action is therefore a single call of this module, which checks for signals only where it can be
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

/// The implementation of `foregather`. Import that package instead.
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

    /// Adds the version, and a class whose Rust name is taken by another class in this module.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::object::init(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("ThreadBarrier", module.py().get_type::<super::thread_barrier::ResettableBarrier>())
    }
}
