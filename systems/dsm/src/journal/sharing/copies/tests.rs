//! Fetches of two ranks, counted by hand.
use super::How::{Load, Push, Store};
use super::*;

/// Returns `(cold, essential, useless)` for two ranks at granularity `grain`.
fn counted<'a>(acts: impl IntoIterator<Item = &'a (usize, How, Range<u32>)>, grain: u32) -> (u64, u64, u64) {
    let act = |(rank, how, range): &(usize, How, Range<u32>)| ArrayAccess {
        rank: *rank,
        how: *how,
        bytes: range.clone().into(),
        epoch: (0, 0),
    };
    let acts: Vec<ArrayAccess> = acts.into_iter().map(act).collect();
    let Fetches { cold, essential, useless } = fetches(&acts, 2, grain).fetches;
    (cold, essential, useless)
}

/// Repeats the accesses.
fn times(count: usize, acts: &[(usize, How, Range<u32>)]) -> Vec<(usize, How, Range<u32>)> {
    acts.iter().cycle().take(count * acts.len()).cloned().collect()
}

#[test]
fn writers_of_different_bytes_fetch_in_vain_unless_these_are_different_blocks() {
    let acts = times(10, &[(0, Store, 0..8), (1, Store, 8..16)]);
    assert_eq!(counted(&acts, 16), (2, 0, 18));
    assert_eq!(counted(&acts, 8), (2, 0, 0));
}

#[test]
fn what_a_rank_stores_and_another_loads_is_fetched_because_it_is_needed() {
    // Both fetches of a round are essential: the reader's, and the writer's, which invalidates what was read.
    let acts = times(10, &[(0, Store, 0..64), (1, Load, 0..8)]);
    assert_eq!(counted(&acts, 64), (2, 18, 0));
    // The reader loads bytes that no rank stores.
    let acts = times(10, &[(0, Store, 0..32), (1, Load, 32..64)]);
    assert_eq!(counted(&acts, 64), (2, 0, 18));
    // Both ranks store the same byte: no granularity would help.
    assert_eq!(counted(&times(10, &[(0, Store, 0..8), (1, Store, 0..8)]), 64), (2, 18, 0));
}

#[test]
fn a_fetch_is_good_if_anything_done_with_its_copy_needed_it() {
    let round = [(0, Store, 0..8), (1, Load, 32..40), (1, Load, 0..8)];
    assert_eq!(counted(&times(10, &round), 64), (2, 18, 0));
    // Rank 1 fetches to write what it loads later, when it no longer may write; rank 0 loads what no rank
    // stores.
    let round = [(0, Store, 0..8), (1, Store, 32..40), (0, Load, 16..24), (1, Load, 0..8)];
    assert_eq!(counted(&times(10, &round), 64), (2, 18, 10));
}

#[test]
fn ranks_that_only_read_or_take_turns_once_fetch_nothing_twice() {
    let acts = times(10, &[(0, Load, 0..8), (1, Load, 8..16)]);
    assert_eq!(counted(&acts, 64), (2, 0, 0));
    assert_eq!(counted(&[(0, Store, 0..8), (1, Store, 8..16), (1, Load, 8..16)], 64), (2, 0, 0));
}

#[test]
fn a_pushed_copy_need_not_be_fetched_and_takes_the_right_to_write() {
    let acts = times(10, &[(0, Store, 0..8), (0, Push, 0..64), (1, Load, 0..8)]);
    assert_eq!(counted(&acts, 64), (1, 9, 0));
    // No rank loads: the granularity makes no difference.
    let acts = times(10, &[(0, Store, 0..8), (0, Push, 0..64)]);
    assert_eq!(counted(&acts, 64), (1, 9, 0));
}

#[test]
fn bytes_are_cut_at_blocks() {
    let mut bytes: Bytes = (2..5).into();
    bytes.unite(&(6..7).into());
    bytes.unite(&(12..21).into());
    let mut seen = vec![];
    each_block(&bytes, 8, |block, bytes| seen.push((block, bytes)));
    let mut first: Bytes = (2..5).into();
    first.include(6..7);
    assert_eq!(seen, [(0, first), (1, (12..16).into()), (2, (16..21).into())]);
    let act = ArrayAccess { rank: 0, how: Load, bytes, epoch: (0, 0) };
    assert_eq!(pieces(&[act], 8), 4);
}
