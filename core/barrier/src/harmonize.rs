//! Synchronised release: members leave a barrier at the same time on a common clock, instead of when the
//! release reaches them.
//!
//! This is the third phase of RDS (Seidel & Davis 1992 §3.3) with a clock in place of computed waits. After a
//! barrier, all members compute the same deadline and wait until then. `README.md` describes the races.
use crate::BarrierMember;
use foregather_machine::{Cause, Cpu, Error, Nanos, Rank, SharedLines, VALUE_MASK, WordLine, reached};

/// A member that reads the clock more than this after the deadline was late.
const PROMPT: Nanos = Nanos(100);
/// The maximum slack. No release takes this long, so a longer slack is a mistake.
const LONGEST: Nanos = Nanos::from_ms(500);
/// The number of bits in the value of a word.
const VALUE_BITS: u32 = VALUE_MASK.count_ones();

/// Whether the caller left on time; it says nothing about the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Punctual {
    /// The caller was ready before the deadline and left within 100 ns after it.
    Met,
    /// The caller was late: its release took longer than the slack, or it was preempted before it could
    /// leave.
    Missed {
        /// The time from the deadline until the caller could continue.
        by: Nanos,
    },
}

impl Punctual {
    /// Returns whether a member that continues at `here` left on time for `deadline`.
    pub fn left(deadline: Nanos, here: Nanos) -> Self {
        let by = here - deadline;
        if by > PROMPT { Self::Missed { by } } else { Self::Met }
    }
}

/// Indices of the words of the note that a member writes before it arrives.
const LOW: usize = 0;
const HIGH: usize = 1;
const SLACK: usize = 2;
/// The number of notes, one line each, of a member; it uses them alternately.
pub(crate) const NOTES: usize = 2;

/// The notes of a group: for each member its arrival time and the slack that it needs.
pub(crate) struct Notes<C: Cpu>(SharedLines<C::Word>);

impl<C: Cpu> Notes<C> {
    /// Creates notes over [`NOTES`] lines for each member.
    pub(crate) fn over(lines: SharedLines<C::Word>) -> Self {
        Self(lines)
    }

    fn of(&self, rank: Rank, episode: u32) -> &WordLine<C::Word> {
        &self.0[rank as usize * NOTES + episode as usize % NOTES]
    }

    fn write(&self, cpu: &C, rank: Rank, episode: u32, slack: Nanos) {
        let (note, now) = (self.of(rank, episode), cpu.now_in_order().0);
        cpu.store(&note[SLACK], slack.0 as u32);
        cpu.store(&note[HIGH], (now >> VALUE_BITS) as u32 & VALUE_MASK);
        cpu.store(&note[LOW], now as u32 & VALUE_MASK);
    }

    /// Returns the time of the last arrival and the longest slack that a member needs. All members read the
    /// same values in one episode.
    fn read(&self, cpu: &C, episode: u32) -> (Nanos, Nanos) {
        let mut common = (Nanos::ZERO, Nanos::ZERO);
        for rank in 0..(self.0.len() / NOTES) as u32 {
            let note = self.of(rank, episode);
            let arrival = u64::from(cpu.load(&note[HIGH])) << VALUE_BITS | u64::from(cpu.load(&note[LOW]));
            common = (common.0.max(Nanos(arrival)), common.1.max(Nanos(cpu.load(&note[SLACK]).into())));
        }
        common
    }
}

/// The slack that a member needs: about the 99.8th percentile of the time from the last arrival to its own
/// release.
///
/// Each release within the slack reduces it by 1/4096; each later release increases it by one eighth. So
/// about one release in 512 is late. If three of the last eight releases were late, the release time itself
/// has increased, and the slack doubles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slack {
    /// In 4096ths of a nanosecond, so that every step counts.
    parts: u64,
    /// Which of the last eight releases were late, one bit each.
    later: u8,
}

impl Slack {
    const PARTS: u64 = 4_096;
    const FIRST: Nanos = Nanos(500);
    const LEAST: Nanos = Nanos(50);
    /// A longer release was a preemption, and waiting for its end would invite the next one.
    const MOST: Nanos = Nanos::from_us(250);

    pub(crate) const fn new() -> Self {
        Self { parts: Self::FIRST.0 * Self::PARTS, later: 0 }
    }

    pub(crate) const fn get(self) -> Nanos {
        Nanos(self.parts / Self::PARTS)
    }

    #[must_use]
    fn after(self, latency: Nanos) -> Self {
        let (parts, late) = (self.parts, latency > self.get());
        let later = self.later << 1 | u8::from(late);
        let next = match late {
            false => parts - parts / Self::PARTS,
            true if later.count_ones() >= 3 => 2 * parts,
            true if latency > Self::MOST => parts,
            true => parts + parts / 8,
        };
        Self { parts: next.clamp(Self::LEAST.0 * Self::PARTS, Self::MOST.0 * Self::PARTS), later }
    }
}

