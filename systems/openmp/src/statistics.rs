//! What the regions of this process did and how its threads waited, if `FOREGATHER_STATS` asks.
use crate::settings::settings;
use core::fmt;
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
}

/// Three sentences; the alternate form (`{:#}`) adds the counters of the waiting policy.
impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { regions, joins, barriers, last, cpu } = self;
        let (waited, spun) = (joins.waited + barriers.waited, joins.spun_time + barriers.spun_time);
        let longest = joins.worst.max(barriers.worst);
        write!(f, "{regions} regions; the process used {cpu} of processor time.")?;
        write!(
            f,
            "\n  Its threads waited {waited} in all, {spun} of it spinning and {} without using a processor; the longest \
             wait took {longest}.",
            waited - spun
        )?;
        let all: u64 = last.iter().sum();
        match last.iter().enumerate().max_by_key(|(_, often)| **often) {
            Some((rank, often)) if all > 0 => {
                write!(f, "\n  Thread {rank} arrived last most often, in {} % of all waits.", often * 100 / all)?;
            }
            _ => {}
        }
        for (place, waits) in [("joins", joins), ("barriers", barriers)] {
            if f.alternate() && *waits != Snapshot::default() {
                write!(f, "\n  {place:<9} {waits}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_member_that_comes_last_most_often_is_named() {
        let waits =
            |last, us| Snapshot { last, waited: Nanos::from_us(us), spun_time: Nanos::from_us(us / 4), ..Snapshot::default() };
        let mut statistics = Statistics { regions: 8, cpu: Nanos::from_ms(3), ..statistics() };
        statistics.add(WaitPlace::Join, 0, waits(1, 400));
        statistics.add(WaitPlace::Barrier, 2, waits(3, 800));
        let said = statistics.to_string();
        assert!(said.starts_with("8 regions; the process used 3.00 ms of processor time.\n"), "{said}");
        let waits = "Its threads waited 1.20 ms in all, 300.00 us of it spinning and 900.00 us without using a processor";
        assert!(said.contains(waits), "{said}");
        assert!(said.ends_with("Thread 2 arrived last most often, in 75 % of all waits."), "{said}");
        assert!(!said.contains("waits: last"), "{said}");
        let all = format!("{statistics:#}");
        assert!(all.starts_with(&said) && all.contains("joins     waits: last 1") && all.contains("barriers  waits: last 3"));
    }
}
