//! Two-phase waiting with that bound, 0 or one context switch, which would have cost less lately.
use super::{Phases, history::History};
use crate::{Interest, Outcome, Progress, Step, Strategy, Waited};
use foregather_machine::Nanos;

/// How many waits it remembers.
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

    /// How long it took until the event came. A sleeper was woken one context switch later; a spinner has
    /// counted its own processor time, without the brief spin, which is too short to count.
    fn length(&self, waited: Waited) -> Nanos {
        let length = match waited.outcome {
            Outcome::Parked => waited.waited - self.switch,
            Outcome::Yielded => waited.waited,
            Outcome::FirstLook | Outcome::Spun => waited.spun,
        };
        length.max(Nanos(1))
    }

    /// The bound, 0 or one switch, that would have cost less; of equals the longer.
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
        // A thread that found the event at once has not waited: every bound would have cost the same.
        if waited.outcome > Outcome::FirstLook {
            self.waits.push(self.length(waited));
            self.phases = Phases::spin(self.best_bound());
        }
    }
}
