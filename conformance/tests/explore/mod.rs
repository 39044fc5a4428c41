//! Random schedules, and schedules by priorities that change at a few points.
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner};

/// Without optimisation a wait is deeper than the stack that shuttle gives a thread.
const STACK_BYTES: usize = 4 << 20;

fn run(scheduler: impl Scheduler + 'static, schedule: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    Runner::new(scheduler, config).run(schedule);
}

pub(crate) fn check_random(schedule: impl Fn() + Send + Sync + 'static, schedules: usize) {
    run(RandomScheduler::new(schedules), schedule);
}

pub(crate) fn check_pct(schedule: impl Fn() + Send + Sync + 'static, schedules: usize, depth: usize) {
    run(PctScheduler::new(depth, schedules), schedule);
}
