//! A program runs here, and its threads write journals: what is played elsewhere.
use super::scenario::{Replayed, Scenario, replay};
use anyhow::{Result, bail};
use foregather_bench::apps::AppResult;
use foregather_bench::programs::Program;
use foregather_dsm::journal::{Event, Journal, Operation};
use foregather_dsm::memory::{Settings, Site};
use foregather_dsm::protocol::Counts;
use foregather_dsm::replay::{Grain, Relaxed, RelaxedPrices, relax};
use foregather_dsm::{Access, Minipage};
use foregather_wait::Policy;
use std::sync::Arc;

/// Events of each thread for which there is room.
const ROOM: usize = 4_000_000;
/// Runs of which the quickest counts.
const TIMES: usize = 3;
/// A page of 1999 and of today, in bytes.
pub(super) const PAGE: u32 = 4_096;

/// What the threads of a program did, on one number of ranks.
pub(super) struct Recording {
    pub(super) journals: Vec<Journal>,
    pub(super) sites: Vec<Site>,
    pub(super) minipages: u32,
}

/// Runs a program on `ranks` ranks of this process, and has its threads write journals. The result must be
/// right.
pub(super) fn record(program: &Program, ranks: u32) -> Result<(Recording, AppResult<()>)> {
    // The paper's programs fault.
    let settings = Settings { journal: ROOM, policy: Some(Policy::Block), asking: false, ..program.settings() };
    let (mut outcome, prove) = program.here(ranks, settings)?;
    if let Err(wrong) = prove() {
        bail!("{} on {ranks} ranks is wrong: {wrong}", program.name());
    }
    let mut journals: Vec<Journal> = outcome.threads.iter_mut().filter_map(|played| played.journal.take()).collect();
    let missed: u64 = journals.iter().map(|journal| journal.missed).sum();
    if missed > 0 {
        bail!("{}: no room for {missed} events in its journals: choose a smaller input", program.name());
    }
    let minipages = count(&outcome);
    thin(&mut journals, &Grain::pages(&outcome.sites, minipages, PAGE));
    let sites = outcome.sites.clone();
    Ok((Recording { journals, sites, minipages }, outcome))
}

/// How many minipages there are.
fn count(outcome: &AppResult<()>) -> u32 {
    outcome.sites.iter().flat_map(|site| &site.minipages).max().map_or(0, |&Minipage(most)| most + 1)
}

/// Runs it once; all threads together compute for as long as one of them `alone`. For programs of which no
/// two runs are alike.
pub(super) fn record_once(program: &Program, ranks: u32, alone: Option<&Recording>) -> Result<Recording> {
    let (mut run, _) = record(program, ranks)?;
    if let Some(alone) = alone {
        run.divide(alone.computed());
    }
    Ok(run)
}

/// Runs it three times: a thread computes between two barriers for as long as it did when it was quickest.
/// And all threads together compute for no longer than one of them `alone`: they divide the work, but here
/// they also share caches, and what a signal takes to come and go is no computing. Only for programs that
/// share out their work alike in every run.
pub(super) fn record_quietly(program: &Program, ranks: u32, alone: Option<&Recording>) -> Result<Recording> {
    let (mut run, _) = record(program, ranks)?;
    for _ in 1..TIMES {
        run.hurry(&record(program, ranks)?.0);
    }
    if let Some(alone) = alone {
        run.divide(alone.computed());
    }
    Ok(run)
}

/// What a thread computed between two events, from the start of the clock on, in nanoseconds.
fn computed(journal: &Journal) -> Vec<u64> {
    let start = journal.events.iter().rposition(|event| event.what == Operation::Start).map_or(0, |at| at + 1);
    journal.events[start..].iter().map(|event| event.computed_ns).collect()
}

/// The events of a thread from one barrier to the next.
fn rounds(journal: &Journal) -> impl Iterator<Item = &[Event]> {
    journal.events.split_inclusive(|event| event.what == Operation::Barrier)
}

impl Recording {
    /// What all threads compute, from the start of the clock on, in nanoseconds.
    pub(super) fn computed(&self) -> u64 {
        self.journals.iter().flat_map(computed).sum()
    }

    /// Makes that as much as `whole`.
    fn divide(&mut self, whole: u64) {
        let all = u128::from(self.computed().max(1));
        for event in self.journals.iter_mut().flat_map(|journal| &mut journal.events) {
            event.computed_ns = (u128::from(event.computed_ns) * u128::from(whole) / all) as u64;
        }
    }

    /// Computes between two barriers for no longer than another run did.
    fn hurry(&mut self, other: &Self) {
        for (journal, other) in self.journals.iter_mut().zip(&other.journals) {
            let sum = |round: &[Event]| round.iter().map(|event| event.computed_ns).sum::<u64>();
            let least: Vec<u64> = rounds(other).map(sum).collect();
            let own = journal.events.split_inclusive_mut(|event| event.what == Operation::Barrier);
            for (round, least) in own.zip(least) {
                let all = sum(round);
                for event in round.iter_mut().filter(|_| least < all) {
                    event.computed_ns = (u128::from(event.computed_ns) * u128::from(least) / u128::from(all)) as u64;
                }
            }
        }
    }

    /// Plays it as it was.
    pub(super) fn replay(&self, scenario: &Scenario) -> Result<Replayed> {
        let bytes = Grain::minipages(&self.sites, self.minipages);
        replay(scenario, &self.journals, &Arc::from(bytes.bytes()))
    }

