//! False sharing in hand-written journals, its cure, and cases that only look like it.
use super::super::hand_made::{journals, load, site, store};
use super::*;
use Operation::Barrier;

#[test]
fn the_grain_that_cures_is_the_largest_one() {
    // Four ranks, each with its own 16 bytes, of which it accesses 8 at a time.
    let row = |rank: u32| {
        let turn = |second: u32| store(0, 16 * rank + 8 * second..16 * rank + 8 * second + 8);
        core::array::from_fn::<_, 20, _>(|at| turn(at as u32 % 2))
    };
    let sites = [site("own.rs:3", (8, 64, 1), 0..1)];
    let found = find(&journals((0..4).map(row)), &sites);
    let [shared] = &found.sites[..] else { panic!("{found:?}") };
    assert_eq!((shared.fetches.cold, shared.fetches.essential, shared.fetches.useless), (4, 0, 76));
    let cure = shared.cure.as_ref().unwrap();
    assert_eq!((cure.unit_bytes, cure.level, cure.fetches.useless, cure.fetches.all()), (16, 1, 0, 4));
    assert!(cure.pays && !found.to_string().contains("more than now"), "{found}");
    assert_eq!((shared.worst, shared.worst_useless), (Minipage(0), 76));
    let two = &shared.touched[2];
    assert_eq!((two.rank, &two.stored, two.loaded.is_empty()), (2, &Bytes::from(32..48), true));
    let text = found.to_string();
    assert!(
        text.contains("own.rs:3") && text.contains("cured by units of 16 bytes") && text.contains("bytes 32 to 47"),
        "{text}"
    );
}

#[test]
fn the_length_of_what_is_touched_at_a_time_is_a_candidate_even_across_smaller_and_larger_units() {
    // Tours of 148 bytes: rank 0 has the even ones, rank 1 the odd ones, and both store all of theirs again
    // and again.
    for unit_bytes in [128, 256] {
        let row = |rank: u32| {
            let touch = |at: usize| {
                let (tour, part) = (at as u32 / 4 % 4 * 2 + rank, at as u32 % 4);
                let (from, to) = (148 * tour, 148 * tour + 148);
                let unit = from / unit_bytes + part;
                if part == 3 {
                    return Some(Barrier);
                }
                let (first, end) = (from.max(unit * unit_bytes), to.min((unit + 1) * unit_bytes));
                if first < end { store(unit, first - unit * unit_bytes..end - unit * unit_bytes) } else { None }
            };
            core::array::from_fn::<_, 160, _>(touch)
        };
        let found = find(&journals((0..2).map(row)), &[site("tours.rs:8", (4, unit_bytes, 1), 0..10)]);
        let cure = found.sites[0].cure.as_ref().unwrap();
        assert_eq!((cure.unit_bytes, cure.level, cure.fetches.useless, cure.pays), (148, 1, 0, true), "{found}");
    }
}

#[test]
fn chunks_are_told_to_be_smaller() {
    // Each rank owns two units, and eight units share a minipage.
    let row = |rank: u32| {
        let touch = |at: usize| store(0, 16 * (2 * rank + at as u32 % 2)..16 * (2 * rank + at as u32 % 2) + 12);
        core::array::from_fn::<_, 16, _>(touch)
    };
    let sites = [site("chunks.rs:5", (4, 12, 8), 0..1)];
    let found = find(&journals((0..4).map(row)), &sites);
    let cure = found.sites[0].cure.as_ref().unwrap();
    assert_eq!((cure.unit_bytes, cure.level), (12, 2));
    assert!(found.to_string().contains("cured by units of 12 bytes, 2 to a minipage"), "{found}");
}

#[test]
fn what_is_handed_over_at_barriers_is_not_falsely_shared_nor_is_what_nobody_fetches_again() {
    let sites = [site("fine.rs:1", (8, 64, 1), 0..2)];
    let hand_over = [
        [store(0, 0..64), Some(Barrier), None, Some(Barrier), store(0, 0..64), Some(Barrier), None, Some(Barrier)],
        [None, Some(Barrier), load(0, 0..8), Some(Barrier), None, Some(Barrier), load(0, 0..8), Some(Barrier)],
    ];
    assert_eq!(find(&journals(hand_over), &sites).sites, []);
    let own = [[store(0, 0..64), store(0, 0..8), load(0, 8..64)], [store(1, 0..64), store(1, 0..8), load(1, 8..64)]];
    let found = find(&journals(own), &sites);
    assert_eq!((found.sites.len(), found.to_string().lines().count()), (0, 1));
}

#[test]
fn a_cure_that_costs_more_fetches_than_it_saves_says_so() {
    // A row moves back and forth as a whole; then each rank stores a number of its own in another minipage.
    let touch = |rank: u32, at: u32| match at {
        _ if at % 2 != rank => None,
        0..32 => store(0, 0..256),
        _ => store(1, 8 * rank..8 * rank + 8),
    };
    let rows = (0..2).map(|rank| core::array::from_fn::<_, 64, _>(|at| touch(rank, at as u32)));
    let found = find(&journals(rows), &[site("mixed.rs:1", (8, 512, 1), 0..2)]);
    let (now, cure) = (found.sites[0].fetches, found.sites[0].cure.as_ref().unwrap());
    assert_eq!((cure.unit_bytes, cure.pays, cure.fetches.all() > now.all()), (8, false, true), "{found}");
    assert!(found.to_string().contains("more than now"), "{found}");
}

#[test]
fn a_byte_that_all_store_cannot_be_cured_and_is_not_false_sharing() {
    let row = |_| core::array::from_fn::<_, 20, _>(|_| store(0, 0..8));
    assert_eq!(find(&journals((0..3).map(row)), &[site("counter.rs:1", (8, 64, 1), 0..1)]).sites, []);
}
