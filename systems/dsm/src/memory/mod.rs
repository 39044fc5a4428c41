//! The shared-memory API for programs: plain loads and stores on the views of a
//! [`Space`](crate::views::Space), over the lanes of a [`Fabric`](foregather_machine::Fabric).
//!
//! - [`run`]: starts a rank's server and threads. [`Thread`]: the operations of a thread other than loads and
//!   stores.
//! - [`SharedAllocator`]: allocates before the threads start, with the same calls on all ranks. [`Array`]:
//!   elements of plain data.
//! - [`Call`], [`share`]: collective calls, and the division of work.
//! - [`local`]: ranks that are threads of this process, in its own memory.
//! - `heap`: allocates memory; `allocate`: allocation by running threads.
//! - `reduction`: reductions. `rank_threads`: starts and ends the threads of a rank. `first_failure`: why a
//!   rank failed.
//! - `mapped`: the memory of minipages. `fault_handler`: turns a fault into a request. `observer`: records
//!   journals.

mod allocate;
mod array;
mod call;
mod fault_handler;
mod first_failure;
mod heap;
pub mod local;
mod mapped;
mod observer;
mod rank_threads;
mod reduction;
mod run;
mod settings;
mod shared_allocator;
mod thread;

pub use array::{Array, Plain};
pub use call::{Call, share};
pub use heap::Site;
pub use rank_threads::Ended;
pub use run::{Served, lanes, run};
pub use settings::Settings;
pub use shared_allocator::SharedAllocator;
pub use thread::{Advice, Thread};
