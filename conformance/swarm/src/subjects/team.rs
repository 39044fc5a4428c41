//! Fork and join: late leaders and workers, parts taken by the leader, workers sent away and called back,
//! members that go.
use super::barrier::outcome;
use super::{RunReport, must, served, verdict};
use crate::blame::fair;
use crate::draw::Draw;
use crate::plant::Plant;
use crate::worlds::{self, us};
use foregather_barrier::{ForkJoin, Leader};
use foregather_machine::{Cause, Clock, Error, Nanos, Rank};
use foregather_sim::event::Heap;
use foregather_sim::smp::{MachineSpec, Smp, SmpCpu};
use foregather_wait::Policy;
use std::cell::RefCell;

pub(super) type Cpu<'s> = SmpCpu<'s, Heap>;

/// The drawn run.
#[derive(Debug)]
pub(super) struct Plan {
    machine: MachineSpec,
    size: u32,
    pub(super) policy: Policy,
    pub(super) regions: u32,
    /// The rank that goes, and in which region.
    pub(super) goes: Option<(Rank, u32)>,
    /// Whether the leader takes late parts, and sends workers away.
    takes: bool,
    dismisses: bool,
    bounded: bool,
    points_ppm: u32,
    pub(super) seed: u64,
    /// Whether workers serve, as those of `foregather_team` do.
    serves: bool,
}

/// What all members have done so far.
#[derive(Default)]
pub(super) struct Board {
    pub(super) region: u32,
    /// By rank, how often its part of the present region was done.
    done: Vec<u32>,
    away: Vec<bool>,
    at_fault: Vec<Rank>,
}

fn plan(draw: &mut Draw) -> Plan {
    let machine = worlds::machine(draw);
    let (size, regions) = (draw.within(1..=6), draw.within(1..=8));
    Plan {
        policy: worlds::policy(draw, &machine),
        machine,
        size,
        regions,
        goes: draw.one_in(4).then(|| (draw.within(0..=size - 1), draw.within(1..=regions))),
        takes: draw.one_in(2),
        dismisses: draw.one_in(3),
        bounded: draw.one_in(3),
        points_ppm: worlds::points(draw),
        seed: draw.seed(),
        serves: draw.one_in(3),
    }
}

pub(super) fn run(draw: &mut Draw, planted: Option<Plant>) -> RunReport {
    let mut plan = plan(draw);
    if planted.is_some() {
        (plan.goes, plan.size, plan.serves) = (None, plan.size.max(2), false);
    }
    if plan.serves && plan.goes.is_some_and(|(rank, _)| rank > 0) {
        // Such a worker goes when the leader has finished, and no sooner.
        plan.goes = None;
    }
    let smp = Smp::<Heap>::new(&plan.machine, plan.size, plan.seed);
    let smp = smp.with_points(plan.points_ppm, plan.seed ^ 1).ending_at(worlds::limit(plan.policy));
    let drawn = format!("{plan:?}");
    let Ok(team) = ForkJoin::new(plan.size) else {
        return RunReport { trace: 0, end: Err("a team was refused".into()), drawn };
    };
    let board = RefCell::new(Board {
        done: vec![0; plan.size as usize],
        away: vec![false; plan.size as usize],
        at_fault: plan.goes.map(|(rank, _)| rank).into_iter().collect(),
        ..Board::default()
    });
    let outputs = smp.run(async |cpu| match cpu.number() {
        0 if plan.serves => served::lead(&plan, &team, &board, cpu).await,
        _ if plan.serves => served::work(&plan, &team, &board, cpu).await,
        0 => lead(&plan, &team, &board, cpu).await,
        _ => work(&plan, &team, &board, cpu, planted).await,
    });
    let (ends, stuck) = outcome(&smp, outputs);
    RunReport { trace: smp.history().1, end: verdict(stuck, ends), drawn }
}

impl Board {
    /// A region is about to be forked.
    pub(super) fn begin(&mut self, region: u32) {
        self.region = region;
        self.done.fill(0);
    }

    /// The part of `rank` is done, by whichever thread.
    pub(super) fn does(&mut self, rank: Rank, region: u32) -> Result<(), String> {
        must(self.region == region, || {
            format!("the part of rank {rank} is of region {region}, and region {} is open", self.region)
        })?;
        self.done[rank as usize] += 1;
        must(self.done[rank as usize] == 1 && !self.away[rank as usize], || {
            format!("the part of rank {rank} in region {region} was done twice, or by a worker that is away")
        })
    }

