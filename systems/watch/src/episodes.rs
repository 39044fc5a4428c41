//! Episodes of barriers, added up by the thread that arrived last.
use foregather_host::watched::page::RecordedThread;
use foregather_machine::{Nanos, ThreadId};
use std::collections::BTreeMap;

/// All episodes of a program.
#[derive(Clone, Debug, Default)]
pub struct EpisodeTally {
    /// How many there were.
    pub count: u64,
    /// How long members waited for the last ones, added up.
    pub waited: Nanos,
    /// By how much each episode would have been shorter if its last member had arrived with the one before,
    /// added up.
    pub lead: Nanos,
    /// The largest number of members.
    pub members: u32,
    /// The part of `lead` that is due to each thread that was the last.
    pub leads: BTreeMap<ThreadId, Nanos>,
}

impl EpisodeTally {
    /// Adds the episodes in which this thread was the last.
    pub fn add(&mut self, last: &RecordedThread) {
        let counts = &last.counts;
        if counts.episodes == 0 {
            return;
        }
        self.count += counts.episodes;
        self.waited += Nanos(counts.waited_ns);
        self.lead += Nanos(counts.lead_ns);
        self.members = self.members.max(counts.members as u32);
        *self.leads.entry(last.thread).or_default() += Nanos(counts.lead_ns);
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
    use foregather_host::watched::page::ActivityCounts;

    #[test]
    fn the_thread_that_delays_the_others_most_is_found() {
        let mut tally = EpisodeTally::default();
        assert_eq!(tally.most_delaying(), None);
        for (thread, episodes, lead_ns, waited_ns) in [(4, 0, 0, 0), (5, 2, 30, 30), (6, 4, 10, 12)] {
            let counts = ActivityCounts { episodes, lead_ns, waited_ns, members: 4, ..ActivityCounts::default() };
            tally.add(&RecordedThread { thread, counts, ..RecordedThread::default() });
        }
        assert_eq!(tally.most_delaying(), Some((5, 0.75)), "it was the last in two of six");
        assert_eq!((tally.waited, tally.lead, tally.members), (Nanos(42), Nanos(40), 4));
    }
}
