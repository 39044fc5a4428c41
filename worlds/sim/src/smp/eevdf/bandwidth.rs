//! A group's quota: one pool, filled up every period, from which processors take slices.
//!
//! As Linux's `cfs_bandwidth`, with two differences. Periods begin at multiples of their length, not when the
//! group first runs; and a processor stops at the end of its time, not at the next tick, so that no debts
//! arise.
use foregather_machine::{CpuId, Nanos};

/// Nanoseconds that a processor takes out of the pool at a time (`sched_cfs_bandwidth_slice`).
const SLICE: u64 = Nanos::from_ms(5).0;
/// Nanoseconds that a processor keeps when its last thread of the group goes to sleep.
const KEEP: u64 = Nanos::from_ms(1).0;
/// Time that processors gave back is handed out after this delay, and only if the next period begins even
/// later than that.
const SLACK: Nanos = Nanos::from_ms(5);
const SLACK_BEFORE_PERIOD: Nanos = Nanos::from_ms(7);

/// One group's quota, and what is left of it in the present period.
pub(super) struct Bandwidth {
    quota: u64,
    burst: u64,
    period: u64,
    /// Nanoseconds that no processor has taken yet.
    pool: u64,
    /// The period in which it was filled up, counted from 1; 0: never.
    filled: u64,
    /// The period in which a throttle was counted.
    counted: u64,
    /// When to hand out the time that processors gave back.
    slack: Nanos,
    locals: Vec<Local>,
}

/// One processor's share of the pool.
#[derive(Clone, Copy, Default)]
struct Local {
    /// Nanoseconds that it has left; below zero after a switch that cost more.
    left: i64,
    /// Threads of the group in the processor's queue.
    threads: u32,
    throttled: bool,
}

impl Bandwidth {
    pub(super) fn new(quota: Nanos, burst: Nanos, period: Nanos, cpus: usize) -> Self {
        Self {
            quota: quota.0,
            burst: burst.0,
            period: period.0,
            pool: 0,
            filled: 0,
            counted: 0,
            slack: Nanos::MAX,
            locals: vec![Local::default(); cpus],
        }
    }

    fn fill(&mut self, now: Nanos) {
        let period = now.0 / self.period + 1;
        // Time that was not used is saved up to the burst.
        let fresh = (period - self.filled).saturating_mul(self.quota);
        if fresh > 0 {
            self.pool = self.pool.saturating_add(fresh).min(self.quota + self.burst);
            self.filled = period;
        }
    }

    /// Fills the processor's time up to `wanted`, as far as the pool allows. Returns whether it then has any.
    fn draw(&mut self, cpu: CpuId, wanted: u64) -> bool {
        let local = &mut self.locals[cpu as usize];
        let missing = wanted.saturating_add_signed(-local.left);
        let grant = missing.min(self.pool);
        self.pool -= grant;
        local.left += grant as i64;
        local.left > 0
    }

    /// Returns whether the group may run there. Takes time out of the pool if necessary.
    pub(super) fn has_time(&mut self, now: Nanos, cpu: CpuId) -> bool {
        if self.locals[cpu as usize].left > 0 {
            return true;
        }
        self.fill(now);
        self.draw(cpu, SLICE)
    }

    /// A thread of the group has run there.
    #[inline]
    pub(super) fn spend(&mut self, cpu: CpuId, span: Nanos) {
        self.locals[cpu as usize].left -= span.0 as i64;
    }

    /// How long the group may go on running on that processor.
    #[inline]
    pub(super) fn left(&self, cpu: CpuId) -> Nanos {
        Nanos(self.locals[cpu as usize].left.max(0) as u64)
    }

    pub(super) fn enter(&mut self, cpu: CpuId) {
        self.locals[cpu as usize].threads += 1;
    }

    /// A thread has left the processor's queue; the last one gives the processor's time back.
    pub(super) fn leave(&mut self, now: Nanos, cpu: CpuId) {
        let local = &mut self.locals[cpu as usize];
        local.threads -= 1;
        if local.threads > 0 || local.left <= KEEP as i64 {
            return;
        }
        self.pool += local.left as u64 - KEEP;
        local.left = KEEP as i64;
        let waits = self.locals.iter().any(|local| local.throttled);
        if waits && self.pool > SLICE && now + SLACK_BEFORE_PERIOD < self.next_period(now) {
            self.slack = self.slack.min(now + SLACK);
        }
    }

