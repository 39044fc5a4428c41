//! What sized messages promise, seen through the protocols made of them.
//!
//! - `messages`: bytes arrive once, in order and unchanged; wrong calls are errors.
//! - `together`: exchanges and shifts. `system`: PROBEs are answered in every wait.

mod messages;
mod system;
mod together;

pub use messages::{Parcel, arrive_in_order};
pub use system::a_busy_node_answers;
pub use together::rows_shift;

use crate::Ports;
use foregather_machine::{Nanos, Rank, SplitMix};

/// A time that tells one arrival from the next.
pub const STEP: Nanos = Nanos::from_us(100);
/// Lengths around every limit.
const SIZES: [usize; 7] = [0, 1, 8, 100, 101, 4_096, 65_536];

/// Everything.
pub fn all(ports: &impl Ports) {
    messages::all(ports);
    together::all(ports);
    system::all(ports);
}

/// The contents of a message: no two are equal.
fn contents(from: Rank, number: u64, bytes: usize) -> Vec<u8> {
    let mut random = SplitMix(SplitMix::mix(u64::from(from) << 40 | number << 20 | bytes as u64));
    (0..bytes).map(|_| random.next() as u8).collect()
}
