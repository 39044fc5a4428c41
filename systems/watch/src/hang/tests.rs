//! Made-up jobs: which are deadlocks, and which only look like one.
use super::*;
use foregather_host::watched::calls::{CollectiveCount, MessageCounts};

const STILL_FOR: Nanos = Nanos::from_ms(10_000);

fn message(is_send: bool, peer: Option<Rank>, tag: u32) -> AwaitedMessage {
    AwaitedMessage { is_send, peer, tag: Some(tag), communicator: WORLD }
}

fn inside(call: MpiCall) -> RecordedCall {
    RecordedCall { call: Some(call), is_inside: true, number: 9, size: 3, ..RecordedCall::default() }
}

/// A call that waits for these messages, which are counted.
fn waits(call: MpiCall, messages: &[AwaitedMessage]) -> RecordedCall {
    let counts = |is_send| {
        let of = messages.iter().filter(|message| message.is_send == is_send && call != MpiCall::Probe);
        MessageCounts::of(&of.filter_map(|message| Some((message.peer?, message.tag?, 1))).collect::<Vec<_>>())
    };
    let wild = messages.iter().filter(|message| message.peer.is_none()).count() as u32;
    RecordedCall { awaited: messages.to_vec(), sent: counts(true), wanted: counts(false), wild, ..inside(call) }
}

fn receives(peer: Rank, tag: u32) -> RecordedCall {
    waits(MpiCall::Recv, &[message(false, Some(peer), tag)])
}

fn sends(peer: Rank, tag: u32) -> RecordedCall {
    waits(MpiCall::Send, &[message(true, Some(peer), tag)])
}

/// The third collective call of the job.
fn joins(call: MpiCall, root: Option<Rank>) -> RecordedCall {
    let counts = vec![CollectiveCount::new(WORLD, 3, &[call, MpiCall::Bcast, MpiCall::Barrier])];
    RecordedCall { communicator: Some(WORLD), root, collectives: counts, ..inside(call) }
}

/// Has done two collective calls.
fn with_two(call: RecordedCall) -> RecordedCall {
    let counts = vec![CollectiveCount::new(WORLD, 2, &[MpiCall::Bcast, MpiCall::Barrier])];
    RecordedCall { collectives: counts, ..call }
}

fn outside() -> RecordedCall {
    with_two(RecordedCall { is_inside: false, ..inside(MpiCall::Bcast) })
}

/// `call` after it has sent a message.
fn after_sending(call: RecordedCall, peer: Rank, tag: u32) -> RecordedCall {
    let recent = vec![message(true, Some(peer), tag)];
    RecordedCall { sent: MessageCounts::of(&[(peer, tag, 1)]), recent, ..call }
}

fn job(calls: impl IntoIterator<Item = RecordedCall>) -> JobSighting {
    let sighting =
        |call: RecordedCall| RankSighting { process: 100, calls: vec![call], still: STILL_FOR, ..RankSighting::default() };
    let ranks = calls.into_iter().enumerate().map(|(rank, call)| (rank as Rank, sighting(call))).collect();
    JobSighting { ranks, communicators: BTreeMap::new() }
}

fn verdict(calls: impl IntoIterator<Item = RecordedCall>) -> HangVerdict {
    judge(&job(calls), STILL_FOR)
}

#[track_caller]
fn says(calls: impl IntoIterator<Item = RecordedCall>, cause: HangCause, part: &str) {
    let found = verdict(calls);
    assert!(found.is_alarm() && found.cause == cause && found.sentence.contains(part), "{found:?}");
}

#[track_caller]
fn no_alarm(calls: impl IntoIterator<Item = RecordedCall>) -> HangVerdict {
    let found = verdict(calls);
    assert!(!found.is_alarm() && !found.sentence.contains("deadlock"), "{found:?}");
    found
}

fn barrier() -> RecordedCall {
    joins(MpiCall::Barrier, None)
}

