//! Shared memory as programs have it: plain loads and stores on the views of a [`Space`](crate::views::Space), lanes of a
//! [`Fabric`](foregather_machine::Fabric) behind them.
//!
//! - [`run`]: a rank's server and threads. [`Thread`]: what one of them can do besides loading and storing.
//! - [`SharedAllocator`]: what is shared, said before the threads begin, by all ranks alike. [`Array`]: elements of plain data.
//! - [`Call`], [`share`]: what all ranks do alike, and who does which part.
//! - `heap`: what hands them out; `allocate`: threads allocate and free.
//! - `reduction`: reductions. `rank_threads`: the threads of a rank from beginning to end. `first_failure`: why one ended badly.
//! - `mapped`: the bytes of minipages behind the views. `fault_handler`: a fault becomes a request.
//!   `observer`: threads write journals.

mod allocate;
mod array;
mod call;
mod fault_handler;
mod first_failure;
mod heap;
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
pub use run::{Ended, Served, lanes, run};
pub use settings::Settings;
pub use shared_allocator::SharedAllocator;
pub use thread::{Advice, Thread};
