//! A waiting policy from outside of the library, in one small file, runs in every world: threads and
//! simulated processors.
mod doubling;

use doubling::Doubling;
use foregather::engine::{Algorithm, Clock, Cpu, Error, Group, Nanos, Rank, Snapshot, Waiter, block_on};
use foregather::sim::event::Heap;
use foregather::sim::smp::{MachineSpec, Smp, SmpCpu};
use foregather::threads;

const MEMBERS: u32 = 4;
const EPISODES: u32 = 200;

/// Waits at the barrier with the new policy; odd ranks compute for longer.
async fn meet<C: Cpu>(group: &Group<C>, cpu: C, rank: Rank) -> Result<Snapshot, Error> {
    let mut member = group.member_by(cpu, rank, Waiter::by(Box::new(Doubling::new())))?;
    for _ in 0..EPISODES {
        member.delay(Nanos::from_us(if rank % 2 == 1 { 40 } else { 5 })).await;
        member.wait().await?;
    }
    Ok(member.account().snapshot())
}

/// Checks that each wait is accounted for, and that the policy never yields.
fn check(all: &[Snapshot]) -> Snapshot {
    let total = all.iter().copied().reduce(Snapshot::plus).unwrap();
    let waits = total.last + total.first_look + total.spun + total.parked;
    assert_eq!((waits, total.failed, total.yielded), (u64::from(MEMBERS * EPISODES), 0, 0), "{total}");
    total
}

#[test]
fn a_policy_of_ones_own_runs_on_threads() {
    let group = Group::new(Algorithm::Central, MEMBERS).unwrap();
    let ends = threads::run(MEMBERS, |_| None, |cpu, rank| block_on(meet(&group, cpu, rank))).unwrap();
    check(&ends.into_iter().collect::<Result<Vec<_>, _>>().unwrap());
}

#[test]
fn the_same_policy_runs_on_simulated_processors_and_always_alike() {
    let run = || {
        let machine = MachineSpec { cpus: 2, ..MachineSpec::tsafrir2002() };
        let group = Group::new(Algorithm::Central, MEMBERS).unwrap();
        let smp: Smp<Heap> = Smp::new(&machine, MEMBERS, 7);
        let ends = smp.run(|cpu: SmpCpu<'_, Heap>| {
            let group = group.clone();
            async move { (meet(&group, cpu, cpu.number()).await.unwrap(), cpu.now()) }
        });
        let ends: Vec<_> = ends.into_iter().map(Option::unwrap).collect();
        let total = check(&ends.iter().map(|(snapshot, _)| *snapshot).collect::<Vec<_>>());
        assert!(total.spun > 0 && total.parked > 0, "it has both spun and slept: {total}");
        ends.into_iter().map(|(_, end)| end).collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}

#[test]
fn it_is_one_file_of_fewer_than_forty_lines() {
    assert!(include_str!("doubling.rs").lines().count() < 40);
}
