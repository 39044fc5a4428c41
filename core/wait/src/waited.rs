//! How one wait ended.
use foregather_machine::Nanos;

/// In which phase the event was found. Ordered by what the wait cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It had come already.
    FirstLook,
    /// While spinning. A spinner that was preempted when the event came counts here too: it never blocked
    /// (Tsafrir & Feitelson 2002 §2.3).
    Spun,
    /// After offering the processor.
    Yielded,
    /// After giving the processor away, or on the point of doing so.
    Parked,
}

/// How one wait, or the several waits of one episode, went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    /// The dearest phase reached.
    pub outcome: Outcome,
    /// Did it begin by spinning? Only such waits count in the successful-spin rate.
    pub began_spinning: bool,
    /// How long it took; zero if it ended within the brief spin and was not to be timed.
    pub waited: Nanos,
    /// Its own processor time spent spinning, preemptions excluded.
    pub spun: Nanos,
    /// How often it offered the processor.
    pub yields: u32,
}

impl Waited {
    /// There was nothing to wait for.
    #[inline]
    pub const fn first_look(began_spinning: bool) -> Self {
        Self { outcome: Outcome::FirstLook, began_spinning, waited: Nanos::ZERO, spun: Nanos::ZERO, yields: 0 }
    }

    /// This wait and then `next`, within one episode.
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