#[test]
fn a_message_that_no_rank_sends_is_named() {
    let first = with_two(receives(1, 5));
    says(
        [first.clone(), barrier(), barrier()],
        HangCause::MissingSend,
        "rank 0 waits in MPI_Recv for a message from rank 1 with tag 5",
    );
    let probes = with_two(waits(MpiCall::Probe, &[message(false, Some(1), 5)]));
    says([probes, barrier(), barrier()], HangCause::MissingSend, "MPI_Probe");
    let any = with_two(waits(MpiCall::Recv, &[message(false, None, 5)]));
    says([any, barrier(), barrier()], HangCause::MissingSend, "a message from any rank with tag 5");
    says(
        [first, after_sending(barrier(), 0, 6), barrier()],
        HangCause::WrongTag,
        "but rank 1 sent it tag 6, which no receive matches",
    );
}

#[test]
fn a_message_for_another_rank_is_named() {
    let sender = after_sending(barrier(), 2, 5);
    says([with_two(receives(1, 5)), sender, barrier()], HangCause::WrongPeer, "but rank 1 sent that tag to rank 2");
}

#[test]
fn only_the_request_that_has_no_send_is_named() {
    let all = [message(false, Some(1), 5), message(false, Some(1), 6), message(false, Some(2), 7)];
    let senders = [after_sending(barrier(), 0, 5), after_sending(barrier(), 0, 7)];
    let [second, third] = senders;
    says([with_two(waits(MpiCall::Waitall, &all)), second, third], HangCause::MissingSend, "rank 1 with tag 6");
}

#[test]
fn circles_are_named_by_what_they_are_made_of() {
    says(
        [sends(1, 5), sends(0, 5), barrier()],
        HangCause::CycleOfSends,
        "until rank 1 receives its message with tag 5, and rank 1",
    );
    says(
        [receives(1, 5), receives(2, 5), receives(0, 5)],
        HangCause::CycleOfReceives,
        "rank 2 waits in MPI_Recv for a message from rank 0",
    );
    says([with_two(sends(1, 5)), barrier(), barrier()], HangCause::MissingReceive, "rank 0 waits in MPI_Send");
}

#[test]
fn ranks_in_different_collective_calls_are_named() {
    let reduces = joins(MpiCall::Allreduce, None);
    says(
        [reduces, barrier(), barrier()],
        HangCause::MismatchedCollectives,
        "rank 0 calls MPI_Allreduce and rank 1 calls MPI_Barrier, both as collective call 3",
    );
    let roots = [0, 1, 1].map(|root| joins(MpiCall::Bcast, Some(root)));
    says(roots, HangCause::MismatchedCollectives, "rank 0 calls MPI_Bcast with root 0 and rank 1 with root 1");
}

#[test]
fn ranks_that_have_finalized_or_died_are_named() {
    let finalizes = || with_two(inside(MpiCall::Finalize));
    says([barrier(), barrier(), finalizes()], HangCause::SkippedCollective, "rank 2 called MPI_Finalize, but not MPI_Barrier");
    says(
        [receives(1, 5), finalizes(), finalizes()],
        HangCause::FinalizedPeer,
        "a message from rank 1 with tag 5, but rank 1 has called MPI_Finalize",
    );
    let mut job = job([receives(1, 5), outside(), receives(1, 5)]);
    job.ranks.get_mut(&1).unwrap().state = RankState::Gone;
    let found = judge(&job, STILL_FOR);
    assert_eq!(
        found.sentence,
        "dead rank: rank 1 (process 100) exited without MPI_Finalize, and ranks 0 and 2 wait for it in MPI_Recv"
    );
}

#[test]
fn a_rank_outside_mpi_may_get_on() {
    let mut job = job([barrier(), outside(), with_two(receives(1, 5))]);
    let late = job.ranks.get_mut(&1).unwrap();
    (late.state, late.place) = (RankState::Runs, Some("solve (prog)".to_owned()));
    let found = judge(&job, STILL_FOR);
    let expected =
        "slow, not hung: rank 1 computes outside MPI in solve (prog), after MPI_Bcast (call 9); ranks 0 and 2 wait in MPI";
    assert_eq!((found.is_alarm(), found.sentence.as_str()), (false, expected));
    job.ranks.get_mut(&1).unwrap().state = RankState::Sleeps;
    assert!(judge(&job, STILL_FOR).sentence.starts_with("not known to be hung: rank 1 sleeps outside MPI"));
}

