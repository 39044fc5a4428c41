//! Two-phase waiting with a bound of 0 or one context switch, whichever would have cost less in recent waits.
use super::{Phases, history::History};
use crate::{Interest, Outcome, Progress, Step, Strategy, Waited};
use foregather_machine::Nanos;

/// The number of waits that are remembered.
const WAITS: usize = 3;

/// [`Policy::Recent`](crate::Policy::Recent).
pub(crate) struct Recent {
    switch: Nanos,
    waits: History<WAITS>,
    phases: Phases,
}

impl Recent {
    pub(crate) fn new(switch: Nanos) -> Self {
        Self { switch, waits: History::new(), phases: Phases::spin(switch) }
    }

    /// Returns the time until the event occurred. A thread that parked was woken one context switch after the
    /// event. A thread that spun has counted its own CPU time, without the brief spin, which is too short to
    /// matter.
    fn length(&self, waited: Waited) -> Nanos {
        let length = match waited.outcome {
            Outcome::Parked => waited.waited - self.switch,
            Outcome::Yielded => waited.waited,
            Outcome::FirstLook | Outcome::Spun => waited.spun,
        };
        length.max(Nanos(1))
    }

    /// Returns the bound, 0 or one switch, that would have cost less; if both cost the same, the longer one.
    fn best_bound(&self) -> Nanos {
        let cost = |bound: Nanos| {
            let costs = self.waits.times().map(|wait| if wait <= bound { wait } else { bound + self.switch });
            costs.fold(Nanos::ZERO, |sum, cost| sum + cost)
        };
        if cost(self.switch) <= cost(Nanos::ZERO) { self.switch } else { Nanos::ZERO }
    }
}

impl Strategy for Recent {
    fn spins(&self) -> bool {
        self.phases.spins()
    }
    fn interest(&self) -> Interest {
        Interest { waits: true, ..Interest::default() }
    }
    fn next(&mut self, wait: &Progress<'_>) -> Step {
        self.phases.next(wait)
    }
    fn learn(&mut self, waited: Waited) {
        // A thread that found the event at once has not waited, so every bound would have cost the same.
        if waited.outcome > Outcome::FirstLook {
            self.waits.push(self.length(waited));
            self.phases = Phases::spin(self.best_bound());
        }
    }
}