    /// The journals as if pages had been shared, not minipages, and how long these are.
    fn by_pages(&self) -> (Vec<Journal>, Arc<[u32]>) {
        let grain = Grain::pages(&self.sites, self.minipages, PAGE);
        let journals = self.journals.iter().map(|journal| grain.applied(journal.clone())).collect();
        (journals, Arc::from(grain.bytes()))
    }

    /// Plays it as if pages had been shared.
    pub(super) fn play_by_pages(&self, scenario: &Scenario) -> Result<Replayed> {
        let (journals, bytes) = self.by_pages();
        replay(scenario, &journals, &bytes)
    }

    /// What it comes to by pages under relaxed consistency.
    pub(super) fn relax(&self, pace_percent: u64, prices: &RelaxedPrices) -> Result<Relaxed> {
        let (journals, bytes) = self.by_pages();
        relax(&journals, &bytes, pace_percent, prices).map_err(anyhow::Error::msg)
    }

    /// All events of all threads.
    pub(super) fn events(&self) -> impl Iterator<Item = &Event> {
        self.journals.iter().flat_map(|journal| &journal.events)
    }

    /// How long each minipage is, in bytes.
    pub(super) fn lengths(&self) -> Vec<u32> {
        Grain::minipages(&self.sites, self.minipages).bytes().to_vec()
    }
}

/// What managers counted of all minipages together.
pub(super) fn total(traffic: &[(Minipage, Counts)]) -> Counts {
    let mut sum = Counts::default();
    for (_, of) in traffic {
        sum.reads += of.reads;
        sum.writes += of.writes;
        sum.upgrades += of.upgrades;
        sum.pushed += of.pushed;
        sum.invalidated += of.invalidated;
        sum.competing += of.competing;
    }
    sum
}

/// Bytes of minipages that travelled: with every copy given, but for upgrades.
pub(super) fn bytes(traffic: &[(Minipage, Counts)], lengths: &[u32]) -> u64 {
    let copies = |of: &Counts| u64::from(of.reads + of.writes - of.upgrades + of.pushed);
    traffic.iter().map(|(minipage, of)| copies(of) * u64::from(lengths[minipage.0 as usize])).sum()
}

/// Which threads touch a page.
#[derive(Clone, Copy, PartialEq)]
enum Whose {
    None,
    One(u32),
    Several,
}

/// Leaves out all but the first touch to read and the first to write of pages that one thread has for itself;
/// of minipages on such a page, too. What was computed before them belongs to the event behind. What is left
/// makes the same faults, by minipages and by pages.
pub(super) fn thin(journals: &mut [Journal], pages: &Grain) {
    let mut whose = vec![Whose::None; pages.bytes().len()];
    for journal in &*journals {
        for event in &journal.events {
            let (minipage, others) = match event.what {
                Operation::Touch { minipage, .. } | Operation::Prefetch { minipage, .. } => (minipage, false),
                Operation::Push { minipage } => (minipage, true),
                _ => continue,
            };
            let Minipage(page) = pages.of_minipage(minipage);
            let whose = &mut whose[page as usize];
            let alone = [Whose::None, Whose::One(journal.thread)].contains(whose) && !others;
            *whose = if alone { Whose::One(journal.thread) } else { Whose::Several };
        }
    }
    for journal in journals {
        let (mut had, mut owed_ns) = (vec![Access::None; whose.len()], 0);
        journal.events.retain_mut(|event| {
            event.computed_ns += std::mem::take(&mut owed_ns);
            let Operation::Touch { minipage, access, .. } = event.what else { return true };
            let Minipage(page) = pages.of_minipage(minipage);
            let had = &mut had[minipage.0 as usize];
            if *had >= access && whose[page as usize] != Whose::Several {
                owed_ns = event.computed_ns;
                return false;
            }
            *had = access.max(*had);
            true
        });
        journal.events.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_dsm::journal::Event;
    use foregather_dsm::memory::Site;

    fn journal(thread: u32, did: impl IntoIterator<Item = Operation>) -> Journal {
        let event = |what| Event { computed_ns: 10, at_ns: 0, waited_ns: 0, what };
        Journal { thread, events: did.into_iter().map(event).collect(), ..Journal::default() }
    }

    fn touch(minipage: u32, access: Access) -> Operation {
        Operation::touch(Minipage(minipage), access, 0..8)
    }

    #[test]
    fn only_what_one_thread_has_for_itself_is_left_out_and_its_computing_is_kept() {
        // Two minipages to a page of 2000 bytes.
        let minipages = (0..6).map(Minipage).collect();
        let site = Site { place: String::new(), element_bytes: 8, unit_bytes: 1_000, level: 1, minipages };
        let pages = Grain::pages(&[site], 6, 2_000);
        let (read, write) = (Access::Read, Access::Write);
        let own = [touch(0, read), touch(0, write), touch(0, read), touch(0, write), touch(1, write), Operation::Barrier];
        let shared =
            [touch(2, read), touch(2, read), touch(4, write), Operation::Push { minipage: Minipage(4) }, touch(4, write)];
        let kept: Vec<Operation> = own[..2].iter().chain(&own[4..]).chain(&shared).cloned().collect();
        let mut journals = [journal(0, own.into_iter().chain(shared)), journal(1, [touch(3, read)])];
        thin(&mut journals, &pages);
        assert_eq!(journals[0].events.iter().map(|event| event.what.clone()).collect::<Vec<_>>(), kept);
        assert_eq!(journals[0].events.iter().map(|event| event.computed_ns).sum::<u64>(), 110);
        assert_eq!(journals[0].events[2].computed_ns, 30, "two were left out before it");
        assert_eq!(journals[1].events.len(), 1);
    }
}
