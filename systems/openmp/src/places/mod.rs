//! Places: sets of processors to which the threads of regions are bound, and which member goes to which.
mod asked;
mod bind;
mod list;

pub use asked::PlaceSettings;
pub use bind::Partition;
pub(crate) use bind::{Assigned, inherited};
pub use list::{listed, ranges};