impl<C: Cpu> BarrierMember<C> {
    /// Waits for all members and leaves with them at the same time: `slack` after the last arrival. If
    /// members request different slacks, the longest applies. A member that calls [`BarrierMember::wait`] in
    /// that episode instead leaves at once.
    ///
    /// The slack must be longer than the time from the last arrival to the last release: about 0.3 us for two
    /// spinning threads, tens of microseconds for threads that sleep. With zero slack, every member on real
    /// hardware is late. The members' clocks must agree. Threads share a clock; the clocks of processes agree
    /// as well as they were calibrated.
    ///
    /// Dropping the future after its first poll has the same effect as dropping that of
    /// [`BarrierMember::wait`].
    ///
    /// # Errors
    /// [`Cause::Setting`] for a slack above half a second, in which case the member does not arrive;
    /// otherwise as [`BarrierMember::wait`].
    pub async fn harmonize(&mut self, slack: Nanos) -> Result<Punctual, Error> {
        if slack > LONGEST {
            let needs = "at most half a second; a release takes microseconds, and harmonize_adapted finds out how many";
            return Err(Error::from(Cause::Setting { what: "the slack of a start line", needs }));
        }
        Ok(self.leave_together(slack).await?.0)
    }

    /// Waits like [`BarrierMember::harmonize`], with a slack that this member learns from its own releases so
    /// that about one release in 512 is late. The slack is at most 0.25 ms. Members that share a processor
    /// cannot leave at the same time: they are always late, and each episode still costs the slack.
    ///
    /// # Errors
    /// As [`BarrierMember::wait`].
    pub async fn harmonize_adapted(&mut self) -> Result<Punctual, Error> {
        let (punctual, latency) = self.leave_together(self.slack.get()).await?;
        self.slack = self.slack.after(latency);
        Ok(punctual)
    }

    /// Returns the slack that [`BarrierMember::harmonize_adapted`] would request next.
    pub fn slack(&self) -> Nanos {
        self.slack.get()
    }

    /// Waits and leaves at the common deadline. Returns whether this member was on time, and the time from
    /// the last arrival to its release.
    async fn leave_together(&mut self, slack: Nanos) -> Result<(Punctual, Nanos), Error> {
        let episode = self.meeting.get() as u32;
        // A member that has arrived, or cannot arrive again, must not change its note.
        if !self.broken.get() && !self.pending.get() {
            self.group.notes.write(self.end.cpu(), self.rank(), episode, slack);
        } else {
            reached("barrier:H3");
        }
        self.wait().await?;
        let cpu = self.end.cpu();
        let (last, slack) = self.group.notes.read(cpu, episode);
        // In virtual time, the next operation that takes time is charged the costs of earlier ones, such as
        // waking the others.
        cpu.delay(Nanos::ZERO).await;
        let here = cpu.now_in_order();
        // Another process may have stored garbage in its note, which must not prolong this wait.
        let deadline = (last + slack.min(LONGEST)).min(here + LONGEST);
        let punctual = match here > deadline {
            true => Punctual::Missed { by: here - deadline },
            false => Punctual::left(deadline, cpu.delay_until(deadline).await),
        };
        if punctual != Punctual::Met {
            reached("barrier:H4");
        }
        Ok((punctual, here - last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates releases of 1 us, one in `rare` of which takes 4 ms. Returns the final slack and the number
    /// of late releases.
    fn adapted(rare: u32, episodes: u32) -> (Nanos, u32) {
        let (mut slack, mut later) = (Slack::new(), 0);
        for episode in 1..=episodes {
            let latency = if episode % rare == 0 { Nanos::from_ms(4) } else { Nanos(1_000 + u64::from(episode) * 7_919 % 64) };
            later += u32::from(latency > slack.get());
            slack = slack.after(latency);
        }
        (slack.get(), later)
    }

    #[test]
    fn the_slack_finds_the_tail_of_the_way_and_stays_there() {
        let (slack, later) = adapted(u32::MAX, 20_000);
        assert!((1_030..=1_200).contains(&slack.0), "{slack}");
        assert!((10..=80).contains(&later), "{later} of 20000 were later");
    }

    #[test]
    fn rare_preemptions_do_not_lengthen_the_slack() {
        let (slack, _) = adapted(50, 50_000);
        assert!(slack < Nanos(1_500), "{slack}");
    }

    #[test]
    fn the_slack_follows_a_longer_way_at_once_and_stays_within_bounds() {
        let mut slack = Slack::new();
        for _ in 0..8 {
            slack = slack.after(Nanos::from_us(27));
        }
        assert!(slack.get() >= Nanos::from_us(27), "{}", slack.get());
        for _ in 0..40 {
            slack = slack.after(Nanos::from_ms(4));
        }
        assert_eq!(slack.get(), Slack::MOST);
        for _ in 0..60_000 {
            slack = slack.after(Nanos::ZERO);
        }
        assert_eq!(slack.get(), Slack::LEAST);
    }
}
