//! Messages over the lanes of a cluster: a drawn program that all ranks go through in one order, and at most
//! one kind of mishap.

mod deed;
mod plan;
mod program;

use super::napping::NappingLane;
use super::report::{RunReport, must, verdict};
use super::tamper::TamperedLane;
use crate::blame::{blamed, fair};
use crate::draw::Draw;
use crate::plant::Plant;
use crate::worlds::{self, us};
use deed::Deed;
use foregather_barrier::Algorithm;
use foregather_machine::{Cause, Member, Nanos, Rank};
use foregather_sim::cluster::{Cluster, ClusterSpec, NicMistake};
use foregather_sim::event::Heap;
use foregather_wait::Policy;
use plan::{Ending, Mishap, Plan, mishap, settings};

pub(super) fn run(draw: &mut Draw, planted: Option<Plant>) -> RunReport {
    drawn(draw, planted, None)
}

/// The same over lanes that wake no owner.
pub(super) fn run_napping(draw: &mut Draw, planted: Option<Plant>) -> RunReport {
    let nap = us(20) + draw.span(us(500));
    drawn(draw, planted, Some(if planted == Some(Plant::NapsForEver) { Nanos::MAX } else { nap }))
}

fn drawn(draw: &mut Draw, planted: Option<Plant>, nap: Option<Nanos>) -> RunReport {
    let size = draw.within(2..=5);
    let mut spec = worlds::cluster(draw, size, 1);
    spec.wait = worlds::policy(draw, &spec.machine);
    let deeds: Vec<Deed> = (0..draw.within(1..=12)).map(|_| Deed::draw(draw, size)).collect();
    let crossing = deeds.iter().any(Deed::crosses);
    let mut settings = settings(draw, &spec, crossing);
    let mishap = if planted.is_some() { Mishap::None } else { mishap(draw, size, &deeds) };
    if let Mishap::Dies(rank, at) = mishap {
        spec.deaths.push((rank, at));
        spec.detection = us(50) + draw.span(us(2_000));
    }
    if matches!(mishap, Mishap::Abandons(..)) {
        // Its receiver, which may wait for something else, has to let it come as far as it goes.
        settings.kept_bytes = 1 << 30;
    }
    if matches!(mishap, Mishap::Circle(_)) {
        // It lasts for a quarter of a second.
        spec.wait = Policy::Block;
        // Without an alert level of its own there is room for frames that look for circles.
        (settings.credits, settings.alert) = (None, None);
    }
    match planted {
        Some(Plant::NoResend) => worlds::plant_in_nic(&mut spec, NicMistake::NoResend),
        Some(Plant::ReplayDelivered) => worlds::plant_in_nic(&mut spec, NicMistake::ReplayDelivered),
        _ => {}
    }
    spec.limit = worlds::limit(spec.wait);
    let barrier = match super::barrier::algorithm(draw) {
        Algorithm::Central => Algorithm::Tree,
        kind if kind.takes(size).is_err() => Algorithm::Dissemination,
        kind => kind,
    };
    settings.policy = Some(spec.wait);
    let plan = Plan { size, deeds, barrier, settings, mishap, seed: draw.seed() };
    over(spec, &plan, planted, nap)
}

fn over(spec: ClusterSpec, plan: &Plan, planted: Option<Plant>, nap: Option<Nanos>) -> RunReport {
    let drawn = format!("{:?}, barriers {:?}, {:?}; {:?}; {:?}", plan.mishap, plan.barrier, plan.deeds, plan.settings, spec);
    let cluster = match Cluster::<Heap>::new(spec) {
        Ok(cluster) => cluster,
        Err(error) => return RunReport { trace: 0, end: Err(error), drawn },
    };
    let report = cluster.run(|lane| {
        let left = Draw::for_thread(plan.seed, lane.rank()).below(20) as u32;
        program::run(plan, TamperedLane::new(NappingLane::new(lane, nap), planted, left))
    });
    let mut stuck: Vec<String> = report.deadlocked.iter().map(ToString::to_string).collect();
    // Credits exist so that this does not happen.
    stuck.extend((report.dropped > 0).then(|| format!("NICs dropped {} frames for want of room", report.dropped)));
    let ends = (0..).zip(report.outputs).filter_map(|(rank, output)| output.map(|output| judge(plan, rank, output)));
    RunReport { trace: report.trace, end: verdict(stuck, ends.collect::<Vec<_>>()), drawn }
}

/// Whether it may end like that.
fn judge(plan: &Plan, rank: Rank, end: Ending) -> Result<(), String> {
    let Err(error) = end? else {
        let in_circle = matches!(plan.mishap, Mishap::Circle(length) if rank < length);
        return must(!in_circle, || format!("rank {rank} came out of a circle"));
    };
    let mut at_fault: Vec<Rank> = plan.mishap.rank().into_iter().collect();
    match (plan.mishap, error.cause()) {
        // Its own error.
        (Mishap::Fails(own, _) | Mishap::Abandons(own, _), Cause::Other { .. }) if own == rank => return Ok(()),
        (Mishap::Circle(length), Cause::Deadlock { ranks, .. }) => {
            let within = rank < length && ranks.iter().all(|&other| other < length);
            return must(within, || format!("rank {rank} is told of a circle that is none: {error}"));
        }
        (Mishap::Circle(length), _) => at_fault.extend(0..length),
        // The rank that will drop its message waits for its receiver, which may wait for that rank.
        (Mishap::Abandons(own, _), Cause::Deadlock { ranks, .. }) if ranks.contains(&own) => return Ok(()),
        (Mishap::Abandons(own, _), _) => at_fault.push((own + 1) % plan.size),
        (Mishap::Disagrees(_, deed), _) => at_fault.extend(plan.deeds.get(deed).and_then(Deed::sender)),
        (Mishap::Hurries(hurried, _), Cause::TimedOut { .. }) if hurried == rank => return Ok(()),
        _ => {}
    }
    // A rank that left before it has nothing to tell.
    if blamed(&error).is_none() && matches!((plan.mishap, error.cause()), (Mishap::Leaves(..), Cause::Closed { .. })) {
        return Ok(());
    }
    fair(rank, &error, &at_fault)
}
