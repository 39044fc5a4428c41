//! One wait according to the decision table, after the blind pauses.
use super::crowd::{is_any_believed, is_crowded_out, lost_a_turn};
use super::state::{PREEMPTED, ThisWait};
use super::table::RULE_NAMES;
use super::{Action, AdaptiveState, Facts, Rules, TABLE, decide};
use crate::roster::crowds;
use crate::{Effect, Interest, Progress, Step, Strategy, WaitTarget};
use foregather_machine::{Nanos, ThreadId, reached};

/// The maximum number of members that are checked, one after another, for whether they are running. Each
/// check takes 1 to 2 us.
const MOST_ASKED: usize = 4;

/// Yields that keep returning at once count as useless after this many spin bounds.
const IN_VAIN: u64 = 2;

impl Strategy for AdaptiveState {
    fn spins(&self) -> bool {
        self.blinks() && self.of.bound() > Nanos::ZERO
    }

    fn interest(&self) -> Interest {
        Interest { places: true, spans: true, ..Interest::default() }
    }

    fn rules(&self) -> &'static [&'static str] {
        &RULE_NAMES
    }

    fn begin(&mut self, wait: &Progress<'_>) -> bool {
        let blinks = self.blinks();
        self.begin_wait(wait.began, wait.account.waits());
        if wait.around.awaited().is_message() {
            self.ask_for_lost_time(wait.around, wait.began);
        }
        self.now = ThisWait {
            limit: self.of.bound().min(wait.max_spin),
            lasting: Facts::REALTIME.when(wait.max_spin < Nanos::MAX),
            window: if wait.around.awaited().is_message() { self.rhythm.window(wait.account.waits()) } else { None },
            ..ThisWait::default()
        };
        blinks
    }

    fn next(&mut self, wait: &Progress<'_>) -> Step {
        loop {
            self.now.asked = self.now.to_ask.pop();
            if let Some(rank) = self.now.asked {
                return Step::Ask(rank);
            }
            let rule = decide(self.gather(wait), self.of.without);
            wait.account.followed(rule);
            match TABLE[rule].then {
                Action::Spin => return Step::Spin(self.budget(wait)),
                Action::Yield => return Step::Yield,
                Action::Ask => self.begin_to_ask(wait),
                Action::Stay => self.stay(wait),
                Action::Doze => {
                    if let Some(window) = self.now.window {
                        return Step::Doze(window.from);
                    }
                }
                Action::Scout => return Step::Scout(self.now.target),
                Action::Move => {
                    if self.may_still_move(wait) {
                        return Step::Move(self.now.target);
                    }
                }
                Action::Pull => match self.whom_to_pull(wait) {
                    Some(thread) => return Step::Pull(thread),
                    None => self.done(Effect::Pulled(false), wait),
                },
                Action::Park => {
                    if self.facts().has(Facts::DISTRUSTED) {
                        self.slept_instead();
                    }
                    return Step::Park;
                }
            }
        }
    }

    fn done(&mut self, effect: Effect, wait: &Progress<'_>) {
        let now = wait.around.now();
        match effect {
            Effect::Spun { used, span } => {
                // The missing time was a preemption, during which the member did not wait.
                let missing = span - used;
                self.now.limit += missing;
                if missing > PREEMPTED {
                    self.preempted(now);
                }
                if missing > self.of.slow() {
                    lost_a_turn(self.of, wait, self.now.place);
                }
            }
            Effect::Yielded(span) => {
                // Workers that wait for their leader also hand the processor to each other.
                let leader = if let WaitTarget::Leader(rank) = wait.around.awaited() { Some(rank) } else { None };
                let turns = if leader.is_some() { u64::from(wait.around.size()) * 2 } else { 1 };
                self.now.in_vain = if span * 2 < self.of.hand_over * turns { self.now.in_vain + span } else { Nanos::ZERO };
                // A leader may keep the processor for as long as a background thread.
                let here = self.now.place;
                let is_leaders = here.is_some() && leader.is_some_and(|leader| wait.around.cpu_of(leader) == here);
                let background = !is_leaders && self.has_yielded(span);
                self.now.lasting |= Facts::BACKGROUND.when(background);
                if background && lost_a_turn(self.of, wait, self.now.place) {
                    // The note covers this processor; on others, yields are as good as before.
                    self.trust_again();
                }
            }
            Effect::Asked(runs) => self.is_answered(runs),
            Effect::Dozed => {
                if let Some(window) = self.now.window.filter(|window| now >= window.from) {
                    self.rhythm.woke(now - window.from);
                    self.now.limit = self.now.limit.max(window.to - wait.began).min(wait.max_spin);
                }
            }
            Effect::Scouted(answer) => {
                wait.account.scouted(answer == Some(true));
                match answer {
                    Some(true) => self.now.idle = Some(self.now.target),
                    Some(false) => self.hold_moves(now, self.of.patience_with_scouts()),
                    None => self.hold_moves(now, self.of.tick * 100),
                }
            }
            Effect::Moved(moved) => {
                self.has_moved(now);
                wait.account.moved(moved);
                // The member that moves next must see the new processor.
                if moved {
                    self.now.place = wait.around.publish_cpu();
                } else {
                    reached("adaptive:8");
                    wait.around.forbid_moves();
                }
            }
            Effect::Pulled(pulled) => {
                self.has_pulled(now);
                wait.account.pulled(pulled);
                if pulled {
                    self.stay(wait);
                }
            }
        }
    }

    fn end(&mut self, wait: &Progress<'_>, has_come: bool) {
        if has_come && wait.around.awaited().is_message() {
            self.rhythm.came(wait.around.now(), wait.account.waits());
        }
        wait.account.awaited(self.now.whom, wait.around.now() - wait.began);
    }
}

