//! The state of a simulated machine: processors, threads, and what schedulers may do to them.
use super::counts::{Counts, Split};
use super::points::FaultPoints;
use super::prices::Prices;
use super::random::Random;
use super::record::{Record, Recorded, Sample, Span, State};
use super::scout::Scouts;
use crate::word::NONE;
use foregather_machine::{Costs, CpuId, Nanos, Rank, WaitContext};
use std::collections::BTreeMap;

/// Stands where a thread's number would: none.
pub(super) const NOBODY: u32 = NONE;

/// Where a thread is in its life. A spinner is running; a thread that is being switched to is running too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Ready,
    Running,
    Blocked,
    Done,
}

/// What a thread would do with its processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    Compute,
    Spin,
    Yield,
    Park,
    /// To leave for that processor.
    Move(CpuId),
}

/// Where a machine's numbers begin, if it is one of several that share one time: their events are told apart
/// by them, and programs on different machines must not take each other for neighbours.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct First {
    pub(crate) event: u32,
    pub(crate) thread: u32,
    pub(crate) cpu: CpuId,
}

/// What a machine is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hardware {
    pub(super) cpus: u32,
    pub(super) prices: Prices,
    pub(super) costs: Costs,
    pub(super) resolution: Nanos,
}

/// What a machine has to know about a thread before it runs.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadSpec {
    pub(super) job: u32,
    /// Its address space: the job's, or its own if it is mere load.
    pub(super) space: u32,
    pub(super) nice: i8,
    /// Its own slice, where the scheduler has such.
    pub(super) slice: Option<Nanos>,
    pub(super) group: Option<u32>,
    /// The processors that it may run on; all, if the list is empty.
    pub(super) pins: Vec<CpuId>,
    /// Where it ran last, if that is not left to chance.
    pub(super) start: Option<CpuId>,
}

impl ThreadSpec {
    /// The only processor that it may run on, if there is only one.
    pub(super) fn pin(&self) -> Option<CpuId> {
        if let [pin] = self.pins[..] { Some(pin) } else { None }
    }

    /// Returns whether its program may run there.
    pub(super) fn allows(&self, cpu: CpuId) -> bool {
        self.pins.is_empty() || self.pins.contains(&cpu)
    }
}

pub(super) struct Thread {
    pub(super) spec: ThreadSpec,
    pub(super) life: Life,
    /// A processor runs it, or has not yet finished switching away from it (`has_cpu` of Linux 2.4).
    pub(super) held: bool,
    /// Its processor, or the last one.
    pub(super) cpu: CpuId,
    /// The only processor it may run on: the only one it is pinned to, or the one it moves to.
    pub(super) confined: Option<CpuId>,
    pub(super) want: Want,
    /// What is left of its computation or its spin budget.
    pub(super) left: Nanos,
    /// When it sees that a word it spins on has changed.
    pub(super) sees: Nanos,
    /// What its verbs cost so far; it pays when it next waits.
    pub(super) debt: Nanos,
    /// The number of its present wait; bounds of earlier ones are stale.
    pub(super) wait: u32,
    /// Its neighbours among the threads that watch the same word.
    pub(super) previous_watcher: u32,
    pub(super) next_watcher: u32,
    /// Whether it has begun to spin, and whether it has parked, since the last call of `waited`.
    pub(super) spun: bool,
    pub(super) parked: bool,
    /// It runs in the kernel, as in a page fault; and it may be preempted there at this moment.
    pub(super) in_kernel: bool,
    pub(super) may_resched: bool,
    /// In this critical section: it asks for an extended slice if it is to be preempted; it has had one.
    pub(super) asks_extension: bool,
    pub(super) extended: bool,
    /// The wait whose peers it last asked the machine to check.
    pub(super) why: Option<WaitContext>,
    pub(super) split: Split,
    ready_since: Nanos,
    shown: (State, Nanos),
}

