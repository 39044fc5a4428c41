//! Spins if all awaited members are running, and blocks otherwise.
use super::Phases;
use crate::{Multiple, Progress, Step, Strategy};
use foregather_machine::{Nanos, Rank};

/// [`Policy::HolderRunning`](crate::Policy::HolderRunning).
pub(crate) struct HolderRunning {
    phases: Phases,
    now: Phases,
}

impl HolderRunning {
    pub(crate) fn new(switch: Nanos) -> Self {
        let phases = Phases::spin(Multiple::Percent(200).times(switch));
        Self { phases, now: phases }
    }
}

impl Strategy for HolderRunning {
    fn spins(&self) -> bool {
        self.phases.spins()
    }

    fn begin(&mut self, wait: &Progress<'_>) -> bool {
        // The first member that is not running, or whose state is unknown, decides.
        let mut answer = Some(true);
        wait.around.find(&mut |rank: Rank| {
            answer = wait.around.is_running(rank);
            answer != Some(true)
        });
        self.now = if answer == Some(false) { Phases::spin(Nanos::ZERO) } else { self.phases };
        self.now.spins()
    }

    fn next(&mut self, wait: &Progress<'_>) -> Step {
        self.now.next(wait)
    }
}
