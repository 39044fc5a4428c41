//! Journals are replayed on hosts of one processor on a simulated network, each with its server, with the
//! prices of a period.
use anyhow::{Context, Result, bail};
use foregather_barrier::Algorithm as Barrier;
use foregather_dsm::Minipage;
use foregather_dsm::journal::Journal;
use foregather_dsm::node::{Node, Requester, Stats, WaitKind, serve};
use foregather_dsm::protocol::{Counts, Homes, Server};
use foregather_dsm::replay::{Player, Profile, Sizes, TimeSpent};
use foregather_machine::{Costs, Error, LogGp, LogGpVariant, Member, Nanos};
use foregather_message::{Messenger, Settings};
use foregather_sim::cluster::{Cluster, ClusterSpec, Lane, Nic, Notice, Sweeps};
use foregather_sim::event::Heap;
use foregather_sim::smp::{MachineSpec, Prices, Scheduler, SmpCpu, Ties};
use foregather_wait::{Policy, Waiter};
use std::sync::Arc;

/// Lanes of a host: its server, its thread, that thread's messages. The server is the most urgent.
const LANES: u32 = 3;
const SERVER: u32 = 0;
const THREAD: u32 = 1;
const MESSAGES: u32 = 2;
/// More locks than any of the programs has.
const LOCKS: u32 = 4_096;

/// How hosts, network and system behave.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) nic: Nic,
    pub(super) prices: Prices,
    pub(super) profile: Profile,
    pub(super) barrier: Barrier,
    /// How many prefetches of a host may be under way; 0 leaves them out.
    pub(super) prefetches: u32,
    pub(super) pushes: bool,
    /// How long computing takes, in percent of what it took here.
    pub(super) pace_percent: u64,
    /// Whether rank 0 manages everything.
    pub(super) central: bool,
    pub(super) seed: u64,
}

/// What a switch of threads takes, and also what it takes until a thread notices a message. The paper gives
/// neither; fitted to its 67 us for taking and releasing a lock.
const WAKE_1999: Nanos = Nanos(11_450);
/// What a fault takes beyond what the paper's single costs add up to: fitted to its 204 us for a read of 128
/// bytes.
pub(super) const RESIDUAL: Nanos = Nanos(55_700);

impl Scenario {
    /// Millipage in 1999, if it noticed messages at once.
    pub(super) fn event_driven_1999() -> Self {
        let us = Nanos::from_us;
        let prices = Prices {
            switch: WAKE_1999,
            switch_to_idle: us(1),
            wake_idle: WAKE_1999,
            waker: Nanos::ZERO,
            preempt: Nanos::ZERO,
            yield_call: us(1),
            yield_switch: WAKE_1999,
            line: Nanos(200),
            migration: Nanos::ZERO,
            move_call: WAKE_1999,
            look: Nanos(500),
            tick_spread: Nanos::ZERO,
        };
        Self {
            nic: Nic { interrupt: WAKE_1999, ..Nic::FM_MYRINET },
            prices,
            profile: Profile { residual: RESIDUAL, ..Profile::MILLIPAGE_1999 },
            barrier: Barrier::Dissemination,
            prefetches: 8,
            pushes: true,
            pace_percent: 100,
            central: false,
            seed: 1,
        }
    }

    /// Millipage as it was: a poller when the host has nothing else to do, a sweeper when a timer of 1 ms
    /// fires, some of whose events come tens of microseconds apart and some several milliseconds late (§3.5).
    /// How many of them do is assumed: one in ten each, 50 us and 3 ms.
    pub(super) fn millipage_1999() -> Self {
        let us = Nanos::from_us;
        let sweeps = Sweeps { usual: us(1_000), early: us(50), late: us(3_000), one_in: 10 };
        let mut scenario = Self::event_driven_1999();
        scenario.nic.notice = Notice::Sweeps(sweeps);
        scenario
    }

    /// This system on hosts of today: faults by userfaultfd, messages as between two processes of one machine
    /// that look for them, and 15 us to wake a server that sleeps while its host computes. All measured here,
    /// on a virtual machine.
    pub(super) fn modern() -> Self {
        let model = LogGp {
            latency: Nanos(60),
            send_overhead: Nanos(50),
            receive_overhead: Nanos(50),
            gap: Nanos::ZERO,
            byte_ps: 196,
            variant: LogGpVariant::SenderOnly,
        };
        let nic = Nic { interrupt: Nanos(15_000), ..Nic::loggp(model) };
        let prices = Prices::measured(&Costs::TYPICAL);
        Self { nic, prices, profile: Profile::USERFAULT_2025, ..Self::event_driven_1999() }
    }

    /// A host.
    pub(super) fn machine(&self) -> MachineSpec {
        let (prices, scheduler) = (self.prices, Scheduler::Priority);
        MachineSpec { cpus: 1, prices, scheduler, ties: Ties::ArriveFirst, resolution: Nanos(1) }
    }

