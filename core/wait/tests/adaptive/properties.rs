//! Whatever the world reports, waits end when they can, and never use the processor for longer than they may.
use crate::script::{Did, MS, OF, Team, US};
use foregather_machine::{Affinity, CpuId, Nanos, Rank, SplitMix};
use foregather_wait::Adaptive;
use foregather_wait::adaptive::Rules;
use proptest::prelude::*;

/// Returns a team with other members on random processors. Some may not be moved, or have published nothing.
fn team(of: Adaptive, dice: &mut SplitMix) -> Team {
    let places: Vec<_> = (0..1 + dice.below(5)).map(|_| dice.below(3) as CpuId).collect();
    let team = Team::of(of, &places);
    for member in team.others.iter().chain([&team.me]) {
        match dice.below(12) {
            0 => member.blind(),
            1 => member.affinity.set(None),
            _ => member.affinity.set(Some(Affinity { fingerprint: 1, width: 3, beyond: 3 })),
        }
    }
    team.enroll();
    team
}

fn costs() -> impl Strategy<Value = Adaptive> {
    let rules = prop::collection::vec(prop::sample::select(Rules::names().collect::<Vec<_>>()), 0..4);
    let costs = (1..100_000_u64, 1..100_000_u64, 1..10_000_000_u64, rules);
    costs.prop_map(|(hand_over, remote, tick, rules)| {
        let without = rules.into_iter().fold(Rules::NONE, |all, name| all.union(Rules::named(name).unwrap()));
        Adaptive { hand_over: Nanos(hand_over), remote: Nanos(remote), tick: Nanos(tick), without }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_wait_ends_and_spins_no_longer_than_it_may(of in costs(), seed: u64, realtime: bool, waits in 1..60_usize) {
        let mut dice = SplitMix(seed);
        let team = team(of, &mut dice);
        let patience = if realtime { US * (1 + dice.below(60)) } else { Nanos::MAX };
        team.me.max_spin.set(patience);
        *team.me.dice.borrow_mut() = Some(SplitMix(!seed));
        for _ in 0..waits {
            let other = 1 + dice.below(team.others.len() as u64) as Rank;
            team.put(other, dice.below(3) as CpuId);
            let event = [US, US * 30, MS, MS * 9][dice.below(4) as usize] * dice.below(3);
            let end = team.wait(event);
            prop_assert!(end.result.is_ok());
            // One bound and the cap, which is fifteen remote wake-ups or one bound for so few members.
            let bound = of.remote.max(of.hand_over * 2);
            prop_assert!(end.spun <= (bound + bound.max(of.remote * 15)).min(patience), "spun {}", end.spun);
            let refused = |did: &Did| matches!(did, Did::Yield | Did::Move(_) | Did::Pull(_));
            prop_assert!(!realtime || !end.did.iter().any(refused), "{:?}", end.did);
            prop_assert_eq!(team.mover().get(), 0);
        }
    }

    #[test]
    fn a_wait_that_cannot_succeed_ends_when_that_is_known(seed: u64, poisoned: bool, after_us in 0..9_000_u64) {
        let mut dice = SplitMix(seed);
        let team = team(OF, &mut dice);
        *team.me.dice.borrow_mut() = Some(SplitMix(!seed));
        let end = team.me.now.get() + US * after_us;
        if poisoned { team.me.poison.set(end) } else { team.deadline.set(end) }
        prop_assert!(team.wait(Nanos::MAX).result.is_err());
        // The longest operations of this world: a pull, a preemption, a yield or a move.
        prop_assert!(team.me.now.get() <= end + MS * 5 + US * 10, "{} later", team.me.now.get() - end);
    }
}
