//! What OpenMP programs ask of their runtime: regions, loops, locks and the questions about them, over the
//! teams, barriers and waits of this project. It has no symbols: `faces/openmp` gives it the names that
//! compilers call.
//!
//! - [`parallel`]: a region. Each program thread has threads of its own for it (`pool.rs`), which keep their
//!   numbers from region to region; `crew.rs` is what the members of one size share.
//! - [`worksharing`]: loops, sections, parts in order, singles, barriers, cancellation; [`Trip`]: the
//!   iterations of a loop, by number. The members' common progress is a ring of slots (races in `README.md`).
//! - [`doacross`]: loops whose iterations wait for earlier ones.
//! - [`tasking`]: `core/task`'s tasks on threads, which members do where they wait.
//! - [`lock`]: locks in the program's memory.
//! - [`task`], [`icvs`]: where the calling thread is, and what its constructs go by. [`settings()`]: what
//!   the environment says. [`statistics()`]: what the regions did.
#![forbid(unsafe_code)]

#[cfg(not(loom))]
mod crew;
#[cfg(not(loom))]
pub mod doacross;
#[cfg(not(loom))]
mod here;
mod icv;
#[cfg(not(loom))]
pub mod lock;
#[cfg(not(loom))]
mod pool;
mod primitive;
pub mod ring;
#[cfg(not(loom))]
mod settings;
#[cfg(not(loom))]
mod statistics;
#[cfg(not(loom))]
pub mod tasking;
mod trip;
#[cfg(not(loom))]
pub mod worksharing;

#[cfg(not(loom))]
pub use here::{ImplicitTask, ancestor, change, icvs, task};
pub use icv::{Icvs, Kind, Schedule};
#[cfg(not(loom))]
pub use pool::{Opening, close, members, open, parallel, pause};
#[cfg(not(loom))]
pub use settings::{Settings, settings};
#[cfg(not(loom))]
pub use statistics::{Statistics, statistics};
pub use trip::Trip;
