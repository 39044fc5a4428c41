//! Causes that take processors away: a quota, the hypervisor, masks, and other programs.
use super::{Certainty, NamedCause, WaitCause};
use crate::{Observation, Remedy, Rounding, cures};
use foregather_host::watched::surroundings::Competitor;
use foregather_machine::Nanos;
use std::collections::BTreeMap;

pub(super) fn quota(seen: &Observation) -> Option<NamedCause> {
    let throttling = seen.throttling.filter(|found| found.throttled >= 2)?;
    let share = throttling.throttled as f64 / throttling.periods.max(1) as f64;
    let quota = seen.quota.unwrap_or_default();
    let waits = seen.spent();
    // While a group is stopped, its threads are ready, or wait for one that is.
    let explains = throttling.stopped.max(waits.ready).min(waits.ready + waits.late + waits.spun);
    (share >= 0.1).then(|| NamedCause {
        cause: WaitCause::Quota,
        certainty: Certainty::Sure,
        explains,
        verdict: format!("{:.1} threads want a processor within a quota of {quota:.1}", seen.demand()),
        evidence: format!(
            "throttled in {} of {} periods, stopped for {:.1} s",
            throttling.throttled,
            throttling.periods,
            seconds(throttling.stopped)
        ),
        remedy: within(seen, quota),
    })
}

/// Threads that fit into a quota, or sleep while they wait.
fn within(seen: &Observation, quota: f64) -> Remedy {
    let fits = (quota.floor() as u32).max(1);
    if seen.busy().count() as u32 > fits {
        cures::threads(seen, fits)
    } else {
        cures::step("raise the quota (cpu.max, or the container's CPU limit)")
    }
}

pub(super) fn steal(seen: &Observation) -> Option<NamedCause> {
    let all = seen.load.steal + seen.load.busy;
    let share = seen.load.steal.0 as f64 / all.0.max(1) as f64;
    let spent = seen.spent();
    Some(NamedCause {
        cause: WaitCause::Steal,
        certainty: Certainty::Sure,
        explains: Nanos((spent.total().0 as f64 * share) as u64),
        verdict: format!("the hypervisor took {:.0} % of the processor time", share * 100.0),
        evidence: format!("steal of {:.1} s in {:.1} s", seconds(seen.load.steal), seconds(seen.elapsed())),
        remedy: cures::step("move to a host with free processors, or to one with dedicated processors"),
    })
}

pub(super) fn mask(seen: &Observation) -> Option<NamedCause> {
    let allowed = seen.allowed();
    let count = allowed.len();
    let lacks = count < seen.usable.len() && seen.demand() > count as f64 * 1.1;
    lacks.then(|| {
        let list: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        let plural = if count == 1 { "processor" } else { "processors" };
        NamedCause {
            cause: WaitCause::Mask,
            certainty: Certainty::Sure,
            explains: seen.spent().ready,
            verdict: format!("all {} busy threads may run only on {plural} {}", seen.busy().count(), list.join(",")),
            evidence: format!("Cpus_allowed has {count} of {} usable processors", seen.usable.len()),
            remedy: cures::unbound(seen, &seen.usable),
        }
    })
}

