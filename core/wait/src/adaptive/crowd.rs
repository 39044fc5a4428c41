//! Notes about background threads: on which processors another program recently took a time slice.
//!
//! In a team with more members than processors, each yield offers the processor to other programs. If one
//! takes it, it runs for a whole time slice, and all members wait. So the first thread that loses a time
//! slice writes a note for all teams of the process. Until the note expires, members of such teams sleep at
//! once on that processor: a blocked thread keeps its fair share, so they lose no time slices. On other
//! processors they hand over by yields as before, because three members that sleep everywhere under one busy
//! process take 1.4 times as long.
//!
//! No member can see that a background thread has gone. The note expires by itself, and the next yield on
//! that processor shows whether the thread is still there. If it is, one more time slice is lost, and the
//! next note is twice as long. The maximum length of a note is proportional to the number of processors, so a
//! team loses at most 1/32 of its time even with a background thread on every processor.
use super::{Adaptive, Rules};
use crate::{Progress, Surroundings};
use foregather_machine::{CpuId, Nanos, VALUE_MASK, reached};

/// The length of the first note in ticks, and the maximum length in ticks per processor of the team.
const FIRST: u64 = 4;
const LONGEST: u64 = 32;
/// If a time slice is lost within this many ticks after a note has expired, the same background thread is
/// assumed to have taken it.
const SOON: u64 = 8;
/// The number of bits in which a note stores how often its length was doubled.
const DOUBLED: u32 = 4;
/// Times are stored in units of 2^20 ns, about a millisecond, and wrap after about 18 hours.
const UNIT: u32 = 20;
const STAMPS: u32 = VALUE_MASK >> DOUBLED;
/// The maximum length of a note. A note that would last longer has expired before the times wrapped.
const AHEAD: u32 = STAMPS / 64;

/// A note about one processor: until when a background thread is assumed to be there. 0 if there never was a
/// note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LoadNote(u32);

fn stamp(at: Nanos) -> u32 {
    (at.0 >> UNIT) as u32 & STAMPS
}

impl LoadNote {
    fn new(now: Nanos, span: Nanos, doubled: u32) -> Self {
        // One unit more, because both ends are rounded down.
        let span = ((span.0 >> UNIT) as u32 + 1).min(AHEAD);
        let until = (stamp(now).wrapping_add(span) & STAMPS).max(1);
        Self(until << DOUBLED | doubled)
    }

    /// Returns the time until the note expires, or `None` if it has expired.
    fn left(self, now: Nanos) -> Option<u32> {
        let left = (self.0 >> DOUBLED).wrapping_sub(stamp(now)) & STAMPS;
        (self.0 != 0 && left != 0 && left <= AHEAD).then_some(left)
    }

    /// Returns whether the note expired at most a few ticks ago.
    fn ended_soon(self, now: Nanos, tick: Nanos) -> bool {
        let ended = stamp(now).wrapping_sub(self.0 >> DOUBLED) & STAMPS;
        self.0 != 0 && u64::from(ended) <= (tick * SOON).0 >> UNIT
    }

    /// Returns the note to write if a member loses a time slice now, or `None` if the present note has not
    /// expired.
    fn renewed(self, now: Nanos, tick: Nanos, processors: u32) -> Option<Self> {
        if self.left(now).is_some() {
            return None;
        }
        let is_soon = self.ended_soon(now, tick);
        let longest = tick * LONGEST * u64::from(processors.max(1));
        let doubled = if is_soon { self.0 & ((1 << DOUBLED) - 1) } else { 0 };
        let span = (tick * FIRST * (1 << doubled)).min(longest);
        let again = if is_soon { (doubled + 1).min((1 << DOUBLED) - 1) } else { 1 };
        Some(Self::new(now, span, again))
    }
}

/// Records that this member lost a time slice to a background thread on processor `place`. Returns whether a
/// note now says so.
pub(super) fn lost_a_turn(of: Adaptive, wait: &Progress<'_>, place: Option<CpuId>) -> bool {
    let around = wait.around;
    let (Some(place), Some(processors)) = (place, processors_of_larger_team(around)) else { return false };
    if of.without.has(Rules::SLEEP_IN_CROWD) {
        return false;
    }
    let now = around.now();
    match LoadNote(around.placement().note_of(place)).renewed(now, of.tick, processors) {
        Some(note) => around.placement().set_note(place, note.0),
        None => reached("adaptive:9"),
    }
    true
}

