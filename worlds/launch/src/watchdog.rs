//! Prints one line about every long wait, because a silent hang is the worst kind of error.
use foregather_host::failure_detector::{FailureDetector, Wait};
use foregather_machine::{Nanos, Rank};

/// What a rank waits for during an exchange of the job.
pub(crate) const ADDRESSES: &str = "exchange of rank addresses";

/// The waits that have been reported.
#[derive(Debug)]
pub(crate) struct Watchdog {
    long: Nanos,
    /// When the reported waits started.
    told: Vec<Nanos>,
}

impl Watchdog {
    /// Creates a watchdog for waits longer than `long`; [`Nanos::MAX`] for none.
    pub(crate) fn new(long: Nanos) -> Self {
        Self { long, told: Vec::new() }
    }

    /// Reports the new long waits; `absent` names the ranks for which the exchange of rank addresses waits,
    /// if any.
    pub(crate) fn look(&mut self, failure_detector: &FailureDetector, rank: Rank, absent: &str) {
        if self.long < Nanos::MAX {
            for line in self.news(&failure_detector.long_waits(self.long), rank, absent) {
                eprintln!("foregather: {line}");
            }
        }
    }

    fn news(&mut self, waits: &[Wait], rank: Rank, absent: &str) -> Vec<String> {
        self.told.retain(|since| waits.iter().any(|wait| wait.why.since == *since));
        let fresh: Vec<_> = waits.iter().filter(|wait| !self.told.contains(&wait.why.since)).collect();
        self.told.extend(fresh.iter().map(|wait| wait.why.since));
        fresh.into_iter().map(|wait| line(wait, rank, absent)).collect()
    }
}

fn line(wait: &Wait, rank: Rank, absent: &str) -> String {
    let lasted = (wait.seen - wait.why.since).as_secs();
    let of = wait.why.peer.map_or(String::new(), |peer| format!(" of rank {peer}"));
    let what = if wait.why.what == ADDRESSES && !absent.is_empty() { absent } else { wait.why.what };
    format!("rank {rank} has been waiting for {lasted:.1} s: {what}{of}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_machine::WaitContext;

    #[test]
    fn each_long_wait_is_told_once() {
        let wait = |since_ms| Wait {
            why: WaitContext::new("message", 3).of(1).since(Nanos::from_ms(since_ms)),
            seen: Nanos::from_ms(since_ms + 12_000),
        };
        let mut dog = Watchdog::new(Nanos::from_ms(10_000));
        assert_eq!(dog.news(&[wait(5)], 3, ""), ["rank 3 has been waiting for 12.0 s: message of rank 1"]);
        assert!(dog.news(&[wait(5)], 3, "").is_empty());
        assert_eq!(dog.news(&[wait(5), wait(6)], 3, "").len(), 1);
        assert!(dog.news(&[], 3, "").is_empty());
        assert_eq!(dog.news(&[wait(5)], 3, "").len(), 1, "another wait at the same moment of another day");
    }

    #[test]
    fn a_meeting_that_is_not_complete_says_which_ranks_have_not_come() {
        let wait = Wait { why: WaitContext::new(ADDRESSES, 0).since(Nanos(1)), seen: Nanos::from_ms(1_000) };
        assert_eq!(
            line(&wait, 0, "ranks 1, 3 have not arrived yet"),
            "rank 0 has been waiting for 1.0 s: ranks 1, 3 have not arrived yet"
        );
        assert_eq!(line(&wait, 0, ""), "rank 0 has been waiting for 1.0 s: exchange of rank addresses");
    }
}
