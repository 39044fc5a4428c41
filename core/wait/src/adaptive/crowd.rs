//! What a team that is larger than its processors knows of strangers beside it: one member finds them, all sleep, and that
//! member watches whether they have gone.
//!
//! In such a team each pause offers the processor, and a stranger takes a whole turn of it, for which all members wait. A member
//! that learns that for itself alone has lost a turn for it, and so will each of the others, one after the other. So the first
//! tells all: until it says that it is over they sleep at once, keep their claim to the processor, and lose no turns.
//!
//! A team that is alone loses turns, too, now and then: to the host, or to a thread of the kernel. It passes its barriers more
//! slowly asleep, and its processors are idle in between, which scouts tell. The member that found the strangers sends one to
//! each processor in turn, and ends it when most come back at once. One that does proves nothing: beside a hog, too, it finds a
//! moment now and then. If the next turn is lost soon, the next scouts are sent later and later.
//!
//! Where strangers have few of the processors or little of the time, a team that hands over by yields may still be many times as
//! fast as one that sleeps. No member can see that, so the same member measures it (`trial.rs`).
use super::trial::{Trial, Way};
use super::{Adaptive, Rules};
use crate::{Progress, Surroundings};
use foregather_machine::{CpuId, Nanos, reached};

/// How many ticks the team believes what is not renewed.
const RENEWED: u64 = 32;
/// A turn that is lost so few ticks after the last time was taken by the same strangers.
const SOON: u64 = 8;
/// For so many ticks at most no scout is sent.
const LONGEST: u64 = 32;
/// What a busy processor weighs against an idle one, and how much more idle ones make a team alone. Alone nine of ten scouts
/// come back, beside hogs none to four.
const BUSY: u32 = 2;
const ALONE: u32 = 16;

/// One member's part in that.
#[derive(Default)]
pub(super) struct Crowd {
    /// If it found the strangers: the processor that it asks about, at first the one where it lost a turn, and when it asks.
    watch: Option<(CpuId, Nanos)>,
    /// What the answers weigh so far.
    idle: u32,
    /// When it ended it last, and for how long it had not asked before.
    ended: Option<Nanos>,
    unasked: Nanos,
    /// Whether yields would do better.
    trial: Trial,
    /// What its last look found.
    out: Option<Way>,
}

impl Crowd {
    /// Is the team crowded out, as its last look found?
    pub(super) fn is_out(&self) -> bool {
        self.out.is_some()
    }

    /// This member lost a turn to a stranger, there.
    pub(super) fn lost_a_turn(&mut self, of: Adaptive, wait: &Progress<'_>, place: Option<CpuId>) {
        let (around, now) = (wait.around, wait.around.now());
        let may = !of.without.has(Rules::SLEEP_IN_CROWD) && !around.is_message() && around.is_movable();
        let over = may && around.affinity().is_some_and(|affinity| affinity.width < around.size());
        let Some(place) = place.filter(|_| over && around.crowded_out(now).is_none()) else { return };
        let soon = self.ended.is_some_and(|ended| now < ended + of.tick * SOON);
        self.unasked = if soon { (self.unasked * 2).max(of.tick).min(of.tick * LONGEST) } else { Nanos::ZERO };
        (self.watch, self.idle) = (Some((place, now + self.unasked)), 0);
        self.trial = Trial::begin(of, now, wait.account.waits());
        around.crowd_out(now + of.tick * RENEWED, Way::Asleep);
    }

    /// Is the team crowded out? If so, and if it is this member's part, it sends a scout, which may end it.
    pub(super) fn look(&mut self, of: Adaptive, wait: &Progress<'_>, now: Nanos) -> Found {
        self.out = wait.around.crowded_out(now);
        match self.watch {
            _ if self.out.is_none() => {
                if self.watch.take().is_some() {
                    reached("adaptive:9");
                }
                Found::Room
            }
            Some(_) if self.trial.look(of, now, wait.account) == Way::Yielding => {
                self.out = Some(Way::Yielding);
                wait.around.crowd_out(now + of.tick * RENEWED, Way::Yielding);
                Found::Out(Way::Yielding)
            }
            Some((place, from)) if now >= from => self.ask(of, wait, place),
            _ => Found::Out(self.out.unwrap_or_default()),
        }
    }

    fn ask(&mut self, of: Adaptive, wait: &Progress<'_>, place: CpuId) -> Found {
        let around = wait.around;
        let idle = around.is_idle(place);
        wait.account.scouted(idle == Some(true));
        let now = around.now();
        let again = now + of.patience_with_scouts();
        match idle {
            Some(true) => {
                let next = next(around, place);
                // It sends the scout on: what it says now was known before.
                let _ = around.is_idle(next);
                (self.watch, self.idle) = (Some((next, again)), self.idle + 1);
            }
            Some(false) => (self.watch, self.idle) = (Some((place, again)), self.idle.saturating_sub(BUSY)),
            None => {
                // It ends by itself.
                self.watch = None;
                return Found::Out(Way::Asleep);
            }
        }
        if self.idle < ALONE {
            around.crowd_out(now + of.tick * RENEWED, Way::Asleep);
            return Found::Out(Way::Asleep);
        }
        around.crowd_out(now, Way::Asleep);
        (self.watch, self.ended, self.out) = (None, Some(now), None);
        Found::Ended
    }
}

/// What a look found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nobody takes turns from the team.
    Room,
    /// Strangers do, and all wait that way.
    Out(Way),
    /// They did; this look ended it.
    Ended,
}

/// The next processor that the team may use.
fn next(around: &dyn Surroundings, place: CpuId) -> CpuId {
    let beyond = around.affinity().map_or(0, |affinity| affinity.beyond);
    (place + 1..beyond).chain(0..place).find(|&cpu| around.allows(cpu)).unwrap_or(place)
}
