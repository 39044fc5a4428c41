//! Time that the system takes from programs, replayed from a file as LogGOPSim reads it.
use super::error::{GoalError, GoalPlace};
use foregather_machine::{Rank, SplitMix};

/// A recorded sequence of interruptions, repeated forever. Each rank begins somewhere else in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoalNoise {
    /// When each begins, and how long all before it take together.
    events: Vec<(u64, u64)>,
    total: u64,
    period: u64,
    seed: u64,
}

impl GoalNoise {
    /// Reads a file: a line each of the start and the duration in nanoseconds; `#` begins a comment.
    ///
    /// # Errors
    /// If a line is not like that, with its number.
    pub fn parse(text: &str, seed: u64) -> Result<Self, GoalError> {
        let mut noise = Self { events: Vec::new(), total: 0, period: 0, seed };
        for (at, line) in text.lines().enumerate() {
            let wrong = |what: &str| GoalError::new(GoalPlace::Line(at as u64 + 1), what);
            let line = line.split('#').next().unwrap_or_default();
            if line.trim().is_empty() {
                continue;
            }
            let whole =
                |word: &str| word.parse::<f64>().ok().filter(|time| (0.0..9e15).contains(time)).map(|time| time.round() as u64);
            let mut words = line.split_whitespace();
            let (Some(start), Some(length), None) = (words.next().and_then(whole), words.next().and_then(whole), words.next())
            else {
                return Err(wrong("expected a start and a duration in nanoseconds"));
            };
            if start < noise.period {
                return Err(wrong("begins before the one before it ends: they stand in the order of time"));
            }
            noise.events.push((start, noise.total));
            noise.total += length;
            noise.period = start + length;
        }
        if noise.period == noise.total {
            return Err(GoalError::file(
                "the noise leaves programs no time, or there is none: a line has a start and a duration",
            ));
        }
        Ok(noise)
    }

    /// What is taken from `work` that a rank begins at `from`: the rest of the interruption under way, and
    /// all that begin before the work would have ended without them.
    pub(super) fn taken(&self, rank: Rank, from: u64, work: u64) -> u64 {
        let begin = (from + SplitMix(self.seed ^ u64::from(rank)).below(self.period)) % self.period;
        self.before(begin + work) - self.before(begin) + self.rest(begin)
    }

    /// The durations of all that begin before `time`, and when that is in a later period, those of the
    /// periods before.
    fn before(&self, time: u64) -> u64 {
        let (periods, within) = (time / self.period, time % self.period);
        let at = self.events.partition_point(|&(start, _)| start < within);
        periods * self.total + self.events.get(at).map_or(self.total, |&(_, before)| before)
    }

    /// What is left at `time` of the one that began before.
    fn rest(&self, time: u64) -> u64 {
        let at = self.events.partition_point(|&(start, _)| start < time);
        let Some(&(start, before)) = at.checked_sub(1).and_then(|at| self.events.get(at)) else { return 0 };
        let end = start + self.events.get(at).map_or(self.total, |&(_, total)| total) - before;
        end.saturating_sub(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_what_counting_gives() {
        let text = "# a record\n10\t5\n30\t2\n90 10\n";
        let noise = GoalNoise::parse(text, 7).unwrap();
        let events = [(10, 5), (30, 2), (90, 10)];
        let offset = SplitMix(7 ^ 3).below(100);
        for from in 0..250 {
            for work in [0, 1, 4, 30, 99, 100, 101, 350] {
                let begin = (from + offset) % 100;
                let starts = (0..6).flat_map(|period| events.map(|(start, length)| (period * 100 + start, length)));
                let counted: u64 = starts
                    .map(|(start, length): (u64, u64)| match () {
                        () if start >= begin && start < begin + work => length,
                        () if start < begin => (start + length).saturating_sub(begin),
                        () => 0,
                    })
                    .sum();
                assert_eq!(noise.taken(3, from, work), counted, "{from} {work}");
            }
        }
    }

    #[test]
    fn a_line_that_is_no_noise_is_named() {
        for (text, place) in [("1 2\n1 x\n", 2), ("5 5\n7 1\n", 2), ("1\n", 1), ("1 2 3\n", 1), ("-1 2\n", 1), ("1 nan\n", 1)] {
            assert_eq!(GoalNoise::parse(text, 1).unwrap_err().place, GoalPlace::Line(place), "{text}");
        }
        assert_eq!(GoalNoise::parse("# none\n", 1).unwrap_err().place, GoalPlace::File);
        assert_eq!(GoalNoise::parse("0 10\n", 1).unwrap_err().place, GoalPlace::File);
    }
}
