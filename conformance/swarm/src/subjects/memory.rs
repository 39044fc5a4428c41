//! Shared memory over the lanes of a cluster: servers and threads of every rank, and bytes behind a
//! protection that is checked at each access. A read sees the last write, in any order of frames.
use super::report::{Bad, RunReport, must, verdict};
use super::tamper::TamperedLane;
use crate::blame::fair;
use crate::draw::Draw;
use crate::plant::Plant;
use crate::worlds::{self, us};
use foregather_dsm::node::{Node, PageStore, Requester, serve};
use foregather_dsm::protocol::{FlagId, Homes, Hosts, LockId, Server, Want};
use foregather_dsm::{Access, Minipage};
use foregather_machine::{Cause, Clock, Error, Fabric, Nanos, Rank};
use foregather_sim::cluster::{Cluster, ClusterSpec, Lane, NicMistake};
use foregather_sim::event::Heap;
use foregather_sim::smp::SmpCpu;
use foregather_wait::{Policy, Waiter};
use std::cell::{Cell, RefCell};
use std::sync::{Mutex, PoisonError};

/// The drawn run.
#[derive(Debug)]
struct Plan {
    homes: Homes,
    ranks: u32,
    threads: u32,
    minipages: u32,
    deeds: u32,
    policy: Policy,
    /// The rank that dies, or that gives up before which deed.
    dies: Option<Rank>,
    stops: Option<(Rank, u32)>,
    frees: bool,
    planted: Option<Plant>,
    seed: u64,
}

const LOCKS: u32 = 2;
const FLAGS: u32 = 2;
const LENGTHS: [usize; 4] = [8, 40, 600, 5_000];

/// Bytes behind a protection that is checked at each access.
pub(super) struct Guarded(Vec<Mutex<(Access, Vec<u8>)>>);

impl Guarded {
    pub(super) fn new(minipages: u32, first: u32) -> Self {
        let length = |number: u32| LENGTHS[(first + number) as usize % LENGTHS.len()];
        Self((0..minipages).map(|number| Mutex::new((Access::None, vec![0; length(number)]))).collect())
    }

