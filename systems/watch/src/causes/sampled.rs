//! Causes that only samples of the executed code show.
use super::processors::seconds;
use super::{Certainty, NamedCause, WaitCause};
use crate::{Observation, SampledUse, SpentTimes, cures};
use foregather_host::watched::program;
use foregather_machine::{Nanos, ThreadId};
use std::collections::BTreeMap;

/// How long the workers of a pool spun, in code that no wrapped function surrounds, and which they are.
type PoolSpin = (Nanos, Vec<ThreadId>);

/// Workers of a pool that spin, or yield again and again, while they have no work.
pub(super) fn pool_spin(seen: &Observation) -> Option<NamedCause> {
    let samples = seen.samples.as_ref()?;
    let mut pools: BTreeMap<&str, PoolSpin> = BTreeMap::new();
    for account in seen.ledger.threads.values() {
        let Some(pool) = account.recorded.as_ref().map(|record| record.pool.as_str()).filter(|pool| !pool.is_empty()) else {
            continue;
        };
        let share = samples.share(account.last.thread, &SampledUse::SPINS);
        if share > 0.0 {
            let (spun, workers) = pools.entry(pool).or_default();
            *spun += Nanos((SpentTimes::of(account).work.0 as f64 * share) as u64);
            workers.push(account.last.thread);
        }
    }
    let (pool, (spun, workers)) = pools.into_iter().max_by_key(|(_, (spun, _))| *spun)?;
    let function = samples.most_used(&workers, &SampledUse::SPINS)?.label();
    let name = seen.pool_name(pool);
    let (count, verb) =
        if workers.len() == 1 { ("1 thread".to_owned(), "spins") } else { (format!("{} threads", workers.len()), "spin") };
    Some(NamedCause {
        cause: WaitCause::IdleSpin,
        // How long the gaps are is not known, so sleeping may cost more than it saves.
        certainty: Certainty::Likely,
        explains: spun,
        verdict: format!("{count} of the pool of {name} {verb} without work, in {function}"),
        evidence: format!("samples show {:.1} s of processor time there", seconds(spun)),
        remedy: cures::sleeping_pool(seen, program::runtime_of(pool), &name),
    })
}

/// `, mostly in NAME (LIBRARY)`: what a thread, or each, executed while all others waited for it.
pub(super) fn mostly(seen: &Observation, thread: Option<ThreadId>) -> String {
    let found = seen.samples.as_ref().and_then(|samples| samples.late_in(thread));
    found.map_or(String::new(), |(function, _)| format!(", mostly in {}", function.label()))
}

/// Of a pool's threads: `, of which 46 % spin`, if samples show that.
pub(super) fn spinning(seen: &Observation, pool: &str) -> String {
    let Some(samples) = &seen.samples else { return String::new() };
    let (mut ran, mut spun) = (0.0, 0.0);
    for account in seen.ledger.threads.values() {
        if account.recorded.as_ref().is_some_and(|record| record.pool == pool) {
            let time = account.total.ran.0 as f64;
            let spent = seen.spent_by(account);
            ran += time;
            spun += (spent.spun + spent.idle_spun).0 as f64;
        }
    }
    let share = if ran > 0.0 { spun / ran } else { 0.0 };
    if samples.count == 0 || share < 0.05 { String::new() } else { format!(", {:.0} % of it spins", share.min(1.0) * 100.0) }
}
