//! The simulated scheduler, judged by a recording of the kernel's: at each decision, its rules are asked from
//! the queues as they were, and then go on from what the kernel decided.
//!
//! A decision is a switch to one of at least two threads that could run; a wake-up or a tick at which the
//! present thread went on although another one could run; and the processor of a woken thread that may run on
//! two. Threads of other programs occupy processors; what the kernel decides about them is not judged. While
//! one of them waits for a processor, it may be what makes the kernel choose again; then the choice alone is
//! compared.
use foregather_bench::schedules::{ScheduleCell, ScheduleRecording};
use foregather_host::watched::decisions::{SchedulerRecord, SchedulerStep};
use foregather_machine::{CpuId, Nanos, ThreadId};
use foregather_sim::smp::{Eevdf, QueuedThread, SchedulerReplay};
use std::collections::BTreeMap;

foregather_machine::named! {
    /// What is decided, and when.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub(super) enum DecisionKind {
        /// Which thread runs next, when one falls asleep.
        NextAtSleep = "next at a sleep",
        /// Which runs next, when one was woken.
        NextAtWakeup = "next at a wake-up",
        /// Which runs next, when the present one was charged at a tick.
        NextAtTick = "next at a tick",
        /// Which runs next, when another program or the idle loop gives up the processor.
        NextAfterOthers = "next after another program",
        /// The present thread goes on, when one was woken.
        StayAtWakeup = "stay at a wake-up",
        /// It goes on, when it was charged at a tick.
        StayAtTick = "stay at a tick",
        /// Where a woken thread goes.
        Place = "place",
    }
}

impl DecisionKind {
    /// Returns whether it is a switch.
    pub(super) const fn is_next(self) -> bool {
        matches!(self, Self::NextAtSleep | Self::NextAtWakeup | Self::NextAtTick | Self::NextAfterOthers)
    }

    /// Returns whether it is a thread that continues.
    pub(super) const fn is_stay(self) -> bool {
        matches!(self, Self::StayAtWakeup | Self::StayAtTick)
    }
}

/// A decision of the kernel, and how that of the rules differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JudgedDecision {
    pub(super) kind: DecisionKind,
    /// `None`: it is the same.
    pub(super) difference: Option<&'static str>,
}

pub(super) const CLOSE_CALL: &str = "deadlines or shares within 10 us";
pub(super) const KERNEL_PREEMPTS: &str = "the rules let the present thread go on";
pub(super) const RULES_PREEMPT: &str = "the rules switch";
pub(super) const LATER_DEADLINE: &str = "by the rules its deadline is later";
pub(super) const NOT_ELIGIBLE: &str = "by the rules it has had more than its share";
pub(super) const ASLEEP: &str = "by the rules it sleeps";
pub(super) const PREVIOUS_IDLE: &str = "its last processor is idle, the kernel takes another";
pub(super) const OTHER_IDLE: &str = "the other processor is idle, the kernel does not take it";
pub(super) const BOTH_BUSY: &str = "both processors are busy, the kernel moves it";

/// Accounting of the kernel and of the replay differs by less than this.
const CLOSE_NS: i64 = 10_000;
/// If no switch follows a wake-up or a tick within this time, the present thread goes on.
const REACTION: Nanos = Nanos::from_us(300);
/// What threads owed each other at first, or while a record is missing, is not known; it is forgotten after a
/// few slices.
const WARM_UP: Nanos = Nanos::from_ms(30);

/// A wake-up or a tick that may lead to a switch.
#[derive(Clone, Copy)]
struct Occasion {
    at: Nanos,
    is_wakeup: bool,
}

struct Judge<'a> {
    cell: &'a ScheduleCell,
    recording: &'a ScheduleRecording,
    replay: SchedulerReplay,
    /// By processor.
    occasions: Vec<Option<Occasion>>,
    /// By thread: where the rules would put it, and where it ran last.
    placed: Vec<Option<(CpuId, CpuId)>>,
    last: Vec<CpuId>,
    /// Threads of other programs that are awake, and the processors that they run on or wait for.
    others: BTreeMap<ThreadId, CpuId>,
    now: Nanos,
    /// Decisions are judged from then on.
    from: Nanos,
    found: Vec<JudgedDecision>,
}