    pub(super) fn joined(&self) -> Result<(), String> {
        let wrong = (1..self.done.len()).find(|&rank| self.done[rank] != u32::from(!self.away[rank]));
        wrong.map_or(Ok(()), |rank| Err(format!("region {} was joined and the part of rank {rank} is not done", self.region)))
    }
}

pub(super) fn given_up(rank: Rank, error: &Error, board: &RefCell<Board>) -> Result<(), String> {
    fair(rank, error, &board.borrow().at_fault)
}

async fn lead<'s>(plan: &Plan, team: &ForkJoin<Cpu<'s>>, board: &RefCell<Board>, cpu: Cpu<'s>) -> Result<(), String> {
    let mut draw = Draw::for_thread(plan.seed, 0);
    let words = |error: Error| error.to_string();
    cpu.delay(draw.span(us(100))).await;
    let mut leader = team.leader(cpu, plan.policy).map_err(words)?;
    for region in 1..=plan.regions {
        leader.delay(draw.span(us(150))).await;
        if plan.goes == Some((0, region)) {
            return Ok(());
        }
        if plan.dismisses && plan.size > 1 {
            change(plan, &mut draw, &mut leader, board).map_err(words)?;
        }
        board.borrow_mut().begin(region);
        must(leader.fork() == Ok(region), || format!("region {region} was not forked as such"))?;
        leader.delay(draw.span(us(60))).await;
        if plan.takes {
            take_late(&mut draw, &mut leader, board, region).await?;
        }
        if let Err(error) = join(plan, &mut draw, &mut leader).await {
            return given_up(0, &error, board);
        }
        board.borrow().joined()?;
    }
    leader.finish().map_err(words)
}

fn change(plan: &Plan, draw: &mut Draw, leader: &mut Leader<Cpu<'_>>, board: &RefCell<Board>) -> Result<(), Error> {
    let worker = draw.within(1..=plan.size - 1);
    let away = draw.one_in(2);
    if away {
        leader.dismiss(worker)?
    } else {
        leader.recall(worker)?
    };
    board.borrow_mut().away[worker as usize] = away;
    Ok(())
}

/// The leader does the parts that no worker has begun.
async fn take_late(draw: &mut Draw, leader: &mut Leader<Cpu<'_>>, board: &RefCell<Board>, region: u32) -> Result<(), String> {
    let words = |error: Error| error.to_string();
    while !leader.begun_within(draw.span(us(30))).await {
        let Some(rank) = leader.take_late().map_err(words)? else { break };
        leader.delay(draw.span(us(30))).await;
        board.borrow_mut().does(rank, region)?;
        leader.done_late().map_err(words)?;
        if draw.one_in(3) {
            break;
        }
    }
    Ok(())
}

async fn join(plan: &Plan, draw: &mut Draw, leader: &mut Leader<Cpu<'_>>) -> Result<(), Error> {
    loop {
        if !plan.bounded {
            return leader.join().await;
        }
        match leader.join_for(draw.span(us(100))).await {
            Err(error) if matches!(error.cause(), Cause::TimedOut { .. }) => {}
            end => return end,
        }
    }
}

async fn work<'s>(
    plan: &Plan,
    team: &ForkJoin<Cpu<'s>>,
    board: &RefCell<Board>,
    cpu: Cpu<'s>,
    planted: Option<Plant>,
) -> Result<(), String> {
    let (rank, mut draw) = (cpu.number(), Draw::for_thread(plan.seed, cpu.number()));
    cpu.delay(draw.span(us(300))).await;
    let mut worker = team.worker(cpu, rank, plan.policy).map_err(|error| error.to_string())?;
    loop {
        let next = if plan.bounded && draw.one_in(2) { worker.wait_for(draw.span(us(100))).await } else { worker.wait().await };
        let region = match next {
            Ok(Some(region)) => region,
            Ok(None) => return Ok(()),
            Err(error) if matches!(error.cause(), Cause::TimedOut { .. }) => continue,
            Err(error) => return given_up(rank, &error, board),
        };
        if plan.goes == Some((rank, region)) {
            return Ok(());
        }
        match planted {
            Some(Plant::NeverDone) if rank == 1 => worker.delay(Nanos::MAX).await,
            Some(Plant::DoneBefore) if rank == 1 => worker.done().map_err(|error| error.to_string())?,
            _ => {}
        }
        worker.delay(draw.span(us(100))).await;
        board.borrow_mut().does(rank, region)?;
        if !(planted == Some(Plant::DoneBefore) && rank == 1) {
            worker.done().map_err(|error| error.to_string())?;
        }
    }
}
