//! What a team promises, under every policy and in every world.
use crate::{World, permutations};
use foregather_barrier::{ForkJoin, Leader, Worker};
use foregather_machine::{Cause, Error, Nanos};
use foregather_wait::Policy;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// One policy of each form of waiting.
fn policies() -> [Policy; 7] {
    [
        Policy::default(),
        Policy::Block,
        Policy::Yield,
        Policy::TwoPhase { spin: Nanos::from_us(5) },
        Policy::Recent { switch: Nanos::from_us(5) },
        Policy::Grain { switch: Nanos::from_us(5), quantum: Policy::QUANTUM },
        Policy::Spin,
    ]
}

/// Everything.
pub fn all(world: &impl World) {
    for policy in policies() {
        for size in 1..=4 {
            if policy != Policy::Spin || size <= world.processors() {
                the_master_goes_on_when_all_have_done_their_part(world, policy, size);
            }
        }
        a_slave_that_goes_is_named(world, policy);
        a_master_that_goes_is_named(world, policy);
    }
    by_default_it_waits_as_the_load_demands(world);
    a_slave_may_be_late(world);
    who_waited_in_vain_may_wait_again(world);
    for policy in [Policy::default(), Policy::Block] {
        each_part_is_done_once(world, policy);
    }
    who_is_late_finds_its_part_taken(world);
    who_is_away_sleeps_through_regions(world);
    a_rank_has_one_handle(world);
    calls_out_of_turn_are_errors(world);
}

/// The handle of a member.
enum MemberHandle<C: foregather_machine::Cpu> {
    Leader(Leader<C>),
    Worker(Worker<C>),
}

fn handle<C: foregather_machine::Cpu>(team: &ForkJoin<C>, cpu: C, rank: u32, policy: Policy) -> MemberHandle<C> {
    match rank {
        0 => MemberHandle::Leader(team.leader(cpu, policy).unwrap()),
        _ => MemberHandle::Worker(team.worker(cpu, rank, policy).unwrap()),
    }
}

/// All orders in which workers and leader can come to the join, one region after the other, then as many
/// without any delay.
fn the_master_goes_on_when_all_have_done_their_part<W: World>(world: &W, policy: Policy, size: u32) {
    let orders = permutations(size);
    let regions = 2 * orders.len() as u32;
    let done: Vec<AtomicU32> = (0..=regions).map(|_| AtomicU32::new(0)).collect();
    let forked = AtomicU32::new(0);
    let late =
        |region: u32, rank: u32| world.step() * orders.get(region as usize - 1).map_or(0, |order| order[rank as usize].into());
    let team = ForkJoin::new(size).unwrap();
    let seen = world.run(size, async |cpu: W::Cpu<'_>, rank| match handle(&team, cpu, rank, policy) {
        MemberHandle::Leader(mut leader) => {
            for region in 1..=regions {
                forked.store(region, SeqCst);
                assert_eq!(leader.fork(), Ok(region));
                leader.delay(late(region, 0)).await;
                leader.join().await.unwrap();
                assert_eq!(done[region as usize].load(SeqCst), size - 1, "{policy:?} {size}: joined region {region} too early");
            }
            leader.join().await.unwrap();
            leader.finish().unwrap();
            regions
        }
        MemberHandle::Worker(mut worker) => {
            let mut seen = 0;
            while let Some(region) = worker.wait().await.unwrap() {
                seen += 1;
                assert_eq!((region, forked.load(SeqCst)), (seen, seen), "{policy:?} {size}: rank {rank} was released too early");
                worker.delay(late(region, rank)).await;
                done[region as usize].fetch_add(1, SeqCst);
                worker.done().unwrap();
            }
            assert_eq!(worker.wait().await, Ok(None), "the end stays the end");
            seen
        }
    });
    assert_eq!(seen, vec![regions; size as usize], "{policy:?}");
}

