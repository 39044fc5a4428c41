//! Negative controls of the named races of `core/barrier/README.md`: each makes one mistake that the protocol
//! avoids, and a random schedule must find it. The protocol itself runs under such schedules in `shuttle.rs`
//! and `shuttle_team.rs`.
mod explore;
mod scheduled;

use explore::{check_pct, check_random};
use foregather_barrier::{Algorithm, ForkJoin, Group, SignalMatrix, Subcube, butterfly, dissemination};
use foregather_machine::{Nanos, Park, Rank, SharedLines, WaitContext, Words, block_on};
use foregather_wait::Policy;
use scheduled::{Scheduled, Word, team};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicU32, Ordering::SeqCst};

const SCHEDULES: usize = 400;
const DEPTH: usize = 4;

fn wait(on: &Word, come: impl Fn() -> bool) {
    block_on(Policy::Block.wait(&Scheduled, on, WaitContext::new("control", 0), || come().then_some(()))).unwrap();
}

/// Runs the schedules of a control: each finds its mistake long before the last one.
fn find(schedule: impl Fn() + Copy + Send + Sync + 'static) {
    check_random(schedule, 4 * SCHEDULES);
    check_pct(schedule, 4 * SCHEDULES, DEPTH);
}

/// Race 6: signals sent before the receiver's birth are lost.
#[test]
#[should_panic(expected = "deadlock")]
fn a_receiver_that_counts_from_its_birth_on_is_found() {
    let schedule = || {
        let slot = Word::default();
        team(2, move |rank| {
            if rank == 0 {
                Scheduled.fetch_add(&slot, 1);
                return;
            }
            let born = Scheduled.load(&slot);
            wait(&slot, || Scheduled.load(&slot) != born);
        });
    };
    find(schedule);
}

/// Race 8: a member signals and goes, and the receiver does not look once more.
#[test]
#[should_panic(expected = "the signal had come")]
fn a_receiver_without_a_last_look_is_found() {
    let schedule = || {
        let slot = Word::default();
        team(2, move |rank| {
            if rank == 0 {
                Scheduled.fetch_add(&slot, 1);
                Scheduled.poison(&slot);
                return;
            }
            loop {
                let prepared = Scheduled.prepare_park(&slot);
                let come = Scheduled.load(&slot) != 0;
                let lost = Scheduled.check(&slot, &WaitContext::new("control", rank)).is_err();
                assert!(come || !lost, "the signal had come");
                if come {
                    return;
                }
                block_on(Scheduled.park(&slot, prepared, Nanos::MAX));
            }
        });
    };
    find(schedule);
}

/// Race 9: a member that leaves poisons the slots of all.
#[test]
#[should_panic(expected = "needed nothing more of it")]
fn a_member_that_poisons_all_slots_is_found() {
    let schedule = || {
        let kind = Algorithm::Dissemination;
        let lines: SharedLines<Word> = SharedLines::own(Group::<Scheduled>::lines(kind, 4));
        let group = Group::<Scheduled>::over(lines.clone(), kind, 4).unwrap();
        team(4, move |rank| {
            let mut member = group.member(Scheduled, rank, Policy::Block).unwrap();
            let met = block_on(member.wait());
            if rank == 1 {
                lines.iter().for_each(|line| Scheduled.poison(&line[0]));
            }
            // What a dropped member poisons is not the mistake.
            core::mem::forget(member);
            assert!(met.is_ok(), "rank {rank} needed nothing more of it");
        });
    };
    find(schedule);
}

/// Race 11: a child arrives in the slot in which it is released, and takes its own arrival for the release.
#[test]
#[should_panic(expected = "left too early")]
fn one_slot_for_both_directions_is_found() {
    let schedule = || {
        let (link, arrived) = (Word::default(), AtomicU32::new(0));
        team(2, move |rank| {
            arrived.fetch_add(1, SeqCst);
            if rank == 0 {
                wait(&link, || Scheduled.load(&link) != 0);
                Scheduled.fetch_add(&link, 1);
            } else {
                Scheduled.fetch_add(&link, 1);
                wait(&link, || Scheduled.load(&link) != 0);
            }
            assert_eq!(arrived.load(SeqCst), 2, "rank {rank} left too early");
        });
    };
    find(schedule);
}

