//! What a member remembers from wait to wait, and how it changes. Every bound is a multiple of one of the machine's three costs.
use super::{Adaptive, Facts, Rules};
use crate::roster::Roster;
use core::cell::Cell;
use foregather_machine::{Cpu, CpuId, Nanos, Rank};

/// Waits after the last one that found a member on this processor in which the next may: no blind pauses then.
const LATELY: u32 = 8;
/// Finds of a member on this processor that make a crowd.
const CROWD: u32 = 32;
/// For how many waits a yield that went to a stranger is held against yields: at first, and at most. Such a yield costs a tick, a
/// good one saves the difference of two hand-overs, which is some thousand times less.
const DISTRUST: (u32, u32) = (1_024, 16_384);
/// So many good yields in a row are the end of a longer memory.
const GOOD: u32 = 256;
/// A stranger's turn, or those of a few, take no more ticks.
const STOPPED: u64 = 4;
/// After a move nobody moves for half a tick, then twice that and so on, up to this many ticks.
const LONGEST_HOLD: u64 = 125;
/// For so many ticks after a preemption a stranger is believed to be there still.
const DISTURBED: u64 = 8;

/// One member's.
pub(crate) struct AdaptiveState {
    /// The costs it reckons with, and the rules that are off.
    pub(super) of: Adaptive,
    lately: Cell<u32>,
    here: Cell<u32>,
    distrust: Cell<u32>,
    next_distrust: Cell<u32>,
    good: Cell<u32>,
    /// When its last slow wait began, and after how many waits.
    last_slow: Cell<Option<(Nanos, u64)>>,
    episode: Cell<Nanos>,
    next_move: Cell<Nanos>,
    hold: Cell<Nanos>,
    next_pull: Cell<Nanos>,
    /// Until then it shares its processor with a stranger.
    undisturbed_from: Cell<Nanos>,
    /// How often it had been preempted when it was last asked, and when that was.
    preemptions: Cell<Option<u64>>,
    asked: Cell<Nanos>,
    /// Where the others believe it to be.
    seen: Cell<Option<CpuId>>,
}

impl AdaptiveState {
    pub(crate) fn new(of: Adaptive) -> Self {
        Self {
            of,
            lately: Cell::new(0),
            here: Cell::new(0),
            distrust: Cell::new(0),
            next_distrust: Cell::new(DISTRUST.0),
            good: Cell::new(0),
            last_slow: Cell::new(None),
            episode: Cell::new(Nanos::ZERO),
            next_move: Cell::new(Nanos::ZERO),
            hold: Cell::new(of.tick.percent(50)),
            next_pull: Cell::new(Nanos::ZERO),
            undisturbed_from: Cell::new(Nanos::ZERO),
            preemptions: Cell::new(None),
            asked: Cell::new(Nanos::ZERO),
            seen: Cell::new(None),
        }
    }

    /// Shall the next wait begin with blind pauses?
    pub(crate) fn blinks(&self) -> bool {
        self.lately.get() == 0 && !self.of.without.has(Rules::BLINK)
    }

    /// The first bound of a spin.
    pub(crate) fn bound(&self) -> Nanos {
        self.of.bound()
    }

    /// Lets the others see where this member runs, if that is new to them.
    #[inline]
    pub(crate) fn observe<C: Cpu>(&self, cpu: &C, roster: Roster<'_, C>, rank: Rank) -> Option<CpuId> {
        let here = cpu.place();
        if here != self.seen.get() {
            self.seen.set(here);
            roster.publish_cpu(cpu, rank, here);
        }
        here
    }

    /// A wait begins that the blind pauses did not end.
    pub(super) fn begin(&self, now: Nanos, waits: u64) {
        self.lately.set(self.lately.get().saturating_sub(1));
        if let Some((then, before)) = self.last_slow.replace(Some((now, waits)))
            && let Some(mean) = (now - then).0.checked_div(waits - before)
        {
            // One that had a stranger's turn in it says nothing: the length falls at once, and doubles at most.
            let most = if self.episode.get() == Nanos::ZERO { Nanos::MAX } else { self.episode.get() * 2 };
            self.episode.set(Nanos(mean).min(most));
        }
    }

    /// An awaited member is on this processor.
    pub(super) fn found_here(&self) {
        self.lately.set(LATELY);
        self.here.set(self.here.get().saturating_add(1));
    }

    /// What is known from earlier waits.
    pub(super) fn facts(&self) -> Facts {
        let (episode, hand_over) = (self.episode.get(), self.of.hand_over);
        Facts::CROWDED.when(self.here.get() >= CROWD)
            | Facts::DISTRUSTED.when(self.distrust.get() > 0)
            | Facts::CHEAP.when(hand_over * 4 < self.of.remote)
            | Facts::TINY.when(episode > Nanos::ZERO && episode < hand_over * 2)
            | Facts::LONG.when(episode > hand_over * 6)
    }

    /// A yield took that long. Did it go to a stranger?
    pub(super) fn yielded(&self, span: Nanos) -> bool {
        let good = self.good.get();
        if span <= self.of.slow() {
            self.good.set(good.saturating_add(1));
            if good >= GOOD {
                self.next_distrust.set(DISTRUST.0);
            }
            return false;
        }
        self.good.set(0);
        // Out of good yields one that long is no stranger's turn: the whole team was stopped, by a quota perhaps.
        let stopped = span > self.of.tick * STOPPED && good >= GOOD;
        if !stopped {
            let next = self.next_distrust.get();
            self.distrust.set(next);
            self.next_distrust.set((next * 2).min(DISTRUST.1));
        }
        !stopped
    }

