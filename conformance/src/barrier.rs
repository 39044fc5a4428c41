//! What a barrier promises, for every kind and policy, in every world.
use crate::{World, permutations};
use foregather_barrier::{Algorithm, Central, Group, Seat, SignalCost, SignalMatrix};
use foregather_machine::{Cause, Clock, Costs, Endpoint, Error, Nanos, Rank, SharedLines};
use foregather_wait::{Policy, Roster, Snapshot};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

const ADAPTIVE: Policy = Policy::adaptive(&Costs::TYPICAL);

const POLICIES: [Policy; 10] = [
    ADAPTIVE,
    Policy::Block,
    Policy::Yield,
    Policy::TwoPhase { spin: Nanos::from_us(5) },
    Policy::SpinThenYield { spin: Nanos::from_us(5) },
    Policy::Randomised { switch: Nanos::from_us(5) },
    Policy::Recent { switch: Nanos::from_us(5) },
    Policy::HolderRunning { switch: Nanos::from_us(5) },
    Policy::Grain { switch: Nanos::from_us(5), quantum: Policy::QUANTUM },
    Policy::Spin,
];

/// Everything, for every kind and policy.
pub fn all(world: &impl World) {
    for kind in Algorithm::ALL {
        for policy in POLICIES {
            for size in (1..=5).filter(|&size| kind.takes(size).is_ok()) {
                if policy != Policy::Spin || size <= world.processors() {
                    nobody_leaves_before_the_last_arrives(world, kind, policy, size);
                }
            }
        }
        whoever_leaves_early_is_named(world, kind);
        a_missing_member_is_waited_for_only_so_long(world, kind);
    }
    bigger_groups_meet_too(world);
    one_member_an_episode_comes_last(world);
    an_arrival_outlasts_its_wait(world);
    threads_take_turns(world);
    an_account_can_be_read_while_its_member_waits(world);
    a_rank_has_one_handle(world);
    a_slot_that_is_not_there_is_an_error(world);
}

/// All arrival orders, one after the other in one group, then as many episodes without any delay.
fn nobody_leaves_before_the_last_arrives<W: World>(world: &W, kind: Algorithm, policy: Policy, size: u32) {
    let orders = permutations(size);
    let arrived: Vec<AtomicU32> = (0..2 * orders.len()).map(|_| AtomicU32::new(0)).collect();
    let group = Group::new(kind, size).unwrap();
    world.run(size, async |cpu: W::Cpu<'_>, rank| {
        // The handle takes the processor with it; a second one of the same thread makes the delays.
        let mut member = group.member(cpu, rank, policy).unwrap();
        for (episode, arrived) in arrived.iter().enumerate() {
            if let Some(order) = orders.get(episode) {
                member.delay(world.step() * u64::from(order[rank as usize])).await;
            }
            arrived.fetch_add(1, SeqCst);
            member.wait().await.unwrap();
            assert_eq!(arrived.load(SeqCst), size, "{kind:?} {policy:?} {size}: rank {rank} left episode {episode} too early");
        }
    });
}

/// More threads than members: each meeting has as many arrivals as members, and one leader, even if waits
/// time out and are repeated.
fn threads_take_turns<W: World>(world: &W) {
    const SIZE: u32 = 3;
    const MEETINGS: u32 = 20;
    let lines = SharedLines::own(Central::<W::Cpu<'_>>::LINES + Roster::<W::Cpu<'_>>::lines(SIZE));
    let (to_arrive, returned, led) = (AtomicU32::new(MEETINGS * SIZE), AtomicU32::new(0), AtomicU32::new(0));
    world.run(SIZE + 2, async |cpu: W::Cpu<'_>, rank| {
        let (central, seats) = lines.split_at(Central::<W::Cpu<'_>>::LINES);
        let (central, roster) = (Central::over(central, SIZE), Roster::new(seats));
        let seat = if rank < SIZE { Seat::new(cpu, roster, rank) } else { Seat::guest(cpu) };
        while to_arrive.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
            let is_leader = loop {
                if let Some(is_leader) = seat.try_wait(&central, roster) {
                    break is_leader;
                }
                let deadline = seat.cpu().now() + world.step();
                match seat.wait(&central, roster, deadline).await {
                    Ok(()) => break false,
                    Err(error) => assert!(matches!(error.cause(), Cause::TimedOut { .. }), "{error}"),
                }
            };
            let returns = returned.fetch_add(1, SeqCst) + 1;
            let arrived = MEETINGS * SIZE - to_arrive.load(SeqCst);
            assert!(returns <= arrived, "a thread returned that had not arrived");
            led.fetch_add(is_leader.into(), SeqCst);
        }
    });
    assert_eq!((returned.into_inner(), led.into_inner()), (MEETINGS * SIZE, MEETINGS));
}