fn by_default_it_waits_as_the_load_demands<W: World>(world: &W) {
    let team = ForkJoin::new(3).unwrap();
    let waits = world.run(3, async |cpu: W::Cpu<'_>, rank| {
        if rank == 0 {
            let mut leader = team.lead(cpu).unwrap();
            for _ in 0..50 {
                leader.fork().unwrap();
                leader.join().await.unwrap();
            }
            let account = leader.account().snapshot();
            leader.finish().unwrap();
            account
        } else {
            let mut worker = team.join(cpu, rank).unwrap();
            while worker.wait().await.unwrap().is_some() {
                worker.done().unwrap();
            }
            worker.account().snapshot()
        }
    });
    for (rank, all) in waits.into_iter().enumerate() {
        let waited = all.last + all.first_look + all.spun + all.yielded + all.parked;
        assert_eq!((waited, all.failed), (if rank == 0 { 50 } else { 51 }, 0), "rank {rank}");
    }
}

/// A worker that makes its handle after the fork, or after the end, has missed nothing.
fn a_slave_may_be_late<W: World>(world: &W) {
    for regions in [0, 1] {
        let team = ForkJoin::new(3).unwrap();
        let seen = world.run(3, async |cpu: W::Cpu<'_>, rank| {
            use foregather_machine::Clock;
            if rank == 0 {
                let mut leader = team.leader(cpu, Policy::Block).unwrap();
                for _ in 0..regions {
                    leader.fork().unwrap();
                    leader.join().await.unwrap();
                }
                leader.finish().unwrap();
                return regions;
            }
            cpu.delay(world.step() * u64::from(rank)).await;
            let mut worker = team.worker(cpu, rank, Policy::Block).unwrap();
            let mut seen = 0;
            while let Some(region) = worker.wait().await.unwrap() {
                seen = region;
                worker.done().unwrap();
            }
            seen
        });
        assert_eq!(seen, [regions; 3]);
    }
}

/// Worker 1 goes in the middle of the second region: the join gets its name, and so do the other workers once
/// the leader has gone.
fn a_slave_that_goes_is_named<W: World>(world: &W, policy: Policy) {
    if policy == Policy::Spin && world.processors() < 4 {
        return;
    }
    let team = ForkJoin::new(4).unwrap();
    let ends = world.run(4, async |cpu: W::Cpu<'_>, rank| match handle(&team, cpu, rank, policy) {
        MemberHandle::Leader(mut leader) => {
            leader.fork()?;
            leader.join().await?;
            leader.fork()?;
            leader.join().await
        }
        MemberHandle::Worker(mut worker) => loop {
            match worker.wait().await? {
                None | Some(2) if rank == 1 => return Ok(()),
                _ => worker.done()?,
            }
        },
    });
    for (rank, end) in ends.into_iter().enumerate() {
        let expected = if rank == 1 { Ok(()) } else { Err(Error::from(Cause::Poisoned { by: Some(1) })) };
        assert_eq!(end, expected, "{policy:?} rank {rank}");
    }
}

/// The leader goes after a fork: its workers do that region, and learn it afterwards.
fn a_master_that_goes_is_named<W: World>(world: &W, policy: Policy) {
    if policy == Policy::Spin && world.processors() < 3 {
        return;
    }
    let team = ForkJoin::new(3).unwrap();
    let ends = world.run(3, async |cpu: W::Cpu<'_>, rank| match handle(&team, cpu, rank, policy) {
        MemberHandle::Leader(mut leader) => {
            leader.fork()?;
            Ok(1)
        }
        MemberHandle::Worker(mut worker) => {
            let region = worker.wait().await?;
            worker.done()?;
            assert_eq!((region, worker.wait().await), (Some(1), Err(Error::from(Cause::Poisoned { by: Some(0) }))));
            Ok::<_, Error>(1)
        }
    });
    assert_eq!(ends, [Ok(1), Ok(1), Ok(1)], "{policy:?}");
}