    /// One wait less in which yields are held in distrust.
    pub(super) fn slept_instead(&self) {
        self.distrust.set(self.distrust.get().saturating_sub(1));
    }

    pub(super) fn may_move(&self, now: Nanos) -> bool {
        now >= self.next_move.get()
    }

    /// Not before `span` is over.
    pub(super) fn hold_moves(&self, now: Nanos, span: Nanos) {
        self.next_move.set(now + span);
    }

    /// It has moved.
    pub(super) fn moved(&self, now: Nanos) {
        let hold = self.hold.get();
        self.here.set(0);
        self.hold_moves(now, hold);
        self.hold.set((hold * 2).min(self.of.tick * LONGEST_HOLD));
    }

    /// It was preempted while it spun: a stranger shares its processor.
    pub(super) fn preempted(&self, now: Nanos) {
        self.undisturbed_from.set(now + self.of.tick * DISTURBED);
    }

    /// Was it preempted since the last time? Asked once in a quarter of a tick, since that costs a system call. A preemption between waits, or in
    /// the pauses that nobody times, leaves no other trace.
    pub(super) fn ask_for_preemptions<C: Cpu>(&self, cpu: &C, now: Nanos) {
        if now - self.asked.get() < self.of.slow() {
            return;
        }
        self.asked.set(now);
        let preemptions = cpu.preemptions();
        if self.preemptions.replace(preemptions).is_some_and(|before| preemptions.is_some_and(|now| now > before)) {
            self.preempted(now);
        }
    }

    pub(super) fn is_disturbed(&self, now: Nanos) -> bool {
        now < self.undisturbed_from.get()
    }

    pub(super) fn may_pull(&self, now: Nanos) -> bool {
        now >= self.next_pull.get()
    }

    pub(super) fn pulled(&self, now: Nanos) {
        self.next_pull.set(now + self.of.tick.percent(50));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_machine::Costs;

    fn memory() -> AdaptiveState {
        AdaptiveState::new(Adaptive::new(&Costs::TYPICAL))
    }

    #[test]
    fn distrust_doubles_and_is_forgotten_after_good_yields() {
        let memory = memory();
        let (slow, fast) = (Nanos::from_ms(2), Nanos(700));
        assert!(!memory.yielded(fast) && !memory.facts().has(Facts::DISTRUSTED));
        for expected in [1_024, 2_048, 4_096] {
            assert!(memory.yielded(slow));
            assert_eq!(memory.distrust.get(), expected);
        }
        (0..4_096).for_each(|_| memory.slept_instead());
        assert!(!memory.facts().has(Facts::DISTRUSTED), "trusted again after as many waits");
        assert_eq!(memory.next_distrust.get(), 8_192);
        (0..257).for_each(|_| assert!(!memory.yielded(fast)));
        assert_eq!(memory.next_distrust.get(), 1_024);
        (0..20).for_each(|_| assert!(memory.yielded(slow)));
        assert_eq!(memory.distrust.get(), 16_384, "never longer");
    }

    #[test]
    fn a_stop_of_the_whole_team_is_no_stranger_unless_it_is_one_of_many() {
        let (memory, stop) = (memory(), Nanos::from_ms(50));
        assert!(memory.yielded(stop), "nothing is known yet");
        (0..1_024).for_each(|_| memory.slept_instead());
        (0..256).for_each(|_| assert!(!memory.yielded(Nanos(700))));
        assert!(!memory.yielded(stop) && !memory.facts().has(Facts::DISTRUSTED));
        assert!(memory.yielded(stop), "two in a row are turns of many strangers");
    }

    #[test]
    fn a_crowd_is_a_habit_and_ends_with_a_move() {
        let memory = memory();
        assert!(memory.blinks());
        memory.found_here();
        assert!(!memory.blinks());
        (0..8).for_each(|episode| memory.begin(Nanos(1), episode));
        assert!(memory.blinks(), "eight waits later");
        (1..32).for_each(|_| memory.found_here());
        assert!(memory.facts().has(Facts::CROWDED));
        memory.moved(Nanos::from_ms(1));
        assert!(!memory.facts().has(Facts::CROWDED) && !memory.may_move(Nanos::from_ms(2)) && memory.may_move(Nanos::from_ms(3)));
        (0..20).for_each(|_| memory.moved(Nanos::ZERO));
        assert!(!memory.may_move(Nanos::from_ms(499)) && memory.may_move(Nanos::from_ms(500)), "half a second at most");
    }

    #[test]
    fn an_episodes_length_is_that_of_all_since_the_last_slow_wait() {
        let memory = memory();
        let at = |us, waits| memory.begin(Nanos::from_us(us), waits);
        at(100, 5);
        assert_eq!(memory.facts(), Facts::CHEAP, "not known yet");
        at(110, 15);
        assert_eq!((memory.episode.get(), memory.facts()), (Nanos::from_us(1), Facts::CHEAP | Facts::TINY));
        at(111, 15);
        assert_eq!(memory.episode.get(), Nanos::from_us(1), "no episode in between");
        at(121, 16);
        assert_eq!(memory.episode.get(), Nanos::from_us(2), "longer, but perhaps by a stranger's turn");
        (1..4).for_each(|more| at(121 + more * 10, 16 + more));
        assert_eq!(memory.facts(), Facts::CHEAP | Facts::LONG);
    }
}
