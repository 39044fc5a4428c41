//! Ranks on a simulated fabric: their frames arrive in any order, and no update is lost.
use super::{Node, PageStore, Requester, WaitKind, serve};
use crate::protocol::{Action, Homes, Hosts, LockId, Server, Want};
use crate::{Access, Minipage};
use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use foregather_conformance::table::{Chooser as Order, Table, TableLane};
use foregather_machine::{Cause, Error, Fabric, Limits, Rank, SplitMix};
use foregather_wait::{Policy, Waiter};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

/// Few credits: long minipages take several frames, and a server often finds no room.
const NARROW: Limits = Limits { lanes: 3, inline: 28, buffer: 64, credits: 2, spare: 3, gather: 1, direct: false };
const BYTES: [usize; 3] = [8, 40, 600];
const MINIPAGES: u32 = 6;
const LOCKS: u32 = 2;

/// Bytes behind a protection that is checked at every access.
struct Guarded(Vec<Mutex<(Access, Vec<u8>)>>);

impl Guarded {
    fn new() -> Self {
        let bytes = |number: u32| vec![0; BYTES[number as usize % BYTES.len()]];
        Self((0..MINIPAGES).map(|number| Mutex::new((Access::None, bytes(number)))).collect())
    }

    /// Loads or stores; returns `None` for a fault.
    fn access<R>(&self, minipage: Minipage, need: Access, act: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        let mut held = self.0[minipage.0 as usize].lock().unwrap_or_else(PoisonError::into_inner);
        (held.0 >= need).then(|| act(&mut held.1))
    }
}

impl PageStore for Guarded {
    fn bytes(&self, minipage: Minipage) -> Option<usize> {
        self.0.get(minipage.0 as usize).map(|held| held.lock().unwrap().1.len())
    }
    fn read(&self, minipage: Minipage, at: usize, into: &mut [u8]) {
        into.copy_from_slice(&self.0[minipage.0 as usize].lock().unwrap().1[at..at + into.len()]);
    }
    fn write(&self, minipage: Minipage, at: usize, bytes: &[u8]) {
        self.0[minipage.0 as usize].lock().unwrap().1[at..at + bytes.len()].copy_from_slice(bytes);
    }
    fn protect(&self, minipage: Minipage, from: Access, to: Access) -> Result<(), Error> {
        let mut held = self.0[minipage.0 as usize].lock().unwrap();
        assert_eq!(held.0, from, "the word and the view disagree");
        held.0 = to;
        Ok(())
    }
}

type Cpu<'t> = <TableLane<'t> as Fabric>::Cpu;
type Program<'t> = Pin<Box<dyn Future<Output = Result<(), Error>> + 't>>;

/// One thread of a rank.
struct App<'t> {
    node: Rc<Node<Cpu<'t>, Guarded>>,
    requester: Requester<TableLane<'t>>,
}

impl App<'_> {
    async fn touch<R>(&mut self, minipage: Minipage, need: Access, act: impl Fn(&mut [u8]) -> R) -> Result<R, Error> {
        loop {
            if let Some(done) = self.node.copies().access(minipage, need, &act) {
                return Ok(done);
            }
            self.requester.need(&self.node, minipage, need).await?;
        }
    }

    /// Adds one to a counter at both ends of the minipage; they must never differ.
    async fn count(&mut self, minipage: Minipage) -> Result<u64, Error> {
        self.touch(minipage, Access::Write, |bytes| {
            let number = |bytes: &[u8]| u64::from_le_bytes(*bytes.first_chunk().unwrap());
            let end = bytes.len() - 8;
            let count = number(bytes) + 1;
            assert_eq!(number(&bytes[end..]) + 1, count, "a minipage of two halves");
            bytes[..8].copy_from_slice(&count.to_le_bytes());
            bytes[end..].copy_from_slice(&count.to_le_bytes());
            count
        })
        .await
    }

    async fn read(&mut self, minipage: Minipage) -> Result<u64, Error> {
        self.touch(minipage, Access::Read, |bytes| u64::from_le_bytes(*bytes.first_chunk().unwrap())).await
    }
}