/// A bounded wait that ends does no harm.
fn who_waited_in_vain_may_wait_again<W: World>(world: &W) {
    let (team, tried) = (ForkJoin::new(3).unwrap(), AtomicU32::new(0));
    let policy = Policy::TwoPhase { spin: Nanos::from_us(10) };
    let bound = Nanos::from_ms(1);
    let ends = world.run(3, async |cpu: W::Cpu<'_>, rank| match handle(&team, cpu, rank, policy) {
        MemberHandle::Leader(mut leader) => {
            while tried.load(SeqCst) < 2 {
                leader.delay(world.step()).await;
            }
            leader.fork()?;
            // The first worker has done its part, however late it got a processor: only the second one is
            // missing.
            while tried.load(SeqCst) < 3 {
                leader.delay(world.step()).await;
            }
            let end = leader.join_for(bound).await;
            tried.store(4, SeqCst);
            leader.join().await?;
            leader.finish()?;
            end
        }
        MemberHandle::Worker(mut worker) => {
            let end = worker.wait_for(bound).await.map(drop);
            tried.fetch_add(1, SeqCst);
            assert_eq!(worker.wait().await?, Some(1));
            while rank == 2 && tried.load(SeqCst) < 4 {
                worker.delay(world.step()).await;
            }
            worker.done()?;
            if rank == 1 {
                tried.fetch_add(1, SeqCst);
            }
            assert_eq!(worker.wait().await?, None);
            end
        }
    });
    for (rank, missed) in [(0, 2), (1, 0), (2, 0)] {
        let end = Error::of(&ends[rank]);
        let named = matches!(end, Some(Cause::TimedOut { what: "team", rank: who, peer: Some(peer), .. })
            if *who as usize == rank && *peer == missed);
        assert!(named, "rank {rank}: {end:?}");
    }
}

/// Workers come in all orders, and the leader takes the parts that they have not begun when it has done its
/// own.
fn each_part_is_done_once<W: World>(world: &W, policy: Policy) {
    const SIZE: u32 = 4;
    let orders = permutations(SIZE);
    let regions = orders.len() as u32;
    let done: Vec<AtomicU32> = (0..=regions).map(|_| AtomicU32::new(0)).collect();
    let late = |region: u32, rank: u32| world.step() * u64::from(orders[region as usize - 1][rank as usize]);
    let team = ForkJoin::new(SIZE).unwrap();
    let parts = world.run(SIZE, async |cpu: W::Cpu<'_>, rank| match handle(&team, cpu, rank, policy) {
        MemberHandle::Leader(mut leader) => {
            let mut parts = 0;
            for region in 1..=regions {
                leader.fork().unwrap();
                leader.delay(late(region, 0)).await;
                while leader.steal_part().unwrap().is_some() {
                    done[region as usize].fetch_add(1, SeqCst);
                    parts += 1;
                    leader.finish_stolen().unwrap();
                }
                leader.join().await.unwrap();
                assert_eq!(done[region as usize].load(SeqCst), SIZE - 1, "{policy:?}: region {region}");
            }
            leader.finish().unwrap();
            parts
        }
        MemberHandle::Worker(mut worker) => {
            let mut parts = 0;
            while let Some(region) = worker.wait().await.unwrap() {
                done[region as usize].fetch_add(1, SeqCst);
                parts += 1;
                worker.done().unwrap();
                worker.delay(late(region, rank)).await;
            }
            parts
        }
    });
    assert_eq!(parts.iter().sum::<u32>(), regions * (SIZE - 1), "{policy:?}: {parts:?}");
}

fn who_is_late_finds_its_part_taken<W: World>(world: &W) {
    let (team, joined) = (ForkJoin::new(2).unwrap(), AtomicU32::new(0));
    let seen = world.run(2, async |cpu: W::Cpu<'_>, rank| match handle(&team, cpu, rank, Policy::Block) {
        MemberHandle::Leader(mut leader) => {
            let mut taken = Vec::new();
            for _ in 0..3 {
                leader.fork().unwrap();
                taken.extend(leader.steal_part().unwrap());
                assert_eq!(leader.steal_part().map(drop), Err(Error::from(out_of_turn())), "one after the other");
                assert_eq!(leader.join().await, Err(Error::from(join_in_hand())));
                leader.finish_stolen().unwrap();
                leader.join().await.unwrap();
            }
            joined.store(1, SeqCst);
            leader.fork().unwrap();
            leader.join().await.unwrap();
            leader.finish().unwrap();
            taken
        }
        MemberHandle::Worker(mut worker) => {
            while joined.load(SeqCst) == 0 {
                worker.delay(world.step()).await;
            }
            let mut seen = Vec::new();
            while let Some(region) = worker.wait().await.unwrap() {
                seen.push(region);
                worker.done().unwrap();
            }
            seen
        }
    });
    assert_eq!(seen, [vec![1, 1, 1], vec![4]]);
}

fn out_of_turn() -> Cause {
    Cause::Setting { what: "`steal_part`", needs: "an open region, and `finish_stolen` for the part taken before" }
}

