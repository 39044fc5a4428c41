//! What the members of a team that is larger than its processors know of strangers beside it: one member
//! finds them, all members sleep, and that one watches whether the strangers have gone.
//!
//! In such a team each pause offers the processor, and a stranger takes a whole turn of it, for which all
//! members wait. If each member had to learn that for itself, each would lose a turn, one after the other. So
//! the first one tells all: until it says that the strangers have gone they sleep at once, keep their claim
//! to the processor, and lose no turns.
//!
//! A team that is alone loses turns, too, now and then: to the host, or to a thread of the kernel. It passes
//! its barriers more slowly asleep, and its processors are idle in between, as scouts can tell. The member
//! that found the strangers sends a scout to each processor in turn, and ends the team's sleep when most
//! scouts come back at once. One scout that does proves nothing: beside a hog, too, it finds a moment now and
//! then. If the next turn is lost soon, the next scouts are sent later and later.
//!
//! Where strangers have few of the processors or little of the time, a team that hands over by yields may
//! still be many times as fast as one that sleeps. No member can see that, so the same member measures it
//! (`trial.rs`).
use super::trial::{Way, YieldTrial};
use super::{Adaptive, Rules};
use crate::{Progress, Surroundings};
use foregather_machine::{CpuId, Nanos, reached};

/// For how many ticks the team believes in strangers that no member has seen again.
const RENEWED: u64 = 32;
/// A turn that is lost within this number of ticks after the end was taken by the same strangers.
const SOON: u64 = 8;
/// The most ticks for which no scout is sent.
const LONGEST: u64 = 32;
/// The weight of a busy processor against an idle one, and how far idle ones must outweigh busy ones in a
/// team that is alone. Alone nine of ten scouts come back, beside hogs none to four.
const BUSY: u32 = 2;
const ALONE: u32 = 16;

/// One member's part in finding strangers and watching them.
#[derive(Default)]
pub(super) struct Crowd {
    /// If this member found the strangers: the processor that it asks about, at first the one where it lost a
    /// turn, and when it asks.
    watch: Option<(CpuId, Nanos)>,
    /// The weight of the answers so far: idle processors less busy ones.
    idle: u32,
    /// When this member last said that the strangers had gone, and for how long it had not asked before.
    ended: Option<Nanos>,
    unasked: Nanos,
    /// The comparison of sleep with yields.
    trial: YieldTrial,
    /// What its last look found.
    out: Option<Way>,
}

impl Crowd {
    /// Is the team crowded out, as its last look found?
    pub(super) fn is_out(&self) -> bool {
        self.out.is_some()
    }

    /// This member lost a turn to a stranger on processor `place`.
    pub(super) fn lost_a_turn(&mut self, of: Adaptive, wait: &Progress<'_>, place: Option<CpuId>) {
        let (around, now) = (wait.around, wait.around.now());
        let may = !of.without.has(Rules::SLEEP_IN_CROWD) && !around.is_message() && around.is_movable();
        let over = may && around.affinity().is_some_and(|affinity| affinity.width < around.size());
        let Some(place) = place.filter(|_| over && around.crowded_out(now).is_none()) else { return };
        let soon = self.ended.is_some_and(|ended| now < ended + of.tick * SOON);
        self.unasked = if soon { (self.unasked * 2).max(of.tick).min(of.tick * LONGEST) } else { Nanos::ZERO };
        (self.watch, self.idle) = (Some((place, now + self.unasked)), 0);
        self.trial = YieldTrial::begin(of, now, wait.account.waits());
        around.crowd_out(now + of.tick * RENEWED, Way::Asleep);
    }

    /// Is the team crowded out? If so, and if this member watches, it sends a scout, whose answer may end
    /// that.
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
                // The scout is sent on; the answer that it gives at this moment was known before.
                let _ = around.is_idle(next);
                (self.watch, self.idle) = (Some((next, again)), self.idle + 1);
            }
            Some(false) => (self.watch, self.idle) = (Some((place, again)), self.idle.saturating_sub(BUSY)),
            None => {
                // No member renews it, so it ends by itself.
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
    /// No stranger takes turns from the team.
    Room,
    /// Strangers take turns, and all members wait that way.
    Out(Way),
    /// Strangers took turns; this look found that they have gone.
    Ended,
}

/// The next processor that the team may use.
fn next(around: &dyn Surroundings, place: CpuId) -> CpuId {
    let beyond = around.affinity().map_or(0, |affinity| affinity.beyond);
    (place + 1..beyond).chain(0..place).find(|&cpu| around.allows(cpu)).unwrap_or(place)
}
