//! Clusters: a [`Fabric`](foregather_machine::Fabric) made of libfabric, which is found at run time.
//!
//! - [`found`]: whether libfabric is installed, and which networks it supports.
//! - [`Provider`]: one of them, by name: `tcp`, `shm`, `verbs`, `efa`.
//! - [`Opening`]: the lanes of a rank before they know the others: open them, hand [`Opening::address`] to
//!   the others, connect.
//! - [`Lane`]: one of them. [`Processor`]: its owner's processor, which sleeps on the network.
//!   [`ProgressThread`]: makes progress for it meanwhile.
//!
//! What it assumes of libfabric, how memory is read, and how its errors map: `README.md`.

mod abi;
mod asked;
mod cpu;
mod endpoint;
mod exposure;
mod inner;
mod lane;
mod library;
mod opening;
mod peers;
mod progress;
mod proof;
mod provider;
mod queued;
mod reading;
mod registration;
mod signals;
mod slots;
#[cfg(test)]
mod tests;
mod turn;
mod wire;

#[doc(hidden)]
pub use abi::LAYOUT;
pub use cpu::{Processor, Tended};
pub use lane::{Lane, ProgressThread};
pub use opening::Opening;
pub use provider::{Provider, ProviderInfo, found};
