//! Leaving together in virtual time, where it can be exact: on processors of their own all members leave at
//! one moment.
mod ahead;

use ahead::Ahead;
use foregather_barrier::{Algorithm, Group, Punctual};
use foregather_machine::{Clock, Cpu, Nanos};
use foregather_sim::event::Heap;
use foregather_sim::smp::{MachineSpec, Prices, RoundRobin, Scheduler, Smp, SmpCpu};
use foregather_wait::Policy;

/// A spinner sees a store after 120 ns, a sleeper runs 7 us after its wake; waking costs 2 us.
const PRICES: Prices =
    Prices { line: Nanos(120), waker: Nanos::from_us(2), wake_idle: Nanos::from_us(7), ..Prices::TSAFRIR_2002 };

/// When each member left each of 20 episodes, and whether on time; a slack of `None` is adapted.
fn exits(cpus: u32, kind: Algorithm, size: u32, policy: Policy, slack: Option<Nanos>) -> Vec<Vec<(Nanos, Punctual)>> {
    exits_by(|cpu| cpu, (cpus, kind, size), policy, slack)
}

/// [`exits`] of members whose processors do more than the simulated ones do.
fn exits_by<C: Cpu + 'static>(
    with: impl Fn(SmpCpu<'static, Heap>) -> C,
    (cpus, kind, size): (u32, Algorithm, u32),
    policy: Policy,
    slack: Option<Nanos>,
) -> Vec<Vec<(Nanos, Punctual)>> {
    let scheduler = Scheduler::RoundRobin(RoundRobin::TSAFRIR_2002);
    let machine = MachineSpec { cpus, scheduler, prices: PRICES, ..MachineSpec::tsafrir2002() };
    let group: &'static Group<C> = Box::leak(Box::new(Group::new(kind, size).unwrap()));
    let smp: &'static Smp<Heap> = Box::leak(Box::new(Smp::new(&machine, size, 5)));
    let members = smp.run(async |cpu: SmpCpu<'static, Heap>| {
        let mut member = group.member(with(cpu), cpu.number(), policy).unwrap();
        let mut exits = vec![];
        for episode in 0..20 {
            member.delay(Nanos(u64::from(cpu.number()) * 7_919 % (1 + episode * 1_009))).await;
            let punctual = match slack {
                Some(slack) => member.harmonize(slack).await,
                None => member.harmonize_adapted().await,
            };
            exits.push((cpu.now(), punctual.unwrap()));
        }
        exits
    });
    let members: Vec<_> = members.into_iter().map(|member| member.expect("nobody waits forever")).collect();
    (0..20).map(|episode| members.iter().map(|member| member[episode]).collect()).collect()
}

#[test]
fn on_processors_of_their_own_all_members_leave_at_one_moment() {
    for kind in Algorithm::ALL {
        for policy in [Policy::Spin, Policy::Block, Policy::TwoPhase { spin: Nanos::from_us(3) }] {
            for size in (1..=8).filter(|&size| kind.takes(size).is_ok()) {
                for exits in exits(8, kind, size, policy, Some(Nanos::from_us(200))) {
                    assert!(exits.iter().all(|exit| *exit == (exits[0].0, Punctual::Met)), "{kind:?} {policy:?}: {exits:?}");
                }
            }
        }
    }
}

#[test]
fn too_short_a_slack_is_missed_by_exactly_the_rest_of_the_way() {
    for exits in exits(2, Algorithm::Central, 2, Policy::Spin, Some(Nanos(50))) {
        let late: Vec<_> = exits.iter().filter(|(_, punctual)| *punctual != Punctual::Met).collect();
        assert_eq!(late.len(), 1, "the last to arrive is on time: {exits:?}");
        assert_eq!(late[0].1, Punctual::Missed { by: Nanos(120 - 50) });
    }
    let asleep = exits(2, Algorithm::Central, 2, Policy::Block, Some(Nanos::from_us(3)));
    let missed =
        |exits: &&Vec<(Nanos, Punctual)>| exits.iter().any(|(_, p)| matches!(p, Punctual::Missed { by } if by.0 > 3_000));
    assert!(asleep.iter().filter(missed).count() >= 15, "{asleep:?}");
}

#[test]
fn without_slack_everybody_who_waited_is_late() {
    for exits in exits(4, Algorithm::Tree, 4, Policy::Spin, Some(Nanos::ZERO)) {
        assert!(exits.iter().filter(|(_, punctual)| *punctual != Punctual::Met).count() >= 3, "{exits:?}");
    }
}

#[test]
fn the_adapted_slack_finds_the_way_of_sleepers() {
    let exits = exits(4, Algorithm::Dissemination, 4, Policy::Block, None);
    let met = |exits: &Vec<(Nanos, Punctual)>| exits.iter().all(|(_, punctual)| *punctual == Punctual::Met);
    assert!(!met(&exits[0]), "half a microsecond is too little for a sleeper");
    assert!(exits[12..].iter().all(met), "{exits:?}");
}

/// Two members on one processor cannot leave at one moment, and the one that does not says so.
#[test]
fn members_that_share_a_processor_miss() {
    let shared = exits(1, Algorithm::Central, 2, Policy::Block, Some(Nanos::from_us(50)));
    assert!(shared.iter().all(|exits| exits.iter().any(|(_, punctual)| *punctual != Punctual::Met)), "{shared:?}");
}

const SPINNERS: (u32, Algorithm, u32) = (4, Algorithm::Central, 4);

#[test]
fn a_clock_that_is_read_in_order_waits_for_the_loads_under_way() {
    let slacks = [Some(Nanos::from_us(20)), None];
    for exits in slacks.into_iter().flat_map(|slack| exits_by(Ahead::<true>::new, SPINNERS, Policy::Spin, slack).split_off(12)) {
        assert!(exits.iter().all(|exit| *exit == (exits[0].0, Punctual::Met)), "{exits:?}");
    }
}

/// However long the slack, each member is late by its loads.
#[test]
fn a_clock_that_is_read_ahead_of_loads_is_found() {
    for exits in exits_by(Ahead::<false>::new, SPINNERS, Policy::Spin, Some(Nanos::from_us(20))) {
        assert!(exits.iter().all(|(_, punctual)| *punctual != Punctual::Met), "{exits:?}");
    }
}
