//! Nodes with processors and a network: what the verbs of a fabric do there, what waiting costs, and how
//! failures show.
mod conformance;
mod faults;
mod frames;
mod madeleine;
mod memory;
mod sweeper;
mod trouble;
mod via;
mod waiting;

use foregather_machine::{Address, Error, Fabric, Nanos, WaitContext};
use foregather_sim::cluster::{Cluster, ClusterSpec, Lane, Nic, Report};
use foregather_sim::event::{Heap, Queue};
use foregather_sim::net::profile;
use foregather_sim::smp::{Eevdf, Linux24, MachineSpec, Prices, RoundRobin, Scheduler};
use foregather_wait::Policy;

const fn us(n: u64) -> Nanos {
    Nanos::from_us(n)
}

const fn at(rank: u32, lane: u32) -> Address {
    Address { rank, lane }
}

/// Nodes of two processors each, with NICs of today.
fn today(nodes: u32, threads: u32) -> ClusterSpec {
    let machine = MachineSpec { cpus: 2, scheduler: Scheduler::Eevdf(Eevdf::LINUX), ..MachineSpec::tsafrir2002() };
    ClusterSpec::new(nodes, threads, machine, Nic::loggp(profile::IPSC860_FREE))
}

/// Every scheduler, and both kinds of NICs.
fn everything(nodes: u32, threads: u32) -> Vec<ClusterSpec> {
    let turns = Scheduler::RoundRobin(RoundRobin { quantum: us(100) });
    let schedulers = [turns, Scheduler::Linux24(Linux24::TSAFRIR_2002), Scheduler::Eevdf(Eevdf::LINUX)];
    let nics = [Nic::loggp(profile::IPSC860_FREE), Nic::VIA_FAST_ETHERNET];
    let of = |(scheduler, nic): (&Scheduler, Nic)| {
        let prices = Prices { line: Nanos(120), waker: us(2), ..Prices::TSAFRIR_2002 };
        let machine = MachineSpec { cpus: 2, prices, scheduler: scheduler.clone(), ..MachineSpec::tsafrir2002() };
        ClusterSpec::new(nodes, threads, machine, nic)
    };
    schedulers.iter().flat_map(|scheduler| nics.map(|nic| of((scheduler, nic)))).collect()
}

/// Waits at a lane until a probe finds something.
async fn wait<F: Fabric, T>(lane: &F, policy: Policy, probe: impl FnMut() -> Option<T>) -> Result<T, Error> {
    let why = WaitContext::new("test", lane.rank());
    policy.wait(lane.cpu(), lane.bell(), why, probe).await.map(|(found, _)| found)
}

/// Takes the next frame of `from`.
async fn take<F: Fabric>(lane: &F, policy: Policy, from: Address) -> Result<(u32, Vec<u8>), Error> {
    let frame = wait(lane, policy, || lane.peek(from, |head, bytes| (head, bytes.to_vec()))).await?;
    lane.release(from);
    Ok(frame)
}

fn simulate<T>(spec: ClusterSpec, program: impl AsyncFn(Lane<'_, Heap>) -> T) -> Report<T> {
    simulate_on::<Heap, T>(spec, program)
}

fn simulate_on<Q: Queue, T>(spec: ClusterSpec, program: impl AsyncFn(Lane<'_, Q>) -> T) -> Report<T> {
    let cluster = Cluster::<Q>::new(spec).unwrap();
    cluster.run(|lane| program(lane))
}

/// All outputs, once it is clear that every thread has one.
fn all<T>(report: Report<T>) -> Vec<T> {
    assert!(report.deadlocked.is_empty(), "stuck: {:?}", report.deadlocked.iter().map(ToString::to_string).collect::<Vec<_>>());
    report.outputs.into_iter().flatten().collect()
}
