//! What the policies that choose anew for every wait choose, by histories that are told to them.
use core::cell::Cell;
use foregather_machine::{Clock, Nanos};
use foregather_wait::{Outcome, Phases, Policy, Waited, Waiter};

/// One context switch.
const C: Nanos = Nanos::from_us(6);
const BLOCK: Phases = Phases::spin(Nanos::ZERO);

fn ended(outcome: Outcome, waited: Nanos, spun: Nanos) -> Waited {
    Waited { outcome, waited, spun, ..Waited::first_look(true) }
}

/// A wait that spun for that long in all and then met its event.
fn spun(time: Nanos) -> Waited {
    ended(Outcome::Spun, time, time)
}

/// A wait whose event came after that time, for one who slept and was woken.
fn parked(time: Nanos) -> Waited {
    ended(Outcome::Parked, time + C, Nanos::ZERO)
}

fn recent(waits: &[Waited]) -> Phases {
    let chooser = Waiter::new(Policy::Recent { switch: C }, 0);
    waits.iter().for_each(|&wait| chooser.learn(wait));
    chooser.phases()
}

#[test]
fn recent_spins_after_short_waits_and_blocks_after_long_ones() {
    let (spin, short, long) = (Phases::spin(C), spun(C.percent(20)), parked(C * 50));
    assert_eq!(recent(&[]), spin, "nothing is known yet");
    assert_eq!(recent(&[long]), BLOCK);
    assert_eq!(recent(&[long, short, short]), spin, "2C + .4C is less than 3C");
    assert_eq!(recent(&[short, long, long]), BLOCK, "4C + .2C is more than 3C");
    assert_eq!(recent(&[long, long, long, short, short, short]), spin, "only the last three count");
    assert_eq!(recent(&[short, short, short, long, long, long]), BLOCK);
}

#[test]
fn recent_knows_what_a_wait_took_whatever_became_of_it() {
    let (spin, long) = (Phases::spin(C), parked(C * 50));
    // Who blocks must be able to find out that spinning would do: the switch back is not a part of the wait.
    assert_eq!(recent(&[long, parked(C.percent(20)), parked(C.percent(20)), parked(C.percent(20))]), spin);
    assert_eq!(recent(&[long, parked(C * 2), parked(C * 2), parked(C * 2)]), BLOCK);
    // A spinner whom the event found preempted has spun for as long as it had the processor.
    assert_eq!(recent(&[ended(Outcome::Spun, C * 1_000, C.percent(10)); 3]), spin);
    // A blink is a short wait; an event that was there already is no wait.
    assert_eq!(recent(&[long, long, spun(Nanos::ZERO), spun(Nanos::ZERO)]), spin);
    assert_eq!(recent(&[long, long, Waited::first_look(true), Waited::first_look(true)]), BLOCK);
}

#[test]
fn randomised_draws_another_bound_for_every_wait() {
    let chooser = Waiter::new(Policy::Randomised { switch: C }, 7);
    let mut bounds = [(); 20].map(|()| {
        chooser.learn(parked(C));
        chooser.phases().spin
    });
    bounds.sort_unstable();
    assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]) && bounds[19] <= C, "{bounds:?}");
}

/// Time as the test sets it.
#[derive(Default)]
struct Watch(Cell<Nanos>);

impl Clock for Watch {
    fn now(&self) -> Nanos {
        self.0.get()
    }
    async fn delay(&self, _: Nanos) {}
}

/// What the median of those gaps leads to, in a thread that has waited long in between.
fn grain(gaps: &[Nanos]) -> Phases {
    let (chooser, watch) = (Waiter::new(Policy::Grain { switch: C, quantum: Policy::QUANTUM }, 0), Watch::default());
    for &gap in [Nanos::ZERO].iter().chain(gaps) {
        watch.0.set(watch.now() + gap);
        chooser.arrive(&watch);
        watch.0.set(watch.now() + C * 500);
        chooser.learn(parked(C * 500));
        chooser.leave(&watch);
    }
    chooser.phases()
}

#[test]
fn grain_spins_when_it_is_fine_or_medium_and_blocks_when_it_is_coarse() {
    let spin = Phases::spin(C.percent(250));
    let (fine, medium, coarse) = (C.percent(80), C.percent(499), C * 5);
    assert_eq!(grain(&[]), spin, "nothing is known yet");
    assert_eq!(grain(&[coarse; 2]), spin, "two gaps are too few");
    assert_eq!(grain(&[coarse; 3]), BLOCK);
    assert_eq!(grain(&[fine; 3]), spin);
    assert_eq!(grain(&[medium; 8]), spin);
    assert_eq!(grain(&[coarse, fine, fine]), spin, "the median counts");
    assert_eq!(grain(&[fine, coarse, coarse]), BLOCK);
    assert_eq!(grain(&[[coarse; 8], [fine; 8]].concat()), spin, "only the last eight count");
}

#[test]
fn grain_leaves_out_gaps_in_which_somebody_else_ran() {
    let (fine, coarse, preempted) = (C.percent(80), C * 6, Policy::QUANTUM);
    assert_eq!(grain(&[preempted, fine, preempted, fine, preempted]), Phases::spin(C.percent(250)));
    assert_eq!(grain(&[preempted, coarse, preempted, coarse, preempted]), BLOCK);
    assert_eq!(grain(&[fine, fine, fine, preempted - Nanos(1), coarse, coarse, coarse]), BLOCK, "a gap below the quantum counts");
    assert_eq!(grain(&[preempted; 3]), BLOCK, "no gap is left: the grain is coarser than a quantum");
}

/// A fixed policy pays for no clock.
#[test]
fn a_fixed_policy_stays_as_it_is() {
    struct Never;
    impl Clock for Never {
        fn now(&self) -> Nanos {
            panic!("the clock is read only to measure granularity")
        }
        async fn delay(&self, _: Nanos) {}
    }
    let fixed = [Policy::Spin, Policy::Yield, Policy::Block, Policy::TwoPhase { spin: C }, Policy::SpinThenYield { spin: C }];
    for policy in fixed {
        let chooser = Waiter::new(policy, 0);
        assert!(chooser.fixed());
        for wait in [spun(Nanos::ZERO), parked(C * 50), parked(C * 50), parked(C * 50)] {
            chooser.arrive(&Never);
            chooser.learn(wait);
            chooser.leave(&Never);
        }
        assert_eq!(chooser.phases(), policy.phases(), "{policy}");
    }
    for policy in [Policy::Recent { switch: C }, Policy::Randomised { switch: C }, Policy::HolderRunning { switch: C }] {
        assert!(!Waiter::new(policy, 0).fixed());
        Waiter::new(policy, 0).leave(&Never);
    }
}
