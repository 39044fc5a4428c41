//! The operations of each policy and their order, on a processor that only records them.
use core::cell::Cell;
use foregather_conformance::scripted::{Did, Script};
use foregather_machine::{Error, Nanos, WaitContext, block_on};
use foregather_wait::{Outcome, Policy, WaitFor, Waited, Waiter};

/// Returns a script in which the event occurs after this many operations.
fn script(event_after: usize) -> Script {
    let script = Script::on(0, 1);
    script.now.set(Nanos(1));
    script.event_after.set(event_after);
    script.brief_span.set(Nanos(500));
    script.park_span.set(Some(Nanos(20_000)));
    script
}

fn wait(script: &Script, policy: Policy, timed: bool) -> Result<Waited, Error> {
    let (word, waiter) = (Cell::default(), Waiter::new(policy, 0));
    let why = || (WaitContext::new("script", 0), WaitFor::Unknown);
    block_on(waiter.wait_part(script, &word, timed, why, || script.come()).finish()).map(|((), waited)| waited)
}

fn spins(policy: Policy) -> bool {
    policy.strategy(0).spins()
}

const US: Nanos = Nanos(1_000);
const MS: Nanos = Nanos(1_000_000);

#[test]
fn each_policy_takes_its_part_of_the_three_phases() {
    use Did::{Park, Spin, SpinBriefly, Yield};
    let two_phase = Policy::TwoPhase { spin: US * 2_500 };
    let spin_yield = Policy::SpinThenYield { spin: US * 20 };
    for (policy, verbs) in [
        (Policy::Spin, vec![SpinBriefly, Spin(MS), Spin(MS), Spin(MS)]),
        (Policy::Yield, vec![Yield, Yield, Yield, Yield]),
        (Policy::Block, vec![Park, Park]),
        // Long spins stop every millisecond to check whether the wait can still succeed; the bound is exact
        // to the nanosecond.
        (two_phase, vec![SpinBriefly, Spin(MS), Spin(MS), Spin(US * 500), Park, Park]),
        (spin_yield, vec![SpinBriefly, Spin(US * 20), Yield, Yield]),
    ] {
        let script = script(verbs.len());
        let waited = wait(&script, policy, false).unwrap();
        assert_eq!(*script.did.borrow(), verbs, "{policy:?}");
        let outcome = [Outcome::Spun, Outcome::Yielded, Outcome::Parked][match verbs.last() {
            Some(Yield) => 1,
            Some(Park) => 2,
            _ => 0,
        }];
        assert_eq!((waited.outcome, waited.began_spinning), (outcome, spins(policy)), "{policy:?}");
        assert_eq!(waited.waited, script.now.get() - Nanos(1) - if spins(policy) { Nanos(500) } else { Nanos::ZERO });
    }
}

#[test]
fn what_comes_at_once_costs_nothing_and_what_comes_in_a_blink_is_not_timed() {
    for policy in [Policy::Spin, Policy::Block, Policy::Yield] {
        let script = script(0);
        assert_eq!(wait(&script, policy, true), Ok(Waited::first_look(spins(policy))));
        assert!(script.did.borrow().is_empty());
    }
    let first = script(1);
    let waited = wait(&first, Policy::Spin, false).unwrap();
    assert_eq!((waited.outcome, waited.waited), (Outcome::Spun, Nanos::ZERO));
    let timed = wait(&script(1), Policy::Spin, true).unwrap();
    assert!(timed.waited > Nanos::ZERO, "unless somebody asks for it");
}

/// Under a real-time class, an ordinary thread does not get the processor while this one spins or yields.
#[test]
fn bounded_patience_ends_every_spin_and_forbids_yields() {
    for policy in [Policy::Spin, Policy::Yield, Policy::SpinThenYield { spin: MS }] {
        let script = script(4);
        script.max_spin.set(US * 50);
        assert_eq!(wait(&script, policy, false).unwrap().outcome, Outcome::Parked);
        let (mut spun, verbs) = (Nanos::ZERO, script.did.borrow());
        for verb in verbs.iter() {
            match verb {
                Did::Spin(budget) => spun += *budget,
                Did::Yield => panic!("{policy:?} yields: {verbs:?}"),
                _ => {}
            }
        }
        assert!(spun <= US * 50, "{policy:?}: {verbs:?}");
    }
}

/// The sender did its part and left before the waiter checked for it, so the wait has succeeded.
#[test]
fn a_sender_that_went_after_its_signal_is_no_loss() {
    for policy in [Policy::Spin, Policy::Yield, Policy::Block] {
        let script = script(usize::MAX);
        script.lost_at_check.set(true);
        assert!(wait(&script, policy, false).is_ok(), "{policy:?}");
    }
}
