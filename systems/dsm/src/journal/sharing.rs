//! False sharing: ranks fetch a minipage from each other although neither needs what the other stored in it.
//! Finds it, and the granularity that avoids it.
//!
//! All journals are processed in one order, once with minipages as they are, and again with smaller units
//! (`copies` defines which fetches are useless). The counts come from this model, not from the run: within an
//! epoch, the bytes are known but not the order of accesses, and a prefetch counts as the access after it.
use super::order::{NextEvent, walk};
use super::places::{Places, grain};
use super::{Bytes, Event, Journal, Operation};
use crate::memory::Site;
use crate::{Access, Minipage};
use copies::{ArrayAccess, How};
use core::fmt;
use core::ops::Range;
use foregather_machine::Nanos;
use serde::Serialize;

mod copies;
mod grain;

pub use copies::Fetches;

/// The false sharing of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sharing {
    /// Allocations for which more than a few fetches, and more than 1 % of them, were useless; the one with
    /// the most useless fetches comes first.
    pub sites: Vec<FalselyShared>,
    /// Events that found no room in a journal: what followed them is unknown.
    pub missed: u64,
}

/// An allocation that is shared falsely.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FalselyShared {
    /// File and line of the allocation.
    pub place: String,
    /// Bytes of a unit.
    pub unit_bytes: u32,
    /// Units to a minipage.
    pub level: u32,
    /// The fetches of its minipages.
    pub fetches: Fetches,
    /// How long threads waited for all its fetches, useless or not, in nanoseconds.
    pub waited_ns: u64,
    /// The minipage with the most useless fetches.
    pub worst: Minipage,
    /// How many fetches of that minipage were useless.
    pub worst_useless: u64,
    /// The bytes that each rank accesses.
    pub touched: Vec<Touched>,
    /// The granularity that would help.
    pub cure: Option<Cure>,
}

/// The bytes of a minipage that a rank accesses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Touched {
    /// The rank.
    pub rank: u32,
    /// The bytes it loads, counted from the minipage's first one.
    pub loaded: Bytes,
    /// The bytes it stores.
    pub stored: Bytes,
}

/// A granularity at which almost no fetch is useless.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cure {
    /// Bytes of a unit.
    pub unit_bytes: u32,
    /// Units to a minipage.
    pub level: u32,
    /// The fetches that remain.
    pub fetches: Fetches,
    /// Whether these are fewer than now, although smaller units are fetched one by one.
    pub pays: bool,
}

