//! One line about every wait that lasts long: a hang that says nothing is the worst of errors.
use foregather_host::failure_detector::{FailureDetector, Wait};
use foregather_machine::{Nanos, Rank};

/// What has been told.
#[derive(Debug)]
pub(crate) struct Watchdog {
    long: Nanos,
    /// When the waits began of which a line has been printed.
    told: Vec<Nanos>,
}

impl Watchdog {
    /// Tells of waits that have lasted for `long`; [`Nanos::MAX`] for none.
    pub(crate) fn new(long: Nanos) -> Self {
        Self { long, told: Vec::new() }
    }

    /// Prints what is new.
    pub(crate) fn look(&mut self, failure_detector: &FailureDetector, rank: Rank) {
        if self.long < Nanos::MAX {
            for line in self.news(&failure_detector.long_waits(self.long), rank) {
                eprintln!("foregather: {line}");
            }
        }
    }

    fn news(&mut self, waits: &[Wait], rank: Rank) -> Vec<String> {
        self.told.retain(|since| waits.iter().any(|wait| wait.why.since == *since));
        let fresh: Vec<_> = waits.iter().filter(|wait| !self.told.contains(&wait.why.since)).collect();
        self.told.extend(fresh.iter().map(|wait| wait.why.since));
        fresh.into_iter().map(|wait| line(wait, rank)).collect()
    }
}

fn line(wait: &Wait, rank: Rank) -> String {
    let lasted = (wait.seen - wait.why.since).as_secs();
    let of = wait.why.peer.map_or(String::new(), |peer| format!(" of rank {peer}"));
    format!("rank {rank} has been waiting for {lasted:.1} s: {}{of}", wait.why.what)
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
        assert_eq!(dog.news(&[wait(5)], 3), ["rank 3 has been waiting for 12.0 s: message of rank 1"]);
        assert!(dog.news(&[wait(5)], 3).is_empty());
        assert_eq!(dog.news(&[wait(5), wait(6)], 3).len(), 1);
        assert!(dog.news(&[], 3).is_empty());
        assert_eq!(dog.news(&[wait(5)], 3).len(), 1, "another wait at the same moment of another day");
    }
}
