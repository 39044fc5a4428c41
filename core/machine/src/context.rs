//! Why a thread waits: the line a watchdog prints, and what decides whether the wait may go on.
use crate::{Nanos, Rank};

/// Which rank waits for what, since when, and until when at most.
#[derive(Clone, Copy, Debug)]
pub struct WaitContext {
    /// The primitive, in one word: `central`, `butterfly`, `ping-pong` ...
    pub what: &'static str,
    /// The waiting member.
    pub rank: Rank,
    /// The member it waits for, if it is one alone.
    pub peer: Option<Rank>,
    /// When the wait began; the policy sets it when it begins to spend time.
    pub since: Nanos,
    /// When the wait must end with [`crate::Cause::TimedOut`]; [`Nanos::MAX`] for never.
    pub deadline: Nanos,
}

impl WaitContext {
    /// A wait of `rank` in `what`, for no member in particular, without a bound.
    pub const fn new(what: &'static str, rank: Rank) -> Self {
        Self { what, rank, peer: None, since: Nanos::ZERO, deadline: Nanos::MAX }
    }

    /// This wait, for `peer` alone.
    #[must_use]
    pub const fn of(self, peer: Rank) -> Self {
        Self { peer: Some(peer), ..self }
    }

    /// This wait, begun at `since`.
    #[must_use]
    pub const fn since(self, since: Nanos) -> Self {
        Self { since, ..self }
    }

    /// This wait, ending at `deadline`.
    #[must_use]
    pub const fn until(self, deadline: Nanos) -> Self {
        Self { deadline, ..self }
    }
}
