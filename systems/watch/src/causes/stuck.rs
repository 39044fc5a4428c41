//! Programs that do not get on: no thread moves, or the system refused threads.
use super::processors::seconds;
use super::{Certainty, NamedCause, WaitCause};
use crate::hang::STILL;
use crate::{Observation, ThreadAccount, cures};
use foregather_host::watched::page::ThreadActivity;
use foregather_host::watched::task::{SystemCall, TaskState};
use foregather_machine::Nanos;

/// In a short time of watching, no thread has moved for half of it, and for at least that.
const LEAST_STILL: Nanos = Nanos::from_ms(800);

pub(super) fn hang(seen: &Observation) -> Option<NamedCause> {
    hang_of(seen, STILL.min(Nanos(seen.elapsed().0 / 2)).max(LEAST_STILL))
}

/// A program of which no thread has moved for that time.
pub fn hang_of(seen: &Observation, least: Nanos) -> Option<NamedCause> {
    let still = seen.ledger.ended - seen.ledger.moved;
    if still < least {
        return None;
    }
    let living: Vec<&ThreadAccount> = seen
        .ledger
        .threads
        .values()
        .filter(|account| account.seen == seen.ledger.ended && account.last.state != TaskState::Exited)
        .collect();
    // A thread that waits for input, a child or some time to pass may go on by itself.
    let (stuck, waits): (Vec<_>, Vec<_>) = living.into_iter().partition(|account| is_stuck(account));
    let waiter = stuck.iter().find(|account| partner_activity(account).is_some()).or(stuck.first())?;
    if !waits.is_empty() || (stuck.len() < 2 && partner_activity(waiter).is_none()) {
        return None;
    }
    let doing = partner_activity(waiter);
    let thread = waiter.last.thread;
    let holder = waiter.recorded.as_ref().map_or(0, |record| record.holder);
    let verdict = match doing {
        Some(ThreadActivity::Lock) if holder != 0 => {
            format!("no thread moves: thread {thread} waits for a mutex that thread {holder} holds")
        }
        Some(ThreadActivity::Lock) => format!("no thread moves: thread {thread} waits for a mutex"),
        Some(ThreadActivity::Arrived) => {
            format!("no thread moves: thread {thread} waits at a barrier for a member that never arrives")
        }
        Some(ThreadActivity::Condition) => format!("no thread moves: thread {thread} waits at a condition variable"),
        _ => format!("no thread moves: all {} threads wait for each other", stuck.len()),
    };
    let address = match waiter.last.call {
        Some(SystemCall::Futex { address, .. }) => format!(" (futex {address:#x})"),
        _ => String::new(),
    };
    Some(NamedCause {
        cause: WaitCause::Hang,
        certainty: if doing.is_some() { Certainty::Sure } else { Certainty::Likely },
        explains: Nanos(still.0 * stuck.len() as u64),
        verdict,
        evidence: format!("no thread has run for {:.1} s; {} threads sleep{address}", seconds(still), stuck.len()),
        remedy: cures::step("look at the partner that is missing: did its thread exit, or its process fork, or two locks cross?"),
    })
}

/// Returns whether it sleeps until another thread does something.
fn is_stuck(account: &ThreadAccount) -> bool {
    match account.last.call {
        Some(SystemCall::Futex { has_timeout, .. }) => !has_timeout,
        Some(_) => false,
        // Where calls are hidden, only what was recorded counts.
        None => account.last.state == TaskState::Sleeping && partner_activity(account).is_some(),
    }
}

fn partner_activity(account: &ThreadAccount) -> Option<ThreadActivity> {
    let activity = account.recorded.as_ref()?.activity;
    matches!(activity, ThreadActivity::Arrived | ThreadActivity::Lock | ThreadActivity::Condition).then_some(activity)
}

pub(super) fn refused(seen: &Observation) -> Option<NamedCause> {
    let creations = seen.creations.filter(|creations| creations.refused > 0)?;
    Some(NamedCause {
        cause: WaitCause::RefusedThreads,
        certainty: Certainty::Sure,
        // It decides what the program can do at all.
        explains: seen.spent().total().max(seen.elapsed()),
        verdict: format!("the system refused {} of {} threads", creations.refused, creations.refused + creations.created),
        evidence: format!("pthread_create failed with error {}", creations.errno),
        remedy: cures::step("raise the limits of threads and memory (ulimit -u, ulimit -v, pids.max), or start fewer threads"),
    })
}
