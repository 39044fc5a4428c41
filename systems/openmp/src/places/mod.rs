//! Places: sets of processors to which the threads of regions are bound, and which member goes to which.
mod bind;
mod env;
mod list;

pub use bind::PlacePartition;
pub(crate) use bind::{Assigned, inherited};
pub use env::PlaceSettings;
pub use list::{listed, ranges};
