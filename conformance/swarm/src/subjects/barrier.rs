//! Barriers among threads: all kinds, sizes and policies; members that come late, give up or leave.
use super::report::{RunReport, must, verdict};
use crate::blame::fair;
use crate::draw::Draw;
use crate::plant::Plant;
use crate::subjects::tamper::TamperedEndpoint;
use crate::worlds::{self, us};
use foregather_barrier::{Algorithm, BarrierMember, Group, SignalMatrix};
use foregather_machine::{Cause, Clock, Error, Nanos, Rank};
use foregather_sim::event::Heap;
use foregather_sim::smp::{MachineSpec, Smp, SmpCpu};
use foregather_wait::Policy;
use std::cell::RefCell;

pub(super) type SwarmCpu<'s> = SmpCpu<'s, Heap>;

/// The drawn run.
#[derive(Debug)]
struct Plan {
    machine: MachineSpec,
    algorithm: Algorithm,
    size: u32,
    policy: Policy,
    episodes: u32,
    /// The rank that leaves, and before which episode.
    leaver: Option<(Rank, u32)>,
    /// Whether members bound their waits, and meet at start lines.
    bounded: bool,
    lines: bool,
    points_ppm: u32,
    seed: u64,
}

/// What all members have done so far.
#[derive(Default)]
struct Board {
    /// How many have arrived in each episode; and in how many episodes each rank has.
    arrived: Vec<u32>,
    of_rank: Vec<u32>,
    at_fault: Vec<Rank>,
}

pub(super) fn algorithm(draw: &mut Draw) -> Algorithm {
    match draw.below(11) {
        9 => Algorithm::Gather(draw.within(2..=8)),
        10 => Algorithm::KDissemination(draw.within(2..=8)),
        which => Algorithm::ALL[which as usize],
    }
}

/// A size that it supports.
pub(super) fn size_for(draw: &mut Draw, algorithm: Algorithm, most: u32) -> u32 {
    let size = draw.within(1..=most);
    if algorithm.takes(size).is_ok() { size } else { size.next_power_of_two().min(8) }
}

fn plan(draw: &mut Draw) -> Plan {
    let algorithm = algorithm(draw);
    let machine = worlds::machine(draw);
    let (size, episodes) = (size_for(draw, algorithm, 9), draw.within(1..=8));
    Plan {
        algorithm,
        size,
        policy: worlds::policy(draw, &machine),
        machine,
        episodes,
        leaver: draw.one_in(3).then(|| (draw.within(0..=size - 1), draw.within(0..=episodes - 1))),
        bounded: draw.one_in(4),
        lines: draw.one_in(5),
        points_ppm: worlds::points(draw),
        seed: draw.seed(),
    }
}

pub(super) fn run(draw: &mut Draw, planted: Option<Plant>) -> RunReport {
    let mut plan = plan(draw);
    if planted.is_some() {
        plan.algorithm = if plan.algorithm == Algorithm::Central { Algorithm::Dissemination } else { plan.algorithm };
        plan.leaver = None;
    }
    let smp = Smp::<Heap>::new(&plan.machine, plan.size, plan.seed);
    let smp = smp.with_points(plan.points_ppm, plan.seed ^ 1).ending_at(worlds::limit(plan.policy));
    let board = RefCell::new(Board {
        arrived: vec![0; plan.episodes as usize],
        of_rank: vec![0; plan.size as usize],
        at_fault: plan.leaver.map(|(rank, _)| rank).into_iter().collect(),
    });
    let (ends, stuck) = match planted {
        None => {
            let Ok(group) = Group::new(plan.algorithm, plan.size) else { return refused(&plan) };
            let outputs = smp.run(|cpu| member(&plan, &group, &board, cpu));
            outcome(&smp, outputs)
        }
        Some(planted) => {
            let matrix = SignalMatrix::new(plan.size, plan.algorithm.slots(plan.size));
            let swallowed = Draw::for_thread(plan.seed, 0).below(8) as u32;
            let outputs = smp.run(async |cpu| {
                let signaller = matrix.endpoint(cpu, cpu.number(), plan.policy);
                let endpoint = TamperedEndpoint::new(&signaller, planted, plan.algorithm.slots(plan.size), swallowed);
                bare(&plan, endpoint, &board).await
            });
            outcome(&smp, outputs)
        }
    };
    RunReport { trace: smp.history().1, end: verdict(stuck, ends), drawn: format!("{plan:?}") }
}

