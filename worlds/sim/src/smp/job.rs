//! What the simulated threads do: jobs that meet at barriers or share a lock, and load that only gets in the
//! way.
use super::distribution::Distribution;
use super::lock::JobLock;
use super::program::ThreadProgram;
use foregather_barrier::Algorithm;
use foregather_machine::{CpuId, Nanos};
use foregather_wait::Policy;
use std::sync::Arc;

/// One job. Without barriers and acquisitions it is load: its threads compute forever.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its name in results.
    pub name: String,
    /// How many threads it has: 1 or more.
    pub threads: u32,
    /// How often its threads meet, or how often each of them takes the lock; 0 for mere load.
    pub barriers: u64,
    /// The lock that its threads share. They take it instead of meeting at barriers.
    pub lock: Option<JobLock>,
    /// What its threads do, if it is a list of events: of such a job nothing but threads, nice, slice, group,
    /// pins and start counts beside it.
    pub program: Option<Arc<ThreadProgram>>,
    /// If its threads are a leader and workers: how long the leader computes before each region. `barriers`
    /// is then the number of regions. At the end of a region the leader waits for all workers, and no worker
    /// waits.
    pub gap: Option<Distribution>,
    /// How long its threads compute between two meetings or two critical sections; of load, before each rest.
    pub compute: Distribution,
    /// How long load sleeps between two computations; `None`: it never does.
    pub rest: Option<Distribution>,
    /// The policy by which its threads wait for each other.
    pub policy: Policy,
    /// The barrier algorithm by which they meet.
    pub kind: Algorithm,
    /// The threads' nice value, -20 to 19.
    pub nice: i8,
    /// The slice that its threads ask for (`sched_runtime` of `sched_setattr`), if not the one that the
    /// scheduler gives to all: EEVDF only.
    pub slice: Option<Nanos>,
    /// The control group that its threads run in, by its index in the scheduler's list.
    pub group: Option<u32>,
    /// Have its threads one address space? Those that meet always do; load is many programs, unless this is
    /// set.
    pub one_process: bool,
    /// Thread `i` may run on the processors of `pins[i % pins.len()]` only; anywhere, if the list is empty.
    pub pins: Vec<Vec<CpuId>>,
    /// Thread `i`, unless it is pinned to others, ran last on processor `start[i % start.len()]`, a moment
    /// ago; if the list is empty, chance decides where. Under EEVDF it starts there, too, even if others
    /// do: stacked, or spread.
    pub start: Vec<CpuId>,
}

impl Job {
    /// A job that meets `barriers` times at the central barrier.
    pub fn meeting(name: impl Into<String>, threads: u32, barriers: u64, compute: Distribution, policy: Policy) -> Self {
        let (name, kind, one_process) = (name.into(), Algorithm::Central, barriers > 0);
        let (lock, program, gap, rest, nice, slice, group) = (None, None, None, None, 0, None, None);
        let (pins, start) = (vec![], vec![]);
        Self {
            name,
            threads,
            barriers,
            lock,
            program,
            gap,
            compute,
            rest,
            policy,
            kind,
            nice,
            slice,
            group,
            one_process,
            pins,
            start,
        }
    }

    /// A job whose threads take one lock, `acquisitions` times each, and compute for `think` before each.
    /// They wait by the policy that is usual for such a lock.
    pub fn locking(name: impl Into<String>, threads: u32, acquisitions: u64, think: Distribution, lock: JobLock) -> Self {
        let policy = lock.kind.policy();
        Self { lock: Some(lock), ..Self::meeting(name, threads, acquisitions, think, policy) }
    }

    /// Threads that go through a list of events.
    pub fn running(name: impl Into<String>, threads: u32, program: ThreadProgram) -> Self {
        Self { program: Some(Arc::new(program)), one_process: true, ..Self::load(name, threads) }
    }

    /// Threads that never wait: the background load of Tsafrir & Feitelson 2002 §2.1.
    pub fn load(name: impl Into<String>, threads: u32) -> Self {
        Self::meeting(name, threads, 0, Distribution::Constant(Nanos::MAX), Policy::Block)
    }

    /// Returns whether its threads wait for each other, at barriers or for a lock.
    pub fn meets(&self) -> bool {
        self.barriers > 0
    }
}
