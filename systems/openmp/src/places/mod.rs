//! Places: sets of processors to which the threads of regions are bound, and which member goes to which.
#[cfg(not(loom))]
mod asked;
mod bind;
#[cfg(not(loom))]
mod list;

#[cfg(not(loom))]
pub use asked::PlaceSettings;
#[cfg(not(loom))]
pub(crate) use bind::{Assigned, inherited};
pub use bind::{Bind, Partition};
#[cfg(not(loom))]
pub use list::{listed, ranges};
