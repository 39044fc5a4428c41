//! What leaving together promises in every world; only a world of its own can say how exact it is.
use crate::World;
use foregather_barrier::{Algorithm, Group};
use foregather_machine::{Cause, Error, Nanos};
use foregather_wait::Policy;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Everything, for every kind of barrier.
pub fn all(world: &impl World) {
    for kind in Algorithm::ALL {
        for size in (1..=4).filter(|&size| kind.takes(size).is_ok()) {
            nobody_leaves_before_the_common_deadline(world, kind, size);
        }
        plain_waits_may_come_between(world, kind);
    }
    too_long_a_slack_is_refused_and_harms_nobody(world);
    whoever_leaves_early_is_named(world);
}

/// The deadline is the last arrival plus the longest slack that any member asked for, and holds for late
/// members, too.
fn nobody_leaves_before_the_common_deadline<W: World>(world: &W, kind: Algorithm, size: u32) {
    const EPISODES: u32 = 12;
    let last: Vec<AtomicU64> = (0..EPISODES).map(|_| AtomicU64::new(0)).collect();
    let group = Group::new(kind, size).unwrap();
    world.run(size, async |cpu: W::Cpu<'_>, rank| {
        let mut member = group.member(cpu, rank, Policy::Block).unwrap();
        for (episode, last) in (0..EPISODES).zip(&last) {
            let turn = u64::from((rank + episode) % size);
            member.delay(world.step() * turn).await;
            let slack = world.step() * (u64::from(size) - turn) + Nanos(u64::from(episode % 3));
            last.fetch_max(member.now().0, SeqCst);
            member.harmonize(slack).await.unwrap();
            let deadline = Nanos(last.load(SeqCst)) + world.step() * u64::from(size) + Nanos(u64::from(episode % 3));
            assert!(member.now() >= deadline, "{kind:?} {size}: rank {rank} left episode {episode} too early");
        }
    });
}

/// Both sets of notes stay in step with the episodes.
fn plain_waits_may_come_between<W: World>(world: &W, kind: Algorithm) {
    let last: Vec<AtomicU64> = (0..20).map(|_| AtomicU64::new(0)).collect();
    let group = Group::new(kind, 2).unwrap();
    world.run(2, async |cpu: W::Cpu<'_>, rank| {
        let mut member = group.member(cpu, rank, Policy::Block).unwrap();
        for (episode, last) in last.iter().enumerate() {
            if episode % 3 == 1 {
                member.wait().await.unwrap();
                continue;
            }
            last.fetch_max(member.now().0, SeqCst);
            member.harmonize_adapted().await.unwrap();
            assert!(member.now() > Nanos(last.load(SeqCst)), "{kind:?}: rank {rank} left episode {episode} too early");
        }
    });
}

fn too_long_a_slack_is_refused_and_harms_nobody<W: World>(world: &W) {
    let group = Group::new(Algorithm::Central, 2).unwrap();
    world.run(2, async |cpu: W::Cpu<'_>, rank| {
        let mut member = group.member(cpu, rank, Policy::Block).unwrap();
        let refused = member.harmonize(Nanos::MAX).await;
        assert!(matches!(Error::of(&refused), Some(Cause::Setting { .. })), "{refused:?}");
        member.harmonize(Nanos::ZERO).await.unwrap();
    });
}

fn whoever_leaves_early_is_named<W: World>(world: &W) {
    let group = Group::new(Algorithm::Central, 3).unwrap();
    let ends = world.run(3, async |cpu: W::Cpu<'_>, rank| {
        let mut member = group.member(cpu, rank, Policy::Block).unwrap();
        member.harmonize(world.step()).await?;
        if rank == 1 {
            return Ok(());
        }
        let end = member.harmonize(world.step()).await.map(drop);
        // It has arrived in vain.
        assert_eq!(member.harmonize(world.step()).await.map(drop), end);
        end
    });
    let gone = || Err(Error::from(Cause::Poisoned { by: Some(1) }));
    assert_eq!(ends, [gone(), Ok(()), gone()]);
}