#[test]
fn what_is_on_its_way_or_matched_is_no_alarm() {
    // A large message, or its receiver has not looked yet.
    no_alarm([receives(1, 5), after_sending(receives(0, 6), 0, 5), barrier()]);
    no_alarm([sends(1, 5), receives(0, 5), barrier()]);
    // The receiver has asked for any message.
    no_alarm([sends(1, 5), waits(MpiCall::Recv, &[message(false, None, 5)]), barrier()]);
    // One of two requests may end.
    let either = [message(false, Some(1), 5), message(false, Some(2), 5)];
    no_alarm([with_two(waits(MpiCall::Waitany, &either)), barrier(), outside()]);
    let unknown = RecordedCall { has_unknown: true, ..waits(MpiCall::Waitany, &either[..1]) };
    assert!(no_alarm([with_two(unknown), barrier(), barrier()]).sentence.contains("requests that are not recorded"));
}

#[test]
fn ranks_that_are_not_seen_stopped_starving_or_new_in_their_call_are_no_alarm() {
    let hung = || [with_two(receives(1, 5)), barrier(), barrier()];
    let mut partial = job(hung());
    partial.ranks.remove(&2);
    assert!(judge(&partial, STILL_FOR).is_alarm(), "two ranks suffice");
    partial.ranks.remove(&1);
    assert!(judge(&partial, STILL_FOR).sentence.contains("ranks 1 and 2 cannot be seen from here"));
    for state in [RankState::Stopped, RankState::Starves] {
        let mut job = job(hung());
        job.ranks.get_mut(&1).unwrap().state = state;
        assert!(!judge(&job, STILL_FOR).is_alarm(), "{state:?}");
    }
    let mut moving = job(hung());
    moving.ranks.get_mut(&1).unwrap().still = Nanos::from_ms(10);
    assert!(!judge(&moving, STILL_FOR).is_alarm());
    let all_in = judge(&job([barrier(), barrier(), barrier()]), STILL_FOR);
    assert!(!all_in.is_alarm(), "{all_in:?}");
}

#[test]
fn a_broadcast_needs_its_root_alone() {
    // Rank 1 has what it wants once the root comes; rank 2 waits for rank 1 before it joins.
    no_alarm([outside(), joins(MpiCall::Bcast, Some(0)), with_two(receives(1, 5))]);
    let root = with_two(receives(2, 5));
    says(
        [root, joins(MpiCall::Bcast, Some(0)), joins(MpiCall::Bcast, Some(0))],
        HangCause::MissingSend,
        "rank 2 waits in MPI_Bcast for rank 0",
    );
}

#[test]
fn communicators_of_which_members_may_think_differently_decide_nothing() {
    let on = |call: MpiCall| {
        let counts = vec![CollectiveCount::new(4, 1, &[call])];
        RecordedCall { communicator: Some(4), collectives: counts, ..inside(call) }
    };
    let mut job = job([on(MpiCall::Barrier), on(MpiCall::Allreduce), outside()]);
    for (is_certain, expected) in [(false, false), (true, true)] {
        job.communicators.insert(4, RecordedCommunicator { is_certain, members: vec![0, 1] });
        assert_eq!(judge(&job, STILL_FOR).is_alarm(), expected);
    }
}

#[test]
fn another_thread_that_calls_mpi_may_end_the_wait() {
    let mut job = job([receives(1, 5), receives(0, 5), barrier()]);
    assert!(judge(&job, STILL_FOR).is_alarm());
    let mut new = job.clone();
    new.ranks.get_mut(&1).unwrap().has_other_thread = true;
    assert!(judge(&new, STILL_FOR).sentence.contains("another thread of rank 1"));
    job.ranks.get_mut(&1).unwrap().calls.push(outside());
    assert!(!judge(&job, STILL_FOR).is_alarm());
}

#[test]
fn lists_of_ranks_are_short() {
    assert_eq!(
        [&[][..], &[3], &[0, 2], &[0, 1, 2], &[0, 2, 5]].map(rank_list),
        ["no rank", "rank 3", "ranks 0 and 2", "ranks 0 to 2", "ranks 0, 2 and 5"]
    );
}
