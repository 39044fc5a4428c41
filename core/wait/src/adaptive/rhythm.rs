//! How regularly messages come: a thread that knows when the next one is due sleeps until shortly before.
//!
//! To be woken takes a remote wake-up, which every message pays whose receiver sleeps; to spin for
//! milliseconds burns a processor. Where gaps are alike, a sleep that ends by itself pays neither.
use foregather_machine::Nanos;

/// This many like gaps in a row make a rhythm.
const STEADY: u32 = 4;
/// A gap that differs from the expected one by more than this part of it is another one.
const ALIKE: u64 = 8;
/// This many other gaps in a row end a rhythm; fewer are pauses.
const PAUSES: u32 = 2;
/// The newest gap's share in the expected one, and in how far gaps are off: one eighth.
const SHARE: u64 = 8;
/// How many times as far off as they mostly are messages are awaited awake.
const MARGIN: u64 = 3;
/// A thread that would be awake for more than this part of the gap is woken instead.
const WORTH: u64 = 6;
/// Timers of ordinary threads may be so late, in favour of fewer interrupts.
const TIMER_SLACK: Nanos = Nanos::from_us(60);

/// What one member has learned.
pub(super) struct Rhythm {
    /// When the last message came that was waited for, and which wait that was.
    last: Option<(Nanos, u64)>,
    gap: Nanos,
    /// How far off gaps mostly are.
    off: Nanos,
    /// Like gaps in a row, and others in a row.
    like: u32,
    other: u32,
    /// How late a sleep ends that was to end by itself, at most lately.
    late: Nanos,
    most_late: Nanos,
}

/// When a message is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) from: Nanos,
    pub(super) to: Nanos,
}

impl Rhythm {
    /// Nothing is learned yet, where a remote wake-up takes `remote`.
    pub(super) fn new(remote: Nanos) -> Self {
        let late = remote + TIMER_SLACK;
        let (gap, off) = (Nanos::ZERO, Nanos::ZERO);
        Self { last: None, gap, off, like: 0, other: 0, late, most_late: late * 4 }
    }

    /// The message has come that the wait after `waits` others was for.
    pub(super) fn came(&mut self, now: Nanos, waits: u64) {
        match self.last.replace((now, waits)) {
            Some((last, before)) if waits == before + 1 => self.learn(now - last),
            // The one before came without a wait.
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

    /// When the message is expected that a wait after `waits` others is for, if that can be told and is worth
    /// a sleep before.
    pub(super) fn window(&self, waits: u64) -> Option<Due> {
        let (last, before) = self.last?;
        let margin = self.late + self.off * MARGIN;
        let expected = waits == before + 1 && self.like >= STEADY && margin * WORTH <= self.gap;
        expected.then(|| Due { from: last + self.gap - margin, to: last + self.gap + margin })
    }

    /// A sleep ended so long after it was to end.
    pub(super) fn woke(&mut self, late: Nanos) {
        let late = late.min(self.most_late);
        self.late = late.max(self.late - Nanos((self.late - late).0 / SHARE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REMOTE: Nanos = Nanos::from_us(20);

    /// A member to which a message has come after each of those gaps.
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
