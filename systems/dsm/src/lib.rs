//! Memory that the ranks of a job share although each has its own: plain loads and stores, sequentially consistent, with the
//! allocation as the unit of sharing (Itzkovitz & Schuster 1999, Millipage).
//!
//! - [`memory`]: what programs use: arrays in shared memory, and threads with locks and barriers.
//! - [`journal`]: what threads did, as they write it down if they are told to.
//! - [`node`]: a rank's part: its server, and its threads that fault.
//! - [`replay`]: what they wrote down, done once more in another world.
//! - [`views`]: one memory object mapped several times, so that minipages of one page are protected each for itself.
//! - [`protocol`]: who holds a copy of which minipage, and who may write: a state machine that knows of no machine.
#![deny(unsafe_code)]

pub mod journal;
pub mod memory;
pub mod node;
pub mod protocol;
pub mod replay;
pub mod views;

use serde::{Deserialize, Serialize};

/// The number of a minipage: the unit of sharing, one allocation or a piece of a chunked one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Minipage(pub u32);

/// What a rank may do with its copy of a minipage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Access {
    /// Nothing: there is no copy, or an outdated one.
    #[default]
    None,
    /// Read: others may have copies, too.
    Read,
    /// Read and write: nobody else has a copy.
    Write,
}