fn bigger_groups_meet_too<W: World>(world: &W) {
    for (kind, size) in [
        (Algorithm::Central, 9),
        (Algorithm::Dissemination, 13),
        (Algorithm::Tree, 22),
        (Algorithm::Butterfly, 16),
        (Algorithm::Sync0, 16),
        (Algorithm::Rds { hop: SignalCost { send: Nanos(400), latency: Nanos(700) } }, 13),
        (Algorithm::Tournament, 11),
        (Algorithm::Gather(3), 14),
        (Algorithm::KDissemination(2), 13),
    ] {
        let arrived: Vec<AtomicU32> = (0..20).map(|_| AtomicU32::new(0)).collect();
        let group = Group::new(kind, size).unwrap();
        world.run(size, async |cpu: W::Cpu<'_>, rank| {
            let mut member = group.member(cpu, rank, if rank % 2 == 0 { ADAPTIVE } else { Policy::Block }).unwrap();
            for arrived in &arrived {
                arrived.fetch_add(1, SeqCst);
                member.wait().await.unwrap();
                assert_eq!(arrived.load(SeqCst), size, "{kind:?}");
            }
        });
    }
}

/// Rank 1 takes part in two episodes and goes; a member that needs it in the third gets its name, and none
/// waits forever.
fn whoever_leaves_early_is_named<W: World>(world: &W, kind: Algorithm) {
    for policy in [Policy::Block, Policy::Yield, ADAPTIVE] {
        let group = Group::new(kind, 4).unwrap();
        let ends = world.run(4, async |cpu: W::Cpu<'_>, rank| {
            let mut member = group.member(cpu, rank, policy).unwrap();
            for _ in 0..2 {
                member.wait().await?;
            }
            if rank == 1 { Ok(()) } else { member.wait().await }
        });
        for (rank, end) in ends.into_iter().enumerate() {
            let expected = if rank == 1 { Ok(()) } else { Err(Error::from(Cause::Poisoned { by: Some(1) })) };
            assert_eq!(end, expected, "{kind:?} {policy:?} rank {rank}");
        }
    }
}

fn a_missing_member_is_waited_for_only_so_long<W: World>(world: &W, kind: Algorithm) {
    for policy in [Policy::TwoPhase { spin: Nanos::from_us(10) }, ADAPTIVE] {
        let group = Group::new(kind, 2).unwrap();
        let ends = world.run(1, async |cpu: W::Cpu<'_>, rank| {
            let mut member = group.member(cpu, rank, policy).unwrap();
            (member.wait_for(Nanos::from_ms(1)).await, member.wait_for(Nanos::from_ms(1)).await)
        });
        let [(first, again)] = &ends[..] else { panic!("one member ran") };
        let timed_out = |end| matches!(Error::of(end), Some(Cause::TimedOut { rank: 0, peer: Some(1), .. }));
        assert!(timed_out(first), "{kind:?}: {first:?}");
        if kind == Algorithm::Central {
            assert!(timed_out(again), "the arrival stays, and the other is still missing: {again:?}");
        } else {
            let poisoned = Err(Error::from(Cause::Poisoned { by: Some(0) }));
            assert_eq!(*again, poisoned, "{kind:?}: a member that has arrived in vain cannot arrive again");
        }
    }
}

/// Members give up and come back in every meeting: none ends before all have come, and each ends for all.
fn an_arrival_outlasts_its_wait<W: World>(world: &W) {
    const MEETINGS: u32 = 30;
    for policy in [Policy::Block, Policy::TwoPhase { spin: Nanos::from_us(10) }, ADAPTIVE] {
        let group = Group::new(Algorithm::Central, 3).unwrap();
        let (come, gave_up) = (AtomicU32::new(0), AtomicU32::new(0));
        world.run(3, async |cpu: W::Cpu<'_>, rank| {
            let mut member = group.member(cpu, rank, policy).unwrap();
            for meeting in 1..=MEETINGS {
                // Each member is late in turn: until another one has given up.
                while meeting % 3 == rank && gave_up.load(SeqCst) < meeting {
                    member.delay(Nanos::from_us(20)).await;
                }
                come.fetch_add(1, SeqCst);
                while let Err(error) = member.wait_for(Nanos::from_us(100)).await {
                    // All may have come since its time was over: then no member is named.
                    assert!(matches!(error.cause(), Cause::TimedOut { .. }), "{policy:?}: {error}");
                    gave_up.fetch_add(1, SeqCst);
                }
                assert!(come.load(SeqCst) >= 3 * meeting, "{policy:?}: released before all had come");
            }
        });
        assert!(gave_up.load(SeqCst) >= MEETINGS, "{policy:?}");
    }
}

