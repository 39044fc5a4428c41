//! Two-phase waiting if the program synchronises often, and blocking if it does so rarely.
use super::{Phases, history::History};
use crate::{Interest, Multiple, Progress, Step, Strategy};
use foregather_machine::Nanos;

/// The number of gaps that are remembered, and the number that must have been seen before the policy decides.
const GAPS: usize = 8;
const ENOUGH_GAPS: usize = 3;
/// Gaps of at least this multiple of a context switch are coarse grain (Tsafrir & Feitelson 2002 §2.1).
const COARSE: Multiple = Multiple::Percent(500);

/// [`Policy::Grain`](crate::Policy::Grain).
pub(crate) struct Grain {
    switch: Nanos,
    quantum: Nanos,
    left: Option<Nanos>,
    gaps: History<GAPS>,
    phases: Phases,
}

impl Grain {
    pub(crate) fn new(switch: Nanos, quantum: Nanos) -> Self {
        let phases = Phases::spin(Multiple::TwoCsPlus.times(switch));
        Self { switch, quantum, left: None, gaps: History::new(), phases }
    }
}

impl Strategy for Grain {
    fn spins(&self) -> bool {
        self.phases.spins()
    }
    fn interest(&self) -> Interest {
        Interest { episodes: true, ..Interest::default() }
    }
    fn next(&mut self, wait: &Progress<'_>) -> Step {
        self.phases.next(wait)
    }
    fn arrive(&mut self, now: Nanos) {
        let Some(left) = self.left else { return };
        self.gaps.push(now - left);
        let fine = self.gaps.median_below(self.quantum).is_some_and(|gap| gap < COARSE.times(self.switch));
        let spins = fine || self.gaps.seen() < ENOUGH_GAPS;
        self.phases = Phases::spin(if spins { Multiple::TwoCsPlus.times(self.switch) } else { Nanos::ZERO });
    }
    fn leave(&mut self, now: Nanos) {
        self.left = Some(now);
    }
}
