//! What a team promises, whatever its policy and its world.
use crate::{World, permutations};
use foregather_barrier::{ForkJoin, Leader, Worker};
use foregather_machine::{Cause, Error, Nanos};
use foregather_wait::Policy;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// One of each form of waiting.
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

/// What one of a team is given.
enum Handle<'t, C: foregather_machine::Cpu> {
    Master(Leader<'t, C>),
    Slave(Worker<'t, C>),
}

fn handle<C: foregather_machine::Cpu>(team: &ForkJoin<C>, cpu: C, rank: u32, policy: Policy) -> Handle<'_, C> {
    match rank {
        0 => Handle::Master(team.master(cpu, policy).unwrap()),
        _ => Handle::Slave(team.slave(cpu, rank, policy).unwrap()),
    }
}

/// All orders in which slaves and master can come to the join, one region after the other, then as many without any delay.
fn the_master_goes_on_when_all_have_done_their_part<W: World>(world: &W, policy: Policy, size: u32) {
    let orders = permutations(size);
    let regions = 2 * orders.len() as u32;
    let done: Vec<AtomicU32> = (0..=regions).map(|_| AtomicU32::new(0)).collect();
    let forked = AtomicU32::new(0);
    let late =
        |region: u32, rank: u32| world.step() * orders.get(region as usize - 1).map_or(0, |order| order[rank as usize].into());
    let team = ForkJoin::new(size).unwrap();
    let seen = world.run(size, async |cpu: W::Cpu<'_>, rank| match handle(&team, cpu, rank, policy) {
        Handle::Master(mut master) => {
            for region in 1..=regions {
                forked.store(region, SeqCst);
                assert_eq!(master.fork(), Ok(region));
                master.delay(late(region, 0)).await;
                master.join().await.unwrap();
                assert_eq!(done[region as usize].load(SeqCst), size - 1, "{policy:?} {size}: joined region {region} too early");
            }
            master.join().await.unwrap();
            master.finish().unwrap();
            regions
        }
        Handle::Slave(mut slave) => {
            let mut seen = 0;
            while let Some(region) = slave.wait().await.unwrap() {
                seen += 1;
                assert_eq!((region, forked.load(SeqCst)), (seen, seen), "{policy:?} {size}: rank {rank} was released too early");
                slave.delay(late(region, rank)).await;
                done[region as usize].fetch_add(1, SeqCst);
                slave.done().unwrap();
            }
            assert_eq!(slave.wait().await, Ok(None), "the end stays the end");
            seen
        }
    });
    assert_eq!(seen, vec![regions; size as usize], "{policy:?}");
}

fn by_default_it_waits_as_the_load_demands<W: World>(world: &W) {
    let team = ForkJoin::new(3).unwrap();
    let waits = world.run(3, async |cpu: W::Cpu<'_>, rank| {
        if rank == 0 {
            let mut master = team.lead(cpu).unwrap();
            for _ in 0..50 {
                master.fork().unwrap();
                master.join().await.unwrap();
            }
            let account = master.account().snapshot();
            master.finish().unwrap();
            account
        } else {
            let mut slave = team.join(cpu, rank).unwrap();
            while slave.wait().await.unwrap().is_some() {
                slave.done().unwrap();
            }
            slave.account().snapshot()
        }
    });
    for (rank, all) in waits.into_iter().enumerate() {
        let waited = all.last + all.first_look + all.spun + all.yielded + all.parked;
        assert_eq!((waited, all.failed), (if rank == 0 { 50 } else { 51 }, 0), "rank {rank}");
    }
}

/// A slave that makes its handle after the fork, or after the end, has missed nothing.
fn a_slave_may_be_late<W: World>(world: &W) {
    for regions in [0, 1] {
        let team = ForkJoin::new(3).unwrap();
        let seen = world.run(3, async |cpu: W::Cpu<'_>, rank| {
            use foregather_machine::Clock;
            if rank == 0 {
                let mut master = team.master(cpu, Policy::Block).unwrap();
                for _ in 0..regions {
                    master.fork().unwrap();
                    master.join().await.unwrap();
                }
                master.finish().unwrap();
                return regions;
            }
            cpu.delay(world.step() * u64::from(rank)).await;
            let mut slave = team.slave(cpu, rank, Policy::Block).unwrap();
            let mut seen = 0;
            while let Some(region) = slave.wait().await.unwrap() {
                seen = region;
                slave.done().unwrap();
            }
            seen
        });
        assert_eq!(seen, [regions; 3]);
    }
}

