//! What a member learns from one wait to the next. Almost every bound is a multiple of one of the machine's
//! three costs.
use super::rhythm::{Due, Rhythm};
use super::{Adaptive, Facts, Rules};
use crate::Surroundings;
use foregather_machine::{CpuId, Nanos, Rank};

/// After a wait that found a member on this processor, this many waits begin without blind pauses, because
/// they are likely to find one, too.
const LATELY: u32 = 8;
/// The number of times that a member must be found on this processor before it counts as a crowd.
const CROWD: u32 = 32;
/// For how many waits yields are distrusted after one that went to a background thread: initially, and at
/// most. Such a yield costs a tick. A good yield saves the difference between two kinds of hand-over, which
/// is about a thousandth of a tick.
const DISTRUST: (u32, u32) = (1_024, 16_384);
/// The number of consecutive good yields after which the next distrust begins at the initial length again.
const GOOD: u32 = 256;
/// A gap of more ticks than this is not the time slice of one background thread, or of a few.
const STOPPED: u64 = 4;
/// After a move, the member does not move again for half a tick; after each further move, for twice as long
/// as before, up to this many ticks.
const LONGEST_HOLD: u64 = 125;
/// A member that loses less than this percentage of its time to other threads counts as having the processor
/// to itself.
const LOST: u64 = 5;
/// A shorter gap in a spin is an interrupt, not the time slice of a background thread.
pub(super) const PREEMPTED: Nanos = Nanos::from_us(100);
/// For how many ticks after a preemption a background thread is assumed to be still there.
const DISTURBED: u64 = 8;

/// The state of one member.
pub(crate) struct AdaptiveState {
    /// The machine's costs, and the rules that are switched off.
    pub(super) of: Adaptive,
    lately: u32,
    here: u32,
    distrust: u32,
    next_distrust: u32,
    good: u32,
    /// When the last slow wait began, and how many waits preceded it.
    last_slow: Option<(Nanos, u64)>,
    episode: Nanos,
    next_move: Nanos,
    hold: Nanos,
    next_pull: Nanos,
    /// Until this time, a background thread is assumed to share the processor.
    undisturbed_from: Nanos,
    /// The run-queue wait of the thread when it was last read, and the time of that reading.
    queued: Option<Nanos>,
    asked: Nanos,
    /// Whether a background thread was assumed to be on its processor at its last decision.
    pub(super) crowded_out: bool,
    /// The regularity of messages.
    pub(super) rhythm: Rhythm,
    /// The current wait.
    pub(super) now: ThisWait,
}

/// What a member has learned and planned within one wait.
#[derive(Default)]
pub(super) struct ThisWait {
    /// For how long the member may spin, from the beginning of the wait; preemptions do not count.
    pub(super) limit: Nanos,
    /// The processor on which this thread runs.
    pub(super) place: Option<CpuId>,
    /// Facts that hold until an action changes them.
    pub(super) lasting: Facts,
    /// The time window in which the message is expected.
    pub(super) window: Option<Due>,
    /// The processor with the fewest members, and how many fewer it has than this one.
    pub(super) target: CpuId,
    pub(super) fewer: u32,
    /// The processor from which a scout has returned.
    pub(super) idle: Option<CpuId>,
    /// An awaited member, to be recorded in the account.
    pub(super) whom: Option<Rank>,
    /// Members whose state is still to be checked; the last element is checked first.
    pub(super) to_ask: Vec<Rank>,
    pub(super) asked: Option<Rank>,
    pub(super) any_ready: bool,
    /// The total time of the most recent yields that returned at once, because no other thread on this
    /// processor was ready.
    pub(super) in_vain: Nanos,
}

impl AdaptiveState {
    pub(crate) fn new(of: Adaptive) -> Self {
        Self {
            of,
            lately: 0,
            here: 0,
            distrust: 0,
            next_distrust: DISTRUST.0,
            good: 0,
            last_slow: None,
            episode: Nanos::ZERO,
            next_move: Nanos::ZERO,
            hold: of.tick.percent(50),
            next_pull: Nanos::ZERO,
            undisturbed_from: Nanos::ZERO,
            queued: None,
            asked: Nanos::ZERO,
            crowded_out: false,
            rhythm: Rhythm::new(of.remote),
            now: ThisWait::default(),
        }
    }

