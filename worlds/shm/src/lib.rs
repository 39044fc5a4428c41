//! The world of processes on one host: they share a memory segment, and wait on its words or on the kernel's
//! semaphores.
//!
//! - [`Segment`]: lines of words in memory that several processes map, enough for a group or a team.
//! - [`Process`]: a process's processor, a [`Cpu`](foregather_machine::Cpu) whose waits fail when a watched
//!   peer dies.
//! - [`Seats`]: slots for processes that join one after another, and are watched from then on.
//! - [`MessageView`]: a message of a broadcast, read in place in a segment.
//! - [`ShmFabric`]: memory for the frames of a job's [`Lane`]s, a [`Fabric`](foregather_machine::Fabric) for
//!   processes and for threads.
//! - [`kernel`]: the kernel's blocking primitives: POSIX and System V semaphores, eventfd, pipe, mutex and
//!   condition variable.
//!
//! ```
//! use foregather_machine::{Error, Words};
//! use foregather_shm::{Segment, Watch};
//!
//! let segment = Segment::new(2, 0)?;
//! let cpu = Watch::none().process();
//! cpu.store(segment.word(1), 7);
//!
//! // Another process gets the descriptor by inheritance and attaches to it.
//! let same = Segment::inherited(std::os::fd::AsRawFd::as_raw_fd(&segment.fd()))?;
//! assert_eq!(cpu.load(same.word(1)), 7);
//! # Ok::<(), Error>(())
//! ```
// The loom test compiles the sources that it tests by itself.
#![cfg(not(loom))]

mod fabric;
pub mod kernel;
mod mapping;
mod message;
mod object;
mod os;
mod process;
mod seats;
mod segment;
mod watch;

pub use fabric::{Lane, SegmentSpec, ShmFabric};
pub use message::MessageView;
pub use process::{Process, Watch};
pub use seats::{SeatState, Seats};
pub use segment::{Segment, SegmentKind};
