//! What the regions of this process did and how its threads waited, if `FOREGATHER_STATS` names a file.
use crate::settings::settings;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use foregather_host::{forks::undivided, usage};
use foregather_machine::{Nanos, Rank};
use foregather_wait::{Account, Snapshot};
use std::sync::{Arc, Mutex, PoisonError};

/// A place at which threads of regions wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitPlace {
    /// The thread that opened a region waits for the others' parts.
    Join,
    /// A barrier within a region.
    Barrier,
}

type Accounts = Vec<(WaitPlace, Rank, Arc<Account>)>;

static REGIONS: AtomicU64 = AtomicU64::new(0);
static ACCOUNTS: Mutex<Accounts> = Mutex::new(Vec::new());

fn with_accounts<T>(body: impl FnOnce(&mut Accounts) -> T) -> T {
    undivided(|| body(&mut ACCOUNTS.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// A region of several members begins.
#[inline]
pub(crate) fn count_region() {
    if settings().stats {
        REGIONS.fetch_add(1, Relaxed);
    }
}

/// A thread that is that member waits by this account there.
pub(crate) fn keep(place: WaitPlace, rank: Rank, account: &Arc<Account>) {
    if settings().stats {
        with_accounts(|accounts| accounts.push((place, rank, Arc::clone(account))));
    }
}

/// The regions of a process so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Regions of several members.
    pub regions: u64,
    /// How those that opened them waited for the others.
    joins: Snapshot,
    /// How all waited at barriers.
    barriers: Snapshot,
    /// By rank: how often that member came last.
    last: Vec<u64>,
    /// Processor time of the process.
    cpu: Nanos,
}

/// The statistics of this process so far.
pub fn statistics() -> Statistics {
    let mut statistics = Statistics {
        regions: REGIONS.load(Relaxed),
        joins: Snapshot::default(),
        barriers: Snapshot::default(),
        last: Vec::new(),
        cpu: usage::process_cpu(),
    };
    with_accounts(|accounts| {
        for (place, rank, account) in &*accounts {
            statistics.add(*place, *rank, account.snapshot());
        }
    });
    statistics
}

impl Statistics {
    fn add(&mut self, place: WaitPlace, rank: Rank, waits: Snapshot) {
        let all = if place == WaitPlace::Join { &mut self.joins } else { &mut self.barriers };
        *all = all.plus(waits);
        let rank = rank as usize;
        if self.last.len() <= rank {
            self.last.resize(rank + 1, 0);
        }
        self.last[rank] += waits.last;
    }

    /// A JSON object on one line, for the process of this number. `lab/results/schema/advice.schema.json`
    /// describes its fields, in `runtime`.
    pub fn line(&self, process: u32) -> String {
        let Self { regions, joins, barriers, last, cpu } = self;
        let (joins, barriers, cpu) = (waits_as_json(joins), waits_as_json(barriers), cpu.0);
        format!(
            r#"{{"process":{process},"regions":{regions},"cpu_ns":{cpu},"last":{last:?},"joins":{joins},"barriers":{barriers}}}"#
        )
    }
}

fn waits_as_json(waits: &Snapshot) -> String {
    let counts = [
        ("last", waits.last),
        ("at_once", waits.first_look),
        ("spun", waits.spun),
        ("yielded", waits.yielded),
        ("slept", waits.parked),
        ("failed", waits.failed),
        ("yields", waits.yields),
        ("moves", waits.moves),
        ("moves_refused", waits.moves_refused),
        ("pulls", waits.pulls),
        ("scouts", waits.scouts),
        ("scouts_back", waits.scouts_back),
        ("waited_ns", waits.waited.0),
        ("spun_ns", waits.spun_time.0),
        ("longest_ns", waits.worst.0),
    ];
    let counts = counts.map(|(name, count)| format!(r#""{name}":{count}"#)).join(",");
    let followed = waits.by_rule().filter(|(_, times)| *times > 0);
    let rules: Vec<String> = followed.map(|(rule, times)| format!(r#""{rule}":{times}"#)).collect();
    format!(r#"{{{counts},"rules":{{{}}}}}"#, rules.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_was_counted_is_on_one_line() {
        let waits =
            |last, us| Snapshot { last, waited: Nanos::from_us(us), spun_time: Nanos::from_us(us / 4), ..Snapshot::default() };
        let mut statistics = Statistics { regions: 8, cpu: Nanos::from_ms(3), ..statistics() };
        statistics.add(WaitPlace::Join, 0, waits(1, 400));
        let mut followed = Snapshot { rule_names: &["doze", "ask", "stay"], ..waits(3, 800) };
        (followed.rules[0], followed.rules[1]) = (5, 6);
        statistics.add(WaitPlace::Barrier, 2, followed);
        let line = statistics.line(7);
        let head = r#"{"process":7,"regions":8,"cpu_ns":3000000,"last":[1, 0, 3],"joins":{"last":1,"#;
        assert!(line.starts_with(head), "{line}");
        assert!(
            line.contains(r#""waited_ns":400000,"spun_ns":100000,"longest_ns":0,"rules":{}},"barriers":{"last":3,"#),
            "{line}"
        );
        assert!(line.ends_with(r#""rules":{"doze":5,"ask":6}}}"#) && !line.contains('\n'), "{line}");
    }
}