    fn spec(&self, hosts: u32) -> ClusterSpec {
        let spec = ClusterSpec::new(hosts, LANES, self.machine(), self.nic);
        ClusterSpec { limit: Nanos::MAX, seed: self.seed, ..spec }
    }
}

/// The result of a replay.
pub(super) struct Replayed {
    /// Where each host's thread spent its time.
    pub(super) threads: Vec<TimeSpent>,
    /// How often each minipage was asked for.
    pub(super) traffic: Vec<(Minipage, Counts)>,
    /// Messages that arrived, of whatever kind.
    pub(super) frames: u64,
    /// A hash of all that happened.
    #[cfg(test)]
    pub(super) trace: u64,
}

impl Replayed {
    /// How long the slowest took.
    pub(super) fn span(&self) -> Nanos {
        self.threads.iter().map(|played| played.span).max().unwrap_or_default()
    }

    /// What all waited for.
    pub(super) fn waited(&self) -> Stats {
        self.threads.iter().fold(Stats::default(), |sum, played| sum.plus(&played.waited))
    }

    /// Faults of all kinds, and how long they took on average, in microseconds.
    pub(super) fn faults(&self) -> (u64, f64) {
        let waited = self.waited();
        let kinds = [WaitKind::ReadFault, WaitKind::WriteFault, WaitKind::Upgrade];
        let count: u64 = kinds.iter().map(|&kind| waited.count(kind)).sum();
        let span: f64 = kinds.iter().map(|&kind| waited.span(kind).as_us()).sum();
        (count, if count == 0 { 0.0 } else { span / count as f64 })
    }
}

enum TaskResult {
    Server(Vec<(Minipage, Counts)>),
    Thread(TimeSpent),
    Messages,
}

/// Replays the journals of all hosts' threads on minipages of these lengths.
pub(super) fn replay(scenario: &Scenario, journals: &[Journal], bytes: &Arc<[u32]>) -> Result<Replayed> {
    let hosts = journals.len() as u32;
    let homes = if scenario.central { Homes::central(hosts, 0) } else { Homes::spread(hosts) }?;
    let sizes = Sizes::new(Arc::clone(bytes), scenario.profile);
    let cluster = Cluster::<Heap>::new(scenario.spec(hosts)).map_err(anyhow::Error::msg)?;
    let nodes: Vec<Host<'_>> = (0..hosts).map(|_| Node::new(homes, sizes.count(), sizes.clone())).collect();
    let mut report = cluster.run(async |lane| {
        let rank = lane.rank();
        let node = &nodes[rank as usize];
        match foregather_machine::Fabric::here(&lane).lane {
            SERVER => {
                let server = Server::new(homes, rank, sizes.count(), LOCKS);
                let ended = serve(&lane, node, server, &Waiter::new(Policy::Block, rank)).await?;
                Ok::<TaskResult, Error>(TaskResult::Server(ended.directory().counts().collect()))
            }
            THREAD => thread(scenario, lane, node, &journals[rank as usize]).await.map(TaskResult::Thread),
            _ => Ok(TaskResult::Messages),
        }
    });
    let mut replayed = Replayed {
        threads: vec![],
        traffic: vec![],
        frames: report.frames,
        #[cfg(test)]
        trace: report.trace,
    };
    let stuck = report.deadlocked.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let (ended, open): (Vec<_>, Vec<_>) = std::mem::take(&mut report.outputs).into_iter().partition(Option::is_some);
    // The host that failed says more than the hosts that wait for it.
    for end in ended.into_iter().chain(open) {
        match end.with_context(|| format!("a simulation got stuck: {stuck}"))?? {
            TaskResult::Server(counts) => replayed.traffic.extend(counts),
            TaskResult::Thread(played) => replayed.threads.push(played),
            TaskResult::Messages => {}
        }
    }
    if replayed.threads.len() != hosts as usize {
        bail!("{} of {hosts} threads came to an end", replayed.threads.len());
    }
    replayed.traffic.sort_by_key(|(minipage, _)| *minipage);
    Ok(replayed)
}

type Host<'s> = Node<SmpCpu<'s, Heap>, Sizes>;

async fn thread<'s>(scenario: &Scenario, lane: Lane<'s, Heap>, node: &Host<'s>, journal: &Journal) -> Result<TimeSpent, Error> {
    let settings = Settings { policy: Some(Policy::Block), ..Settings::default() };
    let messenger = Messenger::new(lane.beside(MESSAGES), settings)?;
    let requester = Requester::new(lane, node, Policy::Block);
    let Scenario { barrier, prefetches, pushes, pace_percent, .. } = *scenario;
    let spent = Player { node, requester, messenger: &messenger, barrier, prefetches, pushes, pace_percent }.run(journal).await?;
    messenger.leave();
    Ok(spent)
}
