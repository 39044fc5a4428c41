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
    /// The part of `lead` that is due to each thread that was the last.
    pub leads: BTreeMap<ThreadId, Nanos>,
    /// Episodes that were not recorded, because there were too many at once.
    pub lost: u64,
}

impl EpisodeTally {
    /// Adds an episode.
    pub fn add(&mut self, episode: &RecordedEpisode) {
        self.count += 1;
        self.waited += episode.waited;
        self.worked += episode.worked;
        let lead = episode.arrived - episode.second;
        self.lead += lead;
        self.members = self.members.max(episode.members);
        *self.leads.entry(episode.last).or_default() += lead;
    }

    /// The thread that delayed the others most, and its share of [`EpisodeTally::lead`]. A barrier at which
    /// all threads arrive almost at once counts little.
    pub fn most_delaying(&self) -> Option<(ThreadId, f64)> {
        let (&thread, &lead) = self.leads.iter().max_by_key(|&(thread, lead)| (lead, core::cmp::Reverse(thread)))?;
        (lead > Nanos::ZERO).then(|| (thread, lead.0 as f64 / self.lead.0 as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_that_delays_the_others_most_is_found() {
        let mut tally = EpisodeTally::default();
        assert_eq!(tally.most_delaying(), None);
        for (last, second, arrived) in [(6, 9, 9), (5, 10, 30), (5, 10, 20), (6, 10, 11), (6, 10, 19), (6, 11, 11)] {
            let (second, arrived) = (Nanos(second), Nanos(arrived));
            tally.add(&RecordedEpisode { last, members: 4, second, arrived, waited: Nanos(7), ..RecordedEpisode::default() });
        }
        assert_eq!(tally.most_delaying(), Some((5, 0.75)), "it was the last in two of six");
        assert_eq!((tally.waited, tally.lead, tally.members), (Nanos(42), Nanos(40), 4));
    }
}
