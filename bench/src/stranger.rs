//! Programs that want the processors of a team and know nothing of it.
use crate::{Work, WorkDistribution, work::compute};
use foregather_host::clock;
use foregather_machine::Nanos;
use std::fmt;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

/// What a foreign program does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Stranger {
    /// It computes without end.
    #[default]
    Hog,
    /// It computes for so many milliseconds, and rests for as long.
    Bursts(u32),
    /// It has a thread a processor, which compute for 50 us and meet in a barrier that sleeps.
    Team,
    /// It computes for 20 us, 60 times a second: what threads of a kernel do.
    Wakes,
}

/// What a member of a foreign team computes between two of its barriers.
const TEAM_GRAIN: Nanos = Nanos::from_us(50);
/// How long what wakes computes, and how often.
const WAKE: (Nanos, u32) = (Nanos::from_us(20), 60);
/// How many iterations are computed between two looks at the clock: a few microseconds.
const AT_ONCE: u64 = 2_000;

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hog => f.write_str("hog"),
            Self::Bursts(ms) => write!(f, "bursts:{ms}"),
            Self::Team => f.write_str("team"),
            Self::Wakes => f.write_str("wakes"),
        }
    }
}

impl Stranger {
    /// Reads what is displayed.
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(':') {
            Some(("bursts", ms)) => ms.parse().ok().filter(|&ms| ms > 0).map(Self::Bursts),
            None if text == "hog" => Some(Self::Hog),
            None if text == "team" => Some(Self::Team),
            None if text == "wakes" => Some(Self::Wakes),
            _ => None,
        }
    }

    /// Does that until `stop` says so, as the team that it disturbs may run on `processors`.
    pub fn run(self, processors: usize, stop: impl Fn() -> bool + Sync) {
        let rests = |computing: Nanos, resting: Duration| {
            while !stop() {
                compute_for(computing);
                thread::sleep(resting);
            }
        };
        match self {
            Self::Hog => hog(stop),
            Self::Bursts(ms) => rests(Nanos::from_ms(ms.into()), Duration::from_millis(ms.into())),
            Self::Wakes => rests(WAKE.0, Duration::from_secs(1) / WAKE.1),
            Self::Team => team(processors, stop),
        }
    }
}

/// Computes until `stop` says so.
pub fn hog(stop: impl Fn() -> bool) {
    while !stop() {
        compute(AT_ONCE);
    }
}

fn compute_for(span: Nanos) {
    let end = clock::now() + span;
    while clock::now() < end {
        compute(AT_ONCE);
    }
}

fn team(size: usize, stop: impl Fn() -> bool + Sync) {
    let (barrier, speed, ends) = (Barrier::new(size), Work::iterations_per_us(), std::sync::atomic::AtomicBool::new(false));
    let member = |rank: u64| {
        let mut work = Work::new(TEAM_GRAIN.0, speed, WorkDistribution::Uniform, rank);
        // Of all members one asks, before a barrier, so that behind it all know.
        while !ends.load(std::sync::atomic::Ordering::Relaxed) {
            work.run();
            barrier.wait();
            if rank == 0 && stop() {
                ends.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            barrier.wait();
        }
    };
    thread::scope(|threads| (0..size as u64).for_each(|rank| drop(threads.spawn(move || member(rank)))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    #[test]
    fn every_stranger_is_read_as_it_is_displayed_and_stops() {
        for stranger in [Stranger::Hog, Stranger::Bursts(1), Stranger::Team, Stranger::Wakes] {
            assert_eq!(Stranger::parse(&stranger.to_string()), Some(stranger));
            let asked = AtomicU32::new(0);
            stranger.run(2, || asked.fetch_add(1, Relaxed) == 2);
            assert_eq!(asked.into_inner(), 3, "{stranger}");
        }
        assert!(["", "hogs", "bursts", "bursts:0", "bursts:x", "team:2"].iter().all(|text| Stranger::parse(text).is_none()));
    }
}
