//! The scheduler at work: queues, the threads that join and leave them, and the one that a processor runs
//! next.
//!
//! A thread's time is accounted for when its processor is looked at, as by `update_curr` of Linux. That its
//! slice is over is noticed at ticks, and when a thread joins its queue; there is no finer timer.
use super::limits::LimitedGroups;
use super::queue::{Entity, Queue, QueuePosition};
use super::rules::{Eevdf, Preemption};
use super::shares::Shares;
use super::weights::{of_nice, virtual_span};
use crate::smp::dispatch::{Dispatch, KernelPreemption};
use crate::smp::machine::{Life, Machine, NOBODY};
use foregather_machine::{CpuId, Nanos};

/// Without run-to-parity a thread still keeps its processor for this time
/// (`normalized_sysctl_sched_base_slice`).
const LEAST_RUN: Nanos = Nanos::from_us(700);

/// A thread that ran less long ago has warm caches: an idle processor leaves it where it is
/// (`sched_migration_cost`).
const WARM: Nanos = Nanos::from_us(500);

pub(super) struct Fair {
    pub(super) rules: Eevdf,
    pub(super) entities: Vec<Entity>,
    pub(super) queues: Vec<Queue>,
    pub(super) shares: Shares,
    pub(super) limits: LimitedGroups,
    /// The most lag that a thread keeps, either way.
    most_lag: Nanos,
    /// The last tick at which queues were evened out.
    pub(super) balanced: Nanos,
    /// When busy processors look for longer queues.
    pub(super) balance_at: Nanos,
    /// How often in a row they have found no thread that they could take.
    pub(super) failures: u32,
}

impl Fair {
    pub(super) fn new(rules: &Eevdf, machine: &Machine) -> Self {
        let cpus = machine.processors.len();
        let entity = |thread: &crate::smp::machine::Thread| {
            let slice = thread.spec.slice.unwrap_or(rules.slice);
            Entity::new(thread.spec.group, of_nice(thread.spec.nice), slice, thread.cpu)
        };
        Self {
            most_lag: (rules.slice * 2).max(rules.tick),
            balanced: Nanos::ZERO,
            balance_at: Nanos::ZERO,
            failures: 0,
            entities: machine.threads.iter().map(entity).collect(),
            queues: (0..cpus).map(|_| Queue::default()).collect(),
            shares: Shares::new(&rules.groups),
            limits: LimitedGroups::new(&rules.groups, cpus),
            rules: rules.clone(),
        }
    }

    /// Brings the present thread's account up to now.
    pub(super) fn update(&mut self, machine: &Machine, cpu: CpuId) {
        let ahead = self.queues[cpu as usize].ahead;
        let span = machine.uncharged(cpu) - ahead;
        if span > Nanos::ZERO {
            self.account(machine, cpu, machine.cpu(cpu).current, span);
            self.queues[cpu as usize].ahead = ahead + span;
        }
    }

    #[inline]
    pub(super) fn account(&mut self, machine: &Machine, cpu: CpuId, thread: u32, span: Nanos) {
        let entity = &mut self.entities[thread as usize];
        let had = virtual_span(span, entity.weight);
        self.queues[cpu as usize].advance(entity, had);
        entity.cold_from = machine.now + WARM;
        self.limits.spend(entity.group, cpu, span);
    }

    /// A thread that is awake joins a processor's queue, unless its group has no time left there.
    pub(super) fn enqueue(&mut self, machine: &Machine, cpu: CpuId, thread: u32) {
        self.update(machine, cpu);
        let (entity, queue) = (&mut self.entities[thread as usize], &mut self.queues[cpu as usize]);
        entity.cpu = cpu;
        if self.limits.throttled(entity.group, cpu) {
            entity.place = QueuePosition::Stopped;
            queue.stopped.push(thread);
            return;
        }
        let weight = self.shares.weight(entity.group, entity.own_weight);
        entity.lag = entity.lag * i128::from(entity.weight) / i128::from(weight);
        entity.rest = entity.rest.map(|rest| rest * i128::from(entity.weight) / i128::from(weight));
        (entity.weight, entity.place) = (weight, QueuePosition::Queued);
        queue.place(entity);
        queue.add(thread, entity);
        self.limits.enter(entity.group, cpu);
    }