pub(super) struct Processor {
    /// The thread that runs, or is being switched to.
    pub(super) current: u32,
    /// The thread that is being switched away from.
    pub(super) from: u32,
    /// A state of its own, never derived from a time: a switch that ends now has not ended before its event.
    pub(super) switching: bool,
    /// It is to be rescheduled (`need_resched`).
    pub(super) marked: bool,
    /// It is marked, but its thread goes on for now.
    pub(super) deferred: bool,
    /// When an extended slice ends.
    pub(super) extended_until: Nanos,
    /// Another processor marked it: its next switch pays for the interrupt.
    pub(super) interrupted: bool,
    /// By how much the interrupt of this tick delays the switch that it asks for.
    pub(super) late: Nanos,
    /// Up to when its time is accounted for.
    pub(super) since: Nanos,
    pub(super) last_schedule: Nanos,
    /// The last time that it was idle: since when, and until when if it no longer is.
    pub(super) idle: (Nanos, Nanos),
    /// When a switch under way ends.
    pub(super) until: Nanos,
    pub(super) tick: Nanos,
    pub(super) split: Split,
}

/// What schedulers see of the machine.
pub(super) struct Machine {
    pub(super) first: First,
    pub(super) now: Nanos,
    pub(super) processors: Vec<Processor>,
    pub(super) threads: Vec<Thread>,
    pub(super) prices: Prices,
    pub(super) costs: Costs,
    pub(super) scouts: Scouts,
    /// What each address space has noted of a processor.
    pub(super) notes: BTreeMap<(u32, CpuId), u32>,
    pub(super) resolution: Nanos,
    pub(super) counts: Counts,
    pub(super) random: Random,
    pub(super) points: FaultPoints,
    /// Processors to be rescheduled.
    pub(super) marked: Vec<CpuId>,
    /// All allotments have changed: every processor's next event must be found again.
    pub(super) rearm: bool,
    /// When the scheduler itself wants to act next.
    pub(super) timer: Nanos,
    /// The thread that acts now, and pays for interrupts.
    pub(super) actor: u32,
    /// How many threads run or could; how many processors have one.
    pub(super) runnable: u32,
    pub(super) busy: u32,
    pub(super) load_integral: u128,
    pub(super) idle_while_ready: Nanos,
    pub(super) record: Record,
    pub(super) recorded: Recorded,
    /// Which thread yielded when, if spans are kept.
    pub(super) yields: Vec<(u32, Nanos)>,
    /// A machine that sends no sign of life any more, and since when that is known: no wait can succeed.
    pub(super) lost: Option<(Rank, Nanos)>,
    next_sample: Nanos,
}

impl Machine {
    pub(super) fn new(hardware: Hardware, threads: &[ThreadSpec], seed: u64, record: Record) -> Self {
        let mut random = Random::new(seed, u64::MAX);
        let processor = |_| Processor {
            current: NOBODY,
            from: NOBODY,
            switching: false,
            marked: false,
            deferred: false,
            extended_until: Nanos::MAX,
            interrupted: false,
            late: Nanos::ZERO,
            since: Nanos::ZERO,
            last_schedule: Nanos::ZERO,
            idle: (Nanos::ZERO, Nanos::MAX),
            until: Nanos::ZERO,
            tick: Nanos::MAX,
            split: Split::default(),
        };
        let threads: Vec<_> = threads.iter().map(|thread| Thread::new(thread, hardware.cpus, &mut random)).collect();
        Self {
            first: First::default(),
            now: Nanos::ZERO,
            processors: (0..hardware.cpus).map(processor).collect(),
            runnable: threads.len() as u32,
            threads,
            prices: hardware.prices,
            costs: hardware.costs,
            scouts: Scouts::default(),
            notes: BTreeMap::new(),
            resolution: hardware.resolution,
            counts: Counts::default(),
            random,
            points: FaultPoints::default(),
            marked: Vec::new(),
            rearm: false,
            timer: Nanos::MAX,
            actor: NOBODY,
            busy: 0,
            load_integral: 0,
            idle_while_ready: Nanos::ZERO,
            record,
            recorded: Recorded::default(),
            yields: Vec::new(),
            lost: None,
            next_sample: Nanos::ZERO,
        }
    }

