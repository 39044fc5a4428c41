//! Ranks that wait forever: which, for what, and the cycle in which they wait.
use super::error::{GoalError, GoalPlace};
use super::format::ANY;
use super::simulation::Simulation;
use foregather_machine::Rank;
use std::collections::BTreeMap;

/// What keeps a rank from its end.
enum EndlessWait {
    /// A receive without its message, or a long message without its receive.
    For(Option<Rank>, String),
    /// Operations of the rank that wait for each other.
    Within(String),
}

/// Nothing is under way any more: all operations should be over.
pub(super) fn check(simulation: &mut Simulation) -> Result<(), GoalError> {
    let (over, all) = (simulation.over, simulation.trace.operations());
    if over == all {
        return Ok(());
    }
    let blocked = waiting_ranks(simulation)?;
    let Some((&first, why)) = blocked.iter().min_by_key(|(rank, _)| **rank) else {
        return Err(GoalError::file(format!("{} operations never ran: make the file again from its text", all - over)));
    };
    let why = match why {
        EndlessWait::Within(why) => return Err(GoalError::new(GoalPlace::Rank(first), why)),
        EndlessWait::For(_, why) => why,
    };
    let (ranks, left) = (blocked.len(), all - over);
    let left = if left == 1 { "1 operation never completes".to_owned() } else { format!("{left} operations never complete") };
    let others = match ranks {
        1 => String::new(),
        2 => "; 1 more rank waits".to_owned(),
        _ => format!("; {} more ranks wait", ranks - 1),
    };
    let cycle = cycle(&blocked, first).map_or_else(String::new, |cycle| format!("; cycle: {cycle}"));
    let what = format!("waits forever: {why}; {left}{others}{cycle}");
    Err(GoalError::new(GoalPlace::Rank(first), what))
}

/// All ranks that wait, each with one reason.
fn waiting_ranks(simulation: &mut Simulation) -> Result<BTreeMap<Rank, EndlessWait>, GoalError> {
    let mut blocked = BTreeMap::new();
    for (rank, queue) in (0..).zip(&simulation.posted) {
        if let Some(receive) = queue.slots().next().map(|slot| simulation.flights[slot as usize]) {
            let from = if receive.peer == ANY { "any rank".to_owned() } else { format!("rank {}", receive.peer) };
            let any = |tag: u32| if tag == ANY { "any tag".to_owned() } else { format!("tag {tag}") };
            let (number, tag) = (receive.number, any(receive.tag));
            let why = format!("operation {number} receives from {from}, {tag}, and no matching message has been sent");
            blocked.insert(rank, EndlessWait::For(Some(receive.peer).filter(|&peer| peer != ANY), why));
        }
    }
    for (rank, queue) in (0..).zip(&simulation.arrived) {
        for message in queue.slots().map(|slot| simulation.flights[slot as usize]) {
            if !simulation.network.is_eager(message.size) {
                let Some(sender) = Some(message.peer).filter(|sender| !blocked.contains_key(sender)) else { continue };
                let why = format!(
                    "operation {} sends {} bytes to rank {rank}, tag {}, which never receives them",
                    message.number, message.size, message.tag
                );
                blocked.insert(sender, EndlessWait::For(Some(rank), why));
            }
        }
    }
    if blocked.is_empty() {
        for rank in 0..simulation.trace.ranks() {
            if let Some(why) = within(simulation, rank)? {
                blocked.insert(rank, EndlessWait::Within(why));
                break;
            }
        }
    }
    Ok(blocked)
}

/// Returns a cycle of dependencies within a rank, as an error message.
fn within(simulation: &mut Simulation, rank: Rank) -> Result<Option<String>, GoalError> {
    let trace = &mut simulation.trace;
    let left: Vec<u32> = (0..trace.operations_of(rank)).filter(|&number| trace.is_waiting(rank, number)).collect();
    let Some(&first) = left.first() else { return Ok(None) };
    // One that each waits for.
    let mut awaited = BTreeMap::new();
    for &number in &left {
        for dependent in trace.dependents(rank, number)? {
            awaited.insert(dependent, number);
        }
    }
    let mut path = vec![first];
    loop {
        let last = path[path.len() - 1];
        let Some(&next) = awaited.get(&last) else {
            return Ok(Some(format!("operation {last} waits for one that no operation ends: make the file again from its text")));
        };
        if let Some(begin) = path.iter().position(|&number| number == next) {
            return Ok(Some(format!("its operations wait for each other: {}", chain(&path[begin..], "operation"))));
        }
        path.push(next);
    }
}

/// Returns the cycle of ranks to which the waits of `first` lead.
fn cycle(blocked: &BTreeMap<Rank, EndlessWait>, first: Rank) -> Option<String> {
    let mut path = vec![first];
    loop {
        let Some(EndlessWait::For(Some(next), _)) = blocked.get(&path[path.len() - 1]) else { return None };
        if let Some(begin) = path.iter().position(|rank| rank == next) {
            return Some(chain(&path[begin..], "rank"));
        }
        path.push(*next);
    }
}

/// The maximum number of members of a cycle that an error names.
const NAMED: usize = 8;

fn chain(cycle: &[u32], what: &str) -> String {
    let mut names: Vec<String> = cycle.iter().take(NAMED).map(u32::to_string).collect();
    if cycle.len() > NAMED {
        names.push(format!("... ({} in all)", cycle.len()));
    }
    names.push(cycle[0].to_string());
    format!("{what} {}", names.join(" -> "))
}
