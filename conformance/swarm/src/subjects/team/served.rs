//! The team that programs use, without its threads: regions with helpers, and workers that serve until the
//! leader has finished.
use super::plan::{Board, Plan, SwarmCpu, given_up};
use crate::draw::Draw;
use crate::worlds::us;
use foregather_barrier::ForkJoin;
use foregather_machine::{Clock, Error, Rank};
use foregather_team::protocol::{HelpPolicy, TeamLeader, TeamWorker};
use std::cell::{Cell, RefCell};

pub(super) async fn lead<'s>(
    plan: &Plan,
    team: &ForkJoin<SwarmCpu<'s>>,
    board: &RefCell<Board>,
    cpu: SwarmCpu<'s>,
) -> Result<(), String> {
    let mut draw = Draw::for_thread(plan.seed, 0);
    let words = |error: Error| error.to_string();
    cpu.delay(draw.span(us(100))).await;
    let mut leader = TeamLeader::new(team.leader(cpu, plan.policy).map_err(words)?, draw.span(us(60)));
    for region in 1..=plan.regions {
        leader.handle.delay(draw.span(us(150))).await;
        if plan.goes == Some((0, region)) {
            return Ok(());
        }
        board.borrow_mut().begin(region);
        let (own, late) = (draw.span(us(100)), draw.span(us(40)));
        let (wrong, done) = (RefCell::new(Ok(())), Cell::new(0));
        let part = async |rank: Rank| {
            cpu.delay(if rank == 0 { own } else { late }).await;
            if rank > 0 {
                done.set(done.get() + 1);
                let end = board.borrow_mut().does(rank, region);
                if end.is_err() {
                    *wrong.borrow_mut() = end;
                }
            }
        };
        let help = draw.pick(&[HelpPolicy::AfterOwnTime, HelpPolicy::AtOnce]);
        let course = match leader.region(help, part).await {
            Ok(course) => course,
            Err(error) => return given_up(0, &error, board),
        };
        wrong.into_inner()?;
        board.borrow().joined()?;
        if course.late != done.get() || course.own > course.whole {
            return Err(format!("region {region} is told as {course:?}, and {} parts were late", done.get()));
        }
    }
    leader.handle.finish().map_err(words)
}

pub(super) async fn work<'s>(
    plan: &Plan,
    team: &ForkJoin<SwarmCpu<'s>>,
    board: &RefCell<Board>,
    cpu: SwarmCpu<'s>,
) -> Result<(), String> {
    let own = cpu.number();
    let draw = RefCell::new(Draw::for_thread(plan.seed, own));
    let late = draw.borrow_mut().span(us(300));
    cpu.delay(late).await;
    let handle = team.worker(cpu, own, plan.policy).map_err(|error| error.to_string())?;
    let wrong = RefCell::new(Ok(()));
    let part = async |rank: Rank| {
        let region = board.borrow().region;
        let span = draw.borrow_mut().span(us(100));
        cpu.delay(span).await;
        let end = board.borrow_mut().does(rank, region);
        if end.is_err() {
            *wrong.borrow_mut() = end;
        }
    };
    let end = TeamWorker::new(handle, plan.policy).serve(part).await;
    wrong.into_inner()?;
    match end {
        Ok(()) => Ok(()),
        Err(error) => given_up(own, &error, board),
    }
}
