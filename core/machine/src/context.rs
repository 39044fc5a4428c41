//! Why somebody waits: the line a watchdog prints, and what decides whether the wait may go on.
use crate::{Nanos, Rank};

/// Who waits for what, since when, and until when at most.
#[derive(Clone, Copy, Debug)]
pub struct WaitContext {
    /// The primitive, in one word: `central`, `butterfly`, `ping-pong` ...
    pub what: &'static str,
    /// The waiting member.
    pub rank: Rank,
    /// Whom it waits for, if one member alone.
    pub peer: Option<Rank>,
    /// Since when; the policy notes it when it begins to spend time.
    pub since: Nanos,
    /// When the wait must end with [`crate::Cause::TimedOut`]; [`Nanos::MAX`] for never.
    pub deadline: Nanos,
}

impl WaitContext {
    /// A wait of `rank` in `what`, for nobody in particular, without a bound.
    pub const fn new(what: &'static str, rank: Rank) -> Self {
        Self { what, rank, peer: None, since: Nanos::ZERO, deadline: Nanos::MAX }
    }

    /// The same, for `peer` alone.
    #[must_use]
    pub const fn of(self, peer: Rank) -> Self {
        Self { peer: Some(peer), ..self }
    }

    /// The same, begun at `since`.
    #[must_use]
    pub const fn since(self, since: Nanos) -> Self {
        Self { since, ..self }
    }

    /// The same, ending at `deadline`.
    #[must_use]
    pub const fn until(self, deadline: Nanos) -> Self {
        Self { deadline, ..self }
    }
}
