//! Fork and join: late leaders and workers, parts taken by the leader, workers sent away and called back,
//! members that go.

mod plan;
mod served;

use super::barrier::outcome;
use super::report::{RunReport, must, verdict};
use crate::draw::Draw;
use crate::plant::Plant;
use crate::worlds::{self, us};
use foregather_barrier::{ForkJoin, Leader};
use foregather_machine::{Cause, Clock, Error, Nanos};
use foregather_sim::event::Heap;
use foregather_sim::smp::Smp;
use plan::{Board, Plan, SwarmCpu, given_up, plan};
use std::cell::RefCell;

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
    let board = RefCell::new(Board::of(&plan));
    let outputs = smp.run(async |cpu| match cpu.number() {
        0 if plan.serves => served::lead(&plan, &team, &board, cpu).await,
        _ if plan.serves => served::work(&plan, &team, &board, cpu).await,
        0 => lead(&plan, &team, &board, cpu).await,
        _ => work(&plan, &team, &board, cpu, planted).await,
    });
    let (ends, stuck) = outcome(&smp, outputs);
    RunReport { trace: smp.history().1, end: verdict(stuck, ends), drawn }
}

async fn lead<'s>(plan: &Plan, team: &ForkJoin<SwarmCpu<'s>>, board: &RefCell<Board>, cpu: SwarmCpu<'s>) -> Result<(), String> {
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
            steal_part(&mut draw, &mut leader, board, region).await?;
        }
        if let Err(error) = join(plan, &mut draw, &mut leader).await {
            return given_up(0, &error, board);
        }
        board.borrow().joined()?;
    }
    leader.finish().map_err(words)
}

fn change(plan: &Plan, draw: &mut Draw, leader: &mut Leader<SwarmCpu<'_>>, board: &RefCell<Board>) -> Result<(), Error> {
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
async fn steal_part(
    draw: &mut Draw,
    leader: &mut Leader<SwarmCpu<'_>>,
    board: &RefCell<Board>,
    region: u32,
) -> Result<(), String> {
    let words = |error: Error| error.to_string();
    while !leader.begun_within(draw.span(us(30))).await {
        let Some(rank) = leader.steal_part().map_err(words)? else { break };
        leader.delay(draw.span(us(30))).await;
        board.borrow_mut().does(rank, region)?;
        leader.finish_stolen().map_err(words)?;
        if draw.one_in(3) {
            break;
        }
    }
    Ok(())
}

async fn join(plan: &Plan, draw: &mut Draw, leader: &mut Leader<SwarmCpu<'_>>) -> Result<(), Error> {
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
    team: &ForkJoin<SwarmCpu<'s>>,
    board: &RefCell<Board>,
    cpu: SwarmCpu<'s>,
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
