//! The library for Python: the extension module of the package `foregather`, whose Python part is in
//! `python/`.
//!
//! - `queue.rs`: a queue. `writer.rs`, `reader.rs`: its ends. `object.rs`: objects as messages. `reading.rs`,
//!   `view.rs`: a message where it lies, as a block and as a buffer.
//! - `barrier.rs`: a barrier of processes.
//! - `handle.rs`: a handle until it is closed. `wait.rs`: waits without the interpreter's lock, which Ctrl-C
//!   ends. `argument.rs`: arguments, checked. `label.rs`, `error.rs`: errors as exceptions.
//!
//! An exception may come between any two instructions of Python's code: of a signal's handler, or Ctrl-C. So what
//! must happen as a whole is one call of this module, which asks for signals only where it can be interrupted.
mod argument;
mod barrier;
mod error;
mod handle;
mod label;
mod object;
mod queue;
mod reader;
mod reading;
mod view;
mod wait;
mod writer;

use pyo3::prelude::*;

/// What `foregather` is made of. Use the package.
#[pymodule(gil_used = false)]
mod _foregather {
    #[pymodule_export]
    use super::barrier::{Barrier, BarrierMembers, Member};
    #[pymodule_export]
    use super::queue::{PyQueue, QueueEnds};
    #[pymodule_export]
    use super::reader::PyReader;
    #[pymodule_export]
    use super::reading::Reading;
    #[pymodule_export]
    use super::view::MessageBytes;
    #[pymodule_export]
    use super::writer::PyWriter;
}