    /// A thread leaves its queue; `place` is where it is then.
    pub(super) fn dequeue(&mut self, machine: &mut Machine, thread: u32, place: QueuePosition) {
        let cpu = self.entities[thread as usize].cpu;
        self.update(machine, cpu);
        let (entity, queue) = (&mut self.entities[thread as usize], &mut self.queues[cpu as usize]);
        queue.take(thread, entity, self.most_lag);
        if entity.place == QueuePosition::Dozing {
            queue.dozing -= 1;
            // A thread is not owed anything for time that it slept.
            entity.lag = entity.lag.min(0);
        }
        entity.place = place;
        match place {
            QueuePosition::Asleep => self.shares.leave(entity.group, entity.own_weight),
            QueuePosition::Stopped => queue.stopped.push(thread),
            QueuePosition::Queued | QueuePosition::Dozing => entity.rest = Some(entity.deadline - entity.had),
        }
        self.limits.leave(entity.group, cpu, machine.now);
        self.limits.arm(machine);
    }

    /// Returns whether the current thread must give up the processor. A queue does not see by itself that the
    /// slice is over.
    pub(super) fn is_over(&mut self, machine: &Machine, cpu: CpuId) -> bool {
        let thread = machine.cpu(cpu).current;
        if thread == NOBODY || self.queues[cpu as usize].members.len() < 2 {
            return false;
        }
        let entity = &mut self.entities[thread as usize];
        entity.renew() || entity.had >= entity.protected
    }

    /// All threads of a group that has no time left on a processor stop there.
    fn throttle(&mut self, machine: &mut Machine, cpu: CpuId, limit: usize) {
        machine.counts.throttles += u64::from(self.limits.throttle(limit, cpu));
        for thread in self.queues[cpu as usize].members.clone() {
            let entity = &self.entities[thread as usize];
            if self.limits.of(entity.group).contains(&limit) {
                let asleep = entity.place == QueuePosition::Dozing;
                self.dequeue(machine, thread, if asleep { QueuePosition::Asleep } else { QueuePosition::Stopped });
            }
        }
        self.limits.arm(machine);
    }

    /// A group may run again on a processor.
    fn unthrottle(&mut self, machine: &mut Machine, cpu: CpuId) {
        for thread in std::mem::take(&mut self.queues[cpu as usize].stopped) {
            self.enqueue(machine, cpu, thread);
        }
        let processor = machine.cpu(cpu);
        if processor.current == NOBODY && !processor.marked && !self.queues[cpu as usize].members.is_empty() {
            machine.mark(cpu);
        }
    }

    /// Each thread is in the queue that it says, and each queue's sums are those of its members.
    #[cfg(debug_assertions)]
    fn assert_consistent(&self, machine: &Machine) {
        let mut places = vec![0; self.entities.len()];
        for (cpu, queue) in self.queues.iter().enumerate() {
            queue.assert_consistent(&self.entities);
            for &thread in queue.members.iter().chain(&queue.stopped) {
                places[thread as usize] += 1;
                assert_eq!(self.entities[thread as usize].cpu as usize, cpu);
                assert!(machine.allows(thread, cpu as CpuId));
            }
        }
        for (thread, entity) in self.entities.iter().enumerate() {
            assert_eq!(places[thread], u32::from(entity.place != QueuePosition::Asleep), "thread {thread}: {:?}", entity.place);
            let it = machine.thread(thread as u32);
            let awake = matches!(entity.place, QueuePosition::Queued | QueuePosition::Stopped);
            assert!(
                awake == matches!(it.life, Life::Ready | Life::Running) || it.life == Life::Ready && it.held,
                "thread {thread}: {:?}, {:?}",
                entity.place,
                it.life
            );
        }
    }
}

