//! The list of runnable threads, and what is left of their allotments in this epoch.
use super::rules::{Insertion, Linux24};
use crate::smp::machine::{Machine, NOBODY};
use foregather_machine::CpuId;

/// One thread's place in the epoch.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// Nanoseconds left of its allotment; what a running thread has used since it was last charged is still
    /// in it.
    pub(super) counter: i64,
    /// Its place in the list of runnable threads: the lowest is first.
    pub(super) place: i64,
    pub(super) cpu: CpuId,
    /// The number of its address space.
    pub(super) space: u32,
    pub(super) nice: i64,
    /// It has offered its processor and loses to every other thread, once.
    pub(super) yielded: bool,
    /// How long it runs at a time, on average, in nanoseconds: `avg_slice` of 2.2.
    pub(super) average_run: i64,
    pub(super) ran: i64,
}

/// The scheduler at work.
pub(super) struct Epochs {
    pub(super) rules: Linux24,
    pub(super) tick: i64,
    pub(super) penalty: i64,
    pub(super) bonus: i64,
    pub(super) threshold: i64,
    pub(super) entries: Vec<Entry>,
    /// Ready threads that can be chosen and have something left, in no order: their places tell which is
    /// first.
    pub(super) candidates: Vec<u32>,
    /// Threads that have used up their allotments: no search for the best looks at them before the next
    /// epoch.
    pub(super) exhausted: Vec<u32>,
    /// By processor: the address space that is loaded.
    pub(super) spaces: Vec<u32>,
    /// By processor: up to when its thread's allotment lasts at least, in nanoseconds; 0 if it may be idle.
    pub(super) assured_until: Vec<i64>,
    /// What nice values add to goodness, at least and at most.
    pub(super) urgencies: (i64, i64),
    /// By processor: the thread for which it was marked (`ap-reserve`).
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
            assured_until: vec![0; cpus],
            urgencies: (0, 0),
            reserved: vec![NOBODY; cpus],
            first_place: 0,
            last_place: 0,
        };
        for thread in 0..epochs.entries.len() {
            epochs.entries[thread].counter = epochs.allocation(epochs.entries[thread].nice);
        }
        let urgencies = || epochs.entries.iter().map(|entry| epochs.urgency(entry));
        epochs.urgencies = (urgencies().min().unwrap_or(0), urgencies().max().unwrap_or(0));
        epochs
    }

    /// Puts a thread among those that can be chosen.
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