impl AdaptiveState {
    /// Gathers the facts on which the table decides.
    fn gather(&mut self, wait: &Progress<'_>) -> Facts {
        let (around, of) = (wait.around, self.of);
        let now = around.now();
        let elapsed = now - wait.began;
        let mut facts = self.now.lasting | self.facts();
        facts |= Facts::BOUND.when(elapsed >= self.now.limit);
        facts |= Facts::CAP.when(elapsed >= of.cap(around.size()).min(wait.max_spin));
        facts |= Facts::DISTURBED.when(self.is_disturbed(now));
        facts |= Facts::EXPECTED.when(self.now.window.is_some_and(|window| now + of.bound() < window.from));
        facts |= Facts::MESSAGE.when(around.awaited() == WaitTarget::Message);
        facts |= Facts::BRIEF_OVER.when(elapsed > of.brief());
        facts |= Facts::LATE.when(elapsed > self.now.limit + of.slow());
        // The awaited member is asleep, or on another processor.
        let in_vain = self.now.in_vain >= of.bound() * IN_VAIN;
        let overfull = || around.width().is_some_and(|width| width > 1 && width < around.size());
        facts |= Facts::OVERFULL.when(!in_vain && facts.has(Facts::BOUND) && overfull());
        self.now.place = around.publish_cpu();
        self.crowded_out = self.now.place.is_some_and(|here| is_crowded_out(around, here, now));
        if self.crowded_out {
            return facts | Facts::CROWDED_OUT;
        }
        if self.is_any_here(wait) && !in_vain {
            self.found_here();
            facts |= Facts::HERE | self.facts();
        }
        // More expensive facts are gathered only if a rule could apply because of them.
        let crowd = facts.has(Facts::HERE | Facts::CROWDED);
        facts |= Facts::BACKGROUND.when(crowd && facts.has(Facts::DISTRUSTED));
        if crowd || facts.has(Facts::BACKGROUND) {
            facts |= self.ways_out(wait);
        }
        if facts.has(Facts::READY) && self.may_place() && self.may_pull(now) {
            // If more than two members pulled, each would undo the pull of another, and the team would end up
            // on few processors.
            let fits = around.size() == 2 && around.width().is_some_and(|width| width >= 2);
            facts |= Facts::FITS.when(fits);
            facts |= Facts::PULLABLE.when(around.is_movable());
        }
        self.now.lasting = self.now.lasting.without(Facts::BACKGROUND);
        facts
    }

    /// Returns whether an awaited member probably needs this thread's processor: it was last seen there, or
    /// it publishes nothing and the team has more members than processors.
    fn is_any_here(&mut self, wait: &Progress<'_>) -> bool {
        let Some(here) = self.now.place else { return false };
        let found = wait.around.find(&mut |other| wait.around.cpu_of(other) == Some(here));
        self.now.whom = found.or(self.now.whom);
        found.is_some()
            || wait.around.awaited() == WaitTarget::Unseen && wait.around.width().is_some_and(|width| width < wait.around.size())
    }