impl Dispatch for Fair {
    /// All threads are new and get half a slice at first. Each goes to the processor with the fewest threads,
    /// nearest to the one where chance has had it run; or exactly to the one that its `start` names.
    fn begin(&mut self, machine: &mut Machine, order: &[u32]) {
        for &thread in order {
            let entity = &self.entities[thread as usize];
            self.shares.enter(entity.group, entity.own_weight);
        }
        for &thread in order {
            let (own, started) = (machine.thread(thread).cpu, machine.thread(thread).spec.start.is_some());
            let cpus = machine.cpus().len() as u32;
            let from_own = (0..cpus).map(|step| (own + step) % cpus).filter(|&cpu| machine.allows(thread, cpu) && !started);
            let cpu = from_own.min_by_key(|&cpu| self.queues[cpu as usize].members.len()).unwrap_or(own);
            let entity = &mut self.entities[thread as usize];
            entity.cold_from = if started { WARM } else { Nanos::ZERO };
            entity.rest = Some(virtual_span(entity.slice, entity.weight) / 2);
            self.enqueue(machine, cpu, thread);
        }
        if order.iter().any(|&thread| machine.thread(thread).spec.start.is_some()) {
            self.put_off_balance(machine);
        }
    }

    fn choose(&mut self, machine: &mut Machine, cpu: CpuId, present: Option<u32>) -> Option<u32> {
        self.queues[cpu as usize].put_off = false;
        if let Some(thread) = present {
            self.entities[thread as usize].renew();
        }
        let chosen = loop {
            let Some(thread) = self.queues[cpu as usize].pick(&self.entities, present) else {
                if self.pull_when_idle(machine, cpu) {
                    continue;
                }
                break None;
            };
            let entity = &self.entities[thread as usize];
            if entity.place == QueuePosition::Dozing {
                self.dequeue(machine, thread, QueuePosition::Asleep);
            } else if let Some(limit) = self.limits.exhausted(entity.group, cpu, machine.now) {
                self.throttle(machine, cpu, limit);
            } else {
                break Some(thread);
            }
        };
        #[cfg(debug_assertions)]
        self.assert_consistent(machine);
        chosen
    }

    /// The switch counts as the incoming thread's time, except when an idle processor wakes up.
    fn dispatched(&mut self, machine: &mut Machine, cpu: CpuId, thread: u32, price: Nanos) {
        if machine.cpu(cpu).from != NOBODY {
            self.account(machine, cpu, thread, price);
        }
        let entity = &mut self.entities[thread as usize];
        let least = entity.had + virtual_span(LEAST_RUN, entity.weight);
        entity.protected = if self.rules.run_to_parity { entity.deadline } else { least.min(entity.deadline) };
    }

    fn put_back(&mut self, machine: &mut Machine, thread: u32) {
        // A preempted thread has stayed in the queue; a thread that was woken meanwhile joins it only now.
        if matches!(self.entities[thread as usize].place, QueuePosition::Asleep | QueuePosition::Dozing) {
            self.wake(machine, thread, None);
        }
    }

    fn woken(&mut self, machine: &mut Machine, threads: &[u32], by: Option<CpuId>) {
        for &thread in threads {
            if !machine.thread(thread).held {
                self.wake(machine, thread, by);
            }
        }
    }

    fn left(&mut self, machine: &mut Machine, thread: u32) {
        let entity = &mut self.entities[thread as usize];
        entity.renew();
        let queue = &mut self.queues[entity.cpu as usize];
        if machine.thread(thread).life == Life::Blocked && !queue.eligible(entity) {
            entity.place = QueuePosition::Dozing;
            queue.dozing += 1;
        } else {
            self.dequeue(machine, thread, QueuePosition::Asleep);
        }
    }

    /// A thread that was due any of its slice forfeits the rest (`yield_task_fair` since 6.18.2).
    fn yielded(&mut self, _: &mut Machine, thread: u32) {
        let entity = &mut self.entities[thread as usize];
        let queue = &mut self.queues[entity.cpu as usize];
        entity.renew();
        if queue.members.len() > 1 && queue.eligible(entity) {
            queue.advance(entity, entity.deadline - entity.had);
            entity.renew();
        }
    }

    fn moves(&self) -> bool {
        true
    }

