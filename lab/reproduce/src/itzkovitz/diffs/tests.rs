//! Twins, notices and diffs of journals written by hand.
use super::*;

const PRICES: Prices = Prices {
    write: Nanos::ZERO,
    twin: Nanos(1),
    fetch: Nanos(100),
    further: Nanos(10),
    page: Nanos(4_096),
    diff: Nanos(1_000),
    serve: Nanos(20_000),
    close: Nanos(100_000),
    lock: [Nanos::ZERO; 2],
    barrier: [Nanos::ZERO; 2],
};

fn journals<const HOSTS: usize>(did: [Vec<Operation>; HOSTS]) -> Vec<Journal> {
    let event = |what| Event { computed_ns: 1_000_000, at_ns: 0, waited_ns: 0, what };
    let journal = |(thread, did): (usize, Vec<Operation>)| Journal {
        thread: thread as u32,
        events: did.into_iter().chain([Operation::End]).map(event).collect(),
        ..Journal::default()
    };
    did.into_iter().enumerate().map(journal).collect()
}

fn touch(access: Access, bytes: u32) -> Operation {
    Operation::touch(Minipage(0), access, 0..bytes)
}

#[test]
fn two_writers_of_a_page_do_not_disturb_each_other_until_somebody_reads_what_they_wrote() {
    use Access::{Read, Write};
    let writes = |bytes| vec![touch(Write, bytes), touch(Write, bytes), Operation::Barrier, Operation::Barrier];
    let reads = vec![Operation::Barrier, touch(Read, 8), touch(Read, 8), Operation::Barrier];
    let all = relax(&journals([writes(8), writes(100), reads]), &[4_096], 100, &PRICES).unwrap();
    // Each wrote its bytes twice over, and nobody fetched anything but the reader, once, from both.
    assert_eq!(all, Relaxed { span: all.span, fetches: 1, twins: 2, diffs: 2, bytes: 216 });
    // It computes before three events of the writers and four of its own; its page is closed, and brought up to date by a diff of each.
    let fetch = 100 + 10 + 1_000 + 216;
    assert_eq!(all.span.0, 7_000_000 + 1 + 100_000 + fetch);
}

#[test]
fn a_lock_hands_on_only_what_its_last_owner_knew() {
    use Access::{Read, Write};
    let first = vec![Operation::Lock(1), touch(Write, 8), Operation::Unlock(1), Operation::Barrier];
    // It takes the same lock later, since it computes for longer; or another one.
    let then = |lock| {
        vec![
            Operation::Start,
            Operation::Start,
            Operation::Start,
            Operation::Lock(lock),
            touch(Read, 8),
            Operation::Unlock(lock),
            Operation::Barrier,
        ]
    };
    let fetches = |lock| relax(&journals([first.clone(), then(lock)]), &[64], 100, &PRICES).unwrap().fetches;
    assert_eq!((fetches(1), fetches(2)), (1, 0));
}

#[test]
fn nobody_asks_twice_for_the_same_and_each_new_write_takes_a_twin_after_a_diff() {
    use Access::{Read, Write};
    let rounds = 3;
    let writes = (0..rounds).flat_map(|_| [touch(Write, 8), Operation::Barrier, Operation::Barrier]).collect();
    let reads = (0..rounds).flat_map(|_| [Operation::Barrier, touch(Read, 8), touch(Read, 8), Operation::Barrier]).collect();
    let all = relax(&journals([writes, reads]), &[64], 100, &PRICES).unwrap();
    assert_eq!((all.fetches, all.twins, all.diffs, all.bytes), (rounds, rounds, rounds, 8 * rounds));
}

#[test]
fn who_waits_for_ever_is_an_error() {
    let hung = journals([vec![Operation::Lock(1)], vec![Operation::Start, Operation::Lock(1)]]);
    assert!(relax(&hung, &[], 100, &PRICES).unwrap_err().to_string().contains("nobody comes"));
}