/// Race 12: the root clears its slots when it has released its children, one of which may be back already.
#[test]
#[should_panic(expected = "deadlock")]
fn slots_that_are_cleared_after_the_release_are_found() {
    let schedule = || {
        let (arrivals, releases): ([Word; 2], [Word; 2]) = Default::default();
        team(3, move |rank| {
            for episode in 1..=3 {
                if rank > 0 {
                    let own = rank as usize - 1;
                    Scheduled.publish(&arrivals[own], 1);
                    wait(&releases[own], || Scheduled.load(&releases[own]) == episode);
                    continue;
                }
                arrivals.iter().for_each(|arrival| wait(arrival, || Scheduled.load(arrival) == 1));
                releases.iter().for_each(|release| Scheduled.publish(release, episode));
                arrivals.iter().for_each(|arrival| Scheduled.store(arrival, 0));
            }
        });
    };
    find(schedule);
}

/// Race 14: rows and columns in the same slots.
#[test]
#[should_panic(expected = "left too early")]
fn two_groupings_in_the_same_slots_are_found() {
    let schedule = || {
        let flags = SignalMatrix::<Scheduled>::new(4, 1);
        let arrived: [AtomicU32; 3] = Default::default();
        team(4, move |rank| {
            let end = flags.endpoint(Scheduled, rank, Policy::Block);
            let (row, column) = (Subcube::row(&end, 0).unwrap(), Subcube::column(&end, 0).unwrap());
            for arrived in &arrived {
                arrived.fetch_add(1, SeqCst);
                block_on(butterfly(&row)).unwrap();
                block_on(butterfly(&column)).unwrap();
                assert_eq!(arrived.load(SeqCst), 4, "rank {rank} left too early");
            }
        });
    };
    find(schedule);
}

/// Race T3: the end is told after `epoch` has changed, so a worker takes a part of a region that does not
/// exist.
#[test]
#[should_panic(expected = "a region that was never forked")]
fn an_end_that_is_told_too_late_is_found() {
    let schedule = || {
        let lines: SharedLines<Word> = SharedLines::own(ForkJoin::<Scheduled>::lines(2));
        let fork_join = ForkJoin::<Scheduled>::over(lines.clone(), 2).unwrap();
        team(2, move |rank| {
            if rank == 0 {
                let (epoch, ended) = (&lines[0][0], &lines[0][1]);
                Scheduled.publish(epoch, 1);
                return Scheduled.store(ended, 1);
            }
            let mut worker = fork_join.worker(Scheduled, rank, Policy::Block).unwrap();
            let region = block_on(worker.wait());
            core::mem::forget(worker);
            assert_eq!(region, Ok(None), "a region that was never forked");
        });
    };
    find(schedule);
}

/// The faults of the notes of members that leave together.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Nothing,
    /// The second word of a note is written after the arrival.
    HalfAfterwards,
    /// There is one note, instead of two that are used in turn.
    OneNote,
}

/// Each member notes the episode in two words of its own, meets the others, and reads all notes.
fn notes(fault: Fault) {
    const SIZE: u32 = 3;
    let flags = SignalMatrix::<Scheduled>::new(SIZE, Algorithm::Dissemination.slots(SIZE));
    let notes: Arc<Vec<[Word; 2]>> = Arc::new((0..2 * SIZE).map(|_| Default::default()).collect());
    team(SIZE, move |rank| {
        let end = flags.endpoint(Scheduled, rank, Policy::Block);
        for episode in 1..=3 {
            let turn = if fault == Fault::OneNote { 0 } else { episode % 2 };
            let note = |of: Rank| &notes[(2 * of + turn) as usize];
            let [first, second] = note(rank);
            Scheduled.store(first, episode);
            if fault != Fault::HalfAfterwards {
                Scheduled.store(second, episode);
            }
            block_on(dissemination(&end)).unwrap();
            if fault == Fault::HalfAfterwards {
                Scheduled.store(second, episode);
            }
            for other in 0..SIZE {
                let read = note(other).each_ref().map(|word| Scheduled.load(word));
                assert_eq!(read, [episode; 2], "rank {rank} reads another episode's note");
            }
        }
    });
}

#[test]
fn notes_that_are_used_in_turn_are_whole() {
    check_random(|| notes(Fault::Nothing), SCHEDULES);
    check_pct(|| notes(Fault::Nothing), SCHEDULES, DEPTH);
}

/// Race H1.
#[test]
#[should_panic(expected = "another episode's note")]
fn a_note_that_is_written_after_the_arrival_is_found() {
    find(|| notes(Fault::HalfAfterwards));
}

/// Race H2.
#[test]
#[should_panic(expected = "another episode's note")]
fn a_note_that_is_used_again_at_once_is_found() {
    find(|| notes(Fault::OneNote));
}