    /// Returns whether members may be placed. Not under a real-time class, where a yield would not reach a
    /// fetched member.
    fn may_place(&self) -> bool {
        !self.now.lasting.has(Facts::REALTIME)
    }

    /// Returns the facts on moves: whether members may move, and whether there is an emptier processor.
    fn ways_out(&mut self, wait: &Progress<'_>) -> Facts {
        let (around, now) = (wait.around, wait.around.now());
        self.now.fewer = 0;
        let movable = self.may_place() && self.may_move(now) && around.is_movable();
        let (Some(affinity), Some(here), true) = (around.placement().affinity(), self.now.place, movable) else {
            return Facts::NONE;
        };
        if is_any_believed(self.of, around, affinity.beyond, now) {
            return Facts::NONE;
        }
        let crowds = crowds(around.size(), affinity.beyond.max(here + 1), |rank| around.cpu_of(rank));
        let allowed = (0..affinity.beyond).filter(|&other| other != here && around.placement().allows(other));
        let Some(target) = allowed.min_by_key(|&other| crowds[other as usize]) else { return Facts::MOVABLE };
        let fewer = crowds[here as usize].saturating_sub(crowds[target as usize]);
        (self.now.target, self.now.fewer) = (target, fewer);
        Facts::MOVABLE
            | Facts::EMPTIER.when(fewer >= 1)
            | Facts::MUCH_EMPTIER.when(fewer >= 2)
            | Facts::IDLE.when(self.now.idle == Some(target) || self.of.without.has(Rules::SCOUT))
    }

    /// Takes the right to move and checks again, because what the member saw before may be out of date.
    /// Returns whether it may still move; if not, it waits a while before it tries again.
    fn may_still_move(&mut self, wait: &Progress<'_>) -> bool {
        let (target, fewer) = (self.now.target, self.now.fewer);
        let turn = wait.around.begin_move();
        self.ways_out(wait);
        self.now.idle = None;
        let may = turn && self.now.target == target && self.now.fewer >= fewer;
        if !may {
            if turn {
                reached("adaptive:3");
            } else {
                reached("adaptive:4");
            }
            self.hold_moves(wait.around.now(), self.of.remote);
            wait.around.end_move();
        }
        may
    }

    /// Returns for how long to spin before the facts are gathered again.
    fn budget(&self, wait: &Progress<'_>) -> Nanos {
        let now = wait.around.now();
        let elapsed = now - wait.began;
        // A disturbed thread stops in time for the rule `give-way`.
        let brief = if self.is_disturbed(now) { self.of.brief() } else { Nanos::MAX };
        let left = (self.now.limit - elapsed).min(if elapsed <= brief { brief - elapsed + Nanos(1) } else { Nanos::MAX });
        left.min(self.of.interval()).max(Nanos(1))
    }

    /// Lists a few awaited members, which are then checked until a running one is found.
    fn begin_to_ask(&mut self, wait: &Progress<'_>) {
        let mut ranks = Vec::with_capacity(MOST_ASKED);
        wait.around.find(&mut |other| {
            ranks.push(other);
            ranks.len() == MOST_ASKED
        });
        ranks.reverse();
        self.now.lasting |= Facts::ASKED;
        (self.now.to_ask, self.now.any_ready) = (ranks, false);
    }

    fn is_answered(&mut self, runs: Option<bool>) {
        self.now.any_ready |= runs == Some(false);
        if runs == Some(true) {
            self.now.to_ask.clear();
            self.now.whom = self.now.asked;
            self.now.lasting |= Facts::RUNS;
        } else if self.now.to_ask.is_empty() {
            self.now.lasting |= Facts::READY.when(self.now.any_ready);
        }
    }

    /// Extends the wait by one more bound, after which all facts are gathered again.
    fn stay(&mut self, wait: &Progress<'_>) {
        self.now.limit = (wait.around.now() - wait.began + self.of.bound()).min(wait.max_spin);
        self.now.lasting = self.now.lasting.without(Facts::ASKED | Facts::RUNS | Facts::READY);
    }

    /// Returns the thread of an awaited member that is on another processor.
    fn whom_to_pull(&self, wait: &Progress<'_>) -> Option<ThreadId> {
        let (around, here) = (wait.around, self.now.place);
        let mut thread = None;
        around.find(&mut |other| {
            thread = (around.cpu_of(other) != here).then(|| around.thread_of(other)).flatten();
            thread.is_some()
        });
        thread
    }
}
