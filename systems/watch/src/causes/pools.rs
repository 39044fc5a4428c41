//! More threads than processors: what made that number.
use super::{Certainty, NamedCause, WaitCause};
use crate::{Observation, ThreadAccount, cures};
use foregather_machine::{Nanos, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

/// A pool that wants less than this many processors at the same time as others does not disturb them.
const COUNTS: f64 = 0.3;

/// The one cause of more busy threads than processors that fits best.
pub(super) fn crowded(seen: &Observation) -> Option<NamedCause> {
    let processors = seen.processors();
    let (demand, foreign) = (seen.demand(), seen.foreign());
    let siblings = foreign_siblings(seen);
    // Members of a team take turns, and the mean demand may hide those that sleep until the last one arrives.
    let team = f64::from(seen.episodes.members);
    let excess = (demand + siblings).max(team) - f64::from(processors);
    if excess < 0.15 * f64::from(processors) {
        return None;
    }
    let share = excess / (excess + foreign);
    let spent = seen.spent();
    let explains = Nanos(((spent.ready + spent.late.min(spent.ready)).0 as f64 * share) as u64);
    let preempted: u64 = seen.busy().filter_map(|account| account.facts.as_ref()).map(|facts| facts.preempted).sum();
    let evidence = format!(
        "{demand:.1} threads want {processors} processors; ready without one for {:.1} s, preempted {preempted} times",
        super::processors::seconds(spent.ready)
    );
    let (cause, certainty, verdict, remedy) =
        processes(seen, siblings).or_else(|| nested(seen)).or_else(|| two_pools(seen)).or_else(|| one_pool(seen))?;
    Some(NamedCause { cause, certainty, explains, verdict, evidence, remedy })
}

type PoolVerdict = (WaitCause, Certainty, String, crate::Remedy);

/// Mean processors that processes of the same program used which this one did not start.
fn foreign_siblings(seen: &Observation) -> f64 {
    let same = seen.competitors.iter().filter(|other| seen.siblings.contains(&other.process));
    seen.per_elapsed(same.fold(Nanos::ZERO, |sum, other| sum + other.cpu))
}

fn processes(seen: &Observation, others: f64) -> Option<PoolVerdict> {
    let mut busy: BTreeMap<u32, u32> = BTreeMap::new();
    seen.busy().for_each(|account| *busy.entry(account.last.process).or_default() += 1);
    let pools: Vec<(u32, u32)> =
        busy.into_iter().filter(|(process, threads)| *threads >= 2 && seen.siblings.contains(process)).collect();
    let outside = seen
        .competitors
        .iter()
        .filter(|other| seen.siblings.contains(&other.process) && seen.per_elapsed(other.cpu) >= 0.2)
        .count();
    let count = pools.len() + outside;
    if count < 2 || (pools.is_empty() && others < COUNTS) {
        return None;
    }
    let each = pools.iter().map(|(_, threads)| *threads).max().unwrap_or(1);
    let fits = (seen.processors() / count as u32).max(1);
    let name = seen.programs.first().map_or("the program", |program| program.name.as_str());
    Some((
        WaitCause::Processes,
        Certainty::Sure,
        format!("{count} processes of {name} each have a pool of {each} threads"),
        cures::threads(seen, fits),
    ))
}

/// Workers that other workers have created.
fn nested(seen: &Observation) -> Option<PoolVerdict> {
    let workers: BTreeSet<ThreadId> =
        recorded(seen).filter(|(_, record)| !record.pool.is_empty()).map(|(account, _)| account.last.thread).collect();
    let inner: Vec<&ThreadAccount> =
        recorded(seen).filter(|(_, record)| workers.contains(&record.creator)).map(|(account, _)| account).collect();
    let opened: u64 = recorded(seen).map(|(_, record)| record.counts.nested).sum();
    let demand = seen.per_elapsed(inner.iter().fold(Nanos::ZERO, |sum, account| sum + account.wanted()));
    // A pool that starts its own workers in turn has the same pool's threads as creators.
    let crosses = recorded(seen).filter(|(_, record)| workers.contains(&record.creator)).any(|(_, record)| {
        recorded(seen).any(|(creator, of)| creator.last.thread == record.creator && (of.pool != record.pool || opened > 0))
    });
    (demand >= COUNTS && crosses).then(|| {
        let mut remedy = cures::threads(seen, seen.processors());
        if opened > 0 {
            remedy.command = cures::before(seen, "OMP_MAX_ACTIVE_LEVELS=1");
            remedy.step = "let inner regions run in the thread that opens them".to_owned();
        }
        (
            WaitCause::NestedPools,
            Certainty::Sure,
            format!("{} threads belong to pools that workers of another pool started", inner.len()),
            remedy,
        )
    })
}

fn two_pools(seen: &Observation) -> Option<PoolVerdict> {
    let mut pools: BTreeMap<String, (Nanos, u32)> = BTreeMap::new();
    for (account, record) in recorded(seen).filter(|(_, record)| !record.pool.is_empty()) {
        let pool = pools.entry(record.pool.clone()).or_default();
        pool.0 += account.wanted();
        pool.1 += 1;
    }
    let busy: Vec<(String, u32)> = pools
        .into_iter()
        .filter(|(_, (wanted, _))| seen.per_elapsed(*wanted) >= COUNTS)
        .map(|(pool, (_, threads))| (pool, threads))
        .collect();
    (busy.len() >= 2).then(|| {
        let named = |(pool, threads): &(String, u32)| {
            format!("{} ({threads}{})", seen.pool_name(pool), super::sampled::spinning(seen, pool))
        };
        let named: Vec<String> = busy.iter().map(named).collect();
        (
            WaitCause::TwoPools,
            Certainty::Sure,
            format!("{} pools want processors at once: {}", busy.len(), named.join(", ")),
            // Pools that sleep do not take processors from each other.
            cures::without_spins(seen).unwrap_or_else(|| cures::one_pool(seen, seen.processors())),
        )
    })
}

/// `None` if threads that sleep most of the time were ready at once, as many are that are started or woken
/// together: they are no pool that is too large.
fn one_pool(seen: &Observation) -> Option<PoolVerdict> {
    let (count, processors) = (seen.busy().count() as u32, seen.processors());
    if count.max(seen.episodes.members) <= processors {
        return None;
    }
    let certainty = if seen.has_records() { Certainty::Sure } else { Certainty::Likely };
    let plural = if processors == 1 { "processor" } else { "processors" };
    Some((
        WaitCause::LargePool,
        certainty,
        format!("{count} busy threads share {processors} {plural}"),
        cures::threads(seen, processors),
    ))
}

fn recorded(seen: &Observation) -> impl Iterator<Item = (&ThreadAccount, &foregather_host::watched::page::RecordedThread)> {
    seen.ledger.threads.values().filter_map(|account| Some((account, account.recorded.as_ref()?)))
}
