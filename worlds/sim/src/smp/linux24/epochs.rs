//! The list of runnable threads, and what is left of their allotments in this epoch.
use super::rules::{Insertion, Linux24};
use crate::smp::machine::{Machine, NOBODY};
use foregather_machine::{CpuId, Nanos};

/// One thread's place in the epoch.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// Of its allotment, in nanoseconds; what a running thread has used since it was last charged is still in it.
    pub(super) counter: i64,
    /// Where it stands in the list of runnable threads: the least is first.
    pub(super) place: i64,
    pub(super) cpu: CpuId,
    /// Its address space.
    pub(super) space: u32,
    pub(super) nice: i64,
    /// It has offered its processor and loses to everybody, once.
    pub(super) yielded: bool,
    /// How long it runs at a time, on average: `avg_slice` of 2.2.
    pub(super) average_run: i64,
    pub(super) ran: i64,
}

/// What is known of the thread that a processor runs without a look at either: most threads that wake up beat few others.
#[derive(Clone, Copy, Default)]
pub(super) struct Assured {
    /// Up to when its allotment lasts, in nanoseconds, or longer; 0: the processor may be idle.
    pub(super) until: i64,
    /// What its nice value adds to its goodness.
    pub(super) urgency: i64,
}

impl Assured {
    /// Is there a thread, and is it better than that, advantages apart?
    #[inline(always)]
    pub(super) fn beats(&self, now: Nanos, least: i64) -> bool {
        let left = self.until - now.0 as i64;
        left > 0 && left + self.urgency >= least
    }
}

/// The scheduler at work.
pub(super) struct Epochs {
    pub(super) rules: Linux24,
    pub(super) tick: i64,
    pub(super) penalty: i64,
    pub(super) bonus: i64,
    pub(super) threshold: i64,
    pub(super) entries: Vec<Entry>,
    /// Ready threads that can be chosen and have something left, in no order: their places tell who is first.
    pub(super) candidates: Vec<u32>,
    /// Those that have used up their allotments: whoever looks for the best need not look at them before the next epoch.
    pub(super) exhausted: Vec<u32>,
    /// By processor: the address space that is loaded.
    pub(super) spaces: Vec<u32>,
    /// By processor: how good its thread is at least, if it has one.
    pub(super) assured: Vec<Assured>,
    /// By processor: for whom it was marked (`ap-reserve`).
    pub(super) reserved: Vec<u32>,
    pub(super) first_place: i64,
    pub(super) last_place: i64,
}

impl Epochs {
    pub(super) fn new(rules: Linux24, machine: &Machine) -> Self {
        let tick = rules.tick.0 as i64;
        let entry = |thread: u32| {
            let it = machine.thread(thread);
            let (cpu, space, nice) = (it.cpu, it.spec.space, i64::from(it.spec.nice));
            Entry { counter: 0, place: 0, cpu, space, nice, yielded: false, average_run: 0, ran: 0 }
        };
        let cpus = machine.processors.len();
        let mut epochs = Self {
            rules,
            tick,
            penalty: i64::from(rules.penalty_ticks) * tick,
            bonus: i64::from(rules.bonus_ticks) * tick,
            threshold: i64::from(rules.threshold_ticks) * tick,
            entries: (0..machine.threads.len() as u32).map(entry).collect(),
            candidates: Vec::new(),
            exhausted: Vec::new(),
            spaces: vec![NOBODY; cpus],
            assured: vec![Assured::default(); cpus],
            reserved: vec![NOBODY; cpus],
            first_place: 0,
            last_place: 0,
        };
        for thread in 0..epochs.entries.len() {
            epochs.entries[thread].counter = epochs.allocation(epochs.entries[thread].nice);
        }
        epochs
    }

    /// The thread can be chosen.
    pub(super) fn offer(&mut self, thread: u32) {
        let left = self.entries[thread as usize].counter > 0;
        if left { &mut self.candidates } else { &mut self.exhausted }.push(thread);
    }

    /// `add_to_runqueue()`: a thread enters the list.
    pub(super) fn enter_list(&mut self, thread: u32) {
        self.entries[thread as usize].place = match self.rules.insertion {
            Insertion::Front => {
                self.first_place -= 1;
                self.first_place
            }
            Insertion::Tail => {
                self.last_place += 1;
                self.last_place
            }
        };
    }
}
