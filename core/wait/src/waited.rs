//! How one wait ended.
use foregather_machine::Nanos;

/// The phase in which the event was found, ordered by cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The event had already occurred.
    FirstLook,
    /// While spinning. A spinner that was preempted when the event occurred also counts here, because it
    /// never blocked (Tsafrir & Feitelson 2002 §2.3).
    Spun,
    /// After yielding.
    Yielded,
    /// After blocking, or just before it.
    Parked,
}

/// The outcome of one wait, or of the several waits of one episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// The most expensive phase reached.
    pub outcome: Outcome,
    /// Whether the wait began by spinning. Only such waits count in the successful-spin rate.
    pub began_spinning: bool,
    /// How long it took; zero if it ended within the brief spin and was not timed.
    pub waited: Nanos,
    /// CPU time spent spinning, without preemptions.
    pub spun: Nanos,
    /// Number of yields.
    pub yields: u32,
}

impl Waited {
    /// Returns the outcome of a wait whose event had already occurred.
    #[inline]
    pub const fn first_look(began_spinning: bool) -> Self {
        Self { outcome: Outcome::FirstLook, began_spinning, waited: Nanos::ZERO, spun: Nanos::ZERO, yields: 0 }
    }

    /// Returns the combined outcome of this wait and of `next`, which followed it in the same episode.
    #[inline]
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        Self {
            outcome: self.outcome.max(next.outcome),
            began_spinning: self.began_spinning | next.began_spinning,
            waited: self.waited + next.waited,
            spun: self.spun + next.spun,
            yields: self.yields.saturating_add(next.yields),
        }
    }
}
