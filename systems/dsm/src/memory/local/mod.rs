//! Ranks that are threads of this process and share its memory directly, without views or messages.
//!
//! - [`ElementCells`]: arrays. [`InCells`]: the types of their elements.
//! - [`RankMeeting`], [`RankPlace`]: collective calls, and locks.

mod cells;
mod meeting;

pub use cells::{ElementCells, InCells, no_element};
pub use meeting::{HeldLock, RankMeeting, RankPlace};