pub(super) fn other_program(seen: &Observation) -> Option<NamedCause> {
    let named = busiest(seen).filter(|program| seen.per_elapsed(program.cpu) >= 0.1);
    let foreign = if named.is_some() { seen.foreign() } else { seen.hidden() };
    let spent = seen.spent();
    // Of the waits for a processor, the share of which more threads than processors are not the cause.
    let excess = (seen.demand() - f64::from(seen.processors())).max(0.0);
    let share = foreign / (foreign + excess).max(f64::MIN_POSITIVE);
    let held_up = seen.ledger.threads.values().fold(Nanos::ZERO, |sum, account| sum + account.held_up.ready);
    let held_up = held_up.min(spent.late + spent.spun);
    // A thread waits for a processor no longer than another one has it.
    let fits = spent.ready.0 as f64 * share <= foreign * 1.5 * seen.elapsed().0 as f64;
    let waits =
        format!("threads were ready without a processor for {:.1} of {:.1} s", seconds(spent.ready), seconds(seen.elapsed()));
    let instead = named.as_ref().map(|program| program.instead).filter(|instead| *instead > Nanos::ZERO);
    let instead =
        instead.map_or(String::new(), |instead| format!(", {:.1} s of it in place of waiting threads", seconds(instead)));
    let (certainty, verdict, evidence, command) = match named.as_ref().map(|program| (&program.processes[..], program.cpu)) {
        Some(([other], cpu)) => (
            Certainty::Sure,
            format!("{} (process {}) uses processor {} at the same time", other.name, other.process, other.last_cpu),
            format!("it ran for {:.1} s{instead}; {waits}", seconds(cpu)),
            slower(&[other]),
        ),
        Some((all, cpu)) => (
            Certainty::Sure,
            format!("{} processes of {} run at the same time", all.len(), all[0].name),
            format!(
                "other programs ran for {:.1} s, these for {:.1} s or more{instead}; {waits}",
                foreign * seconds(seen.elapsed()),
                seconds(cpu)
            ),
            slower(all),
        ),
        None => (Certainty::Likely, format!("programs that are not visible here use {foreign:.1} processors"), waits, None),
    };
    (foreign >= 0.1 && fits).then(|| NamedCause {
        cause: WaitCause::OtherProgram,
        certainty,
        explains: Nanos(((spent.ready + held_up).0 as f64 * share) as u64),
        verdict,
        evidence,
        remedy: beside(seen, command),
    })
}

/// What helps beside another program: if threads spin, that they sleep instead, which needs no rights over
/// the other program; else a command that slows it down.
fn beside(seen: &Observation, slower: Option<String>) -> Remedy {
    let stop = "stop the other program, or start it with nice -n 19";
    match cures::without_spins(seen) {
        Some(sleeping) => {
            let renice = slower.map_or(String::new(), |command| format!(" ({command})"));
            Remedy { step: format!("{}, or {stop}{renice}", sleeping.step), ..sleeping }
        }
        None => Remedy { command: slower, step: stop.to_owned(), rounding: Rounding::SameBits },
    }
}

/// The processes of another program, all together.
#[derive(Default)]
struct OtherProcesses<'a> {
    processes: Vec<&'a Competitor>,
    /// What they used.
    cpu: Nanos,
    /// The part of it while threads waited for the same processor, as far as the kernel shows that.
    instead: Nanos,
}

/// The other program that ran instead of waiting threads, else the one that used most.
fn busiest(seen: &Observation) -> Option<OtherProcesses<'_>> {
    let mut programs: BTreeMap<&str, OtherProcesses<'_>> = BTreeMap::new();
    for other in seen.others() {
        let program = programs.entry(&other.name).or_default();
        program.processes.push(other);
        program.cpu += other.cpu;
        program.instead += seen.instead.as_ref().and_then(|instead| instead.get(&other.process)).copied().unwrap_or_default();
    }
    // The beginnings of waits after a sleep are not known: if nearly all waits are of that kind, switches
    // decide nothing.
    let instead = programs.values().fold(Nanos::ZERO, |sum, program| sum + program.instead);
    let decides = instead.0 as f64 >= seen.spent().ready.0 as f64 * LEAST_SHOWN;
    programs.into_values().max_by_key(|program| (if decides { program.instead } else { Nanos::ZERO }, program.cpu))
}

/// At least that part of all waits has to be known before switches decide which program is named.
const LEAST_SHOWN: f64 = 0.1;

/// Lets processes give way to others. `None` if some have exited: the program starts new ones.
fn slower(processes: &[&Competitor]) -> Option<String> {
    let numbers: Vec<String> = processes.iter().map(|other| other.process.to_string()).collect();
    (!processes.iter().any(|other| other.has_exited)).then(|| format!("renice -n 19 -p {}", numbers.join(" ")))
}

pub(super) fn seconds(time: Nanos) -> f64 {
    time.0 as f64 / 1e9
}
