//! Episodes of barriers, added up by the thread that arrived last.
use foregather_host::watched::page::RecordedEpisode;
use foregather_machine::{Nanos, ThreadId};
use std::collections::BTreeMap;

/// All episodes of a program.
#[derive(Clone, Debug, Default)]
pub struct EpisodeTally {
    /// How many there were.
    pub count: u64,
    /// How long members waited for the last ones, added up.
    pub waited: Nanos,
    /// How long members were on their way, added up.
    pub worked: Nanos,
    /// By how much each episode would have been shorter if its last member had arrived with the one before,
    /// added up.
    pub lead: Nanos,
    /// The largest number of members.
    pub members: u32,
    /// How often each thread was the last.
    pub last: BTreeMap<ThreadId, u64>,
    /// Episodes that were not recorded, because there were too many at once.
    pub lost: u64,
}

impl EpisodeTally {
    /// Adds an episode.
    pub fn add(&mut self, episode: &RecordedEpisode) {
        self.count += 1;
        self.waited += episode.waited;
        self.worked += episode.worked;
        self.lead += episode.arrived - episode.second;
        self.members = self.members.max(episode.members);
        *self.last.entry(episode.last).or_default() += 1;
    }

    /// The thread that was the last most often, and in which share of the episodes.
    pub fn most_often_last(&self) -> Option<(ThreadId, f64)> {
        let (&thread, &times) = self.last.iter().max_by_key(|&(thread, times)| (times, core::cmp::Reverse(thread)))?;
        Some((thread, times as f64 / self.count as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_last_most_often_is_counted() {
        let mut tally = EpisodeTally::default();
        assert_eq!(tally.most_often_last(), None);
        for (last, second, arrived) in [(5, 10, 30), (5, 10, 20), (6, 10, 11), (5, 40, 50)] {
            let (second, arrived) = (Nanos(second), Nanos(arrived));
            tally.add(&RecordedEpisode { last, members: 4, second, arrived, waited: Nanos(7), ..RecordedEpisode::default() });
        }
        assert_eq!(tally.most_often_last(), Some((5, 0.75)));
        assert_eq!((tally.waited, tally.lead, tally.members), (Nanos(28), Nanos(41), 4));
    }
}
