//! Ranks that are threads of this process, and share its memory as it is: no views, no messages.
//!
//! - [`ElementCells`]: elements. [`InCells`]: the kinds of values that they can be.
//! - [`RankMeeting`], [`RankPlace`]: the calls that all ranks make, and locks.

mod cells;
mod meeting;

pub use cells::{ElementCells, InCells, no_element};
pub use meeting::{HeldLock, RankMeeting, RankPlace};
