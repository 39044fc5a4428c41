//! Ranks that wait for ever: which, for what, and the circle in which they wait.
use super::error::{GoalError, GoalPlace};
use super::format::ANY;
use super::simulation::Simulation;
use foregather_machine::Rank;
use std::collections::HashMap;

/// What keeps a rank from its end.
enum Stuck {
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
    let stuck = stuck_ranks(simulation)?;
    let Some((&first, why)) = stuck.iter().min_by_key(|(rank, _)| **rank) else {
        return Err(GoalError::file(format!("{} operations never ran: make the file again from its text", all - over)));
    };
    let why = match why {
        Stuck::Within(why) => return Err(GoalError::new(GoalPlace::Block(first), why)),
        Stuck::For(_, why) => why,
    };
    let (ranks, left) = (stuck.len(), all - over);
    let others = if ranks > 1 { format!(", {} other ranks wait, too", ranks - 1) } else { String::new() };
    let circle = circle(&stuck, first).map_or_else(String::new, |circle| format!("; {circle}"));
    let what = format!("waits for ever: {why}; {left} operations never end{others}{circle}");
    Err(GoalError::new(GoalPlace::Block(first), what))
}

/// All ranks that wait, each with one reason.
fn stuck_ranks(simulation: &mut Simulation) -> Result<HashMap<Rank, Stuck>, GoalError> {
    let mut stuck = HashMap::new();
    for (rank, queue) in (0..).zip(&simulation.posted) {
        if let Some(receive) = queue.slots().next().map(|slot| simulation.flights[slot as usize]) {
            let from = if receive.peer == ANY { "any rank".to_owned() } else { format!("rank {}", receive.peer) };
            let any = |tag: u32| if tag == ANY { "any tag".to_owned() } else { format!("tag {tag}") };
            let why =
                format!("operation {} receives from {from}, {}, and no such message is sent", receive.number, any(receive.tag));
            stuck.insert(rank, Stuck::For(Some(receive.peer).filter(|&peer| peer != ANY), why));
        }
    }
    for (rank, queue) in (0..).zip(&simulation.arrived) {
        for message in queue.slots().map(|slot| simulation.flights[slot as usize]) {
            if !simulation.network.is_eager(message.size) {
                let Some(sender) = Some(message.peer).filter(|sender| !stuck.contains_key(sender)) else { continue };
                let why = format!(
                    "operation {} sends {} bytes to rank {rank}, tag {}, which never receives them",
                    message.number, message.size, message.tag
                );
                stuck.insert(sender, Stuck::For(Some(rank), why));
            }
        }
    }
    if stuck.is_empty() {
        for rank in 0..simulation.trace.ranks() {
            if let Some(why) = within(simulation, rank)? {
                stuck.insert(rank, Stuck::Within(why));
                break;
            }
        }
    }
    Ok(stuck)
}

/// A circle of dependencies within a rank.
fn within(simulation: &mut Simulation, rank: Rank) -> Result<Option<String>, GoalError> {
    let trace = &mut simulation.trace;
    let left: Vec<u32> = (0..trace.operations_of(rank)).filter(|&number| trace.is_waiting(rank, number)).collect();
    let Some(&first) = left.first() else { return Ok(None) };
    // One that each waits for.
    let mut awaited = HashMap::new();
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

/// The circle of ranks to which the waits of `first` lead.
fn circle(stuck: &HashMap<Rank, Stuck>, first: Rank) -> Option<String> {
    let mut path = vec![first];
    loop {
        let Some(Stuck::For(Some(next), _)) = stuck.get(&path[path.len() - 1]) else { return None };
        if let Some(begin) = path.iter().position(|rank| rank == next) {
            return Some(chain(&path[begin..], "rank"));
        }
        path.push(*next);
    }
}

/// The most members of a circle that are named.
const NAMED: usize = 8;

fn chain(circle: &[u32], what: &str) -> String {
    let mut names: Vec<String> = circle.iter().take(NAMED).map(u32::to_string).collect();
    if circle.len() > NAMED {
        names.push(format!("... ({} in all)", circle.len()));
    }
    names.push(circle[0].to_string());
    format!("{what} {}", names.join(" waits for "))
}
