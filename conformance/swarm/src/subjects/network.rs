//! Barriers over null messages on simulated networks, and packets between neighbours: nodes that begin late,
//! stand still, are interrupted, or whose clocks drift; packets that come late.
use super::barrier;
use super::report::{RunReport, must, verdict};
use super::tamper::TamperedEndpoint;
use crate::draw::Draw;
use crate::plant::Plant;
use crate::worlds::us;
use foregather_barrier::Algorithm;
use foregather_machine::{Endpoint, Nanos, Port};
use foregather_message::{Protocol, receive, send};
use foregather_sim::event::Heap;
use foregather_sim::net::{Arbitration, Circuits, Drift, Faults, HeaderBuffers, Interrupts, Model, Network, Pause, profile};
use std::cell::RefCell;

/// The drawn run.
#[derive(Debug)]
struct Plan {
    algorithm: Algorithm,
    size: u32,
    episodes: u32,
    faults: Faults,
    interrupts: Option<Interrupts>,
    /// Whether neighbours exchange packets between two episodes.
    packets: bool,
    seed: u64,
}

fn plan(draw: &mut Draw) -> Plan {
    let algorithm = match barrier::algorithm(draw) {
        Algorithm::Central => Algorithm::Dissemination,
        algorithm => algorithm,
    };
    let size = barrier::size_for(draw, algorithm, 17);
    let mut faults = Faults { seed: draw.seed(), ..Faults::default() };
    if draw.one_in(3) {
        (faults.delay_ppm, faults.delay) = (draw.pick(&[20_000, 300_000]), draw.span(us(900)));
    }
    if draw.one_in(3) {
        let pause = Pause { node: draw.within(0..=size - 1), from: draw.span(us(900)), length: draw.span(us(900)) };
        faults.pauses.push(pause);
    }
    if draw.one_in(4) {
        let drift = Drift { node: draw.within(0..=size - 1), ppm: draw.within(0..=160) as i32 - 80, ahead: draw.span(us(50)) };
        faults.drifts.push(drift);
    }
    let interrupts = draw.one_in(3).then_some(profile::CALIBRATED);
    // Other packets pass a late one, which no port promises to tolerate.
    let packets = faults.delay_ppm == 0 && draw.one_in(2);
    Plan { algorithm, size, episodes: draw.within(1..=5), faults, interrupts, packets, seed: draw.seed() }
}

fn circuits(draw: &mut Draw) -> Circuits {
    let pool = draw.one_in(3).then(|| HeaderBuffers { buffers: draw.within(2..=4) as u16, release: 1 });
    Circuits { arbitration: draw.pick(&Arbitration::ALL), jitter: draw.span(us(9)), pool, ..profile::IPSC860 }
}

pub(super) fn run(draw: &mut Draw, planted: Option<Plant>) -> RunReport {
    let mut plan = plan(draw);
    match planted {
        Some(Plant::PacketsLost) => plan.faults.loss_ppm = 30_000,
        Some(Plant::PacketsTwice) => plan.faults.duplicate_ppm = 30_000,
        _ => {}
    }
    if draw.one_in(2) { over(profile::IPSC860_FREE, &plan, planted) } else { over(circuits(draw), &plan, planted) }
}

fn over<M: Model>(model: M, plan: &Plan, planted: Option<Plant>) -> RunReport {
    let drawn = format!("{plan:?} over {}", std::any::type_name::<M>());
    let slots = plan.algorithm.slots(plan.size);
    let network = Network::<Heap, M>::new(plan.size, slots, model).and_then(|network| network.faulty(&plan.faults));
    let network = network.and_then(|network| match plan.interrupts {
        Some(interrupts) => network.interrupted(interrupts, plan.seed),
        None => Ok(network),
    });
    let network = match network {
        Ok(network) => network,
        Err(error) => return RunReport { trace: 0, end: Err(error.to_string()), drawn },
    };
    let arrived = RefCell::new(vec![0; plan.episodes as usize]);
    let nodes = network.nodes();
    let start = |rank| Draw::for_thread(plan.seed ^ 7, rank).span(us(500));
    let run = network.run(&nodes, start, |node| async {
        let endpoint = TamperedEndpoint::new(node, planted, slots, u32::MAX);
        episodes(plan, &endpoint, node, &arrived).await
    });
    let waits = |rank: u32| format!("node {rank} waits for {}", network.waits_for(rank).unwrap_or_default());
    let stuck = run.deadlocked().into_iter().map(waits).collect();
    RunReport { trace: run.trace, end: verdict(stuck, run.outputs.into_iter().flatten()), drawn }
}

async fn episodes(plan: &Plan, endpoint: &impl Endpoint, port: &impl Port, arrived: &RefCell<Vec<u32>>) -> Result<(), String> {
    let rank = endpoint.rank();
    let mut draw = Draw::for_thread(plan.seed, rank);
    for episode in 0..plan.episodes {
        endpoint.delay(draw.span(us(150)).max(Nanos(1))).await;
        arrived.borrow_mut()[episode as usize] += 1;
        plan.algorithm.over(endpoint).await.map_err(|error| error.to_string())?;
        let come = arrived.borrow()[episode as usize];
        must(come == plan.size, || format!("node {rank} left episode {episode} when {come} of {} had arrived", plan.size))?;
        if plan.packets {
            neighbours(plan, port, episode).await?;
        }
    }
    Ok(())
}

/// Each even node sends to the next one, which sends the bytes back.
async fn neighbours(plan: &Plan, port: &impl Port, episode: u32) -> Result<(), String> {
    let (rank, first) = (port.rank(), port.rank() & !1);
    if first + 1 >= plan.size {
        return Ok(());
    }
    let mut draw = Draw::for_thread(plan.seed ^ u64::from(episode) << 20, first);
    let length = draw.bytes(3_000);
    let protocol = Protocol::of_length(port, length);
    let sent: Vec<u8> = (0..length).map(|at| (at as u32 * 7 + episode) as u8).collect();
    let mut got = vec![0; length];
    let words = |error: foregather_machine::Error| error.to_string();
    if rank == first {
        send(port, rank + 1, episode, &sent, protocol).await.map_err(words)?;
        receive(port, rank + 1, episode, &mut got).await.map_err(words)?;
    } else {
        receive(port, first, episode, &mut got).await.map_err(words)?;
        send(port, first, episode, &got, protocol).await.map_err(words)?;
    }
    must(got == sent, || format!("node {rank} got other bytes than were sent in episode {episode}"))
}