    /// Returns whether the next wait begins with blind pauses.
    pub(super) fn blinks(&self) -> bool {
        self.lately == 0 && !self.crowded_out && !self.of.without.has(Rules::BLINK)
    }

    /// Records the beginning of a slow wait, and updates the length of an episode.
    pub(super) fn begin_wait(&mut self, now: Nanos, waits: u64) {
        self.lately = self.lately.saturating_sub(1);
        if let Some((then, before)) = self.last_slow.replace((now, waits))
            && let Some(mean) = (now - then).0.checked_div(waits - before)
        {
            // An episode that contains a background thread's time slice is not representative. The length
            // therefore may drop at once but at most doubles.
            let most = if self.episode == Nanos::ZERO { Nanos::MAX } else { self.episode * 2 };
            self.episode = Nanos(mean).min(most);
        }
    }

    /// Records that an awaited member was found on this processor.
    pub(super) fn found_here(&mut self) {
        self.lately = LATELY;
        self.here = self.here.saturating_add(1);
    }

    /// Returns the facts that are known from earlier waits.
    pub(super) fn facts(&self) -> Facts {
        let (episode, hand_over) = (self.episode, self.of.hand_over);
        Facts::CROWDED.when(self.here >= CROWD)
            | Facts::DISTRUSTED.when(self.distrust > 0)
            | Facts::CHEAP.when(hand_over * 4 < self.of.remote * 3)
            | Facts::TINY.when(episode > Nanos::ZERO && episode < hand_over * 2)
            | Facts::ROOMY.when(episode > self.of.remote)
            | Facts::LONG.when(episode > hand_over * 6)
    }

    /// Records a yield of this length. Returns whether it went to a background thread.
    pub(super) fn has_yielded(&mut self, span: Nanos) -> bool {
        let good = self.good;
        if span <= self.of.slow() {
            self.good = good.saturating_add(1);
            if good >= GOOD {
                self.next_distrust = DISTRUST.0;
            }
            return false;
        }
        self.good = 0;
        // After many good yields, a gap this long is not the time slice of a background thread: the whole
        // team was stopped, perhaps by a quota.
        let stopped = span > self.of.tick * STOPPED && good >= GOOD;
        if !stopped {
            let next = self.next_distrust;
            self.distrust = next;
            self.next_distrust = (next * 2).min(DISTRUST.1);
        }
        !stopped
    }

    /// Records a wait that slept instead of yielding: yields are distrusted for one wait less.
    pub(super) fn slept_instead(&mut self) {
        self.distrust = self.distrust.saturating_sub(1);
    }

    /// Ends the distrust of yields.
    pub(super) fn trust_again(&mut self) {
        (self.distrust, self.next_distrust) = (0, DISTRUST.0);
    }

    pub(super) fn may_move(&self, now: Nanos) -> bool {
        now >= self.next_move
    }

    /// Forbids moves of this member for `span`.
    pub(super) fn hold_moves(&mut self, now: Nanos, span: Nanos) {
        self.next_move = now + span;
    }

    /// Records that the member has moved, or was refused.
    pub(super) fn has_moved(&mut self, now: Nanos) {
        let hold = self.hold;
        self.here = 0;
        self.hold_moves(now, hold);
        self.hold = (hold * 2).min(self.of.tick * LONGEST_HOLD);
    }

    /// Records that the member was preempted while it spun: a background thread shares its processor.
    pub(super) fn preempted(&mut self, now: Nanos) {
        self.undisturbed_from = now + self.of.tick * DISTURBED;
    }

    /// Checks whether other threads have used the processor since the last check, and records a preemption if
    /// they have. It checks at most once in a quarter of a tick, because the check costs a system call. Time
    /// lost between waits or in the blind pauses leaves no other trace. A kernel thread that occasionally
    /// runs for a few microseconds is ignored, because sleeping would cost more.
    pub(super) fn ask_for_lost_time(&mut self, around: &dyn Surroundings, now: Nanos) {
        let span = now - self.asked;
        if span < self.of.slow() {
            return;
        }
        self.asked = now;
        let queued = around.placement().run_queue_wait();
        if let (Some(before), Some(after)) = (core::mem::replace(&mut self.queued, queued), queued)
            && after - before > PREEMPTED.max(span.percent(LOST))
        {
            self.preempted(now);
        }
    }

    pub(super) fn is_disturbed(&self, now: Nanos) -> bool {
        now < self.undisturbed_from
    }