/// Judges the rules by a recording.
///
/// # Errors
/// If records were lost.
pub(super) fn judge(cell: &ScheduleCell, recording: &ScheduleRecording, rules: &Eevdf) -> Result<Vec<JudgedDecision>, String> {
    let cpus = cell.cpus.len() as u32;
    let pin = (cpus == 1).then_some(0);
    let threads: Vec<(i8, Option<CpuId>)> = cell.threads.iter().map(|thread| (thread.nice, pin)).collect();
    let mut judge = Judge {
        cell,
        recording,
        replay: SchedulerReplay::new(rules, cpus, &threads),
        occasions: vec![None; cpus as usize],
        placed: vec![None; threads.len()],
        last: vec![0; threads.len()],
        others: BTreeMap::new(),
        now: Nanos::ZERO,
        from: Nanos(recording.began_ns) + WARM_UP,
        found: vec![],
    };
    for record in recording.records() {
        if record.step == SchedulerStep::Lost {
            return Err("the kernel lost records: it made more than fit into the memory for them".into());
        }
        judge.take(record);
    }
    Ok(judge.found)
}

impl Judge<'_> {
    fn thread(&self, number: ThreadId) -> Option<u32> {
        self.recording.threads.iter().position(|&thread| thread == number).map(|index| index as u32)
    }

    fn processor(&self, number: CpuId) -> Option<CpuId> {
        self.cell.cpus.iter().position(|&cpu| cpu == number).map(|index| index as u32)
    }

    fn take(&mut self, record: SchedulerRecord) {
        self.now = record.at;
        self.replay.at(record.at);
        for cpu in 0..self.occasions.len() as u32 {
            if self.occasions[cpu as usize].is_some_and(|occasion| occasion.at + REACTION < record.at) {
                self.stays(cpu);
            }
        }
        let here = self.processor(record.cpu);
        self.note_others(record.cpu, record.step);
        match record.step {
            SchedulerStep::Switch { from, is_ready, to } => {
                if let Some(cpu) = here {
                    self.switch(cpu, (self.thread(from), is_ready), (to, self.thread(to)));
                }
            }
            SchedulerStep::Ran { thread, span } => {
                if let (Some(thread), Some(cpu)) = (self.thread(thread), here) {
                    self.ran(cpu, thread, span);
                }
            }
            SchedulerStep::Waking { thread } => {
                if let Some(thread) = self.thread(thread) {
                    let last = self.last[thread as usize];
                    let ours = self.replay.place(thread, here.unwrap_or(last));
                    self.placed[thread as usize] = (self.cell.cpus.len() > 1).then_some((ours, last));
                    self.replay.waking(thread);
                }
            }
            SchedulerStep::Woken { thread, on } => {
                if let (Some(thread), Some(on)) = (self.thread(thread), self.processor(on)) {
                    self.woken(thread, on);
                }
            }
            SchedulerStep::Migrated { thread, to } => {
                if let (Some(thread), Some(to)) = (self.thread(thread), self.processor(to)) {
                    self.replay.migrated(thread, to);
                }
            }
            SchedulerStep::Lost => {}
        }
    }

    /// Keeps account of other programs' threads; all steps may be about them.
    fn note_others(&mut self, here: CpuId, step: SchedulerStep) {
        let (thread, place) = match step {
            SchedulerStep::Woken { thread, on } => (thread, Some(on)),
            SchedulerStep::Migrated { thread, to } => (thread, self.others.contains_key(&thread).then_some(to)),
            SchedulerStep::Switch { from, is_ready, .. } => (from, is_ready.then_some(here)),
            _ => return,
        };
        let is_other = thread != 0 && self.thread(thread).is_none();
        match place.filter(|_| is_other) {
            Some(cpu) => drop(self.others.insert(thread, cpu)),
            None => drop(self.others.remove(&thread)),
        }
    }

    fn note(&mut self, kind: DecisionKind, difference: Option<&'static str>) {
        if self.now >= self.from {
            self.found.push(JudgedDecision { kind, difference });
        }
    }

    /// The kernel now and then leaves out a record; here the one by which a thread came to its processor.
    fn catch_up(&mut self, cpu: CpuId, thread: u32) {
        if self.replay.present(cpu) != Some(thread) {
            self.replay.runs(cpu, thread);
            self.from = self.from.max(self.now + WARM_UP);
        }
    }

    fn ran(&mut self, cpu: CpuId, thread: u32, span: Nanos) {
        self.catch_up(cpu, thread);
        self.replay.charge(thread, span);
        if self.replay.present(cpu) == Some(thread) && self.replay.runnable(cpu) >= 2 {
            let tick = Occasion { at: self.now, is_wakeup: false };
            self.occasions[cpu as usize].get_or_insert(tick);
        }
    }

    fn woken(&mut self, thread: u32, on: CpuId) {
        if let Some((ours, last)) = self.placed[thread as usize].take() {
            let difference = match (ours == on, ours == last, self.replay.runnable(ours)) {
                (true, ..) => None,
                (_, false, _) => Some(OTHER_IDLE),
                (_, true, 0) if self.replay.present(ours).is_none() => Some(PREVIOUS_IDLE),
                _ => Some(BOTH_BUSY),
            };
            self.note(DecisionKind::Place, difference);
        }
        self.last[thread as usize] = on;
        self.replay.woken(thread, on);
        if self.replay.present(on).is_some() && self.replay.runnable(on) >= 2 {
            self.occasions[on as usize] = Some(Occasion { at: self.now, is_wakeup: true });
        }
    }

    /// No switch has followed a wake-up or a tick.
    fn stays(&mut self, cpu: CpuId) {
        let (Some(occasion), Some(present)) = (self.occasions[cpu as usize].take(), self.replay.present(cpu)) else { return };
        let kind = if occasion.is_wakeup { DecisionKind::StayAtWakeup } else { DecisionKind::StayAtTick };
        let ours = if self.replay.is_marked(cpu) { self.replay.choose(cpu) } else { Some(present) };
        let difference = (ours != Some(present)).then(|| {
            let views = [Some(present), ours].map(|thread| self.replay.view(thread?));
            if are_close(views) { CLOSE_CALL } else { RULES_PREEMPT }
        });
        self.note(kind, difference);
        self.replay.unmark(cpu);
    }

    fn switch(&mut self, cpu: CpuId, (from, is_ready): (Option<u32>, bool), (to, next): (ThreadId, Option<u32>)) {
        if let Some(from) = from {
            self.catch_up(cpu, from);
        }
        let occasion = self.occasions[cpu as usize].take();
        if from.is_some() && !is_ready {
            self.replay.sleeps(cpu);
        }
        if let Some(next) = next {
            let kind = match (from, is_ready, occasion) {
                (None, ..) => DecisionKind::NextAfterOthers,
                (_, false, _) => DecisionKind::NextAtSleep,
                (_, true, Some(Occasion { is_wakeup: true, .. })) => DecisionKind::NextAtWakeup,
                (_, true, _) => DecisionKind::NextAtTick,
            };
            let has_choice = self.replay.runnable(cpu) >= 2;
            let difference = self.difference(cpu, next);
            if has_choice {
                self.note(kind, difference);
            }
            self.last[next as usize] = cpu;
            self.replay.runs(cpu, next);
        } else if to == 0 {
            self.replay.choose(cpu);
            self.replay.idles(cpu);
        } else {
            self.replay.runs_other(cpu);
        }
    }

    /// How the rules' choice of the next thread differs from the kernel's.
    fn difference(&mut self, cpu: CpuId, next: u32) -> Option<&'static str> {
        let theirs = self.replay.view(next);
        let present = self.replay.present(cpu);
        // Other programs' threads that wait for the processor may have asked for the switch.
        let asked = self.others.values().any(|&place| Some(cpu) == self.processor(place));
        let goes_on = present.is_some() && !self.replay.is_marked(cpu) && !asked;
        // A choice takes sleepers out of the queue, even where there is only one thread to choose.
        let chosen = self.replay.choose(cpu);
        let ours = if goes_on { present } else { chosen };
        if ours == Some(next) {
            return None;
        }
        Some(match theirs {
            None | Some(QueuedThread { dozes: true, .. }) => ASLEEP,
            _ if are_close([theirs, self.replay.view(ours?)]) => CLOSE_CALL,
            _ if ours == present => KERNEL_PREEMPTS,
            Some(theirs) if theirs.lag < 0 => NOT_ELIGIBLE,
            Some(_) => LATER_DEADLINE,
        })
    }
}