/// The account counts a table's decision at once, so a clone of the account shows a wait that is not over.
fn an_account_can_be_read_while_its_member_waits<W: World>(world: &W) {
    let (group, account) = (Group::new(Algorithm::Central, 2).unwrap(), OnceLock::new());
    world.run(2, async |cpu: W::Cpu<'_>, rank| {
        let mut member = group.member(cpu, rank, ADAPTIVE).unwrap();
        if rank == 0 {
            assert!(account.set(member.account().clone()).is_ok());
            return member.wait().await.unwrap();
        }
        let seen = async {
            for _ in 0..100_000 {
                member.delay(world.step()).await;
                let decided = account.get().map_or(0, |account| account.snapshot().rules.iter().sum());
                if decided > 0 {
                    return decided;
                }
            }
            0_u64
        };
        assert!(seen.await > 0, "rank 0 cannot have left, but seems not to wait");
        member.wait().await.unwrap();
    });
}

/// The successful-spin rate must not count the last arrival, of which there is exactly one an episode.
fn one_member_an_episode_comes_last<W: World>(world: &W) {
    const EPISODES: u64 = 100;
    let group = Group::new(Algorithm::Central, 3).unwrap();
    let accounts: Vec<Snapshot> = world.run(3, async |cpu: W::Cpu<'_>, rank| {
        let mut member = group.member(cpu, rank, Policy::TwoPhase { spin: Nanos::from_us(2) }).unwrap();
        for episode in 0..EPISODES {
            let late = u64::from((episode + u64::from(rank)) % 3 == 0);
            member.delay(world.step() * late).await;
            member.wait().await.unwrap();
        }
        member.account().snapshot()
    });
    let all = accounts.into_iter().fold(Snapshot::default(), Snapshot::plus);
    assert_eq!(all.last, EPISODES);
    assert_eq!(all.first_look + all.spun + all.yielded + all.parked, 2 * EPISODES);
    assert_eq!(all.spins_began, 2 * EPISODES, "every other wait began by spinning");
    assert_eq!(all.spins_succeeded, all.first_look + all.spun);
    assert_eq!(all.failed, 0);
}

fn a_rank_has_one_handle<W: World>(world: &W) {
    let group = Group::new(Algorithm::Central, 2).unwrap();
    let errors = world.run(2, async |cpu: W::Cpu<'_>, rank: Rank| group.member(cpu, rank * 5, Policy::Block).map(drop));
    assert_eq!(errors, [Ok(()), Err(Error::from(Cause::Rank { rank: 5, size: 2 }))]);
    let again = world.run(1, async |cpu: W::Cpu<'_>, rank| group.member(cpu, rank, Policy::Block).map(drop));
    assert_eq!(again, [Err(Error::from(Cause::Rank { rank: 0, size: 2 }))]);
    assert!(matches!(Error::of(&Group::<W::Cpu<'_>>::new(Algorithm::Butterfly, 6)), Some(Cause::Size { size: 6, .. })));
    assert!(Group::<W::Cpu<'_>>::new(Algorithm::Tree, 0).is_err());
}

/// Neither end may reach into a neighbour's slots.
fn a_slot_that_is_not_there_is_an_error<W: World>(world: &W) {
    let flags = SignalMatrix::new(2, 1);
    let ends = world.run(1, async |cpu: W::Cpu<'_>, rank| {
        let end = flags.endpoint(cpu, rank, Policy::Block);
        (end.signal(0, 1).await, end.wait(1).await, end.signal(2, 0).await)
    });
    let slot = || Err(Error::from(Cause::Slot { slot: 1, slots: 1 }));
    assert_eq!(ends, [(slot(), slot(), Err(Error::from(Cause::Rank { rank: 2, size: 2 })))]);
}
