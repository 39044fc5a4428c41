//! Threads that change their queue while they wait: a processor that is about to be idle pulls one, an idle
//! one is given one at the tick, and busy ones exchange them now and then, by what queues weigh.
use super::fair::Fair;
use super::queue::QueuePosition;
use crate::smp::machine::Machine;
use foregather_machine::{CpuId, Nanos};

/// A queue whose weight exceeds this share of another's is much heavier (`imbalance_pct`).
const IMBALANCE_PERCENT: u64 = 117;

/// After this number of searches in a row that found no thread small enough, a thread twice as heavy counts
/// as small enough, then one four times as heavy, and on. Linux doubles at each failure; at two failures the
/// time between two such moves is an odd number of ticks, so it is not always the same thread that waits
/// then.
const PATIENCE: u32 = 2;

/// After this number of doublings any thread is small enough.
const MOST_DOUBLINGS: u32 = 24;

/// Loads are averages with this half-life: for about as long, threads that have just been put somewhere do
/// not weigh enough to be moved.
const HALF_LIFE: Nanos = Nanos::from_ms(32);

impl Fair {
    /// The weight of the threads that run on the processor or could.
    fn load(&self, cpu: CpuId) -> u64 {
        let awake = |thread: &&u32| self.entities[**thread as usize].place == QueuePosition::Queued;
        self.queues[cpu as usize].members.iter().filter(awake).map(|&thread| self.entities[thread as usize].weight).sum()
    }

    /// Of the threads that wait on processor `from` and weigh `most` at most, the one that processor `to` may
    /// take: the one that has waited longest first. A thread that has had more than its share waits on,
    /// unless it is alone there: it would not run sooner, and never if it were moved all the time. A thread
    /// that ran a moment ago has warm caches and stays: threads that yield to each other are never moved
    /// apart.
    fn movable(&self, machine: &Machine, from: CpuId, to: CpuId, most: u64) -> Option<u32> {
        let queue = &self.queues[from as usize];
        let empty = self.queues[to as usize].members.is_empty();
        let free = |&thread: &u32| {
            let (entity, it) = (&self.entities[thread as usize], machine.thread(thread));
            let waits = entity.place == QueuePosition::Queued && !it.held && (empty || queue.eligible(entity));
            let may = machine.allows(thread, to) && !self.limits.throttled(entity.group, to);
            waits && may && entity.weight <= most && entity.cold_from <= machine.now
        };
        let waiting = queue.members.iter().copied().filter(free);
        waiting.min_by_key(|&thread| self.entities[thread as usize].cold_from)
    }

    /// Moves a thread to a processor. It comes from the heaviest queue that has two threads or more, and
    /// among them one no heavier than `most` makes of the two queues' weights.
    fn pull(&mut self, machine: &mut Machine, to: CpuId, most: impl Fn(u64, u64) -> u64) -> Option<u32> {
        let own = self.load(to);
        let mut best: Option<(u64, u32)> = None;
        for from in machine.cpus().filter(|&from| from != to) {
            let load = self.load(from);
            if self.queues[from as usize].runnable() >= 2 && best.is_none_or(|(heaviest, _)| load > heaviest) {
                self.update(machine, from);
                let thread = self.movable(machine, from, to, most(load, own));
                best = thread.map(|thread| (load, thread)).or(best);
            }
        }
        let (_, thread) = best?;
        self.dequeue(machine, thread, QueuePosition::Queued);
        self.enqueue(machine, to, thread);
        Some(thread)
    }

    /// Lets a processor that would be idle take a thread from another one where it has waited for a while.
    /// Returns whether it found one.
    pub(super) fn pull_when_idle(&mut self, machine: &mut Machine, cpu: CpuId) -> bool {
        self.pull(machine, cpu, |_, _| u64::MAX).is_some()
    }

    /// Threads that a study puts on processors come to a machine that was busy and balanced before. It is in
    /// the middle of the longer interval, and these threads' loads have yet to be averaged.
    pub(super) fn put_off_balance(&mut self, machine: &mut Machine) {
        let longer = self.longer_interval();
        self.balance_at = HALF_LIFE + Nanos(machine.random.below(longer.0.max(1)));
    }

    /// The time between two searches of which the first found all queues equally heavy: the interval is
    /// doubled, and then both are a tick shorter than they would be.
    fn longer_interval(&self) -> Nanos {
        self.rules.balance_interval * 2 + self.rules.tick
    }

    /// Once a tick, gives every idle processor a thread. Now and then it gives every busy one a thread from a
    /// heavier queue: one so small that the queue weighs no less afterwards or, after vain searches, a larger
    /// one, so that three threads on two processors take turns. The first processor that sees the tick acts
    /// for all: on those that have seen it, threads that change places can not be moved.
    pub(super) fn balance(&mut self, machine: &mut Machine) {
        let interval = self.rules.balance_interval;
        if interval == Nanos::ZERO || self.balanced == machine.now || self.queues.iter().all(|queue| queue.runnable() < 2) {
            return;
        }
        self.balanced = machine.now;
        for cpu in machine.cpus() {
            if self.is_idle(machine, cpu)
                && let Some(thread) = self.pull(machine, cpu, |_, _| u64::MAX)
            {
                self.preempt(machine, thread);
            }
        }
        if self.balance_at <= machine.now {
            let found = self.even_out(machine);
            self.balance_at = machine.now + if found { interval } else { self.longer_interval() };
        }
    }

    /// Gives every busy processor a thread from a heavier queue, if one is small enough, the lightest
    /// processor first. Only one processor gets a larger thread, or the next would take it back. Returns
    /// whether some queue was much heavier than another.
    fn even_out(&mut self, machine: &mut Machine) -> bool {
        let doublings = (self.failures / PATIENCE).min(MOST_DOUBLINGS);
        let much = |load: u64, own: u64| u128::from(load) * 100 > u128::from(own) * u128::from(IMBALANCE_PERCENT);
        let small = |load: u64, own: u64| if much(load, own) { ((load - own) / 2) << doublings } else { 0 };
        let mut lightest_first: Vec<CpuId> = machine.cpus().collect();
        lightest_first.sort_by_key(|&cpu| self.load(cpu));
        let ends = lightest_first.first().zip(lightest_first.last());
        let found = ends.is_some_and(|(&lightest, &heaviest)| much(self.load(heaviest), self.load(lightest)));
        let most = if doublings == 0 { lightest_first.len() } else { 1 };
        let mut moved = 0;
        for cpu in lightest_first {
            if moved < most
                && let Some(thread) = self.pull(machine, cpu, small)
            {
                self.preempt(machine, thread);
                moved += 1;
            }
        }
        self.failures = if moved > 0 { 0 } else { self.failures + 1 };
        found
    }
}