    /// Until it is put back the thread is in no queue; it keeps its lag and what is left of its slice.
    fn departs(&mut self, machine: &mut Machine, thread: u32) {
        self.dequeue(machine, thread, QueuePosition::Asleep);
        let entity = &mut self.entities[thread as usize];
        entity.rest = Some(entity.deadline - entity.had);
    }

    fn fetched(&mut self, machine: &mut Machine, thread: u32, cpu: CpuId) {
        let entity = &self.entities[thread as usize];
        if entity.cpu == cpu {
            return;
        }
        if entity.place == QueuePosition::Stopped {
            self.queues[entity.cpu as usize].stopped.retain(|&other| other != thread);
        } else {
            self.dequeue(machine, thread, QueuePosition::Queued);
        }
        self.enqueue(machine, cpu, thread);
        if self.entities[thread as usize].place == QueuePosition::Queued {
            self.preempt(machine, thread);
        }
    }

    fn width(&self, machine: &Machine, thread: u32) -> u32 {
        self.rules.width(self.entities[thread as usize].group, machine.processors.len() as u32)
    }

    fn charge(&mut self, machine: &Machine, cpu: CpuId, thread: u32, span: Nanos) {
        let ahead = std::mem::take(&mut self.queues[cpu as usize].ahead);
        self.account(machine, cpu, thread, span - ahead);
    }

    /// Quotas end exactly; slices end at ticks.
    fn expiry(&self, machine: &Machine, cpu: CpuId) -> Nanos {
        let processor = machine.cpu(cpu);
        let group = self.entities[processor.current as usize].group;
        processor.since + self.queues[cpu as usize].ahead + self.limits.left(group, cpu)
    }

    fn next_tick(&self, machine: &Machine, _: CpuId) -> Nanos {
        let tick = self.rules.tick.0;
        Nanos((machine.now.0 / tick + 1).saturating_mul(tick))
    }

    fn tick(&mut self, machine: &mut Machine, cpu: CpuId) {
        if !self.rules.groups.is_empty() {
            let queue = &mut self.queues[cpu as usize];
            for thread in queue.members.clone() {
                let entity = &mut self.entities[thread as usize];
                queue.reweigh(entity, self.shares.weight(entity.group, entity.own_weight));
            }
        }
        let (over, queue) = (self.is_over(machine, cpu), &mut self.queues[cpu as usize]);
        let put_off = std::mem::take(&mut queue.put_off);
        if over && !put_off && self.rules.preemption == Preemption::Lazy && machine.in_kernel(cpu) {
            queue.put_off = true;
        } else if (over || put_off) && !machine.cpu(cpu).marked {
            machine.mark(cpu);
        }
        self.balance(machine);
    }

    fn kernel_preemption(&self) -> KernelPreemption {
        match self.rules.preemption {
            Preemption::None => KernelPreemption::Never,
            Preemption::Voluntary => KernelPreemption::Voluntary,
            Preemption::Full | Preemption::Lazy => KernelPreemption::Anywhere,
        }
    }

    fn slice_extension(&self) -> Nanos {
        self.rules.slice_extension
    }

    fn leaves_kernel(&mut self, machine: &mut Machine, cpu: CpuId) {
        if self.rules.preemption == Preemption::Lazy && std::mem::take(&mut self.queues[cpu as usize].put_off) {
            machine.mark(cpu);
        }
    }

    fn timer(&mut self, machine: &mut Machine) {
        for cpu in self.limits.hand_out(machine.now) {
            self.unthrottle(machine, cpu);
        }
        self.limits.arm(machine);
    }

    /// The members of all queues, also of groups without quota left, except those that some processor holds.
    #[cfg(debug_assertions)]
    fn queued(&self, machine: &Machine) -> Vec<u32> {
        let awake = |place| matches!(place, QueuePosition::Queued | QueuePosition::Stopped);
        let free = |&thread: &u32| awake(self.entities[thread as usize].place) && !machine.thread(thread).held;
        self.queues.iter().flat_map(|queue| queue.members.iter().chain(&queue.stopped).copied()).filter(free).collect()
    }
}
