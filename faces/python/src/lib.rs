//! The library for Python: the extension module of the package `foregather`, whose Python part is in
//! `python/`.
//!
//! - `queue.rs`: a broadcast and its writing end. `reader.rs`: a reading end. `view.rs`: a message where it
//!   lies, as a buffer.
//! - `barrier.rs`: a barrier of processes.
//! - `handle.rs`: a handle until it is closed. `wait.rs`: waits without the interpreter's lock, which Ctrl-C
//!   ends. `error.rs`: errors as exceptions.
mod barrier;
mod error;
mod handle;
mod queue;
mod reader;
mod view;
mod wait;

use pyo3::prelude::*;

/// What `foregather` is made of. Use the package.
#[pymodule(gil_used = false)]
mod _foregather {
    #[pymodule_export]
    use super::barrier::{Barrier, Member};
    #[pymodule_export]
    use super::queue::{PyQueue, PyWriter};
    #[pymodule_export]
    use super::reader::PyReader;
    #[pymodule_export]
    use super::view::MessageBytes;
}
