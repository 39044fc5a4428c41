//! Two-phase waiting with a bound drawn at random for each wait.
use super::{Phases, draw::Draw};
use crate::{Interest, Progress, Step, Strategy, Waited};
use foregather_machine::{Nanos, Rank};

/// [`Policy::Randomised`](crate::Policy::Randomised).
pub(crate) struct Randomised {
    switch: Nanos,
    draw: Draw,
    phases: Phases,
}

impl Randomised {
    pub(crate) fn new(switch: Nanos, rank: Rank) -> Self {
        let mut draw = Draw::new(rank);
        Self { switch, phases: Phases::spin(draw.bound(switch)), draw }
    }

    /// Returns the bound of the next wait.
    pub(crate) fn bound(&self) -> Nanos {
        self.phases.spin
    }
}

impl Strategy for Randomised {
    fn spins(&self) -> bool {
        self.phases.spins()
    }
    fn interest(&self) -> Interest {
        Interest { waits: true, ..Interest::default() }
    }
    fn next(&mut self, wait: &Progress<'_>) -> Step {
        self.phases.next(wait)
    }
    fn learn(&mut self, _: Waited) {
        self.phases = Phases::spin(self.draw.bound(self.switch));
    }
}