    fn next_period(&self, now: Nanos) -> Nanos {
        Nanos((now.0 / self.period).saturating_add(1).saturating_mul(self.period))
    }

    pub(super) fn throttled(&self, cpu: CpuId) -> bool {
        self.locals[cpu as usize].throttled
    }

    /// Stops the group on that processor. Returns whether it is the first time in this period.
    pub(super) fn throttle(&mut self, cpu: CpuId) -> bool {
        self.locals[cpu as usize].throttled = true;
        std::mem::replace(&mut self.counted, self.filled) != self.filled
    }

    /// The next moment at which there is time to hand out.
    pub(super) fn next(&self, now: Nanos) -> Option<Nanos> {
        let waits = self.locals.iter().any(|local| local.throttled);
        waits.then(|| self.next_period(now).min(self.slack))
    }

    /// Hands out the pool, no more to each stopped processor than it needs to go on; returns the processors
    /// that can.
    pub(super) fn hand_out(&mut self, now: Nanos) -> Vec<CpuId> {
        self.fill(now);
        if self.slack <= now {
            self.slack = Nanos::MAX;
        }
        let cpus = 0..self.locals.len() as CpuId;
        let served: Vec<_> = cpus.filter(|&cpu| self.throttled(cpu) && self.pool > 0 && self.draw(cpu, 1)).collect();
        for &cpu in &served {
            self.locals[cpu as usize].throttled = false;
        }
        served
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = Nanos::from_ms(1);

    fn bandwidth(quota_ms: u64, burst_ms: u64) -> Bandwidth {
        Bandwidth::new(MS * quota_ms, MS * burst_ms, MS * 100, 2)
    }

    #[test]
    fn processors_take_slices_until_the_pool_is_empty() {
        let mut group = bandwidth(12, 0);
        assert!(group.has_time(Nanos::ZERO, 0) && group.has_time(Nanos::ZERO, 1));
        assert_eq!((group.left(0), group.left(1), group.pool), (MS * 5, MS * 5, MS.0 * 2));
        group.spend(0, MS * 5);
        assert!(group.has_time(MS * 5, 0));
        assert_eq!((group.left(0), group.pool), (MS * 2, 0));
        group.spend(0, MS * 2);
        assert!(!group.has_time(MS * 7, 0) && group.has_time(MS * 7, 1));
        assert!(group.throttle(0) && !group.throttle(1), "counted once in a period");
        assert_eq!(group.next(MS * 7), Some(MS * 100));
        assert_eq!(group.hand_out(MS * 100), [0, 1]);
        // The second processor had time left and needed none.
        assert_eq!((group.left(0), group.left(1), group.pool), (Nanos(1), MS * 5, MS.0 * 12 - 1));
        assert!(group.throttle(0), "a new period");
    }

    #[test]
    fn unused_time_is_saved_up_to_the_burst_only() {
        for (burst, pool) in [(0, 20), (30, 50), (1_000, 200)] {
            let mut group = bandwidth(20, burst);
            group.fill(MS * 950);
            assert_eq!(group.pool, MS.0 * pool);
        }
    }

    #[test]
    fn a_processor_that_goes_idle_gives_back_what_others_may_use() {
        let mut group = bandwidth(20, 0);
        group.enter(0);
        assert!(group.has_time(Nanos::ZERO, 0));
        group.spend(0, MS);
        let whole = group.pool;
        group.throttle(1);
        group.leave(MS, 0);
        assert_eq!((group.left(0), group.pool), (MS, whole + MS.0 * 3));
        assert_eq!(group.next(MS), Some(MS * 6), "after the slack");
        assert_eq!(group.hand_out(MS * 6), [1]);
        assert_eq!(group.next(MS * 6), None);
    }

    #[test]
    fn debts_are_paid_first() {
        let mut group = bandwidth(20, 0);
        assert!(group.has_time(Nanos::ZERO, 0));
        group.spend(0, MS * 7);
        assert!(group.has_time(MS * 7, 0));
        assert_eq!((group.left(0), group.pool), (MS * 5, MS.0 * 8));
    }
}
