//! The sentences about ranks that wait.
use super::graph::{WaitEdge, WaitGraph, WaitReason};
use super::{HangCause, JobSighting, RankSighting, RankState};
use foregather_host::watched::calls::{AwaitedMessage, MpiCall, RecordedCall, WORLD};
use foregather_machine::{Nanos, Rank};

/// The cause of a deadlock.
pub(super) fn deadlock(graph: &WaitGraph<'_>) -> (HangCause, String) {
    let edges = graph.all_edges();
    if let Some(found) = dead_rank(graph, &edges) {
        return found;
    }
    if let Some((edge, theirs)) = graph.first_mismatch() {
        return (HangCause::MismatchedCollectives, mismatch(graph, &edge, theirs));
    }
    let cycle = graph.cycle();
    if let Some(found) = cycle.iter().chain(&edges).find_map(|edge| misdirected(graph, edge)) {
        return found;
    }
    if let Some(found) = finalized(graph, &edges) {
        return found;
    }
    let is = |is_it: fn(&WaitEdge) -> bool| cycle.iter().all(is_it);
    let receives = |edge: &WaitEdge| matches!(edge.why, WaitReason::Message(message) if !message.is_send);
    let sends = |edge: &WaitEdge| matches!(edge.why, WaitReason::Message(message) if message.is_send);
    let cause = match () {
        () if cycle.is_empty() => HangCause::Unknown,
        () if is(sends) => HangCause::CycleOfSends,
        () if is(receives) && cycle.len() > 1 => HangCause::CycleOfReceives,
        () if cycle.iter().any(receives) => HangCause::MissingSend,
        () if cycle.iter().any(sends) => HangCause::MissingReceive,
        () => HangCause::MismatchedCollectives,
    };
    if cause == HangCause::Unknown {
        let stuck: Vec<Rank> = graph.stuck.iter().copied().collect();
        return (cause, format!("deadlock: {} wait for each other", ranks(&stuck)));
    }
    // The edge of the message comes first.
    let first = match cause {
        HangCause::MissingSend => cycle.iter().position(receives),
        HangCause::MissingReceive => cycle.iter().position(sends),
        _ => None,
    };
    let (before, after) = cycle.split_at(first.unwrap_or(0));
    let hops: Vec<String> = after.iter().chain(before).map(hop).collect();
    (cause, format!("deadlock: {}: {}", name(cause), hops.join(", and ")))
}

fn name(cause: HangCause) -> &'static str {
    match cause {
        HangCause::DeadRank => "dead rank",
        HangCause::MismatchedCollectives => "mismatched collectives",
        HangCause::WrongTag => "wrong tag",
        HangCause::WrongPeer => "wrong peer",
        HangCause::SkippedCollective => "skipped collective",
        HangCause::FinalizedPeer => "finalized peer",
        HangCause::CycleOfSends => "cycle of sends",
        HangCause::CycleOfReceives => "cycle of receives",
        HangCause::CycleOfWaits => "cycle of waits",
        HangCause::MissingSend => "missing send",
        HangCause::MissingReceive => "missing receive",
        HangCause::Slow => "slow",
        HangCause::Unknown => "unknown",
    }
}

fn dead_rank(graph: &WaitGraph<'_>, edges: &[WaitEdge]) -> Option<(HangCause, String)> {
    let dead = edges.iter().find(|edge| graph.job.ranks.get(&edge.to).is_some_and(RankSighting::is_dead))?;
    let process = graph.job.ranks[&dead.to].process;
    let sentence = format!(
        "dead rank: rank {} (process {process}) exited without MPI_Finalize, and {} for it{}",
        dead.to,
        all_wait(edges, dead.to),
        in_calls(edges, dead.to)
    );
    Some((HangCause::DeadRank, sentence))
}

fn mismatch(graph: &WaitGraph<'_>, edge: &WaitEdge, theirs: MpiCall) -> String {
    let WaitReason::Collective { communicator, number } = edge.why else { return String::new() };
    let of = collective(communicator, number);
    let root = |rank: Rank| graph.job.ranks[&rank].calls.iter().find_map(|call| call.root);
    match (edge.call == theirs, root(edge.from), root(edge.to)) {
        (true, Some(own), Some(other)) => format!(
            "deadlock: mismatched collectives: rank {} calls {} with root {own} and rank {} with root {other}, as {of}",
            edge.from,
            theirs.name(),
            edge.to
        ),
        _ => format!(
            "deadlock: mismatched collectives: rank {} calls {} and rank {} calls {}, both as {of}",
            edge.from,
            edge.call.name(),
            edge.to,
            theirs.name()
        ),
    }
}

