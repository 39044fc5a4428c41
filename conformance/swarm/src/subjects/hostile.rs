//! A rank that sends nonsense: random heads, credits and lengths, into the lanes of messengers and of shared
//! memory. Its victims get an error or go on; they neither panic nor hang, since their waits have a deadline.
use super::report::{RunReport, must, verdict};
use super::tamper::TamperedLane;
use crate::draw::Draw;
use crate::plant::Plant;
use crate::worlds::{self, us};
use foregather_dsm::node::{Node, serve};
use foregather_dsm::protocol::{Homes, Server};
use foregather_machine::{Address, Clock, Endpoint, Error, Fabric, Member, Nanos};
use foregather_message::{Messenger, Mode, Receive, Safer, Settings};
use foregather_sim::cluster::{Cluster, Lane};
use foregather_sim::event::Heap;
use foregather_wait::{Policy, Waiter};

/// The drawn run.
#[derive(Debug)]
struct Plan {
    size: u32,
    frames: u32,
    /// Whether the victims are servers of shared memory, not messengers.
    serves: bool,
    policy: Policy,
    deadline: Nanos,
    planted: Option<Plant>,
    seed: u64,
}

const HOSTILE: u32 = 0;

pub(super) fn run(draw: &mut Draw, planted: Option<Plant>) -> RunReport {
    let size = draw.within(2..=4);
    let mut spec = worlds::cluster(draw, size, 1);
    (spec.faults.pauses, spec.faults.partitions, spec.faults.clogs) = Default::default();
    let policy = worlds::policy(draw, &spec.machine);
    let serves = planted.is_none() && draw.one_in(3);
    // A server has no deadline: its peers decide how long it serves.
    (spec.wait, spec.limit) = (policy, if serves { us(20_000) } else { worlds::limit(policy) });
    let deadline = us(500) + draw.span(us(9_000));
    let plan = Plan { size, frames: draw.within(1..=60), serves, policy, deadline, planted, seed: draw.seed() };
    let drawn = format!("{plan:?} in {spec:?}");
    let cluster = match Cluster::<Heap>::new(spec) {
        Ok(cluster) => cluster,
        Err(error) => return RunReport { trace: 0, end: Err(error), drawn },
    };
    let report = cluster.run(async |lane| match lane.rank() {
        HOSTILE => attack(&plan, lane).await,
        _ if plan.serves => guard(&plan, lane).await,
        _ => live(&plan, lane).await,
    });
    let hangs = |stuck: &&foregather_sim::cluster::Deadlocked| !plan.serves && stuck.at.rank != HOSTILE;
    let stuck = report.deadlocked.iter().filter(hangs).map(ToString::to_string).collect();
    RunReport { trace: report.trace, end: verdict(stuck, report.outputs.into_iter().flatten()), drawn }
}

/// A head that is like those that peers write, or any.
fn head(draw: &mut Draw) -> u32 {
    match draw.below(4) {
        0 => draw.seed() as u32,
        1 => draw.below(16) as u32 | (draw.below(4) as u32) << 4 | (draw.below(8) as u32) << 16,
        2 => draw.below(12) as u32 | (draw.seed() as u32 & 0xffff_0000),
        _ => draw.below(12) as u32,
    }
}

async fn attack(plan: &Plan, lane: Lane<'_, Heap>) -> Result<(), String> {
    let mut draw = Draw::new(plan.seed, "attack");
    let (inline, buffer) = (lane.limits().inline, lane.limits().buffer);
    for _ in 0..plan.frames {
        lane.delay(draw.span(us(60))).await;
        let (to, head) = (Address { rank: draw.within(1..=plan.size - 1), lane: 0 }, head(&mut draw));
        let mut bytes = vec![0; if draw.one_in(4) { draw.bytes(buffer) } else { draw.bytes(inline) }];
        let wild = draw.one_in(2);
        bytes.iter_mut().for_each(|byte| *byte = if wild { draw.seed() as u8 } else { draw.below(6) as u8 });
        let posted = if bytes.len() <= inline {
            lane.post(to, head, &bytes)
        } else {
            lane.write_with(to, |into| into[..bytes.len()].copy_from_slice(&bytes));
            lane.post_filled(to, head, bytes.len())
        };
        // It may release the others' frames or not.
        if posted.is_ok() && draw.one_in(2) {
            while let Some(from) = lane.arrived(None) {
                lane.release(from);
            }
        }
    }
    if draw.one_in(2) {
        lane.leave();
    }
    Ok(())
}

/// A server of shared memory: it ends by an error, or goes on serving.
async fn guard(plan: &Plan, lane: Lane<'_, Heap>) -> Result<(), String> {
    let homes = Homes::spread(plan.size).map_err(|error| error.to_string())?;
    let node = Node::new(homes, 3, super::memory::Guarded::new(3, plan.size));
    let server = Server::new(homes, lane.rank(), 3, 1);
    let _end = serve(&lane, &node, server, &Waiter::new(plan.policy, lane.rank())).await;
    Ok(())
}

/// A messenger that talks to the others, and listens to the hostile rank.
async fn live(plan: &Plan, lane: Lane<'_, Heap>) -> Result<(), String> {
    let settings = Settings { policy: Some(plan.policy), ..Settings::default() };
    let messenger =
        Messenger::new(TamperedLane::new(lane, plan.planted, u32::MAX), settings).map_err(|error| error.to_string())?;
    let deadline = messenger.now() + plan.deadline;
    if plan.planted != Some(Plant::WaitsForEver) {
        messenger.set_deadline(deadline);
    }
    let end = talk(plan, &messenger).await;
    let late = messenger.now() > deadline + Nanos::from_ms(3_000);
    match end {
        Ok(()) => messenger.leave(),
        Err(error) => messenger.fail(&error),
    }
    must(!late, || "a victim's wait outlived its deadline by seconds".into())
}

async fn talk<F: Fabric>(plan: &Plan, messenger: &Messenger<F>) -> Result<(), Error> {
    let mut draw = Draw::for_thread(plan.seed, messenger.rank());
    loop {
        let peer = (messenger.rank() + draw.within(1..=plan.size - 1)) % plan.size;
        match draw.below(6) {
            0 => {
                let mut message = messenger.begin_packing(peer)?;
                message.pack(Safer(&vec![1; draw.bytes(5_000)]), Receive::Cheaper).await?;
                message.end().await?;
            }
            1 => messenger.signal(peer, draw.below(8) as u32).await?,
            2 => messenger.wait(draw.below(8) as u32).await?,
            3 => {
                let mut piece = vec![0; draw.bytes(200)];
                let mut message = messenger.begin_unpacking_from(HOSTILE)?;
                message.unpack(Mode::Safer, &mut piece).await?;
                message.end().await?;
            }
            4 => drop(messenger.begin_unpacking().await?),
            _ => messenger.delay(draw.span(us(200)).max(Nanos(1))).await,
        }
    }
}
