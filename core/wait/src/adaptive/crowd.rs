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
//!
//! A member beside a stranger may be the last at every barrier, and then never waits: it looks at nothing. So
//! if the one that watches is not heard of for some ticks, the next member that waits watches instead.
use super::trial::{Way, YieldTrial};
use super::{Adaptive, Rules};
use crate::{Progress, Surroundings};
use foregather_machine::{CpuId, Nanos, reached};

/// For how many ticks the team believes in strangers that no member has seen again.
const RENEWED: u64 = 32;
/// If it was not renewed for this number of ticks, another member watches from then on.
const UNHEARD: u64 = 4;
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
    /// The word that it published last, and when.
    published: (u32, Nanos),
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
        self.begin(of, wait, (place, now + self.unasked), now);
    }

    /// It watches from now on.
    fn begin(&mut self, of: Adaptive, wait: &Progress<'_>, watch: (CpuId, Nanos), now: Nanos) {
        (self.watch, self.idle) = (Some(watch), 0);
        self.trial = YieldTrial::begin(of, wait.account.waits());
        self.publish(of, wait, Way::Asleep, now);
    }

    fn publish(&mut self, of: Adaptive, wait: &Progress<'_>, way: Way, now: Nanos) {
        self.published = (wait.around.crowd_out(now + of.tick * RENEWED, way), now);
    }

    /// Is the team crowded out? If so, and if this member watches, it sends a scout, whose answer may end
    /// that.
    pub(super) fn look(&mut self, of: Adaptive, wait: &Progress<'_>, now: Nanos) -> Found {
        let Some(out) = wait.around.crowded_out(now) else {
            self.out = None;
            self.give_up();
            return Found::Room;
        };
        self.out = Some(out.way);
        if out.word != self.published.0 {
            self.give_up();
        }
        if self.watch.is_none() && out.left + of.tick * UNHEARD < of.tick * RENEWED {
            self.take_over(of, wait, now);
        }
        let Some((place, from)) = self.watch else { return Found::Out(out.way) };
        let way = self.trial.look(of, now, wait.account);
        if way != out.way || now >= self.published.1 + of.tick {
            self.publish(of, wait, way, now);
        }
        self.out = Some(way);
        if way == Way::Asleep && now >= from { self.ask(of, wait, place) } else { Found::Out(way) }
    }

    /// Another member has said that the strangers have gone, or watches instead.
    fn give_up(&mut self) {
        if self.watch.take().is_some() {
            reached("adaptive:9");
        }
    }

    /// The member that watched has gone, or arrives last each time. Where no scout can be sent, no member
    /// watches, and the team's belief ends by itself.
    fn take_over(&mut self, of: Adaptive, wait: &Progress<'_>, now: Nanos) {
        if let Some(place) = wait.around.publish_cpu().filter(|&place| wait.around.is_idle(place).is_some()) {
            self.begin(of, wait, (place, now), now);
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