/// A message that the awaited rank has sent with another tag, or to another rank.
fn misdirected(graph: &WaitGraph<'_>, edge: &WaitEdge) -> Option<(HangCause, String)> {
    let WaitReason::Message(wanted) = edge.why else { return None };
    let (tag, sender) = (wanted.tag.filter(|_| !wanted.is_send)?, graph.job.ranks.get(&edge.to)?);
    // A receive from any rank or of any tag may have taken it.
    let is_lost = |message: &&AwaitedMessage| {
        let to = message.peer.and_then(|peer| Some((peer, graph.job.ranks.get(&peer)?)));
        to.is_some_and(|(peer, receiver)| receiver.wild() == 0 && sender.sent(message, peer) > receiver.wanted(message, edge.to))
    };
    let recent = || sender.calls.iter().flat_map(|call| &call.recent).filter(is_lost);
    let other_tag = recent().find(|message| message.peer == Some(edge.from) && message.tag != Some(tag));
    let other_peer = recent().find(|message| message.peer != Some(edge.from) && message.tag == Some(tag));
    if let Some(sent) = other_tag {
        let sentence = format!(
            "deadlock: wrong tag: rank {} waits in {} for a message from rank {} with tag {tag}, but rank {} sent it tag {}, which no receive matches",
            edge.from,
            edge.call.name(),
            edge.to,
            edge.to,
            sent.tag.unwrap_or_default()
        );
        return Some((HangCause::WrongTag, sentence));
    }
    let sent = other_peer?;
    let sentence = format!(
        "deadlock: wrong peer: rank {} waits in {} for a message from rank {} with tag {tag}, but rank {} sent that tag to rank {}, where no receive matches it",
        edge.from,
        edge.call.name(),
        edge.to,
        edge.to,
        sent.peer.unwrap_or_default()
    );
    Some((HangCause::WrongPeer, sentence))
}

fn finalized(graph: &WaitGraph<'_>, edges: &[WaitEdge]) -> Option<(HangCause, String)> {
    let edge = edges.iter().find(|edge| graph.job.ranks.get(&edge.to).is_some_and(RankSighting::has_finalized))?;
    Some(match edge.why {
        WaitReason::Collective { communicator, number } => {
            let of = collective(communicator, number);
            let waiters = all_wait(edges, edge.to);
            let sentence = format!(
                "deadlock: skipped collective: rank {} called MPI_Finalize, but not {} ({of}), in which {waiters} for it",
                edge.to,
                edge.call.name()
            );
            (HangCause::SkippedCollective, sentence)
        }
        WaitReason::Message(_) => {
            let sentence = format!("deadlock: finalized peer: {}, but rank {} has called MPI_Finalize", hop(edge), edge.to);
            (HangCause::FinalizedPeer, sentence)
        }
    })
}

fn collective(communicator: u16, number: u64) -> String {
    format!("collective call {number} on {}", communicator_name(communicator))
}

/// The name of a communicator, as readers know it.
pub fn communicator_name(communicator: u16) -> String {
    if communicator == WORLD { "MPI_COMM_WORLD".to_owned() } else { format!("communicator {communicator}") }
}

/// `rank 0 waits in MPI_Recv for a message from rank 1 with tag 5`.
fn hop(edge: &WaitEdge) -> String {
    let (from, to, call) = (edge.from, edge.to, edge.call.name());
    let tag = |message: &AwaitedMessage| message.tag.map_or(String::new(), |tag| format!(" with tag {tag}"));
    match &edge.why {
        WaitReason::Message(message) if message.is_send => {
            format!("rank {from} waits in {call} until rank {to} receives its message{}", tag(message))
        }
        WaitReason::Message(message) => {
            let peer = message.peer.map_or("any rank".to_owned(), |_| format!("rank {to}"));
            format!("rank {from} waits in {call} for a message from {peer}{}", tag(message))
        }
        WaitReason::Collective { .. } => format!("rank {from} waits in {call} for rank {to}"),
    }
}

/// `ranks 0 and 2 wait` for that one.
fn all_wait(edges: &[WaitEdge], to: Rank) -> String {
    let mut from: Vec<Rank> = edges.iter().filter(|edge| edge.to == to).map(|edge| edge.from).collect();
    from.dedup();
    format!("{} {}", ranks(&from), if from.len() == 1 { "waits" } else { "wait" })
}

