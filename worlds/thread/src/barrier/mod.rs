//! A barrier for any threads of a process, and one for members with ranks.
//!
//! - [`ThreadBarrier`]: any thread may wait, without a rank. Arrivals are tickets; a slot in the roster
//!   shows the others where a thread runs and keeps its name, and decides nothing. `slots` caches those of a
//!   thread, `state` knows which thread has which.
//! - [`NamedMember`]: a [`BarrierMember`](foregather_barrier::BarrierMember) on threads, which names the
//!   threads of the others in its errors. Made by [`members`].
//!
//! Both wait as the load demands, can be bounded and repeated, and fail in a child of a fork, which has none
//! of its parent's threads. States and races of the words: `core/barrier/README.md`.

mod member;
mod slots;
mod state;

pub use member::{NamedMember, members};
pub use state::ThreadBarrier;

use core::time::Duration;
use foregather_host::clock;
use foregather_machine::Nanos;

/// Now, and the end of a wait that begins now.
fn deadline_of(span: Duration) -> (Nanos, Nanos) {
    let now = clock::now();
    let span = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    (now, Nanos(now.0.saturating_add(span).min(u64::MAX - 1)))
}
