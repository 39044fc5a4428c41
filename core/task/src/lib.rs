//! Tasks, in any world with words: what they wait for, where they wait to be done, and when a member that
//! waits does one (OpenMP 5.2 §12). The caller does their bodies.
//!
//! - [`TeamTask`]: whose child it is, what it comes after, and what comes after it.
//! - [`Dependences`]: the order of the children of a task by the addresses that they use.
//! - [`TaskGroup`]: tasks that are waited for together, and the values that they reduce.
//! - [`TaskTeam`]: the tasks of a team's region. A member that waits, by [`TaskTeam::wait`] or at a barrier
//!   by [`TaskTeam::meet`], does tasks meanwhile.
//!
//! States and named races: `README.md`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![allow(async_fn_in_trait)]

mod depend;
mod group;
mod ready;
mod task;

pub use depend::{Depend, DependenceType, Dependences};
pub use group::{GroupOf, Reductions, TaskGroup};
pub use ready::{TaskScope, TaskTeam};
pub use task::{TeamTask, Traits, WAKE_WEIGHT};
