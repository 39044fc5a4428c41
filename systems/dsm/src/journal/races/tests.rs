//! Races in hand-written journals, and cases that only look like races.
use super::super::hand_made::{at, atomic, journal, journals, load, site, store};
use super::*;
use Operation::{Barrier, Lock, Push, Unlock};

fn sites() -> [Site; 2] {
    [site("numbers.rs:7", (4, 16, 1), 0..2), site("rows.rs:9", (8, 24, 2), 2..4)]
}

fn found(journals: &[Journal]) -> Vec<(How, How, u64)> {
    let all = find(journals, &sites()).races;
    all.iter().map(|race| (race.touches[0].how, race.touches[1].how, race.count)).collect()
}

#[test]
fn a_store_and_a_load_of_a_byte_race_if_nothing_orders_them() {
    let rows =
        [[store(2, 32..40), Some(Barrier), None], [None, Some(Barrier), load(2, 28..36)], [load(2, 0..36), Some(Barrier), None]];
    let Races { races, missed } = find(&journals(rows), &sites());
    let [race] = &races[..] else { panic!("{races:?}") };
    assert_eq!((race.bytes.clone(), race.elements.clone(), race.unit, race.count, missed), (32..36, 4..5, 1, 1, 0));
    let side = |rank, how| Toucher { rank, thread: rank, how, barriers: 0, locks: vec![] };
    assert_eq!((&race.touches, &race.place[..]), (&[side(0, How::Store), side(2, How::Load)], "rows.rs:9"));
    let text = find(&journals([[store(0, 0..4)], [load(0, 0..4)]]), &sites()).to_string();
    assert!(text.contains("numbers.rs:7") && text.contains("thread 1 (rank 1) loads before the first barrier"), "{text}");
}

#[test]
fn loads_atomics_different_bytes_and_one_thread_alone_do_not_race() {
    let rows = [[load(0, 0..8), store(1, 0..4), atomic(2, 0..8)], [load(0, 0..8), store(1, 4..8), atomic(2, 0..8)]];
    assert_eq!(found(&journals(rows)), []);
    assert_eq!(found(&journals([[store(0, 0..4), load(0, 0..4), store(0, 0..8)]])), []);
}

#[test]
fn an_atomic_races_with_plain_touches() {
    let kinds = |row| find(&journals([[atomic(2, 0..8)], row]), &sites()).races.first().map(|race| race.touches[1].how);
    assert_eq!(kinds([load(2, 0..8)]), Some(How::Load));
    assert_eq!(kinds([store(2, 4..8)]), Some(How::Store));
}

#[test]
fn barriers_and_the_same_lock_order_touches_and_another_lock_and_a_push_do_not() {
    let push = Some(Push { minipage: Minipage(0) });
    let barred = [[store(0, 0..4), Some(Barrier), None], [None, Some(Barrier), store(0, 0..4)]];
    assert_eq!(found(&journals(barred)), []);
    assert_eq!(found(&journals([[store(0, 0..4), push, None], [None, None, load(0, 0..4)]])), [(How::Store, How::Load, 1)]);
    let section = |lock, from| [at(from, 0, Lock(lock)), at(from + 1, 0, store(0, 0..4).unwrap()), at(from + 2, 0, Unlock(lock))];
    let locked = |other| [journal(0, section(1, 10)), journal(1, section(other, 20))];
    assert_eq!(found(&locked(1)), []);
    assert_eq!(found(&locked(2)), [(How::Store, How::Store, 1)]);
}

#[test]
fn knowledge_is_passed_on_by_those_who_meet_in_between() {
    let pass = |before: u32, after, from| {
        [at(from, 0, Lock(before)), at(from + 1, 0, Unlock(before)), at(from + 2, 0, Lock(after)), at(from + 3, 0, Unlock(after))]
    };
    let first = [at(0, 0, store(0, 0..4).unwrap()), at(1, 0, Lock(1)), at(2, 0, Unlock(1))];
    let last = |from| [at(from, 0, Lock(2)), at(from + 1, 0, load(0, 0..4).unwrap()), at(from + 2, 0, Unlock(2))];
    assert_eq!(found(&[journal(0, first.clone()), journal(1, pass(1, 2, 10)), journal(2, last(20))]), []);
    // Lock 2 was released before lock 1 was acquired.
    assert_eq!(found(&[journal(0, first), journal(1, pass(2, 1, 10)), journal(2, last(20))]), [(How::Store, How::Load, 1)]);
}

#[test]
fn a_race_with_what_lies_behind_newer_touches_is_found_and_counted() {
    let rows = [
        [store(0, 0..4), Some(Lock(1)), Some(Unlock(1)), store(0, 0..4), None],
        [None, None, None, load(0, 8..12), load(0, 0..4)],
    ];
    let all = find(&journals(rows), &sites()).races;
    assert_eq!((all.len(), all[0].count, all[0].touches[0].barriers), (1, 1, 0));
}