    #[inline]
    pub(super) fn cpu(&self, cpu: CpuId) -> &Processor {
        &self.processors[cpu as usize]
    }

    #[inline]
    pub(super) fn thread(&self, thread: u32) -> &Thread {
        &self.threads[thread as usize]
    }

    /// Returns whether every processor has a thread.
    #[inline]
    pub(super) fn all_busy(&self) -> bool {
        self.busy as usize == self.processors.len()
    }

    /// The processors' numbers.
    #[inline]
    pub(super) fn cpus(&self) -> std::ops::Range<CpuId> {
        0..self.processors.len() as u32
    }

    /// Returns whether the thread may run there.
    #[inline]
    pub(super) fn allows(&self, thread: u32, cpu: CpuId) -> bool {
        let it = self.thread(thread);
        it.confined.map_or_else(|| it.spec.allows(cpu), |only| only == cpu)
    }

    /// Returns whether a processor's thread runs in the kernel.
    pub(super) fn in_kernel(&self, cpu: CpuId) -> bool {
        let thread = self.cpu(cpu).current;
        thread != NOBODY && self.thread(thread).in_kernel
    }

    /// How long the present thread has run without being charged yet.
    #[inline]
    pub(super) fn uncharged(&self, cpu: CpuId) -> Nanos {
        self.cpu(cpu).uncharged(self.now)
    }

    /// Draws by how much the interrupt of a tick delays the switch, if it asks for one.
    pub(super) fn delay_tick(&mut self, cpu: CpuId) {
        let mean_ns = self.prices.tick_spread.0 as f64;
        if mean_ns > 0.0 && self.cpu(cpu).marked {
            self.processors[cpu as usize].late = Nanos((-self.random.unit().ln() * mean_ns) as u64);
        }
    }

    /// Asks a processor to reschedule (`need_resched` and an interrupt): at once, or when its switch has
    /// ended.
    pub(super) fn mark(&mut self, cpu: CpuId) {
        self.counts.marks += 1;
        let processor = &mut self.processors[cpu as usize];
        if processor.marked {
            self.counts.duplicate_marks += 1;
            return;
        }
        processor.marked = true;
        self.marked.push(cpu);
        let Some(actor) = self.threads.get_mut(self.actor as usize).filter(|actor| actor.cpu != cpu) else { return };
        // The price of waking an idle processor includes its interrupt.
        processor.interrupted = processor.current != NOBODY;
        actor.debt += self.prices.waker;
    }

    /// Time goes on to `now`.
    #[inline]
    pub(super) fn advance(&mut self, now: Nanos) {
        let span = now - self.now;
        if span == Nanos::ZERO {
            return;
        }
        self.load_integral += u128::from(span.0) * u128::from(self.runnable);
        if !self.all_busy() && self.runnable > self.busy {
            self.idle_while_ready += span;
        }
        if self.record.sample > Nanos::ZERO {
            self.sample_until(now);
        }
        self.now = now;
    }

    /// Counts the first job's threads by state.
    fn sample_until(&mut self, now: Nanos) {
        while self.next_sample < now {
            let mut sample = Sample::default();
            let mut native: Vec<CpuId> = Vec::new();
            for thread in self.threads.iter().take_while(|t| t.spec.job == 0).filter(|t| t.life != Life::Done) {
                sample.states[thread.state() as usize] += 1;
                if !native.contains(&thread.cpu) {
                    native.push(thread.cpu);
                }
            }
            sample.native = native.len() as u32;
            self.recorded.samples.push(sample);
            self.next_sample += self.record.sample;
        }
    }

