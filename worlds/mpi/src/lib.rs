//! The site's own MPI as a [`Fabric`](foregather_machine::Fabric): found at run time, so that nothing here is
//! linked with it.
//!
//! - [`found`]: which MPI libraries are here? [`abi`]: their binary interfaces, a table each.
//! - [`Mpi`]: this process as a rank of its MPI, joined once; [`within`]: a limit for calls that wait for all
//!   ranks.
//! - [`Lane`]: a lane of this rank. [`MpiProcessor`]: its owner's processor, which naps. [`MpiProgress`]:
//!   makes progress for the lanes meanwhile. [`Bells`]: memory by which ranks of one host wake each other.
//!
//! What it assumes of MPI, and which guarantees are lost with it: `README.md`.

pub mod abi;
mod bells;
mod buffers;
mod cpu;
mod end;
mod functions;
mod inner;
mod lane;
mod lendings;
mod library;
mod losses;
mod process;
mod reading;
mod wire;

pub use bells::Bells;
pub use cpu::{MpiProcessor, Napping};
pub use end::within;
pub use lane::{Lane, MpiProgress};
pub use library::{MpiInfo, found};
pub use process::Mpi;