/// Slave 1 goes in the middle of the second region: the join has its name, and so have the other slaves once the master has gone.
fn a_slave_that_goes_is_named<W: World>(world: &W, policy: Policy) {
    if policy == Policy::Spin && world.processors() < 4 {
        return;
    }
    let team = ForkJoin::new(4).unwrap();
    let ends = world.run(4, async |cpu: W::Cpu<'_>, rank| match handle(&team, cpu, rank, policy) {
        Handle::Master(mut master) => {
            master.fork()?;
            master.join().await?;
            master.fork()?;
            master.join().await
        }
        Handle::Slave(mut slave) => loop {
            match slave.wait().await? {
                None | Some(2) if rank == 1 => return Ok(()),
                _ => slave.done()?,
            }
        },
    });
    for (rank, end) in ends.into_iter().enumerate() {
        let expected = if rank == 1 { Ok(()) } else { Err(Error::from(Cause::Poisoned { by: Some(1) })) };
        assert_eq!(end, expected, "{policy:?} rank {rank}");
    }
}

/// The master goes after a fork: its slaves do that region, and learn it afterwards.
fn a_master_that_goes_is_named<W: World>(world: &W, policy: Policy) {
    if policy == Policy::Spin && world.processors() < 3 {
        return;
    }
    let team = ForkJoin::new(3).unwrap();
    let ends = world.run(3, async |cpu: W::Cpu<'_>, rank| match handle(&team, cpu, rank, policy) {
        Handle::Master(mut master) => {
            master.fork()?;
            Ok(1)
        }
        Handle::Slave(mut slave) => {
            let region = slave.wait().await?;
            slave.done()?;
            assert_eq!((region, slave.wait().await), (Some(1), Err(Error::from(Cause::Poisoned { by: Some(0) }))));
            Ok::<_, Error>(1)
        }
    });
    assert_eq!(ends, [Ok(1), Ok(1), Ok(1)], "{policy:?}");
}

