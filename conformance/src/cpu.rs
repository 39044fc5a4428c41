//! What a processor promises about words.
use crate::World;
use foregather_machine::{Cause, Clock, Error, Nanos, Park, WaitContext, Words};
use foregather_wait::{Outcome, Policy};

/// Everything.
pub fn all(world: &impl World) {
    publishes_what_was_written_before(world);
    no_wake_up_is_lost(world);
    a_spin_uses_its_budget(world);
    a_park_ends_at_its_bound(world);
    poison_ends_every_wait(world);
    values_wrap(world);
    one_of_many_exchanges(world);
    an_exchange_wakes_and_leaves_flags_alone(world);
}

/// A member that sees a store sees what its sender wrote before it, under every policy.
fn publishes_what_was_written_before<W: World>(world: &W) {
    const ROUNDS: u32 = 200;
    for policy in [Policy::Block, Policy::Yield, Policy::TwoPhase { spin: Nanos::from_us(3) }, Policy::default()] {
        let word = <W::Cpu<'_> as Words>::Word::default;
        let (data, there, back) = (word(), word(), word());
        world.run(2, async |cpu, rank| {
            for round in 1..=ROUNDS {
                let (mine, theirs) = if rank == 0 { (&there, &back) } else { (&back, &there) };
                if rank == 0 {
                    cpu.store(&data, round * 3);
                    cpu.publish(mine, round);
                }
                let come = || (cpu.load(theirs) == round).then(|| cpu.load(&data));
                let (seen, _) = policy.wait(&cpu, theirs, WaitContext::new("conformance", rank), come).await.unwrap();
                assert_eq!(seen, round * 3, "{policy:?}");
                if rank == 1 {
                    cpu.publish(mine, round);
                }
            }
        });
    }
}

/// Two members pass a word to and fro with only arm and park between them.
fn no_wake_up_is_lost<W: World>(world: &W) {
    const ROUNDS: u32 = 300;
    let word = <W::Cpu<'_> as Words>::Word::default();
    world.run(2, async |cpu, rank| {
        for turn in (rank..ROUNDS).step_by(2) {
            while cpu.load(&word) != turn {
                let armed = cpu.prepare_park(&word);
                if cpu.load(&word) != turn {
                    cpu.park(&word, armed, Nanos::MAX).await;
                }
            }
            assert_eq!(cpu.fetch_add(&word, 1), turn);
        }
    });
}

fn a_spin_uses_its_budget<W: World>(world: &W) {
    let word = <W::Cpu<'_> as Words>::Word::default();
    let budget = Nanos::from_us(200);
    world.run(1, async |cpu, _| {
        let began = cpu.now();
        let (found, used) = cpu.spin_for(&word, budget, || None::<()>).await;
        assert_eq!(found, None);
        assert!(used >= budget && cpu.now() - began >= budget, "gave up after {used}");
        assert_eq!(cpu.spin_for(&word, budget, || Some(7)).await.0, Some(7));
    });
}

fn a_park_ends_at_its_bound<W: World>(world: &W) {
    let word = <W::Cpu<'_> as Words>::Word::default();
    world.run(1, async |cpu, rank| {
        let deadline = cpu.now() + Nanos::from_ms(2);
        let why = WaitContext::new("conformance", rank).of(9).until(deadline);
        for policy in [Policy::Block, Policy::Spin, Policy::Yield, Policy::default()] {
            let waited = policy.wait(&cpu, &word, why, || None::<()>).await;
            assert!(matches!(Error::of(&waited), Some(Cause::TimedOut { peer: Some(9), .. })), "{policy:?}: {waited:?}");
            assert!(cpu.now() >= deadline);
        }
    });
}

/// A wait on a poisoned word fails if it is not satisfied, and succeeds if it is.
fn poison_ends_every_wait<W: World>(world: &W) {
    let words: [<W::Cpu<'_> as Words>::Word; 2] = Default::default();
    world.run(2, async |cpu, rank| {
        if rank == 0 {
            cpu.delay(world.step()).await;
            cpu.poison(&words[0]);
            cpu.publish(&words[1], 1);
            cpu.poison(&words[1]);
            return;
        }
        let why = WaitContext::new("conformance", rank);
        let lost = Policy::Block.wait(&cpu, &words[0], why, || None::<()>).await;
        assert_eq!(lost.unwrap_err(), Error::from(Cause::Poisoned { by: None }));
        let come = || (cpu.load(&words[1]) == 1).then_some(());
        assert!(Policy::Block.wait(&cpu, &words[1], why, come).await.unwrap().1.outcome <= Outcome::Parked);
        assert!(Policy::Spin.wait(&cpu, &words[1], why, || None::<()>).await.is_err());
    });
}

fn values_wrap<W: World>(world: &W) {
    let word = <W::Cpu<'_> as Words>::Word::default();
    world.run(1, async |cpu, _| {
        cpu.publish(&word, u32::MAX);
        assert_eq!(cpu.load(&word), foregather_machine::VALUE_MASK);
        assert_eq!(cpu.fetch_add(&word, 1), foregather_machine::VALUE_MASK);
        assert_eq!(cpu.load(&word), 0);
    });
}

/// Each value follows the one before, whichever member is quicker; no member succeeds twice, and all see what
/// the last one wrote before.
fn one_of_many_exchanges<W: World>(world: &W) {
    const ROUNDS: u32 = 100;
    let word = <W::Cpu<'_> as Words>::Word::default;
    let (taken, data) = (word(), word());
    let wins = world.run(3, async |cpu, _| {
        let mut wins = 0;
        for round in 1..=ROUNDS {
            if cpu.compare_exchange(&taken, round - 1, round).is_ok() {
                assert_eq!(cpu.load(&data), round - 1, "it has not seen what was written before");
                cpu.store(&data, round);
                wins += 1;
            }
            while cpu.load(&data) != round && cpu.load(&taken) == round {
                cpu.yield_now().await;
            }
        }
        wins
    });
    assert_eq!(wins.iter().sum::<u32>(), ROUNDS);
}

fn an_exchange_wakes_and_leaves_flags_alone<W: World>(world: &W) {
    let word = <W::Cpu<'_> as Words>::Word::default();
    let ends = world.run(2, async |cpu, rank| {
        if rank == 0 {
            cpu.delay(world.step()).await;
            assert_eq!(cpu.compare_exchange(&word, 1, 2), Err(0), "it holds 0");
            assert_eq!(cpu.compare_exchange(&word, 0, 1), Ok(0), "a sleeper does not count as a value");
            cpu.delay(world.step()).await;
            cpu.poison(&word);
            assert_eq!(cpu.compare_exchange(&word, 1, 2), Ok(1), "nor does poison");
            return cpu.check(&word, &WaitContext::new("conformance", rank));
        }
        let come = || (cpu.load(&word) != 0).then_some(());
        let woken = Policy::Block.wait(&cpu, &word, WaitContext::new("conformance", rank), come).await;
        woken.map(drop)
    });
    assert_eq!(Error::of(&ends[0]), Some(&Cause::Poisoned { by: None }));
    assert_eq!(ends[1], Ok(()));
}
