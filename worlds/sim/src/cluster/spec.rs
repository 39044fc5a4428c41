//! The specification of a cluster: how many nodes, what they are, and what lies between them.
use super::fault::Faults;
use super::nic::Nic;
use crate::smp::{Linux24, MachineSpec, Prices, Scheduler, Ties};
use foregather_machine::{Nanos, Rank};
use foregather_wait::Policy;

/// The specification of a simulation.
#[derive(Clone, Debug)]
pub struct ClusterSpec {
    /// The number of nodes; each is one rank.
    pub nodes: u32,
    /// Threads of each node. Each owns the lane of its number, whether it uses it or only computes.
    pub threads: u32,
    /// The machine of each node.
    pub machine: MachineSpec,
    /// Its connection.
    pub nic: Nic,
    /// How a read ([`Fabric::get`](foregather_machine::Fabric::get)) waits. The layers above choose how other
    /// waits do.
    pub wait: Policy,
    /// Every message may come this much later, by chance; messages between two lanes keep their order.
    pub jitter: Nanos,
    /// When the others know that a node has died.
    pub detection: Nanos,
    /// Nodes that die, and when.
    pub deaths: Vec<(Rank, Nanos)>,
    /// Further faults.
    pub faults: Faults,
    /// The simulation ends then in any case.
    pub limit: Nanos,
    /// Decides the order in which threads begin, and jitter.
    pub seed: u64,
    /// The most strokes, and spans of each node's threads, that are kept for a timeline.
    pub spans: usize,
}

impl ClusterSpec {
    /// Two or more nodes of 1999 with one processor each, under Linux 2.2 at 100 Hz and a thread library
    /// whose yields are cheap. The prices are fitted: the paper gives none; its figures depend only on a
    /// yield being cheap beside a message.
    pub fn namyst1999(nodes: u32, threads: u32) -> Self {
        let us = Nanos::from_us;
        let prices = Prices {
            switch: us(3),
            switch_to_idle: us(1),
            wake_idle: us(3),
            waker: Nanos::ZERO,
            preempt: Nanos::ZERO,
            yield_call: Nanos(500),
            yield_switch: us(2),
            line: Nanos(200),
            migration: Nanos::ZERO,
            move_call: us(3),
            look: Nanos(500),
            tick_spread: Nanos::ZERO,
        };
        let scheduler = Scheduler::Linux24(Linux24 { tick: Nanos::from_ms(10), ..Linux24::LINUX_2_2 });
        let machine = MachineSpec { cpus: 1, prices, scheduler, ties: Ties::ArriveFirst, resolution: Nanos(1) };
        Self::new(nodes, threads, machine, Nic::VIA_FAST_ETHERNET)
    }

    /// `nodes` such machines with `threads` threads each, connected by such NICs; nothing fails, nothing is
    /// recorded.
    pub fn new(nodes: u32, threads: u32, machine: MachineSpec, nic: Nic) -> Self {
        let wait = Policy::TwoPhase { spin: machine.prices.wake_idle * 2 };
        let (faults, seed) = (Faults::default(), 1);
        let (detection, limit) = (Nanos::from_ms(1), Nanos::from_ms(100_000));
        Self { nodes, threads, machine, nic, wait, jitter: Nanos::ZERO, detection, deaths: vec![], faults, limit, seed, spans: 0 }
    }

    /// Checks the specification; the error says what is wrong, and what to change.
    pub(super) fn check(&self) -> Result<(), String> {
        let lanes = u64::from(self.nodes) * u64::from(self.threads);
        let cpus = u64::from(self.nodes) * u64::from(self.machine.cpus);
        let nic = &self.nic;
        if self.machine.cpus == 0 || self.machine.cpus > MachineSpec::MOST_CPUS {
            Err(format!("{} processors: a node has 1 to {}", self.machine.cpus, MachineSpec::MOST_CPUS))
        } else if lanes == 0 || lanes > MOST || cpus > MOST {
            Err(format!("{lanes} threads on {cpus} processors: a cluster has 1 to {MOST} of either"))
        } else if nic.cut == 0 || nic.longest == 0 || nic.gather == 0 || nic.page == 0 || nic.credits == 0 {
            Err("a NIC whose fragments, messages, lists, pages or credits are 0: all must be more".into())
        } else if let Some((rank, _)) = self.deaths.iter().find(|(rank, _)| *rank >= self.nodes) {
            Err(format!("node {rank} is to die: there are only {}", self.nodes))
        } else {
            self.faults.check(self.nodes)
        }
    }
}

/// More threads are not simulated: their numbers, and those of their events, fit into a word.
const MOST: u64 = 1 << 20;