/// Runs one server and `threads` applications on each of `ranks`; returns how each of them ended.
fn ends<'t>(
    table: &'t Table,
    (ranks, threads): (u32, u32),
    program: impl AsyncFn(&mut App<'t>, Rank) -> Result<(), Error> + 't,
) -> Result<Vec<Result<(), Error>>, String> {
    let homes = Homes::spread(ranks).unwrap();
    let program = Rc::new(program);
    let mut programs: Vec<Program<'t>> = Vec::new();
    for rank in 0..ranks {
        let node = Rc::new(Node::new(homes, MINIPAGES, Guarded::new()));
        let (served, lane) = (Rc::clone(&node), table.lane(rank, 0));
        programs.push(Box::pin(async move {
            let server = Server::new(homes, rank, MINIPAGES, LOCKS);
            serve(&lane, &*served, server, &Waiter::new(Policy::Block, rank)).await.map(|_| ())
        }));
        let through = Rc::new(RefCell::new(0));
        for thread in 1..=threads {
            let requester = Requester::new(table.lane(rank, thread), &node, Policy::Block);
            let (mut app, program, through) =
                (App { node: Rc::clone(&node), requester }, Rc::clone(&program), Rc::clone(&through));
            programs.push(Box::pin(async move {
                program(&mut app, rank).await?;
                *through.borrow_mut() += 1;
                let last = *through.borrow() == threads;
                if last { app.requester.detach(&app.node).await } else { Ok(()) }
            }));
        }
    }
    let ends = table.run(programs, |_| ());
    if ends.iter().any(Option::is_none) {
        return Err(format!("stuck: {:?}", table.deadlocked()));
    }
    Ok(ends.into_iter().flatten().collect())
}

/// Runs like `ends`, and expects all of them to succeed.
fn run<'t>(
    table: &'t Table,
    shape: (u32, u32),
    program: impl AsyncFn(&mut App<'t>, Rank) -> Result<(), Error> + 't,
) -> Result<(), String> {
    ends(table, shape, program)?.into_iter().collect::<Result<_, _>>().map_err(|error| error.to_string())
}

