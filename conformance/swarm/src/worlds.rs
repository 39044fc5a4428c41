//! Drawn worlds: machines, policies, clusters, and their faults.
use crate::draw::Draw;
use foregather_machine::{LogGp, Nanos};
use foregather_sim::cluster::{Clog, ClusterSpec, Faults, Nic, NicMistake, Partition};
use foregather_sim::net::{Pause, profile};
use foregather_sim::smp::{Eevdf, Linux24, MachineSpec, Prices, RoundRobin, Scheduler, Ties};
use foregather_wait::Policy;

pub(crate) const fn us(n: u64) -> Nanos {
    Nanos::from_us(n)
}

/// A machine with few processors.
pub(crate) fn machine(draw: &mut Draw) -> MachineSpec {
    let prices = draw.pick(&[
        Prices::TSAFRIR_2002,
        Prices { line: Nanos(120), waker: us(2), migration: us(3), ..Prices::TSAFRIR_2002 },
        Prices { switch: us(2), wake_idle: us(25), waker: us(1), line: Nanos(60), look: Nanos(300), ..Prices::TSAFRIR_2002 },
    ]);
    let scheduler = match draw.below(4) {
        0 => Scheduler::RoundRobin(RoundRobin { quantum: us(draw.pick(&[20, 100, 1_000])) }),
        1 => Scheduler::Linux24(draw.pick(&[Linux24::TSAFRIR_2002, Linux24::LINUX_2_4_0])),
        _ => Scheduler::Eevdf(Eevdf::LINUX),
    };
    let ties = draw.pick(&[Ties::ArriveFirst, Ties::GiveUpFirst, Ties::Processor, Ties::Random]);
    MachineSpec { cpus: draw.within(1..=4), prices, scheduler, ties, resolution: Nanos(1) }
}

/// A waiting policy.
pub(crate) fn policy(draw: &mut Draw, machine: &MachineSpec) -> Policy {
    let (switch, spin) = (machine.prices.switch, draw.span(us(60)));
    match draw.below(11) {
        0 => Policy::Spin,
        // Under Linux 2.4 a thread that yields may starve the others.
        1 | 5 if matches!(machine.scheduler, Scheduler::Linux24(_)) => Policy::Block,
        1 => Policy::Yield,
        2 => Policy::Block,
        3 | 4 => Policy::TwoPhase { spin },
        5 => Policy::SpinThenYield { spin },
        6 => Policy::Randomised { switch },
        7 => Policy::Recent { switch },
        8 => Policy::HolderRunning { switch },
        9 => Policy::Grain { switch, quantum: Policy::QUANTUM },
        _ => Policy::adaptive(&machine.costs()),
    }
}

/// The virtual time after which a run that has not ended is taken to hang. Each yield is an event, so runs
/// that yield get less.
pub(crate) fn limit(policy: Policy) -> Nanos {
    let yields = matches!(policy, Policy::Yield | Policy::SpinThenYield { .. });
    Nanos::from_ms(if yields { 2_000 } else { 100_000 })
}

/// How often fault points say yes.
pub(crate) fn points(draw: &mut Draw) -> u32 {
    draw.pick(&[0, 0, 20_000, 200_000])
}

/// A drawn cluster of `nodes` nodes with `lanes` lanes each, and its faults.
pub(crate) fn cluster(draw: &mut Draw, nodes: u32, lanes: u32) -> ClusterSpec {
    let machine = machine(draw);
    let mut nic = if draw.one_in(3) { Nic::VIA_FAST_ETHERNET } else { Nic::loggp(loggp(draw)) };
    if draw.one_in(2) {
        (nic.credits, nic.spare) = (draw.within(2..=8), draw.within(8..=16));
    }
    if draw.one_in(3) {
        nic.buffer = draw.pick(&[128, 512, 4_096]);
    }
    let mut spec = ClusterSpec::new(nodes, lanes, machine, nic);
    spec.jitter = draw.span(us(100));
    spec.seed = draw.seed();
    spec.faults = faults(draw, nodes);
    spec
}

fn loggp(draw: &mut Draw) -> LogGp {
    draw.pick(&[profile::IPSC860_FREE, profile::LOGGOPSIM, profile::INFINIBAND_TUKEY])
}

fn faults(draw: &mut Draw, nodes: u32) -> Faults {
    let mut faults = Faults { resend: us(20) + draw.span(us(500)), points_ppm: points(draw), ..Faults::default() };
    faults.seed = draw.seed();
    if draw.one_in(3) {
        faults.loss_ppm = draw.pick(&[5_000, 50_000, 200_000]);
    }
    if draw.one_in(3) {
        faults.replay_ppm = draw.pick(&[5_000, 50_000, 200_000]);
    }
    if draw.one_in(5) {
        let (from, length) = (draw.span(us(2_000)), draw.span(us(4_000)));
        let one = draw.within(0..=nodes - 1);
        faults.clogs.push(Clog { between: [one, (one + 1) % nodes], from, length });
    }
    if draw.one_in(5) {
        let (from, length) = (draw.span(us(2_000)), draw.span(us(4_000)));
        let apart = (0..nodes).filter(|_| draw.one_in(2)).collect();
        faults.partitions.push(Partition { apart, from, length });
    }
    if draw.one_in(4) {
        let (node, from, length) = (draw.within(0..=nodes - 1), draw.span(us(2_000)), draw.span(us(3_000)));
        faults.pauses.push(Pause { node, from, length });
    }
    faults
}

/// The NIC makes a mistake, often.
pub(crate) fn plant_in_nic(spec: &mut ClusterSpec, mistake: NicMistake) {
    spec.faults.planted = Some(mistake);
    spec.faults.loss_ppm = 100_000;
    spec.faults.replay_ppm = 100_000;
}
