//! Whether an error is fair: it must name a rank that is really at fault.
use foregather_machine::{Cause, Error, Rank};

/// The rank that an error blames, if any.
pub(crate) fn blamed(error: &Error) -> Option<Rank> {
    match *error.cause() {
        Cause::Poisoned { by } => by,
        Cause::PeerLost { rank, .. } | Cause::Elsewhere { rank, .. } => Some(rank),
        Cause::Closed { peer } => peer,
        Cause::Mismatch { from, .. } | Cause::ProtocolViolation { from, .. } => Some(from),
        _ => None,
    }
}

/// # Errors
/// If it names none of the ranks at fault.
pub(crate) fn fair(rank: Rank, error: &Error, at_fault: &[Rank]) -> Result<(), String> {
    match blamed(error) {
        Some(named) if at_fault.contains(&named) => Ok(()),
        _ => Err(format!("rank {rank} got \"{error}\", and at fault are the ranks {at_fault:?}")),
    }
}
