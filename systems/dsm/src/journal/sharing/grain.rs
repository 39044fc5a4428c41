//! Searches for the granularity at which no fetch would be useless: candidates are derived from the accesses
//! of ranks, and each is tried.
use super::copies::{ArrayAccess, How, fetches, pieces};
use super::{Bytes, Cure, Fetches};
use crate::memory::Site;
use std::collections::{BTreeMap, BTreeSet};

/// A granularity that gives more pieces than this is not tried.
const PIECES_MAX: u64 = 1 << 22;

/// At most this many of ten useless fetches may remain.
const LEFT_MAX: u64 = 1;

/// Returns the largest unit at which almost none of the current fetches is useless.
pub(super) fn cure(acts: &[ArrayAccess], ranks: usize, site: &Site, (grain, now): (u32, &Fetches)) -> Option<Cure> {
    let candidates = candidates(acts, site, grain);
    candidates.into_iter().rev().filter(|&unit| pieces(acts, unit) <= PIECES_MAX).find_map(|unit| {
        let fetches = fetches(acts, ranks, unit).fetches;
        let (unit_bytes, level) =
            if unit.is_multiple_of(site.unit_bytes) { (site.unit_bytes, unit / site.unit_bytes) } else { (unit, 1) };
        let cured = fetches.is_fine() && fetches.useless * 10 <= now.useless * LEFT_MAX;
        cured.then_some(Cure { unit_bytes, level, fetches, pays: fetches.all() < now.all() })
    })
}

/// Returns the candidates: the step of what threads access in an epoch, and the step of what ranks access in
/// total; below the current granularity also an element and an allocation; and 2, 4, 8 ... times each of the
/// four. All are multiples of an element.
fn candidates(acts: &[ArrayAccess], site: &Site, grain: u32) -> BTreeSet<u32> {
    let (mut epochs, mut ranks) = (BTreeMap::<_, Bytes>::new(), BTreeMap::<_, Bytes>::new());
    for act in acts.iter().filter(|act| act.how != How::Push) {
        epochs.entry(act.epoch).or_default().unite(&act.bytes);
        ranks.entry(act.rank).or_default().unite(&act.bytes);
    }
    let last = acts.iter().flat_map(|act| act.bytes.ranges()).map(|range| range.end).max().unwrap_or(0);
    let steps = [step(epochs.values(), last), step(ranks.values(), last)];
    let doubled = |unit| core::iter::successors(Some(unit), |unit: &u32| unit.checked_mul(2)).take_while(|unit| *unit < grain);
    let usable = |unit: &u32| *unit > 0 && *unit != grain && unit.is_multiple_of(site.element_bytes.max(1));
    let smaller = [site.element_bytes, site.unit_bytes].into_iter().chain(steps).filter(|unit| *unit > 0).flat_map(doubled);
    smaller.chain(steps).filter(usable).collect()
}

/// Returns the largest step such that all of these begin and end at its multiples; the last may end
/// elsewhere.
fn step<'b>(all: impl Iterator<Item = &'b Bytes>, last: u32) -> u32 {
    let edges = all.flat_map(Bytes::ranges).flat_map(|range| [range.start, range.end]).filter(|&edge| edge != last);
    edges.fold(0, divisor)
}

fn divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