    pub(super) fn may_pull(&self, now: Nanos) -> bool {
        now >= self.next_pull
    }

    pub(super) fn has_pulled(&mut self, now: Nanos) {
        self.next_pull = now + self.of.tick.percent(50);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_machine::Costs;

    fn state() -> AdaptiveState {
        AdaptiveState::new(Adaptive::new(&Costs::TYPICAL))
    }

    #[test]
    fn distrust_doubles_and_is_forgotten_after_good_yields() {
        let mut state = state();
        let (slow, fast) = (Nanos::from_ms(2), Nanos(700));
        assert!(!state.has_yielded(fast) && !state.facts().has(Facts::DISTRUSTED));
        for expected in [1_024, 2_048, 4_096] {
            assert!(state.has_yielded(slow));
            assert_eq!(state.distrust, expected);
        }
        (0..4_096).for_each(|_| state.slept_instead());
        assert!(!state.facts().has(Facts::DISTRUSTED), "trusted again after as many waits");
        assert_eq!(state.next_distrust, 8_192);
        (0..257).for_each(|_| assert!(!state.has_yielded(fast)));
        assert_eq!(state.next_distrust, 1_024);
        (0..20).for_each(|_| assert!(state.has_yielded(slow)));
        assert_eq!(state.distrust, 16_384, "never longer");
    }

    #[test]
    fn a_stop_of_the_whole_team_is_no_stranger_unless_it_is_one_of_many() {
        let (mut state, stop) = (state(), Nanos::from_ms(50));
        assert!(state.has_yielded(stop), "nothing is known yet");
        (0..1_024).for_each(|_| state.slept_instead());
        (0..256).for_each(|_| assert!(!state.has_yielded(Nanos(700))));
        assert!(!state.has_yielded(stop) && !state.facts().has(Facts::DISTRUSTED));
        assert!(state.has_yielded(stop), "two in a row are turns of many background threads");
    }

    #[test]
    fn a_crowd_is_a_habit_and_ends_with_a_move() {
        let mut state = state();
        assert!(state.blinks());
        state.found_here();
        assert!(!state.blinks());
        (0..8).for_each(|episode| state.begin_wait(Nanos(1), episode));
        assert!(state.blinks(), "eight waits later");
        (1..32).for_each(|_| state.found_here());
        assert!(state.facts().has(Facts::CROWDED));
        state.has_moved(Nanos::from_ms(1));
        assert!(!state.facts().has(Facts::CROWDED) && !state.may_move(Nanos::from_ms(2)) && state.may_move(Nanos::from_ms(3)));
        (0..20).for_each(|_| state.has_moved(Nanos::ZERO));
        assert!(!state.may_move(Nanos::from_ms(499)) && state.may_move(Nanos::from_ms(500)), "half a second at most");
    }

    #[test]
    fn an_episodes_length_is_that_of_all_since_the_last_slow_wait() {
        let mut state = state();
        fn at(state: &mut AdaptiveState, us: u64, waits: u64) {
            state.begin_wait(Nanos::from_us(us), waits);
        }
        at(&mut state, 100, 5);
        assert_eq!(state.facts(), Facts::CHEAP, "not known yet");
        at(&mut state, 110, 15);
        assert_eq!((state.episode, state.facts()), (Nanos::from_us(1), Facts::CHEAP | Facts::TINY));
        at(&mut state, 111, 15);
        assert_eq!(state.episode, Nanos::from_us(1), "no episode in between");
        at(&mut state, 121, 16);
        assert_eq!(state.episode, Nanos::from_us(2), "longer, but perhaps by a background thread's turn");
        (1..4).for_each(|more| at(&mut state, 121 + more * 10, 16 + more));
        assert_eq!(state.facts(), Facts::CHEAP | Facts::LONG);
    }

    #[test]
    fn yields_are_cheap_unless_both_switches_cost_about_the_same() {
        let cheap = |hand_over, remote| {
            let of = Adaptive { hand_over: Nanos(hand_over), remote: Nanos(remote), ..Adaptive::new(&Costs::TYPICAL) };
            AdaptiveState::new(of).facts().has(Facts::CHEAP)
        };
        // As measured: idle processors, busy ones, and one switch for both.
        assert_eq!([cheap(670, 19_000), cheap(1_873, 7_464), cheap(6_000, 6_000)], [true, true, false]);
    }
}
