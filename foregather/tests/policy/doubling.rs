//! An external policy: spins twice as long after a wait that ended in the spin, half as long after one that
//! did not.
use foregather::engine::{Interest, Nanos, Outcome, Progress, Step, Strategy, Waited};

const LEAST: Nanos = Nanos::from_us(1);
const MOST: Nanos = Nanos::from_us(64);

pub(crate) struct Doubling(Nanos);

impl Doubling {
    pub(crate) fn new() -> Self {
        Self(LEAST)
    }
}

impl Strategy for Doubling {
    fn spins(&self) -> bool {
        true
    }
    fn interest(&self) -> Interest {
        Interest { waits: true, ..Interest::default() }
    }
    fn next(&mut self, wait: &Progress<'_>) -> Step {
        let left = self.0.min(wait.max_spin) - wait.waited.spun;
        if left > Nanos::ZERO { Step::Spin(left) } else { Step::Park }
    }
    fn learn(&mut self, waited: Waited) {
        self.0 = match waited.outcome {
            Outcome::Spun => (self.0 * 2).min(MOST),
            Outcome::Parked => self.0.percent(50).max(LEAST),
            _ => self.0,
        };
    }
}
