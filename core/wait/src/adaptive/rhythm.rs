//! The regularity of messages. A thread that knows when the next message is due sleeps until shortly before
//! that.
//!
//! If the receiver sleeps, every message pays for a remote wake-up; if it spins for milliseconds, it burns a
//! processor. If the gaps between messages are similar, a timed sleep avoids both costs.
use foregather_machine::Nanos;

/// The number of consecutive similar gaps that make a rhythm.
const STEADY: u32 = 4;
/// A gap is different if it deviates from the expected gap by more than this fraction (one eighth).
const ALIKE: u64 = 8;
/// The number of consecutive different gaps that end a rhythm; fewer are pauses.
const PAUSES: u32 = 2;
/// The weight of the newest gap in the averages of the gap and of its deviation: one eighth.
const SHARE: u64 = 8;
/// The margin before and after the expected time, in multiples of the average deviation; in this window the
/// thread is awake.
const MARGIN: u64 = 3;
/// A timed sleep is used only if the margin, times this number, fits into the gap; otherwise the sender wakes
/// the thread.
const WORTH: u64 = 6;
/// How late the kernel may let timers of ordinary threads expire, to save interrupts (timer slack).
const TIMER_SLACK: Nanos = Nanos::from_us(60);

/// What one member has learned about its messages.
pub(super) struct Rhythm {
    /// When the last awaited message arrived, and the number of waits before it.
    last: Option<(Nanos, u64)>,
    gap: Nanos,
    /// The average deviation of a gap.
    off: Nanos,
    /// Consecutive similar gaps, and consecutive different ones.
    like: u32,
    other: u32,
    /// How late recent timed sleeps have ended; a slowly decaying maximum.
    late: Nanos,
    most_late: Nanos,
}

/// The window in which a message is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) from: Nanos,
    pub(super) to: Nanos,
}

impl Rhythm {
    /// Creates the state before anything is learned. `remote` is the cost of a remote wake-up.
    pub(super) fn new(remote: Nanos) -> Self {
        let late = remote + TIMER_SLACK;
        let (gap, off) = (Nanos::ZERO, Nanos::ZERO);
        Self { last: None, gap, off, like: 0, other: 0, late, most_late: late * 4 }
    }

    /// Records that an awaited message has arrived, in the wait that follows `waits` others.
    pub(super) fn came(&mut self, now: Nanos, waits: u64) {
        match self.last.replace((now, waits)) {
            Some((last, before)) if waits == before + 1 => self.learn(now - last),
            // The message before it arrived without a wait.
            _ => self.like = 0,
        }
    }

    fn learn(&mut self, gap: Nanos) {
        let off = Nanos(gap.0.abs_diff(self.gap.0));
        if off > Nanos(self.gap.0 / ALIKE) {
            self.other += 1;
            if self.other >= PAUSES {
                (self.gap, self.off, self.like) = (gap, Nanos::ZERO, 0);
            }
            return;
        }
        (self.other, self.like) = (0, self.like.saturating_add(1));
        let mix = |old: Nanos, new: Nanos| old - Nanos(old.0 / SHARE) + Nanos(new.0 / SHARE);
        (self.gap, self.off) = (mix(self.gap, gap), mix(self.off, off));
    }

    /// Returns the window in which the message of the wait after `waits` others is expected, or `None` if it
    /// cannot be predicted or the gap is too short for a timed sleep.
    pub(super) fn window(&self, waits: u64) -> Option<Due> {
        let (last, before) = self.last?;
        let margin = self.late + self.off * MARGIN;
        let expected = waits == before + 1 && self.like >= STEADY && margin * WORTH <= self.gap;
        expected.then(|| Due { from: last + self.gap - margin, to: last + self.gap + margin })
    }

    /// Records that a timed sleep ended `late` after its deadline.
    pub(super) fn woke(&mut self, late: Nanos) {
        let late = late.min(self.most_late);
        self.late = late.max(self.late - Nanos((self.late - late).0 / SHARE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REMOTE: Nanos = Nanos::from_us(20);

    /// Returns the state of a member that has received a message after each of these gaps.
    fn after(gaps: impl IntoIterator<Item = Nanos>) -> (Rhythm, Nanos, u64) {
        let (mut rhythm, mut now, mut waits) = (Rhythm::new(REMOTE), Nanos::from_ms(1), 0);
        for gap in gaps {
            now += gap;
            rhythm.came(now, waits);
            waits += 1;
        }
        (rhythm, now, waits)
    }

    #[test]
    fn the_next_message_is_expected_after_the_same_gap() {
        let gap = Nanos::from_ms(5);
        let (rhythm, now, waits) = after([gap; 10]);
        let Due { from, to } = rhythm.window(waits).unwrap();
        assert!(from < now + gap && now + gap < to && to - from < Nanos::from_us(170), "{from} to {to}, now {now}");
        assert_eq!(rhythm.window(waits + 1), None, "one came without a wait");
        assert_eq!(after([gap; STEADY as usize + 2]).0.window(u64::from(STEADY) + 2), None, "not steady yet");
    }

    #[test]
    fn gaps_that_differ_a_little_widen_the_window() {
        let gaps = (0..40).map(|at| Nanos::from_us(if at % 2 == 0 { 9_800 } else { 10_200 }));
        let (rhythm, now, waits) = after(gaps);
        let Due { from, to } = rhythm.window(waits).unwrap();
        assert!(from < now + Nanos::from_us(9_800) && now + Nanos::from_us(10_200) < to, "{from} to {to}, now {now}");
    }

    #[test]
    fn irregular_and_short_gaps_are_not_expected() {
        let (mut draw, mut mean) = (foregather_machine::SplitMix(1), Vec::new());
        mean.extend((0..100).map(|_| Nanos::from_us(1_000 + draw.below(9_000))));
        let (rhythm, _, waits) = after(mean);
        assert_eq!(rhythm.window(waits), None);
        assert_eq!(after([Nanos::from_us(100); 50]).0.window(50), None);
    }

    #[test]
    fn a_pause_is_forgiven_and_a_new_rhythm_learned() {
        let (slow, fast) = (Nanos::from_ms(20), Nanos::from_ms(5));
        let paused = [vec![fast; 10], vec![Nanos::from_ms(500)]].concat();
        let (rhythm, now, waits) = after(paused.clone());
        assert!(rhythm.window(waits).is_some_and(|window| window.from < now + fast && now + fast < window.to));
        let (rhythm, now, waits) = after([paused, vec![slow; 10]].concat());
        assert!(rhythm.window(waits).is_some_and(|window| window.from < now + slow && now + slow < window.to));
    }

    #[test]
    fn late_sleeps_end_earlier_from_then_on() {
        let gap = Nanos::from_ms(20);
        let (mut rhythm, _, waits) = after([gap; 10]);
        let from = |rhythm: &Rhythm| rhythm.window(waits).unwrap().from;
        let before = from(&rhythm);
        rhythm.woke(Nanos::from_us(150));
        assert_eq!(before - from(&rhythm), Nanos::from_us(70));
        rhythm.woke(Nanos::from_ms(9));
        assert!(before - from(&rhythm) < Nanos::from_us(300), "a background thread's turn is no lateness");
        (0..99).for_each(|_| rhythm.woke(Nanos::from_us(50)));
        assert!(from(&rhythm) > before, "timers are better than was thought");
    }
}