/// Finds the false sharing of a run.
pub fn find(journals: &[Journal], sites: &[Site]) -> Sharing {
    let mut ranks: Vec<u32> = journals.iter().map(|journal| journal.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let mut all: Vec<Uses> = sites.iter().map(|_| Uses::default()).collect();
    let (places, mut epochs) = (Places::new(sites), vec![0; journals.len()]);
    walk(journals, |step| match step {
        NextEvent::Barrier => epochs.iter_mut().for_each(|epoch| *epoch += 1),
        NextEvent::Event(thread, event) => {
            epochs[thread] += u32::from(event.what.synchronises());
            let rank = ranks.partition_point(|&rank| rank < journals[thread].rank);
            if let Some((site, act)) = act(event, &places, (rank, thread, epochs[thread])) {
                all[site].waited_ns += if act.how == How::Push { 0 } else { event.waited_ns };
                all[site].acts.push(act);
            }
        }
    });
    let mut found: Vec<_> = all.iter().zip(sites).filter_map(|(uses, site)| uses.judge(site, &ranks)).collect();
    found.sort_by_key(|shared| core::cmp::Reverse(shared.fetches.useless));
    Sharing { sites: found, missed: journals.iter().map(|journal| journal.missed).sum() }
}

fn act(event: &Event, places: &Places<'_>, (rank, thread, epoch): (usize, usize, u32)) -> Option<(usize, ArrayAccess)> {
    let (how, (site, bytes)) = match &event.what {
        Operation::Touch { minipage, access: Access::Write, bytes, .. } => (How::Store, places.bytes(*minipage, bytes)?),
        Operation::Touch { minipage, bytes, .. } => (How::Load, places.bytes(*minipage, bytes)?),
        Operation::Push { minipage } => (How::Push, places.whole(*minipage)?),
        _ => return None,
    };
    Some((site, ArrayAccess { rank, how, bytes, epoch: (thread, epoch) }))
}

/// The accesses to an allocation, in order.
#[derive(Default)]
struct Uses {
    acts: Vec<ArrayAccess>,
    waited_ns: u64,
}

impl Uses {
    fn judge(&self, site: &Site, ranks: &[u32]) -> Option<FalselyShared> {
        let (acts, grain) = (&self.acts, grain(site));
        let outcome = copies::fetches(acts, ranks.len(), grain);
        let (block, worst_useless) = outcome.worst().filter(|_| !outcome.fetches.is_fine())?;
        Some(FalselyShared {
            place: site.place.clone(),
            unit_bytes: site.unit_bytes,
            level: site.level,
            fetches: outcome.fetches,
            waited_ns: self.waited_ns,
            worst: site.minipages[block as usize],
            worst_useless,
            touched: self.touched(block * grain..(block + 1) * grain, ranks),
            cure: grain::cure(acts, ranks.len(), site, (grain, &outcome.fetches)),
        })
    }

    /// Returns which of these bytes each rank accesses, counted from the first of them.
    fn touched(&self, within: Range<u32>, ranks: &[u32]) -> Vec<Touched> {
        let mut all: Vec<Touched> = ranks.iter().map(|&rank| Touched { rank, ..Touched::default() }).collect();
        for act in &self.acts {
            let touched = &mut all[act.rank];
            let to = match act.how {
                How::Load => &mut touched.loaded,
                How::Store => &mut touched.stored,
                How::Push => continue,
            };
            for range in act.bytes.ranges() {
                let (start, end) = (range.start.max(within.start), range.end.min(within.end));
                to.include(start.saturating_sub(within.start)..end.saturating_sub(within.start));
            }
        }
        all.retain(|touched| !touched.loaded.is_empty() || !touched.stored.is_empty());
        all
    }
}

impl fmt::Display for Touched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}", self.rank)?;
        let sides = [("loads", &self.loaded), ("stores", &self.stored)];
        for (nth, (does, bytes)) in sides.into_iter().filter(|(_, bytes)| !bytes.is_empty()).enumerate() {
            write!(f, "{}{does} {bytes}", if nth == 0 { " " } else { " and " })?;
        }
        Ok(())
    }
}

impl fmt::Display for FalselyShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, unit_bytes, level, fetches, waited_ns, worst, worst_useless, touched, cure } = self;
        let grain = SharingUnit { unit_bytes: *unit_bytes, level: *level };
        writeln!(
            f,
            "{place} is falsely shared in {grain}: {} of {} fetches brought nothing that was needed;",
            fetches.useless,
            fetches.all()
        )?;
        writeln!(
            f,
            "  threads waited {} for all of them together. Most ({worst_useless}) at minipage {}, of which",
            Nanos(*waited_ns),
            worst.0
        )?;
        let who: Vec<String> = touched.iter().take(4).map(ToString::to_string).collect();
        let more = if touched.len() > 4 { "; and others" } else { "" };
        writeln!(f, "  {}{more}.", who.join("; "))?;
        match cure {
            Some(Cure { unit_bytes, level, fetches: after, pays }) => {
                let grain = SharingUnit { unit_bytes: *unit_bytes, level: *level };
                write!(f, "  It would be cured by {grain}: {} useless of {} fetches", after.useless, after.all())?;
                if *pays {
                    return Ok(());
                }
                write!(f, ", but these are more than now: rather let what is touched together stand together")
            }
            None => write!(f, "  No grain was found that cures it: let what one rank touches stand together"),
        }
    }
}

struct SharingUnit {
    unit_bytes: u32,
    level: u32,
}

impl fmt::Display for SharingUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "units of {} bytes", self.unit_bytes)?;
        if self.level > 1 { write!(f, ", {} to a minipage", self.level) } else { Ok(()) }
    }
}

impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.sites.is_empty() {
            writeln!(f, "no false sharing worth a word")?;
        }
        self.sites.iter().try_for_each(|site| writeln!(f, "{site}"))?;
        super::missed(f, self.missed)
    }
}

#[cfg(test)]
mod tests;