/// A bounded wait that ends harms nobody.
fn who_waited_in_vain_may_wait_again<W: World>(world: &W) {
    let (team, tried) = (ForkJoin::new(3).unwrap(), AtomicU32::new(0));
    let policy = Policy::TwoPhase { spin: Nanos::from_us(10) };
    let bound = Nanos::from_ms(1);
    let ends = world.run(3, async |cpu: W::Cpu<'_>, rank| match handle(&team, cpu, rank, policy) {
        Handle::Master(mut master) => {
            while tried.load(SeqCst) < 2 {
                master.delay(world.step()).await;
            }
            master.fork()?;
            // The first slave has done its part, however late it got a processor: the second one alone is missing.
            while tried.load(SeqCst) < 3 {
                master.delay(world.step()).await;
            }
            let end = master.join_for(bound).await;
            tried.store(4, SeqCst);
            master.join().await?;
            master.finish()?;
            end
        }
        Handle::Slave(mut slave) => {
            let end = slave.wait_for(bound).await.map(drop);
            tried.fetch_add(1, SeqCst);
            assert_eq!(slave.wait().await?, Some(1));
            while rank == 2 && tried.load(SeqCst) < 4 {
                slave.delay(world.step()).await;
            }
            slave.done()?;
            if rank == 1 {
                tried.fetch_add(1, SeqCst);
            }
            assert_eq!(slave.wait().await?, None);
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

/// Slaves come in all orders, and the master takes whatever they have not begun when it has done its own part.
fn each_part_is_done_once<W: World>(world: &W, policy: Policy) {
    const SIZE: u32 = 4;
    let orders = permutations(SIZE);
    let regions = orders.len() as u32;
    let done: Vec<AtomicU32> = (0..=regions).map(|_| AtomicU32::new(0)).collect();
    let late = |region: u32, rank: u32| world.step() * u64::from(orders[region as usize - 1][rank as usize]);
    let team = ForkJoin::new(SIZE).unwrap();
    let parts = world.run(SIZE, async |cpu: W::Cpu<'_>, rank| match handle(&team, cpu, rank, policy) {
        Handle::Master(mut master) => {
            let mut parts = 0;
            for region in 1..=regions {
                master.fork().unwrap();
                master.delay(late(region, 0)).await;
                while master.take_late().unwrap().is_some() {
                    done[region as usize].fetch_add(1, SeqCst);
                    parts += 1;
                    master.done_late().unwrap();
                }
                master.join().await.unwrap();
                assert_eq!(done[region as usize].load(SeqCst), SIZE - 1, "{policy:?}: region {region}");
            }
            master.finish().unwrap();
            parts
        }
        Handle::Slave(mut slave) => {
            let mut parts = 0;
            while let Some(region) = slave.wait().await.unwrap() {
                done[region as usize].fetch_add(1, SeqCst);
                parts += 1;
                slave.done().unwrap();
                slave.delay(late(region, rank)).await;
            }
            parts
        }
    });
    assert_eq!(parts.iter().sum::<u32>(), regions * (SIZE - 1), "{policy:?}: {parts:?}");
}

fn who_is_late_finds_its_part_taken<W: World>(world: &W) {
    let (team, joined) = (ForkJoin::new(2).unwrap(), AtomicU32::new(0));
    let seen = world.run(2, async |cpu: W::Cpu<'_>, rank| match handle(&team, cpu, rank, Policy::Block) {
        Handle::Master(mut master) => {
            let mut taken = Vec::new();
            for _ in 0..3 {
                master.fork().unwrap();
                taken.extend(master.take_late().unwrap());
                assert_eq!(master.take_late().map(drop), Err(Error::from(out_of_turn())), "one after the other");
                assert_eq!(master.join().await, Err(Error::from(join_in_hand())));
                master.done_late().unwrap();
                master.join().await.unwrap();
            }
            joined.store(1, SeqCst);
            master.fork().unwrap();
            master.join().await.unwrap();
            master.finish().unwrap();
            taken
        }
        Handle::Slave(mut slave) => {
            while joined.load(SeqCst) == 0 {
                slave.delay(world.step()).await;
            }
            let mut seen = Vec::new();
            while let Some(region) = slave.wait().await.unwrap() {
                seen.push(region);
                slave.done().unwrap();
            }
            seen
        }
    });
    assert_eq!(seen, [vec![1, 1, 1], vec![4]]);
}

fn out_of_turn() -> Cause {
    Cause::Setting { what: "`take_late`", needs: "an open region, and `done_late` for the part taken before" }
}

fn join_in_hand() -> Cause {
    Cause::Setting { what: "a join", needs: "`done_late` for the part that was taken" }
}

fn who_is_away_sleeps_through_regions<W: World>(world: &W) {
    let team = ForkJoin::new(4).unwrap();
    let seen = world.run(4, async |cpu: W::Cpu<'_>, rank| match handle(&team, cpu, rank, Policy::default()) {
        Handle::Master(mut master) => {
            for region in 1..=9 {
                match region {
                    3 => assert_eq!((master.dismiss(2), master.dismiss(3)), (Ok(true), Ok(true))),
                    5 => assert_eq!(master.dismiss(1), Ok(true)),
                    7 => assert_eq!((master.recall(1), master.recall(2)), (Ok(true), Ok(true))),
                    _ => {}
                }
                for wrong in [0, 4, u32::MAX] {
                    assert_eq!(master.dismiss(wrong), Err(Error::from(Cause::Rank { rank: wrong, size: 4 })));
                }
                master.fork().unwrap();
                assert!(matches!(Error::of(&master.recall(3)), Some(Cause::Setting { .. })), "a region is open");
                master.delay(world.step()).await;
                master.join().await.unwrap();
            }
            assert_eq!(master.present(), 3);
            master.finish().unwrap();
            vec![]
        }
        Handle::Slave(mut slave) => {
            let mut seen = Vec::new();
            while let Some(region) = slave.wait().await.unwrap() {
                seen.push(region);
                slave.done().unwrap();
            }
            seen
        }
    });
    assert_eq!(seen, [vec![], vec![1, 2, 3, 4, 7, 8, 9], vec![1, 2, 7, 8, 9], vec![1, 2]]);
}

fn a_rank_has_one_handle<W: World>(world: &W) {
    let team = ForkJoin::new(6).unwrap();
    let twice = world.run(6, async |cpu: W::Cpu<'_>, rank| match handle(&team, cpu, rank, Policy::Block) {
        Handle::Master(_) => 0,
        Handle::Slave(slave) => slave.rank(),
    });
    assert_eq!(twice, [0, 1, 2, 3, 4, 5]);
    for rank in [0, 1, 5, 6, u32::MAX] {
        let refused = world.run(1, async |cpu: W::Cpu<'_>, _| team.slave(cpu, rank, Policy::Block).map(drop));
        assert_eq!(refused, [Err(Error::from(Cause::Rank { rank, size: 6 }))]);
    }
    let again = world.run(1, async |cpu: W::Cpu<'_>, _| team.master(cpu, Policy::Block).map(drop));
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
        Handle::Master(mut master) => {
            master.fork()?;
            out_of_turn(master.fork().map(drop));
            master.join().await?;
            master.fork()?;
            out_of_turn(master.finish());
            Ok(())
        }
        Handle::Slave(mut slave) => {
            out_of_turn(slave.done());
            slave.wait().await?;
            out_of_turn(slave.wait().await.map(drop));
            slave.done()?;
            out_of_turn(slave.done());
            slave.wait().await?;
            slave.done()?;
            slave.wait().await.map(drop)
        }
    });
    assert_eq!(ends, [Ok(()), Err(Error::from(Cause::Poisoned { by: Some(0) }))], "unjoined, it has not finished");
}