fn join_in_hand() -> Cause {
    Cause::Setting { what: "a join", needs: "`finish_stolen` for the part that was taken" }
}

fn who_is_away_sleeps_through_regions<W: World>(world: &W) {
    let team = ForkJoin::new(4).unwrap();
    let seen = world.run(4, async |cpu: W::Cpu<'_>, rank| match handle(&team, cpu, rank, Policy::default()) {
        MemberHandle::Leader(mut leader) => {
            for region in 1..=9 {
                match region {
                    3 => assert_eq!((leader.dismiss(2), leader.dismiss(3)), (Ok(true), Ok(true))),
                    5 => assert_eq!(leader.dismiss(1), Ok(true)),
                    7 => assert_eq!((leader.recall(1), leader.recall(2)), (Ok(true), Ok(true))),
                    _ => {}
                }
                for wrong in [0, 4, u32::MAX] {
                    assert_eq!(leader.dismiss(wrong), Err(Error::from(Cause::Rank { rank: wrong, size: 4 })));
                }
                leader.fork().unwrap();
                assert!(matches!(Error::of(&leader.recall(3)), Some(Cause::Setting { .. })), "a region is open");
                leader.delay(world.step()).await;
                leader.join().await.unwrap();
            }
            assert_eq!(leader.present(), 3);
            leader.finish().unwrap();
            vec![]
        }
        MemberHandle::Worker(mut worker) => {
            let mut seen = Vec::new();
            while let Some(region) = worker.wait().await.unwrap() {
                seen.push(region);
                worker.done().unwrap();
            }
            seen
        }
    });
    assert_eq!(seen, [vec![], vec![1, 2, 3, 4, 7, 8, 9], vec![1, 2, 7, 8, 9], vec![1, 2]]);
}

fn a_rank_has_one_handle<W: World>(world: &W) {
    let team = ForkJoin::new(6).unwrap();
    let twice = world.run(6, async |cpu: W::Cpu<'_>, rank| match handle(&team, cpu, rank, Policy::Block) {
        MemberHandle::Leader(_) => 0,
        MemberHandle::Worker(worker) => worker.rank(),
    });
    assert_eq!(twice, [0, 1, 2, 3, 4, 5]);
    for rank in [0, 1, 5, 6, u32::MAX] {
        let refused = world.run(1, async |cpu: W::Cpu<'_>, _| team.worker(cpu, rank, Policy::Block).map(drop));
        assert_eq!(refused, [Err(Error::from(Cause::Rank { rank, size: 6 }))]);
    }
    let again = world.run(1, async |cpu: W::Cpu<'_>, _| team.leader(cpu, Policy::Block).map(drop));
    assert_eq!(again, [Err(Error::from(Cause::Rank { rank: 0, size: 6 }))]);
    for size in [0, u32::MAX] {
        assert!(matches!(Error::of(&ForkJoin::<W::Cpu<'_>>::new(size)), Some(Cause::Size { .. })), "{size}");
    }
    let lines = foregather_machine::SharedLines::own(ForkJoin::<W::Cpu<'_>>::lines(2));
    assert!(matches!(Error::of(&ForkJoin::<W::Cpu<'_>>::over(lines, 3)), Some(Cause::Setting { .. })));
}

fn calls_out_of_turn_are_errors<W: World>(world: &W) {
    let out_of_turn = |end: Result<(), Error>| assert!(matches!(Error::of(&end), Some(Cause::Setting { .. })), "{end:?}");
    let team = ForkJoin::new(2).unwrap();
    let ends = world.run(2, async |cpu: W::Cpu<'_>, rank| match handle(&team, cpu, rank, Policy::Block) {
        MemberHandle::Leader(mut leader) => {
            leader.fork()?;
            out_of_turn(leader.fork().map(drop));
            leader.join().await?;
            leader.fork()?;
            out_of_turn(leader.finish());
            Ok(())
        }
        MemberHandle::Worker(mut worker) => {
            out_of_turn(worker.done());
            worker.wait().await?;
            out_of_turn(worker.wait().await.map(drop));
            worker.done()?;
            out_of_turn(worker.done());
            worker.wait().await?;
            worker.done()?;
            worker.wait().await.map(drop)
        }
    });
    assert_eq!(ends, [Ok(()), Err(Error::from(Cause::Poisoned { by: Some(0) }))], "unjoined, it has not finished");
}
