//! Contention: how the requests for each allocation were served, as counted by the managers of its minipages.
use super::places::Places;
use crate::Minipage;
use crate::memory::Site;
use crate::protocol::Counts;
use core::fmt;
use serde::Serialize;

/// The contention of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Contention {
    /// Allocations that were requested, those with the most competing requests first.
    pub rows: Vec<ContentionRow>,
}

/// The requests for one allocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContentionRow {
    /// File and line of the allocation.
    pub place: String,
    /// Bytes of a unit.
    pub unit_bytes: u32,
    /// Units to a minipage.
    pub level: u32,
    /// How many of its minipages were requested.
    pub minipages: u32,
    /// The requests for all of them, added up.
    pub counts: Counts,
    /// The minipage with the most competing requests, and how many these are; `None` if no requests competed.
    pub worst: Option<(Minipage, u32)>,
}

/// Sums up `traffic`, the managers' counts of each minipage, by allocation.
pub fn by_site(traffic: &[(Minipage, Counts)], sites: &[Site]) -> Contention {
    let places = Places::new(sites);
    let row = |site: &Site| ContentionRow {
        place: site.place.clone(),
        unit_bytes: site.unit_bytes,
        level: site.level,
        minipages: 0,
        counts: Counts::default(),
        worst: None,
    };
    let mut rows: Vec<ContentionRow> = sites.iter().map(row).collect();
    for &(minipage, counts) in traffic {
        let Some(site) = places.site(minipage) else { continue };
        let row = &mut rows[site];
        row.minipages += 1;
        add(&mut row.counts, &counts);
        if counts.competing > row.worst.map_or(0, |(_, most)| most) {
            row.worst = Some((minipage, counts.competing));
        }
    }
    rows.retain(|row| row.minipages > 0);
    rows.sort_by_key(|row| core::cmp::Reverse(row.counts.competing));
    Contention { rows }
}

fn add(all: &mut Counts, more: &Counts) {
    let Counts { reads, writes, upgrades, pushed, invalidated, competing } = *more;
    all.reads += reads;
    all.writes += writes;
    all.upgrades += upgrades;
    all.pushed += pushed;
    all.invalidated += invalidated;
    all.competing += competing;
}

impl fmt::Display for Contention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wide = self.rows.iter().map(|row| row.place.len()).max().unwrap_or(0).max(10);
        writeln!(
            f,
            "{:wide$} {:>7} {:>5} {:>9} {:>8} {:>8} {:>8} {:>8} {:>11} {:>9}  most at",
            "allocation", "unit B", "level", "minipages", "reads", "writes", "upgrades", "pushed", "invalidated", "competing"
        )?;
        for ContentionRow { place, unit_bytes, level, minipages, counts, worst } in &self.rows {
            let Counts { reads, writes, upgrades, pushed, invalidated, competing } = counts;
            write!(
                f,
                "{place:wide$} {unit_bytes:>7} {level:>5} {minipages:>9} {reads:>8} {writes:>8} {upgrades:>8} {pushed:>8} "
            )?;
            write!(f, "{invalidated:>11} {competing:>9}")?;
            match worst {
                Some((minipage, most)) => writeln!(f, "  minipage {}: {most}", minipage.0)?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::hand_made::site;

    #[test]
    fn requests_are_added_up_by_allocation_and_the_most_contended_comes_first() {
        let sites = [site("calm.rs:1", (8, 8, 1), 0..2), site("hot.rs:2", (8, 8, 4), 2..5), site("unused.rs:3", (8, 8, 1), 5..6)];
        let counts = |reads, competing| Counts { reads, competing, ..Counts::default() };
        let traffic = [(0, counts(7, 0)), (2, counts(1, 3)), (3, counts(2, 9)), (4, counts(4, 0)), (77, counts(1, 1))];
        let report = by_site(&traffic.map(|(minipage, counts)| (Minipage(minipage), counts)), &sites);
        let rows: Vec<_> = report.rows.iter().map(|row| (&row.place[..], row.minipages, row.counts, row.worst)).collect();
        assert_eq!(rows, [("hot.rs:2", 3, counts(7, 12), Some((Minipage(3), 9))), ("calm.rs:1", 1, counts(7, 0), None)]);
        let text = report.to_string();
        assert!(text.lines().nth(1).unwrap().ends_with("minipage 3: 9"), "{text}");
    }
}
