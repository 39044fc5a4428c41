//! Tasks, in any world with words: what they wait for, where they wait to be done, and when a member that
//! waits does one. The caller does their bodies (`tasking.rs` on threads). States and named races: `README.md`.
mod depend;
mod group;
mod ready;
mod task;

pub use depend::{Access, Depend, Dependences};
pub use group::{GroupOf, Reductions, TaskGroup};
pub use ready::{May, TaskTeam};
pub use task::{Task, Traits};