/// Returns the number of processors if the team has more members than that. Returns `None` for a wait for a
/// message, which a rule of its own (`give-way`) covers.
fn processors_of_larger_team(around: &dyn Surroundings) -> Option<u32> {
    around.width().filter(|&width| width < around.size() && !around.awaited().is_message())
}

/// Returns whether the team has more members than processors and another program recently took a time slice
/// on processor `place`.
pub(super) fn is_crowded_out(around: &dyn Surroundings, place: CpuId, now: Nanos) -> bool {
    LoadNote(around.placement().note_of(place)).left(now).is_some() && processors_of_larger_team(around).is_some()
}

/// Returns whether any processor below `beyond` has, or had a few ticks ago, a background thread. If so, a
/// processor with few members is most likely the one in use by that thread, and no member should move there.
pub(super) fn is_any_believed(of: Adaptive, around: &dyn Surroundings, beyond: CpuId, now: Nanos) -> bool {
    (0..beyond)
        .map(|place| LoadNote(around.placement().note_of(place)))
        .any(|note| note.left(now).is_some() || note.ended_soon(now, of.tick))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Account, Waited};
    use core::cell::Cell;
    use foregather_machine::{Affinity, Costs, Placement, Rank};

    const TICK: Nanos = Nanos::from_ms(4);

    #[test]
    fn notes_double_while_the_stranger_stays_and_are_bounded() {
        let (mut now, mut note) = (Nanos::from_ms(77), LoadNote(0));
        for expected in [16, 32, 64, 128, 256, 256, 256] {
            assert_eq!(note.left(now), None);
            note = note.renewed(now, TICK, 2).unwrap();
            let left = u64::from(note.left(now).unwrap());
            assert!((expected * 9 / 10..=expected + 1).contains(&left), "{left} of {expected}");
            assert_eq!(note.renewed(now, TICK, 2), None, "known already");
            now += Nanos((left + 3) << UNIT);
        }
        note = note.renewed(now + TICK * 9 + Nanos::from_ms(300), TICK, 2).unwrap();
        assert!(note.left(now + TICK * 9 + Nanos::from_ms(300)).unwrap() <= 17, "long after it is news");
    }

    #[test]
    fn a_note_ends_when_the_clock_of_stamps_wraps() {
        let wrap = Nanos((u64::from(STAMPS) + 1) << UNIT);
        for before in [1, 2, 5, 9] {
            let now = Nanos(wrap.0 - (before << UNIT));
            let note = LoadNote(0).renewed(now, TICK, 2).unwrap();
            assert!(note.left(now).is_some() && note.left(now + TICK * 5).is_none());
        }
    }

    /// Three members on two processors, of which each has the same word.
    struct Around(Cell<u32>);

    impl Placement for Around {
        fn affinity(&self) -> Option<Affinity> {
            Some(Affinity { fingerprint: 7, width: 2, beyond: 2 })
        }
        fn note_of(&self, _: CpuId) -> u32 {
            self.0.get()
        }
        fn set_note(&self, _: CpuId, word: u32) {
            self.0.set(word);
        }
    }

    impl Surroundings for Around {
        fn now(&self) -> Nanos {
            Nanos::from_ms(100)
        }
        fn placement(&self) -> &dyn Placement {
            self
        }
        fn size(&self) -> Rank {
            3
        }
    }

    #[test]
    fn of_two_members_that_lose_a_turn_at_once_the_second_leaves_the_note_as_it_is() {
        let (around, account) = (Around(Cell::new(0)), Account::default());
        let (waited, began, max_spin) = (Waited::first_look(false), Nanos::ZERO, Nanos::MAX);
        let wait = Progress { waited, began, max_spin, account: &account, around: &around };
        let of = Adaptive::new(&Costs::TYPICAL);
        assert!(lost_a_turn(of, &wait, Some(0)));
        let first = around.0.get();
        assert!(lost_a_turn(of, &wait, Some(0)));
        assert!(first != 0 && around.0.get() == first);
        #[cfg(feature = "probes")]
        assert!(foregather_machine::reached_here().contains_key("adaptive:9"));
    }
}