fn for_orders(seeds: u64, shape: (u32, u32), program: impl AsyncFn(&mut App<'_>, Rank, u64) -> Result<(), Error> + Copy) {
    for seed in 0..seeds {
        let table = Table::new(shape.0, NARROW, Order::random(seed));
        let end = run(&table, shape, async move |app, rank| program(app, rank, seed).await);
        assert_eq!(end, Ok(()), "seed {seed}");
    }
}

#[test]
fn no_update_is_lost_in_any_order() {
    const ROUNDS: u64 = 20;
    for shape in [(2, 1), (3, 1), (2, 2)] {
        for seed in 0..40 {
            let table = Table::new(shape.0, NARROW, Order::random(seed));
            let most = RefCell::new([0; MINIPAGES as usize]);
            let end = run(&table, shape, async |app, rank| {
                let mut random = SplitMix(seed ^ u64::from(rank) << 32 ^ u64::from(app.requester.lane().here().lane) << 40);
                for _ in 0..ROUNDS {
                    for number in 0..MINIPAGES {
                        let minipage = Minipage(number);
                        if random.below(3) == 0 {
                            let before = app.read(minipage).await?;
                            assert!(app.read(minipage).await? >= before, "an older copy");
                        }
                        let count = app.count(minipage).await?;
                        let most = &mut most.borrow_mut()[number as usize];
                        *most = count.max(*most);
                    }
                }
                Ok(())
            });
            assert_eq!(end, Ok(()), "seed {seed}");
            let all = ROUNDS * u64::from(shape.0 * shape.1);
            assert_eq!(most.into_inner(), [all; MINIPAGES as usize], "seed {seed}");
        }
    }
    #[cfg(feature = "probes")]
    {
        let reached = foregather_machine::reached_here();
        assert!(["pages:5", "pages:7", "views:3"].iter().all(|point| reached.contains_key(point)), "{reached:?}");
    }
}

#[test]
fn locks_pushes_and_prefetches_come_to_their_ends() {
    for_orders(60, (3, 1), async |app, rank, seed| {
        let mut random = SplitMix(seed << 8 | u64::from(rank));
        for _ in 0..10 {
            let minipage = Minipage(random.below(u64::from(MINIPAGES)) as u32);
            let lock = LockId(random.below(u64::from(LOCKS)) as u32);
            app.requester.lock(&app.node, lock).await?;
            app.count(minipage).await?;
            app.requester.unlock(&app.node, lock, false).await?;
            app.requester.tell(&app.node, minipage, Want::Push(Hosts::all(3))).await?;
            let ahead = Minipage(random.below(u64::from(MINIPAGES)) as u32);
            app.requester.prefetch(&app.node, ahead, Access::Write, 2).await?;
            app.read(ahead).await?;
        }
        assert_eq!(app.requester.stats().count(WaitKind::Lock), 10);
        Ok(())
    });
    #[cfg(feature = "probes")]
    {
        let reached = foregather_machine::reached_here();
        assert!(["pages:8", "pages:10"].iter().all(|point| reached.contains_key(point)), "{reached:?}");
    }
}

#[test]
fn a_thread_that_gives_up_ends_everybody_wherever_they_are() {
    let why = || Error::from(Cause::Setting { what: "the test", needs: "an end" });
    for seed in 0..100 {
        let table = Table::new(3, NARROW, Order::random(seed));
        let ends = ends(&table, (3, 2), async |app, rank| {
            let mut random = SplitMix(seed << 8 | u64::from(rank << 4 | app.requester.lane().here().lane));
            let culprit = rank == 1 && app.requester.lane().here().lane == 1;
            for turn in random.below(20).. {
                if culprit && turn > 20 {
                    app.requester.stop(&app.node, &why());
                    return Err(why());
                }
                let minipage = Minipage(random.below(u64::from(MINIPAGES)) as u32);
                // The other threads soon wait for each other's locks.
                match random.below(4).max(u64::from(culprit)) {
                    0 => app.requester.lock(&app.node, LockId(random.below(2) as u32)).await.or_else(|error| {
                        match error.cause() {
                            // The thread holds it already.
                            Cause::Refused { .. } => Ok(()),
                            _ => Err(error),
                        }
                    })?,
                    1 => _ = app.requester.prefetch(&app.node, minipage, Access::Write, 2).await?,
                    2 => _ = app.read(minipage).await?,
                    _ => _ = app.count(minipage).await?,
                }
            }
            Ok(())
        });
        let ends = ends.unwrap_or_else(|stuck| panic!("seed {seed}: {stuck}"));
        let given_up = ends.iter().filter(|end| matches!(Error::of(end), Some(Cause::Poisoned { by: Some(1) }))).count();
        let own = ends.iter().filter(|end| **end == Err(why())).count();
        assert_eq!((ends.len(), given_up, own), (9, 8, 1), "seed {seed}: {ends:?}");
    }
}

#[test]
fn whoever_touches_a_freed_minipage_is_told() {
    for_orders(20, (2, 1), async |app, rank, _| {
        if rank == 0 {
            app.count(Minipage(1)).await?;
            app.requester.tell(&app.node, Minipage(1), Want::Free).await?;
            let error = app.read(Minipage(1)).await.unwrap_err().to_string();
            assert!(error.contains("minipage 1, which has been freed"), "{error}");
        }
        Ok(())
    });
    #[cfg(feature = "probes")]
    assert!(foregather_machine::reached_here().contains_key("pages:9"));
}

/// If a copy was downgraded and not written since, further readers cost its owner no system call.
#[test]
fn a_copy_that_was_not_written_since_it_was_lowered_is_not_protected_again() {
    struct Calls(AtomicU32);
    impl PageStore for Calls {
        fn bytes(&self, _: Minipage) -> Option<usize> {
            Some(8)
        }
        fn read(&self, _: Minipage, _: usize, _: &mut [u8]) {}
        fn write(&self, _: Minipage, _: usize, _: &[u8]) {}
        fn protect(&self, _: Minipage, _: Access, _: Access) -> Result<(), Error> {
            self.0.fetch_add(1, Relaxed);
            Ok(())
        }
    }
    let (cpu, minipage) = (foregather_thread::Thread::current(), Minipage(0));
    let node = Node::new(Homes::spread(2).unwrap(), 1, Calls(AtomicU32::new(0)));
    let calls = |actions: &[Action]| {
        node.copies().0.store(0, Relaxed);
        actions.iter().for_each(|action| node.perform(&cpu, action).unwrap());
        node.copies().0.load(Relaxed)
    };
    let (access, lower) = (Access::Write, Action::Lower { minipage, to: Access::Read });
    let written = [Action::Open { minipage, access }, Action::Publish { minipage, access }];
    assert_eq!((calls(&written), calls(&[lower]), calls(&[lower, lower])), (1, 1, 0));
    assert_eq!((calls(&written), calls(&[lower])), (1, 1), "written again");
}
