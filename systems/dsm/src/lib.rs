//! Memory that ranks of a job share although each has its own: plain loads and stores, sequentially
//! consistent, with the allocation as the unit of sharing (Itzkovitz & Schuster 1999, Millipage).
//!
//! - [`memory`]: the API for programs: arrays in shared memory, and threads with locks and barriers.
//! - [`journal`]: the actions of threads, recorded on request.
//! - [`node`]: a rank's part: its server, and its threads that fault.
//! - [`replay`]: replays a recorded run in another world.
//! - [`views`]: one memory object mapped several times, so that each minipage of a page has its own
//!   protection.
//! - [`protocol`]: which ranks hold a copy of a minipage, and which may write: a pure state machine.
#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod journal;
pub mod memory;
pub mod node;
pub mod protocol;
pub mod replay;
#[allow(clippy::disallowed_methods, clippy::disallowed_types)] // A world.
pub mod views;

use serde::{Deserialize, Serialize};

/// The number of a minipage, the unit of sharing: one allocation, or a piece of a chunked one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Minipage(pub u32);

/// What a rank may do with its copy of a minipage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Access {
    /// No access: there is no copy, or an outdated one.
    #[default]
    None,
    /// Read: other ranks may have copies, too.
    Read,
    /// Read and write: no other rank has a copy.
    Write,
}
