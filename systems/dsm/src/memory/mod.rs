//! Shared memory as programs use it: plain loads and stores on the views of a [`Space`](crate::views::Space),
//! with lanes of a [`Fabric`](foregather_machine::Fabric) behind them.
//!
//! - [`run`]: a rank's server and threads. [`Thread`]: what a thread can do besides loading and storing.
//! - [`SharedAllocator`]: allocates before the threads begin, by the same calls on all ranks. [`Array`]:
//!   elements of plain data.
//! - [`Call`], [`share`]: a call that all ranks make, and which thread does which part.
//! - [`local`]: ranks that are threads of this process, in its own memory.
//! - `heap`: hands memory out; `allocate`: threads allocate and free.
//! - `reduction`: reductions. `rank_threads`: the threads of a rank from beginning to end. `first_failure`:
//!   why a rank ended badly.
//! - `mapped`: the bytes of minipages behind the views. `fault_handler`: turns a fault into a request.
//!   `observer`: threads write journals.

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
