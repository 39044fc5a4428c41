//! Broadcasts under random schedules. Bytes are copied a word at a time, and other threads may run between
//! two words: a copy beside another one is torn.
mod explore;
mod scheduled;

use explore::{check_pct, check_random};
use foregather_machine::{ByteStore, Cause, Nanos, WaitContext, Words, block_on};
use foregather_message::broadcast::{Broadcast, BroadcastReader, Pace};
use foregather_wait::Policy;
use scheduled::{Scheduled, Word, team};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicU64, Ordering::SeqCst};

const SCHEDULES: usize = 300;
const DEPTH: usize = 4;

/// Bytes that are copied word by word.
#[derive(Clone)]
struct Torn(Arc<Vec<AtomicU64>>);

impl Torn {
    fn own(size: usize) -> Self {
        Self(Arc::new((0..size / 8).map(|_| AtomicU64::new(0)).collect()))
    }
}

impl ByteStore for Torn {
    fn size(&self) -> usize {
        self.0.len() * 8
    }
    fn store(&self, at: usize, from: &[u8]) {
        for (word, bytes) in self.0[at / 8..].iter().zip(from.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(padded), SeqCst);
        }
    }
    fn load(&self, at: usize, into: &mut [u8]) {
        for (word, bytes) in self.0[at / 8..].iter().zip(into.chunks_mut(8)) {
            bytes.copy_from_slice(&word.load(SeqCst).to_ne_bytes()[..bytes.len()]);
        }
    }
}

/// Message `number`, of several records of the smallest ring, or of one.
fn message(number: u64) -> Vec<u8> {
    vec![number as u8 + 1; if number % 3 == 2 { 300 } else { 40 }]
}

