//! What OpenMP programs ask of their runtime: regions, loops, locks and the questions about them, over the
//! teams, barriers and waits of this project. It has no symbols: `faces/openmp` gives it the names that
//! compilers call.
//!
//! - [`parallel`]: a region. Each program thread has threads of its own for it (`pool.rs`), which keep their
//!   numbers from region to region; `team_state.rs` is what the members of one size share.
//! - [`worksharing`]: loops, sections, parts in order, singles, barriers, cancellation; [`IterationSpace`]:
//!   the iterations of a loop, by number. The members' common progress is a ring of slots (races in
//!   `README.md`).
//! - [`doacross`]: loops whose iterations wait for earlier ones.
//! - [`places`]: sets of processors, and which member is bound to which; [`affinity_format`]: how that is
//!   shown. [`teams`]: leagues of teams.
//! - [`tasking`]: `core/task`'s tasks on threads, which members do where they wait.
//! - [`lock`]: locks in the program's memory. [`allocator`], [`allocators`]: what the program's own demand.
//! - [`task`], [`icvs`]: where the calling thread is, and what its constructs go by. [`settings()`]: what
//!   the environment says. [`statistics()`]: what the regions did.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

#[cfg(not(loom))]
pub mod affinity_format;
#[cfg(not(loom))]
pub mod allocator;
#[cfg(not(loom))]
pub mod allocators;
#[cfg(not(loom))]
mod binding;
#[cfg(not(loom))]
mod contention;
#[cfg(not(loom))]
mod device;
#[cfg(not(loom))]
mod display;
#[cfg(not(loom))]
pub mod doacross;
#[cfg(not(loom))]
mod frames;
#[cfg(not(loom))]
mod here;
mod icv;
mod iteration_space;
#[cfg(not(loom))]
pub mod lock;
#[cfg(not(loom))]
mod own_waiter;
#[cfg(not(loom))]
pub mod places;
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
#[cfg(not(loom))]
mod team_state;
#[cfg(not(loom))]
pub mod teams;
#[cfg(not(loom))]
mod variables;
#[cfg(not(loom))]
mod weights;
#[cfg(not(loom))]
pub mod worksharing;

#[cfg(not(loom))]
pub use binding::place;
#[cfg(not(loom))]
pub use device::{DeviceSettings, Offload};
#[cfg(not(loom))]
pub use here::{ImplicitTask, RegionSpec, ancestor, change, icvs, partition, task};
pub use icv::{Icvs, League, MOST_LEVELS, ProcBind, Schedule, ScheduleKind};
pub use iteration_space::IterationSpace;
#[cfg(not(loom))]
pub use pool::{PoolProvider, close, members, open, parallel, pause};
#[cfg(not(loom))]
pub use settings::{DisplayEnv, Settings, settings};
#[cfg(not(loom))]
pub use statistics::{Statistics, statistics};
#[cfg(not(loom))]
pub use teams::outside;