/// Returns whether a few microseconds would make the kernel's choice that of the rules.
fn are_close(views: [Option<QueuedThread>; 2]) -> bool {
    let [Some(theirs), Some(ours)] = views else { return false };
    let becomes_eligible = (-CLOSE_NS..0).contains(&theirs.lag);
    let is_eligible_no_longer = (0..CLOSE_NS).contains(&ours.lag);
    (theirs.deadline - ours.deadline).abs() < CLOSE_NS || becomes_eligible || is_eligible_no_longer
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_bench::schedules::{ScheduleStep, ScheduledThread};

    const US: Nanos = Nanos::from_us(1);
    const MS: Nanos = Nanos::from_ms(1);
    /// The kernel's numbers of the first thread and of one of another program.
    const FIRST: ThreadId = 100;
    const OTHER: ThreadId = 7;

    /// Judges steps of the given times after the warm-up, on processors 2 and up.
    fn judged(threads: usize, cpus: u32, steps: &[(Nanos, CpuId, SchedulerStep)]) -> Vec<(&'static str, Option<&'static str>)> {
        let thread = ScheduledThread { nice: 0, steps: vec![ScheduleStep::Run(1)] };
        let cell = ScheduleCell { cpus: (2..2 + cpus).collect(), threads: vec![thread; threads], span_ns: 1, seed: 1 };
        let records: Vec<_> = steps.iter().map(|&(at, cpu, step)| SchedulerRecord { at: at + WARM_UP, cpu, step }).collect();
        let numbers = (0..threads as u32).map(|thread| FIRST + thread).collect();
        let recording = ScheduleRecording::new(numbers, Nanos::ZERO, true, &records);
        let rules = Eevdf { slice: Nanos::from_us(1_400), ..Eevdf::LINUX };
        let found = judge(&cell, &recording, &rules).unwrap();
        found.into_iter().map(|decision| (decision.kind.name(), decision.difference)).collect()
    }

    fn woken(thread: u32, on: CpuId) -> SchedulerStep {
        SchedulerStep::Woken { thread: FIRST + thread, on }
    }

    fn ran(thread: u32, span: Nanos) -> SchedulerStep {
        SchedulerStep::Ran { thread: FIRST + thread, span }
    }

    fn switch(from: Option<u32>, is_ready: bool, to: Option<u32>) -> SchedulerStep {
        let [from, to] = [from, to].map(|thread| thread.map_or(0, |thread| FIRST + thread));
        SchedulerStep::Switch { from, is_ready, to }
    }

    /// Threads 0, 1 and 2 are awake, and the first runs.
    fn three() -> Vec<(Nanos, CpuId, SchedulerStep)> {
        let mut steps: Vec<_> = (0..3).map(|thread| (Nanos(u64::from(thread)), 2, woken(thread, 2))).collect();
        steps.push((US, 2, switch(None, false, Some(0))));
        steps
    }

    #[test]
    fn the_same_choice_at_a_tick_and_at_a_sleep_is_equal() {
        let mut steps = three();
        steps.extend([
            (MS * 2, 2, ran(0, MS * 2)),
            (MS * 2 + US, 2, switch(Some(0), true, Some(1))),
            (MS * 3, 2, ran(1, MS)),
            (MS * 3, 2, switch(Some(1), false, Some(2))),
        ]);
        let found = judged(3, 1, &steps);
        assert_eq!(found, [("next after another program", None), ("next at a tick", None), ("next at a sleep", None),]);
    }

    #[test]
    fn other_choices_are_classed() {
        let mut steps = three();
        steps.extend([
            // Its slice is over, and the kernel lets it go on.
            (MS * 2, 2, ran(0, MS * 2)),
            // It is charged for little more, and the kernel takes the one that the rules put last.
            (MS * 3, 2, ran(0, MS)),
            (MS * 3, 2, switch(Some(0), true, Some(2))),
            (MS * 5, 2, ran(2, MS * 2)),
            (MS * 5, 2, switch(Some(2), true, Some(1))),
            // It has run for a tenth of a slice.
            (MS * 6, 2, ran(1, US * 100)),
            (MS * 6, 2, switch(Some(1), true, Some(2))),
            (MS * 7, 2, ran(2, MS)),
            (MS * 7, 2, switch(Some(2), false, Some(0))),
        ]);
        let found = judged(3, 1, &steps);
        assert_eq!(
            found[1..],
            [
                ("stay at a tick", Some(RULES_PREEMPT)),
                ("next at a tick", Some(CLOSE_CALL)),
                ("next at a tick", None),
                ("next at a tick", Some(KERNEL_PREEMPTS)),
                ("next at a sleep", Some(NOT_ELIGIBLE)),
            ]
        );
    }

    #[test]
    fn a_thread_that_wakes_late_does_not_preempt_and_other_programs_are_not_judged() {
        let steps = [
            (Nanos(0), 2, woken(0, 2)),
            (US, 2, switch(None, false, Some(0))),
            (US * 100, 2, ran(0, US * 100)),
            (US * 100, 2, woken(1, 2)),
            (MS, 2, SchedulerStep::Switch { from: FIRST, is_ready: true, to: OTHER }),
            (MS * 2, 2, SchedulerStep::Switch { from: OTHER, is_ready: false, to: FIRST }),
        ];
        let found = judged(2, 1, &steps);
        assert_eq!(found, [("stay at a wake-up", None), ("next after another program", None)]);
    }

    #[test]
    fn places_are_compared_before_the_thread_is_there() {
        let waking = |thread| SchedulerStep::Waking { thread: FIRST + thread };
        let other = |to| SchedulerStep::Switch { from: 0, is_ready: true, to };
        let steps = [
            (Nanos(0), 2, waking(0)),
            (Nanos(1), 2, woken(0, 2)),
            (Nanos(2), 2, switch(None, true, Some(0))),
            // Its last processor has a thread, and the other one is idle.
            (US, 2, waking(1)),
            (US, 2, woken(1, 2)),
            (US * 2, 3, other(OTHER)),
            (US * 3, 3, waking(2)),
            (US * 3, 3, woken(2, 3)),
        ];
        let found = judged(3, 2, &steps);
        assert_eq!(found, [("place", None), ("place", Some(OTHER_IDLE)), ("place", Some(BOTH_BUSY))]);
    }

    #[test]
    fn a_recording_with_gaps_is_refused() {
        let cell = ScheduleCell { cpus: vec![0], threads: vec![], span_ns: 1, seed: 1 };
        let lost = SchedulerRecord { at: US, cpu: 0, step: SchedulerStep::Lost };
        let recording = ScheduleRecording::new(vec![], Nanos::ZERO, true, &[lost]);
        assert!(judge(&cell, &recording, &Eevdf::LINUX).unwrap_err().contains("lost records"));
    }
}