    /// A thread's life goes on to `life`; keeps the sums that depend on it.
    pub(super) fn enter(&mut self, thread: u32, life: Life) {
        let now = self.now;
        let it = &mut self.threads[thread as usize];
        let could_run = |life| matches!(life, Life::Ready | Life::Running);
        self.runnable = self.runnable + u32::from(could_run(life)) - u32::from(could_run(it.life));
        match (it.life, life) {
            (Life::Ready, _) => it.split.idle += now - it.ready_since,
            (_, Life::Ready) => it.ready_since = now,
            _ => {}
        }
        it.life = life;
        self.show(thread);
    }

    /// Notes what a thread does from now on, if spans are kept.
    #[inline]
    pub(super) fn show(&mut self, thread: u32) {
        if self.record.spans > 0 {
            let now = self.now;
            let it = &mut self.threads[thread as usize];
            let (state, from) = it.shown;
            if it.state() != state {
                it.shown = (it.state(), now);
                self.keep(Span { thread, cpu: self.thread(thread).cpu, state, from, to: now });
            }
        }
    }

    fn keep(&mut self, span: Span) {
        if span.to > span.from && self.recorded.spans.len() < self.record.spans {
            self.recorded.spans.push(span);
        }
    }

    /// Notes that a thread offers its processor, if spans are kept.
    #[inline]
    pub(super) fn note_yield(&mut self, thread: u32) {
        if self.yields.len() < self.record.spans {
            self.yields.push((thread, self.now));
        }
    }

    /// A new epoch begins.
    pub(super) fn epoch(&mut self) {
        self.counts.epochs += 1;
        if self.recorded.epochs.len() < self.record.spans {
            self.recorded.epochs.push(self.now);
        }
    }

    /// No more events will come: ends all spans.
    pub(super) fn close(&mut self) {
        for thread in 0..self.threads.len() as u32 {
            let Thread { shown: (state, from), cpu, life, .. } = *self.thread(thread);
            if life != Life::Done {
                self.keep(Span { thread, cpu, state, from, to: self.now });
            }
            if life == Life::Ready {
                self.enter(thread, Life::Done);
            }
        }
    }
}

impl Processor {
    /// How long its present thread has run without being charged yet.
    #[inline]
    pub(super) fn uncharged(&self, now: Nanos) -> Nanos {
        if self.switching || self.current == NOBODY { Nanos::ZERO } else { now - self.since }
    }
}

impl Thread {
    fn new(spec: &ThreadSpec, cpus: u32, random: &mut Random) -> Self {
        let mut spec = spec.clone();
        spec.pins.sort_unstable();
        spec.pins.dedup();
        if spec.pins.len() == cpus as usize && cpus > 1 {
            spec.pins.clear();
        }
        let start = spec.pin().or(spec.start.filter(|&cpu| spec.allows(cpu)));
        let drawn = |random: &mut Random| match spec.pins.len() {
            0 => random.below(u64::from(cpus)) as CpuId,
            count => spec.pins[random.below(count as u64) as usize],
        };
        Self {
            cpu: start.unwrap_or_else(|| drawn(random)),
            confined: spec.pin(),
            spec,
            life: Life::Ready,
            held: false,
            // Its program has not begun: it starts as if it had been woken.
            want: Want::Park,
            left: Nanos::ZERO,
            sees: Nanos::MAX,
            debt: Nanos::ZERO,
            wait: 0,
            previous_watcher: NOBODY,
            next_watcher: NOBODY,
            spun: false,
            parked: false,
            in_kernel: false,
            may_resched: false,
            asks_extension: false,
            extended: false,
            why: None,
            split: Split::default(),
            ready_since: Nanos::ZERO,
            shown: (State::Ready, Nanos::ZERO),
        }
    }

    /// What it is doing, as figures show it.
    fn state(&self) -> State {
        match (self.life, self.want) {
            (Life::Running, Want::Spin) => State::Spin,
            (Life::Running, _) => State::Compute,
            (Life::Ready, _) => State::Ready,
            (Life::Blocked | Life::Done, _) => State::Blocked,
        }
    }
}