fn refused(plan: &Plan) -> RunReport {
    RunReport { trace: 0, end: Err("a size that the algorithm takes was refused".into()), drawn: format!("{plan:?}") }
}

/// How each thread ended, and which threads are stuck where.
pub(super) fn outcome<T>(smp: &Smp<Heap>, outputs: Vec<Option<T>>) -> (Vec<T>, Vec<String>) {
    let why = |rank: u32| match smp.why(rank) {
        Some(why) => format!("rank {rank} waits in {} for {:?} since {}", why.what, why.peer, why.since),
        None => format!("rank {rank} computes, or waits for nothing it could name"),
    };
    let stuck = (0..).zip(&outputs).filter(|(_, output)| output.is_none()).map(|(rank, _)| why(rank)).collect();
    (outputs.into_iter().flatten().collect(), stuck)
}

impl Board {
    fn arrive(&mut self, rank: Rank, episode: u32) {
        self.arrived[episode as usize] += 1;
        self.of_rank[rank as usize] = episode + 1;
    }

    fn all_arrived(&self, rank: Rank, episode: u32, size: u32) -> Result<(), String> {
        let arrived = self.arrived[episode as usize];
        must(arrived == size, || format!("rank {rank} left episode {episode} when {arrived} of {size} had arrived"))
    }
}

/// The episodes over null messages alone, through an endpoint that makes a mistake.
async fn bare<E: foregather_machine::Endpoint>(plan: &Plan, endpoint: E, board: &RefCell<Board>) -> Result<(), String> {
    let mut draw = Draw::for_thread(plan.seed, endpoint.rank());
    for episode in 0..plan.episodes {
        endpoint.delay(draw.span(us(150))).await;
        board.borrow_mut().arrive(endpoint.rank(), episode);
        plan.algorithm.over(&endpoint).await.map_err(|error| error.to_string())?;
        board.borrow().all_arrived(endpoint.rank(), episode, plan.size)?;
    }
    Ok(())
}

async fn member<'s>(plan: &Plan, group: &Group<SwarmCpu<'s>>, board: &RefCell<Board>, cpu: SwarmCpu<'s>) -> Result<(), String> {
    let rank = cpu.number();
    let mut draw = Draw::for_thread(plan.seed, rank);
    if draw.one_in(4) {
        cpu.delay(draw.span(us(300))).await;
    }
    let mut member = group.member(cpu, rank, plan.policy).map_err(|error| error.to_string())?;
    for episode in 0..plan.episodes {
        member.delay(draw.span(us(150))).await;
        if plan.leaver == Some((rank, episode)) {
            return Ok(());
        }
        board.borrow_mut().arrive(rank, episode);
        match meet(plan, &mut draw, &mut member, board, episode).await {
            Ok(()) => board.borrow().all_arrived(rank, episode, plan.size)?,
            Err(error) => return given_up(rank, &error, board),
        }
    }
    Ok(())
}

/// One episode, in one of several ways.
async fn meet(
    plan: &Plan,
    draw: &mut Draw,
    member: &mut BarrierMember<SwarmCpu<'_>>,
    board: &RefCell<Board>,
    episode: u32,
) -> Result<(), Error> {
    if plan.lines && episode % 3 == 1 {
        return member.harmonize(Nanos(500) * u64::from(episode)).await.map(|_| ());
    }
    if !(plan.bounded && draw.one_in(2)) {
        return member.wait().await;
    }
    loop {
        match member.wait_for(draw.span(us(200))).await {
            Err(error) if matches!(error.cause(), Cause::TimedOut { .. }) => {
                let Cause::TimedOut { peer, .. } = *error.cause() else { return Err(error) };
                let late = |peer: Rank| board.borrow().of_rank[peer as usize] <= episode;
                if !peer.is_none_or(late) {
                    return Err(Cause::Other { why: format!("blames rank {peer:?}, which has arrived: {error}") }.into());
                }
                if plan.algorithm != Algorithm::Central {
                    board.borrow_mut().at_fault.push(member.rank());
                    return Err(error);
                }
            }
            end => return end,
        }
    }
}

fn given_up(rank: Rank, error: &Error, board: &RefCell<Board>) -> Result<(), String> {
    let at_fault = &board.borrow().at_fault;
    match error.cause() {
        Cause::TimedOut { .. } if at_fault.contains(&rank) => Ok(()),
        _ => fair(rank, error, at_fault),
    }
}
