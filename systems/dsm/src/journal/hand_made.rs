//! Hand-written journals for tests.
use super::{Event, Journal, Operation};
use crate::memory::Site;
use crate::{Access, Minipage};
use core::ops::Range;

pub(super) fn at(at_ns: u64, waited_ns: u64, what: Operation) -> Event {
    Event { computed_ns: 0, at_ns, waited_ns, what }
}

/// Returns the journal of the only thread of rank `rank`.
pub(super) fn journal(rank: u32, events: impl IntoIterator<Item = Event>) -> Journal {
    Journal { rank, thread: rank, events: events.into_iter().collect(), missed: 0 }
}

/// Returns journals in which thread `n` has row `n`; the events of a column happen at the same time, in the
/// order of rows.
pub(super) fn journals<const COLUMNS: usize>(rows: impl IntoIterator<Item = [Option<Operation>; COLUMNS]>) -> Vec<Journal> {
    let row = |(rank, row): (usize, [Option<Operation>; COLUMNS])| {
        let event = |(column, what): (usize, Option<Operation>)| Some(at((100 * column + rank) as u64, 0, what?));
        journal(rank as u32, row.into_iter().enumerate().filter_map(event))
    };
    rows.into_iter().enumerate().map(row).collect()
}

pub(super) fn load(minipage: u32, bytes: Range<u32>) -> Option<Operation> {
    Some(Operation::touch(Minipage(minipage), Access::Read, bytes))
}

pub(super) fn store(minipage: u32, bytes: Range<u32>) -> Option<Operation> {
    Some(Operation::touch(Minipage(minipage), Access::Write, bytes))
}

pub(super) fn atomic(minipage: u32, bytes: Range<u32>) -> Option<Operation> {
    Some(Operation::Touch {
        minipage: Minipage(minipage),
        access: Access::Write,
        bytes: bytes.into(),
        again: false,
        atomic: true,
    })
}

/// Returns a site with `minipages` of `level` units of `unit_bytes` each.
pub(super) fn site(place: &str, (element_bytes, unit_bytes, level): (u32, u32, u32), minipages: Range<u32>) -> Site {
    Site { place: place.to_owned(), element_bytes, unit_bytes, level, minipages: minipages.map(Minipage).collect() }
}