/// Some messages to two readers, all of which are received or counted.
fn broadcast(pace: Pace, policy: Policy, messages: u64) {
    let shared = Broadcast::<Scheduled, Torn>::new(2, Torn::own(512), pace).unwrap();
    team(3, move |rank| {
        if rank == 0 {
            let mut writer = shared.writer(Scheduled, policy).unwrap();
            for number in 0..messages {
                block_on(writer.send(&[&message(number)], Nanos::MAX)).unwrap();
            }
            return;
        }
        let mut reader = shared.reader(Scheduled, rank, policy).unwrap();
        let mut next = 0;
        loop {
            let mut come = vec![];
            match block_on(reader.receive(&mut come, Nanos::MAX)).map_err(|error| error.cause().clone()) {
                Ok(()) => {
                    assert_eq!(come, message(next), "{pace:?} {policy:?}: message {next} at {rank}");
                    next += 1;
                }
                Err(Cause::Skipped { messages }) if pace == Pace::Writer => next += messages,
                Err(Cause::Closed { .. }) => break,
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(next, messages);
    });
}

#[test]
fn every_message_is_received_whatever_the_schedule() {
    for policy in [Policy::Block, Policy::TwoPhase { spin: Nanos(10) }] {
        check_random(move || broadcast(Pace::SlowestReader, policy, 7), SCHEDULES / 2);
        check_pct(move || broadcast(Pace::SlowestReader, policy, 7), SCHEDULES / 2, DEPTH);
    }
}

#[test]
fn every_message_is_received_or_counted_whatever_the_schedule() {
    check_random(|| broadcast(Pace::Writer, Policy::Block, 11), SCHEDULES);
    check_pct(|| broadcast(Pace::Writer, Policy::Block, 11), SCHEDULES, DEPTH);
}

/// A reader that leaves at any moment holds no other rank back.
#[test]
fn a_reader_that_leaves_at_any_moment_lets_the_others_go_on() {
    let schedule = || {
        let shared = Broadcast::<Scheduled, Torn>::new(2, Torn::own(512), Pace::SlowestReader).unwrap();
        team(3, move |rank| match rank {
            0 => {
                let mut writer = shared.writer(Scheduled, Policy::Block).unwrap();
                for number in 0..9 {
                    block_on(writer.send(&[&message(number)], Nanos::MAX)).unwrap();
                }
            }
            1 => {
                let mut reader = shared.reader(Scheduled, 1, Policy::Block).unwrap();
                block_on(reader.receive(&mut vec![], Nanos::MAX)).unwrap();
            }
            _ => {
                let mut reader = shared.reader(Scheduled, 2, Policy::Block).unwrap();
                for number in 0..9 {
                    let mut come = vec![];
                    block_on(reader.receive(&mut come, Nanos::MAX)).unwrap();
                    assert_eq!(come, message(number));
                }
            }
        });
    };
    check_random(schedule, SCHEDULES);
    check_pct(schedule, SCHEDULES, DEPTH);
}

/// The messages of the next test.
const MESSAGES: u64 = 8;

/// Reads until an error. Returns the first message's number, how many came without a gap, and the error.
fn read_all(reader: &mut BroadcastReader<Scheduled, Torn>) -> (Option<u64>, u64, Cause) {
    let (mut first, mut count) = (None, 0);
    loop {
        let mut come = vec![];
        match block_on(reader.receive(&mut come, Nanos::MAX)) {
            Ok(()) => {
                let begin = *first.get_or_insert(u64::from(come[0]) - 1);
                assert_eq!(come, message(begin + count), "a torn message, or a gap");
                count += 1;
            }
            Err(error) => return (first, count, error.cause().clone()),
        }
    }
}

/// The place of a reader is given to another one at any moment, while the one before still runs: that is
/// worse than what may happen, since its process has to be dead.
fn replaced(pace: Pace) {
    let shared = Broadcast::<Scheduled, Torn>::new(2, Torn::own(512), pace).unwrap();
    let joined = Arc::new(AtomicU64::new(0));
    team(4, move |rank| match rank {
        0 => {
            let mut writer = shared.writer(Scheduled, Policy::Block).unwrap();
            for number in 0..MESSAGES {
                block_on(writer.send(&[&message(number)], Nanos::MAX)).unwrap();
            }
        }
        1 => {
            let mut reader = shared.reader(Scheduled, 1, Policy::Block).unwrap();
            joined.store(1, SeqCst);
            let (first, count, end) = read_all(&mut reader);
            assert!(first.is_none_or(|first| first == 0 || pace == Pace::Writer));
            match end {
                Cause::Replaced { rank: 1 } => {}
                Cause::Closed { .. } => assert!(count == MESSAGES || pace == Pace::Writer),
                Cause::Skipped { .. } if pace == Pace::Writer => {}
                other => panic!("the former holder: {other}"),
            }
        }
        2 => {
            let mut reader = shared.reader(Scheduled, 2, Policy::Block).unwrap();
            let (first, count, end) = read_all(&mut reader);
            let skips = pace == Pace::Writer && matches!(end, Cause::Skipped { .. });
            assert!(skips || (first, count) == (Some(0), MESSAGES), "the living: {count} from {first:?}, then {end}");
        }
        _ => {
            while joined.load(SeqCst) == 0 {
                shuttle::thread::yield_now();
            }
            let mut reader = shared.replace(Scheduled, 1, Policy::Block).unwrap();
            let (first, count, end) = read_all(&mut reader);
            let skips = pace == Pace::Writer && matches!(end, Cause::Skipped { .. });
            let all = first.is_none_or(|first| first + count == MESSAGES) && matches!(end, Cause::Closed { .. });
            assert!(skips || all, "the new holder: {count} from {first:?}, then {end}");
        }
    });
}

#[test]
fn a_place_that_is_given_away_at_any_moment_gets_whole_messages_to_the_end() {
    for pace in [Pace::SlowestReader, Pace::Writer] {
        check_random(move || replaced(pace), SCHEDULES);
        check_pct(move || replaced(pace), SCHEDULES, DEPTH);
    }
}

/// A place by hand, whose former holder reads on, and whether its successor has a word of its own.
fn by_hand_replaced(has_own_word: bool) {
    let shared = Arc::new((Word::default(), [Word::default(), Word::default()], Torn::own(16)));
    team(3, move |rank| {
        let (written, read, bytes) = &*shared;
        let wait = |on: &Word, value: u32| {
            let reached = || (Scheduled.load(on) >= value).then_some(());
            block_on(Policy::Block.wait(&Scheduled, on, WaitContext::new("by hand", rank), reached)).unwrap();
        };
        let new = &read[usize::from(has_own_word)];
        match rank {
            0 => {
                // The successor begins at the second record.
                Scheduled.store(new, 1);
                for number in 1..=3_u32 {
                    wait(new, number - 1);
                    bytes.store(0, &[number as u8; 16]);
                    Scheduled.publish(written, number);
                }
            }
            1 => {
                for number in 1..=2 {
                    wait(written, number);
                    Scheduled.publish(&read[0], number);
                }
            }
            _ => {
                for number in 2..=3_u32 {
                    wait(written, number);
                    let mut come = [0; 16];
                    bytes.load(0, &mut come);
                    assert_eq!(come, [number as u8; 16], "a torn message");
                    Scheduled.publish(new, number);
                }
            }
        }
    });
}

#[test]
fn a_successor_with_a_word_of_its_own_is_waited_for() {
    check_random(|| by_hand_replaced(true), SCHEDULES);
}

#[test]
#[should_panic(expected = "a torn message")]
fn a_successor_that_shares_the_word_of_the_former_holder_is_found() {
    check_random(|| by_hand_replaced(false), SCHEDULES);
}

/// An admission by hand: the writer admits a successor and leaves. `place_first`: the successor looks at its
/// place before it looks whether the writer has left.
fn by_hand_admission(place_first: bool) {
    const LEFT: u32 = 2;
    let shared = Arc::new((Word::default(), Word::default()));
    team(2, move |rank| {
        let (admitted, written) = &*shared;
        if rank == 0 {
            Scheduled.store(admitted, 1);
            return Scheduled.publish(written, LEFT);
        }
        let place = || Scheduled.load(admitted) == 1;
        let left = || Scheduled.load(written) == LEFT;
        let found = || {
            let (is_admitted, has_left) = if place_first {
                let place = place();
                (place, left())
            } else {
                let left = left();
                (place(), left)
            };
            (is_admitted || has_left).then_some(is_admitted)
        };
        let end = block_on(Policy::Block.wait(&Scheduled, written, WaitContext::new("by hand", rank), found));
        assert!(end.unwrap().0, "an end before a message");
    });
}

#[test]
fn a_successor_that_looks_at_its_place_last_is_admitted() {
    check_random(|| by_hand_admission(false), SCHEDULES);
}

#[test]
#[should_panic(expected = "an end before a message")]
fn a_successor_that_looks_at_the_place_first_is_found() {
    check_random(|| by_hand_admission(true), SCHEDULES);
}

/// The mistake of a ring of one record.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    /// The writer shows a record before it has copied it.
    ShowsFirst,
    /// The reader gives a record back before it has copied it.
    GivesBackFirst,
    /// The reader does not ask whether the record was written over.
    DoesNotAsk,
    /// The writer says after the copy that it writes over a record.
    SaysAfterwards,
}

/// The ring by hand, with a mistake: two messages through one record, at the pace that the mistake is about.
fn by_hand(mistake: Mistake) {
    let waits = matches!(mistake, Mistake::ShowsFirst | Mistake::GivesBackFirst);
    let shared = Arc::new((Word::default(), Word::default(), Torn::own(16)));
    team(2, move |rank| {
        let (written, read, bytes) = &*shared;
        let wait = |on: &Word, value: u32| {
            let reached = || (Scheduled.load(on) >= value).then_some(());
            block_on(Policy::Block.wait(&Scheduled, on, WaitContext::new("by hand", rank), reached)).unwrap();
        };
        for number in 1..=2_u32 {
            if rank == 0 {
                if waits {
                    wait(read, number - 1);
                }
                if mistake == Mistake::ShowsFirst {
                    Scheduled.publish(written, number);
                }
                // At its own pace, `read` is what it discards.
                if mistake == Mistake::DoesNotAsk {
                    Scheduled.store(read, number - 1);
                }
                bytes.store(0, &[number as u8; 16]);
                if mistake == Mistake::SaysAfterwards {
                    Scheduled.store(read, number - 1);
                }
                Scheduled.publish(written, number);
            } else {
                wait(written, number);
                if mistake == Mistake::GivesBackFirst {
                    Scheduled.publish(read, number);
                }
                let mut come = [0; 16];
                bytes.load(0, &mut come);
                let kept = mistake != Mistake::SaysAfterwards || Scheduled.load(read) < number;
                if kept {
                    assert_eq!(come, [number as u8; 16], "a torn message");
                }
                if waits {
                    Scheduled.publish(read, number);
                }
            }
        }
    });
}

/// The negative controls.
#[test]
#[should_panic(expected = "a torn message")]
fn a_record_that_is_shown_before_it_is_copied_is_found() {
    check_random(|| by_hand(Mistake::ShowsFirst), SCHEDULES);
}

#[test]
#[should_panic(expected = "a torn message")]
fn a_record_that_is_given_back_before_it_is_copied_is_found() {
    check_random(|| by_hand(Mistake::GivesBackFirst), SCHEDULES);
}

#[test]
#[should_panic(expected = "a torn message")]
fn a_reader_that_does_not_ask_is_found() {
    check_random(|| by_hand(Mistake::DoesNotAsk), SCHEDULES);
}

#[test]
#[should_panic(expected = "a torn message")]
fn a_writer_that_says_it_afterwards_is_found() {
    check_random(|| by_hand(Mistake::SaysAfterwards), SCHEDULES);
}