/// ` in MPI_Recv` if all are in the same function.
fn in_calls(edges: &[WaitEdge], to: Rank) -> String {
    let mut calls = edges.iter().filter(|edge| edge.to == to).map(|edge| edge.call.name());
    let first = calls.next().unwrap_or_default();
    if calls.all(|call| call == first) { format!(" in {first}") } else { String::new() }
}

/// `rank 3`, `ranks 0 and 2`, `ranks 0 to 7`.
pub fn ranks(all: &[Rank]) -> String {
    numbered("rank", "ranks", all)
}

/// `rank 3`, `ranks 0 and 2`, `ranks 0 to 7`, of what these words name.
pub(super) fn numbered(one: &str, many: &str, all: &[u32]) -> String {
    match all {
        [] => format!("no {one}"),
        [only] => format!("{one} {only}"),
        [first, .., last] if all.len() > 2 && (last - first) as usize == all.len() - 1 => format!("{many} {first} to {last}"),
        [most @ .., last] => {
            let most: Vec<String> = most.iter().map(u32::to_string).collect();
            format!("{many} {} and {last}", most.join(", "))
        }
    }
}

/// Why ranks wait that may get on.
pub(super) fn not_hung(job: &JobSighting, still: Nanos) -> (HangCause, String) {
    let unseen: Vec<Rank> = (0..job.size()).filter(|rank| !job.ranks.contains_key(rank)).collect();
    let of = |is_it: &dyn Fn(&RankSighting) -> bool| -> Vec<(Rank, &RankSighting)> {
        job.ranks.iter().filter(|(_, rank)| is_it(rank)).map(|(rank, sighting)| (*rank, sighting)).collect()
    };
    let is_outside = |rank: &RankSighting| !rank.is_inside() && !rank.has_finalized() && rank.state != RankState::Gone;
    let waiting = of(&|rank: &RankSighting| rank.still >= still && rank.is_inside() && !rank.has_finalized());
    let waiters: Vec<Rank> = waiting.iter().map(|(rank, _)| *rank).collect();
    let waits = match waiters.as_slice() {
        [] => String::new(),
        [_] => format!("; {} waits in MPI", ranks(&waiters)),
        _ => format!("; {} wait in MPI", ranks(&waiters)),
    };
    for (state, does) in [
        (RankState::Stopped, "is stopped by a signal or a debugger"),
        (RankState::Runs, "computes outside MPI"),
        (RankState::Starves, "is ready to run outside MPI but gets no processor"),
        (RankState::Sleeps, "sleeps outside MPI"),
    ] {
        let is_it = |rank: &RankSighting| rank.state == state && (state == RankState::Stopped || is_outside(rank));
        if let Some((rank, sighting)) = of(&is_it).first() {
            let (place, last) = (place(sighting), last_call(sighting));
            let hung = if state == RankState::Sleeps { "not known to be hung" } else { "slow, not hung" };
            return (HangCause::Slow, format!("{hung}: rank {rank} {does}{place}{last}{waits}"));
        }
    }
    if let Some((rank, _)) = of(&|rank: &RankSighting| rank.has_other_thread && rank.is_inside()).first() {
        let sentence = format!("not known to be hung: another thread of rank {rank} may call MPI later{waits}");
        return (HangCause::Slow, sentence);
    }
    if !unseen.is_empty() && !waiters.is_empty() {
        return (HangCause::Unknown, format!("not known to be hung: {} cannot be seen from here{waits}", ranks(&unseen)));
    }
    if let Some((rank, sighting)) = waiting.iter().find(|(_, rank)| rank.calls.iter().any(|call| call.has_unknown)) {
        let call = sighting.calls.iter().find_map(|call| call.call).map_or("MPI", MpiCall::name);
        let sentence = format!("not known to be hung: rank {rank} waits in {call} for requests that are not recorded{waits}");
        return (HangCause::Unknown, sentence);
    }
    let what =
        if waiters.is_empty() { "not hung: all ranks make progress" } else { "not known to be hung: messages are on their way" };
    (HangCause::Unknown, format!("{what}{waits}"))
}

fn place(rank: &RankSighting) -> String {
    rank.place.as_ref().map_or(String::new(), |place| format!(" in {place}"))
}

/// The call that the rank has left last.
fn last_call(rank: &RankSighting) -> String {
    let last = rank.calls.iter().filter(|call| !call.is_inside).max_by_key(|call| call.number);
    let name = |call: &RecordedCall| Some(format!(", after {} (call {})", call.call?.name(), call.number));
    last.and_then(name).unwrap_or_default()
}
