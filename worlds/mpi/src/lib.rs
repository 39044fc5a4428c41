//! The site's own MPI as a [`Fabric`](foregather_machine::Fabric). The library is loaded at run time, so
//! nothing is linked with it.
//!
//! - [`found`]: lists the MPI libraries of this machine. [`abi`]: their binary interfaces, one table each.
//! - [`Mpi`]: this process as a rank of its MPI. [`within`]: a time limit for calls that wait for all ranks.
//! - [`Lane`]: a lane of this rank. [`MpiProcessor`]: the processor of a lane's owner, which naps while it
//!   waits. [`MpiProgress`]: makes progress for the lanes while their owners compute. [`Bells`]: shared
//!   memory with which the ranks of one host wake each other.
//!
//! `README.md` lists the assumptions about MPI, and the guarantees that are lost over MPI.

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
