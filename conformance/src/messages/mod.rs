//! Programs over [`Messenger`](foregather_message::Messenger)s that must end well in every world, in any
//! order of arrivals.

mod crossfire;
mod open;
mod pieces;
mod trouble;

pub use crossfire::crossfire;
pub use open::{given_up_open, owned, several_open};
pub use pieces::{PiecePlan, one_message};
pub use trouble::{abandoned, disagreeing, gone, impatient, later_is_read_at_the_end, left_in_order};

use foregather_machine::{Cause, Error};

/// A failed check, as a value: a panic would let the other ranks hang.
pub(crate) fn must(holds: bool, what: &'static str) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Cause::Setting { what, needs: "that this holds in every world" }.into()) }
}
