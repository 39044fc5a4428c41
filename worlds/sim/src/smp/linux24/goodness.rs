//! Counters, and how good a thread is on a processor (Tsafrir & Feitelson 2002 appendix A).
use super::epochs::{Entry, Epochs};
use super::rules::Accounting;
use crate::smp::machine::{Machine, NOBODY, Processor};
use foregather_machine::{CpuId, Nanos};

// All of these are inlined: every decision compares a thread with all processors or a processor with all
// threads, and a call for each costs the simulator a tenth of its speed.
impl Epochs {
    /// `goodness()` of a thread that waits to run: 0 if its allotment is used up, else the rest of it, with
    /// advantages for where it ran last and for the address space that is loaded. The constant makes any
    /// fresh thread better than an exhausted one, wherever it ran.
    #[inline(always)]
    pub(super) fn goodness(&self, entry: &Entry, counter: i64, cpu: CpuId, space: u32) -> i64 {
        self.with_advantages(self.goodness_anywhere(entry, counter), entry, cpu, space)
    }

    /// The part of a thread's goodness that is the same on all processors.
    #[inline(always)]
    pub(super) fn goodness_anywhere(&self, entry: &Entry, counter: i64) -> i64 {
        if entry.yielded {
            return -1;
        }
        if counter <= 0 {
            return 0;
        }
        let tick = self.tick;
        let counter = if self.rules.whole_ticks { (counter + tick - 1) / tick * tick } else { counter };
        counter + self.urgency(entry)
    }

    /// The part of a thread's goodness that its nice value gives.
    #[inline(always)]
    pub(super) fn urgency(&self, entry: &Entry) -> i64 {
        (20 - entry.nice) * self.tick
    }

    /// Adds the advantages of this processor and of the loaded address space to the part that is the same
    /// anywhere, unless that is 0 or less.
    #[inline(always)]
    pub(super) fn with_advantages(&self, anywhere: i64, entry: &Entry, cpu: CpuId, space: u32) -> i64 {
        let near = if entry.cpu == cpu { self.penalty } else { 0 };
        let same_space = if entry.space == space { self.bonus } else { 0 };
        if anywhere <= 0 { anywhere } else { anywhere + near + same_space }
    }

    /// The counter of a thread that may be running, as of now.
    #[inline]
    pub(super) fn counter(&self, machine: &Machine, thread: u32) -> i64 {
        let entry = &self.entries[thread as usize];
        if self.rules.accounting != Accounting::Exact {
            return entry.counter;
        }
        let cpu = machine.thread(thread).cpu;
        let running = machine.cpu(cpu).current == thread;
        entry.counter - if running { machine.uncharged(cpu).0 as i64 } else { 0 }
    }

    /// The goodness of the thread that a processor runs, with this entry, on that processor.
    #[inline(always)]
    pub(super) fn present_goodness(&self, entry: &Entry, processor: &Processor, now: Nanos, (cpu, space): (CpuId, u32)) -> i64 {
        let used = if self.rules.accounting == Accounting::Exact { processor.uncharged(now).0 as i64 } else { 0 };
        self.goodness(entry, entry.counter - used, cpu, space)
    }

    /// By how much a thread beats the one on the processor, which must not be idle.
    #[inline]
    pub(super) fn advantage(&self, machine: &Machine, thread: u32, cpu: CpuId, over: u32) -> i64 {
        let space = self.entries[over as usize].space;
        let entry = &self.entries[thread as usize];
        let theirs = self.goodness(&self.entries[over as usize], self.counter(machine, over), cpu, space);
        self.goodness(entry, entry.counter, cpu, space) - theirs
    }

    /// The address space that a processor has loaded.
    #[inline(always)]
    pub(super) fn space(&self, machine: &Machine, cpu: CpuId) -> u32 {
        let idle = machine.cpu(cpu).current == NOBODY;
        if idle && !self.rules.lazy_space { NOBODY } else { self.spaces[cpu as usize] }
    }

    /// The allotment that a new epoch gives a thread of that nice value, in nanoseconds.
    pub(super) fn allocation(&self, nice: i64) -> i64 {
        (i64::from(self.rules.allocation_ticks) * (20 - nice) / 20).max(1) * self.tick
    }

    /// All runnable threads have used up their allotments: every thread gets a new one, and keeps half of
    /// what it has left.
    pub(super) fn begin_epoch(&mut self, machine: &mut Machine) {
        let step = machine.resolution.0 as i64;
        for thread in 0..self.entries.len() as u32 {
            let now = self.counter(machine, thread).max(0);
            let nice = self.entries[thread as usize].nice;
            let fresh = now / 2 / step * step + self.allocation(nice);
            self.entries[thread as usize].counter += fresh - now;
        }
        self.candidates.append(&mut self.exhausted);
        self.assured_until.fill(0);
        machine.epoch();
        machine.rearm = true;
    }

    /// Time until the present thread's allotment is used up.
    pub(super) fn rest(&self, thread: u32) -> Nanos {
        Nanos(self.entries[thread as usize].counter.max(0) as u64)
    }
}