    fn held<R>(&self, minipage: Minipage, act: impl FnOnce(&mut (Access, Vec<u8>)) -> R) -> Option<R> {
        let held = self.0.get(minipage.0 as usize)?;
        Some(act(&mut held.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl PageStore for Guarded {
    fn bytes(&self, minipage: Minipage) -> Option<usize> {
        self.held(minipage, |held| held.1.len())
    }
    fn read(&self, minipage: Minipage, at: usize, into: &mut [u8]) {
        self.held(minipage, |held| into.copy_from_slice(&held.1[at..at + into.len()]));
    }
    fn write(&self, minipage: Minipage, at: usize, bytes: &[u8]) {
        self.held(minipage, |held| held.1[at..at + bytes.len()].copy_from_slice(bytes));
    }
    fn protect(&self, minipage: Minipage, from: Access, to: Access) -> Result<(), Error> {
        self.held(minipage, |held| {
            assert_eq!(held.0, from, "the word and the view of {minipage:?} disagree");
            held.0 = to;
        });
        Ok(())
    }
}

/// What an observer of all ranks knows.
#[derive(Default)]
struct Board {
    /// By minipage, the last write.
    last: RefCell<Vec<u64>>,
    /// The holder of each lock.
    holders: RefCell<Vec<Option<(Rank, u32)>>>,
    /// By rank, how many threads have ended.
    through: RefCell<Vec<u32>>,
    writes: Cell<u64>,
}

fn plan(draw: &mut Draw, planted: Option<Plant>) -> Result<Plan, Error> {
    let ranks = draw.within(2..=4);
    let homes = if draw.one_in(4) { Homes::central(ranks, 0)? } else { Homes::spread(ranks)? };
    let deeds = draw.within(1..=12);
    let (dies, stops) = match draw.below(8) {
        _ if planted.is_some() => (None, None),
        0 => (Some(draw.within(0..=ranks - 1)), None),
        1 => (None, Some((draw.within(0..=ranks - 1), draw.within(0..=deeds - 1)))),
        _ => (None, None),
    };
    Ok(Plan {
        homes,
        ranks,
        threads: draw.within(1..=2),
        minipages: draw.within(1..=4),
        deeds,
        policy: Policy::Block,
        dies,
        stops,
        frees: draw.one_in(5),
        planted,
        seed: draw.seed(),
    })
}

pub(super) fn run(draw: &mut Draw, planted: Option<Plant>) -> RunReport {
    let Ok(mut plan) = plan(draw, planted) else {
        return RunReport { trace: 0, end: Err("a job of two to four ranks was refused".into()), drawn: String::new() };
    };
    let mut spec = worlds::cluster(draw, plan.ranks, plan.threads + 1);
    plan.policy = worlds::policy(draw, &spec.machine);
    (spec.wait, spec.limit) = (plan.policy, worlds::limit(plan.policy));
    if let Some(rank) = plan.dies {
        spec.deaths.push((rank, draw.span(us(6_000))));
        spec.detection = us(50) + draw.span(us(2_000));
    }
    if planted == Some(Plant::NoResend) {
        worlds::plant_in_nic(&mut spec, NicMistake::NoResend);
    }
    over(spec, &plan)
}

fn over(spec: ClusterSpec, plan: &Plan) -> RunReport {
    let drawn = format!("{plan:?} in {spec:?}");
    let cluster = match Cluster::<Heap>::new(spec) {
        Ok(cluster) => cluster,
        Err(error) => return RunReport { trace: 0, end: Err(error), drawn },
    };
    let node =
        |_| Node::<SmpCpu<'_, Heap>, _>::new(plan.homes, plan.minipages, Guarded::new(plan.minipages, plan.seed as u32 % 4));
    let nodes: Vec<_> = (0..plan.ranks).map(node).collect();
    let board = Board::default();
    board.last.borrow_mut().resize(plan.minipages as usize, 0);
    board.holders.borrow_mut().resize(LOCKS as usize, None);
    board.through.borrow_mut().resize(plan.ranks as usize, 0);
    let report = cluster.run(async |lane| {
        let (here, left) = (lane.here(), Draw::for_thread(plan.seed, lane.here().rank).below(30) as u32);
        let node = &nodes[here.rank as usize];
        let lane = TamperedLane::new(lane, plan.planted, left);
        let end = if here.lane == 0 {
            let server = Server::new(plan.homes, here.rank, plan.minipages, LOCKS.max(FLAGS));
            let waiter = Waiter::new(plan.policy, here.rank);
            serve(&lane, node, server, &waiter).await.map(|_| ()).map_err(Bad::Ends)
        } else {
            let mut thread = Thread { plan, board: &board, node, requester: Requester::new(lane, node, plan.policy) };
            thread.run().await
        };
        judge(plan, here.rank, end)
    });
    let mut stuck: Vec<String> = report.deadlocked.iter().map(ToString::to_string).collect();
    // Credits exist so that this does not happen.
    stuck.extend((report.dropped > 0).then(|| format!("NICs dropped {} frames for want of room", report.dropped)));
    RunReport { trace: report.trace, end: verdict(stuck, report.outputs.into_iter().flatten()), drawn }
}

fn judge(plan: &Plan, rank: Rank, end: Result<(), Bad>) -> Result<(), String> {
    let at_fault: Vec<Rank> = plan.dies.into_iter().chain(plan.stops.map(|(rank, _)| rank)).collect();
    match end {
        Ok(()) => Ok(()),
        Err(Bad::Wrong(wrong)) => Err(format!("rank {rank}: {wrong}")),
        Err(Bad::Ends(error)) => match error.cause() {
            // Its own error.
            Cause::Other { .. } if at_fault.contains(&rank) => Ok(()),
            _ => fair(rank, &error, &at_fault),
        },
    }
}

/// One application thread.
struct Thread<'r, 's> {
    plan: &'r Plan,
    board: &'r Board,
    node: &'r Node<SmpCpu<'s, Heap>, Guarded>,
    requester: Requester<TamperedLane<Lane<'s, Heap>>>,
}

impl Thread<'_, '_> {
    async fn run(&mut self) -> Result<(), Bad> {
        let (plan, here) = (self.plan, self.requester.lane().here());
        let mut draw = Draw::for_thread(plan.seed, here.rank << 8 | here.lane);
        for deed in 0..plan.deeds {
            self.requester.lane().delay(draw.span(us(300))).await;
            let end = if plan.stops == Some((here.rank, deed)) && here.lane == 1 {
                Err(Bad::Ends(Error::other("the swarm's own failure")))
            } else {
                self.act(&mut draw).await
            };
            if let Err(Bad::Ends(error)) = &end {
                self.requester.stop(self.node, error);
            }
            end?;
        }
        let through = {
            let mut through = self.board.through.borrow_mut();
            through[here.rank as usize] += 1;
            through[here.rank as usize]
        };
        if through == plan.threads {
            self.requester.detach(self.node).await?;
        }
        Ok(())
    }

    async fn act(&mut self, draw: &mut Draw) -> Result<(), Bad> {
        let (node, plan) = (self.node, self.plan);
        let minipage = Minipage(draw.below(u64::from(plan.minipages)) as u32);
        match draw.below(12) {
            0..=2 => self.touch(minipage, Access::Read).await,
            3..=5 => self.touch(minipage, Access::Write).await,
            6 => {
                let lock = LockId(draw.below(u64::from(LOCKS)) as u32);
                self.requester.lock(node, lock).await?;
                self.holds(lock, true)?;
                self.touch(minipage, Access::Write).await?;
                self.requester.lane().delay(draw.span(us(100))).await;
                self.holds(lock, false)?;
                Ok(self.requester.unlock(node, lock, false).await?)
            }
            7 => {
                let need = draw.pick(&[Access::Read, Access::Write]);
                self.requester.prefetch(node, minipage, need, draw.within(1..=3)).await?;
                Ok(())
            }
            8 => self.freed_or(minipage, Want::Push(Hosts::all(plan.ranks))).await,
            9 if plan.frees => self.freed_or(minipage, Want::Free).await,
            9 | 10 => {
                // Each thread posts before it takes, so there are always enough posts.
                let flag = FlagId(draw.below(u64::from(FLAGS)) as u32);
                self.requester.post(node, flag).await?;
                Ok(self.requester.take(node, flag).await?)
            }
            _ => {
                self.requester.lane().delay(draw.span(us(500)).max(Nanos(1))).await;
                Ok(())
            }
        }
    }

    async fn freed_or(&mut self, minipage: Minipage, want: Want) -> Result<(), Bad> {
        let told = self.requester.tell(self.node, minipage, want).await;
        self.unless_freed(told).map(|_| ())
    }

    /// Whether it was done: in a program that frees it may have been refused.
    fn unless_freed(&self, end: Result<(), Error>) -> Result<bool, Bad> {
        match end {
            Ok(()) => Ok(true),
            Err(error) if self.plan.frees && matches!(error.cause(), Cause::Refused { .. }) => Ok(false),
            Err(error) => Err(Bad::Ends(error)),
        }
    }

    fn holds(&self, lock: LockId, takes: bool) -> Result<(), Bad> {
        let here = self.requester.lane().here();
        let mut holders = self.board.holders.borrow_mut();
        let next = takes.then_some((here.rank, here.lane));
        let before = std::mem::replace(&mut holders[lock.0 as usize], next);
        let right = if takes { before.is_none() } else { before == Some((here.rank, here.lane)) };
        must(right, || format!("lock {} is held by {before:?} and {next:?}", lock.0)).map_err(Bad::Wrong)
    }

    /// A load, or a store of a number that was never stored before: at both ends of the minipage, so that
    /// halves are noticed.
    async fn touch(&mut self, minipage: Minipage, need: Access) -> Result<(), Bad> {
        loop {
            let seen =
                self.node.copies().held(minipage, |(access, bytes)| (*access >= need).then(|| self.look(minipage, bytes, need)));
            if let Some(done) = seen.flatten() {
                return done.map_err(Bad::Wrong);
            }
            let end = self.requester.need(self.node, minipage, need).await;
            if !self.unless_freed(end)? {
                return Ok(());
            }
        }
    }

    fn look(&self, minipage: Minipage, bytes: &mut [u8], need: Access) -> Result<(), String> {
        let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let (end, at) = (bytes.len() - 8, minipage.0 as usize);
        let (first, second, last) = (number(bytes), number(&bytes[end..]), self.board.last.borrow()[at]);
        must((first, second) == (last, last), || {
            format!("minipage {at} holds {first} and {second}, and {last} was written last")
        })?;
        if need == Access::Write {
            self.board.writes.set(self.board.writes.get() + 1);
            let new = self.board.writes.get();
            self.board.last.borrow_mut()[at] = new;
            bytes[..8].copy_from_slice(&new.to_le_bytes());
            bytes[end..].copy_from_slice(&new.to_le_bytes());
        }
        Ok(())
    }
}
