//! What is done in a round: all of it follows from the seed and the round's number.
use rustix::process::Signal;
use std::fmt;

/// What happens, and to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blow {
    /// A rank gets a signal that ends it.
    Rank(Signal),
    /// A rank is stopped for good.
    Stop,
    /// A rank is stopped for less than half of the time after which it is lost.
    ShortStop,
    /// The launcher is killed.
    KillLauncher,
    /// The launcher is asked to stop.
    TermLauncher,
    /// It is asked again at once.
    TermLauncherTwice,
    /// The launcher itself is stopped for a while.
    StopLauncher,
}

/// Killing is what happens most.
const BLOWS: [Blow; 12] = [
    Blow::Rank(Signal::KILL),
    Blow::Rank(Signal::KILL),
    Blow::Rank(Signal::KILL),
    Blow::Rank(Signal::TERM),
    Blow::Rank(Signal::SEGV),
    Blow::Stop,
    Blow::ShortStop,
    Blow::KillLauncher,
    Blow::KillLauncher,
    Blow::TermLauncher,
    Blow::TermLauncherTwice,
    Blow::StopLauncher,
];

/// What stands between launcher and rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrapper {
    Alone,
    Shell,
    /// As `time` and `perf record` do: it waits for its child.
    Timer,
    Timeout,
}

impl Wrapper {
    /// The command line before the program's.
    pub(super) fn words(self) -> &'static [&'static str] {
        match self {
            Self::Alone => &[],
            Self::Shell => &["sh", "-c", "\"$@\"; exit $?", "sh"],
            Self::Timer => &["sh", "-c", "\"$@\" & wait $!; exit $?", "sh"],
            Self::Timeout => &["timeout", "300"],
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Round {
    pub(super) size: u32,
    pub(super) wrapper: Wrapper,
    /// In the middle of what the ranks are.
    pub(super) state: u32,
    pub(super) victim: u32,
    pub(super) blow: Blow,
    /// Does it come while the job starts? Otherwise once all ranks are there.
    pub(super) at_start: bool,
    /// From the start, or from when all are there.
    pub(super) after_us: u64,
    /// How long a short stop lasts.
    pub(super) pause_us: u64,
}

impl Round {
    pub(super) fn of(seed: u64, number: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) ^ number);
        let size = 2 + random.below(7) as u32;
        let wrapper = [Wrapper::Alone, Wrapper::Shell, Wrapper::Timer, Wrapper::Timeout][random.below(4) as usize];
        let (state, victim) = (random.below(1 << 16) as u32, random.below(u64::from(size)) as u32);
        let blow = BLOWS[random.below(BLOWS.len() as u64) as usize];
        let at_start = random.below(4) == 0;
        let after_us = random.below(if at_start { 800_000 } else { 300_000 });
        // Short of half of it by what a busy machine takes to deliver signals.
        let pause_us = random.below(super::job::PEER_TIMEOUT.as_micros() as u64 * 2 / 5);
        Self { size, wrapper, state, victim, blow, at_start, after_us, pause_us }
    }

    /// What its times are listed under.
    pub(super) fn kind(&self) -> String {
        let when = if self.at_start { ", at the start" } else { "" };
        match self.blow {
            Blow::Rank(signal) => format!("{} of a rank is named{when}", name(signal)),
            Blow::Stop => format!("SIGSTOP of a rank is named{when}"),
            Blow::KillLauncher => format!("all have gone after the launcher{when}"),
            Blow::ShortStop | Blow::StopLauncher => format!("a short stop is let be{when}"),
            Blow::TermLauncher | Blow::TermLauncherTwice => format!("the launcher ends when asked{when}"),
        }
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = if self.at_start { "the start" } else { "all are there" };
        write!(f, "{} ranks, {:?}, state {}, ", self.size, self.wrapper, self.state)?;
        write!(f, "{:?} (rank {}) {} ms after {when}", self.blow, self.victim, self.after_us / 1_000)
    }
}

fn name(signal: Signal) -> String {
    let names = [(Signal::KILL, "SIGKILL"), (Signal::TERM, "SIGTERM"), (Signal::SEGV, "SIGSEGV")];
    names.iter().find(|(of, _)| *of == signal).map_or_else(|| format!("{signal:?}"), |(_, name)| (*name).to_owned())
}

/// A splitmix generator: this room may not use the library's.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_everything_and_rounds_differ() {
        assert_eq!(Round::of(7, 3), Round::of(7, 3));
        let rounds: Vec<_> = (0..400).map(|number| Round::of(7, number)).collect();
        for blow in BLOWS {
            assert!(rounds.iter().any(|round| round.blow == blow && round.at_start), "{blow:?}");
        }
        assert!(rounds.iter().all(|round| (2..=8).contains(&round.size) && round.victim < round.size));
        assert!(rounds.iter().any(|round| round.wrapper == Wrapper::Timeout && round.size == 8));
    }
}
