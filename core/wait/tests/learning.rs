//! The choices of the policies that decide again for each wait, after histories that the tests give them.
use foregather_machine::{Nanos, Placement};
use foregather_wait::{Account, Interest, Outcome, Policy, Progress, Step, Strategy, Surroundings, Waited};

/// One context switch.
const C: Nanos = Nanos::from_us(6);
const BLOCK: Nanos = Nanos::ZERO;

/// Surroundings without other threads.
struct Nobody;

impl Placement for Nobody {}

impl Surroundings for Nobody {
    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
    fn placement(&self) -> &dyn Placement {
        self
    }
}

/// Returns for how long the next wait would spin.
fn bound(strategy: &mut dyn Strategy) -> Nanos {
    let (waited, account) = (Waited::first_look(false), Account::default());
    let wait = Progress { waited, began: Nanos::ZERO, max_spin: Nanos::MAX, account: &account, around: &Nobody };
    assert_eq!(strategy.begin(&wait), strategy.spins());
    match strategy.next(&wait) {
        Step::Spin(bound) => bound,
        step => {
            assert_eq!((step, strategy.spins()), (Step::Park, false));
            BLOCK
        }
    }
}

fn ended(outcome: Outcome, waited: Nanos, spun: Nanos) -> Waited {
    Waited { outcome, waited, spun, ..Waited::first_look(true) }
}

/// Returns a wait that spun for `time` in total before its event.
fn spun(time: Nanos) -> Waited {
    ended(Outcome::Spun, time, time)
}

/// Returns a wait that parked and was woken by its event after `time`.
fn parked(time: Nanos) -> Waited {
    ended(Outcome::Parked, time + C, Nanos::ZERO)
}

fn recent(waits: &[Waited]) -> Nanos {
    let mut strategy = Policy::Recent { switch: C }.strategy(0);
    waits.iter().for_each(|&wait| strategy.learn(wait));
    bound(&mut *strategy)
}

#[test]
fn recent_spins_after_short_waits_and_blocks_after_long_ones() {
    let (spin, short, long) = (C, spun(C.percent(20)), parked(C * 50));
    assert_eq!(recent(&[]), spin, "nothing is known yet");
    assert_eq!(recent(&[long]), BLOCK);
    assert_eq!(recent(&[long, short, short]), spin, "2C + .4C is less than 3C");
    assert_eq!(recent(&[short, long, long]), BLOCK, "4C + .2C is more than 3C");
    assert_eq!(recent(&[long, long, long, short, short, short]), spin, "only the last three count");
    assert_eq!(recent(&[short, short, short, long, long, long]), BLOCK);
}

#[test]
fn recent_knows_what_a_wait_took_whatever_became_of_it() {
    let (spin, long) = (C, parked(C * 50));
    // A member that blocks must be able to find out that spinning would be enough, so the switch back does
    // not count as part of the wait.
    assert_eq!(recent(&[long, parked(C.percent(20)), parked(C.percent(20)), parked(C.percent(20))]), spin);
    assert_eq!(recent(&[long, parked(C * 2), parked(C * 2), parked(C * 2)]), BLOCK);
    // A spinner that was preempted when the event occurred has spun only for as long as it had the processor.
    assert_eq!(recent(&[ended(Outcome::Spun, C * 1_000, C.percent(10)); 3]), spin);
    // A brief spin counts as a short wait. If the event had already occurred, there was no wait.
    assert_eq!(recent(&[long, long, spun(Nanos::ZERO), spun(Nanos::ZERO)]), spin);
    assert_eq!(recent(&[long, long, Waited::first_look(true), Waited::first_look(true)]), BLOCK);
}

#[test]
fn randomised_draws_another_bound_for_every_wait() {
    let mut strategy = Policy::Randomised { switch: C }.strategy(7);
    let mut bounds = [(); 20].map(|()| {
        strategy.learn(parked(C));
        bound(&mut *strategy)
    });
    bounds.sort_unstable();
    assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]) && bounds[19] <= C, "{bounds:?}");
}

/// Returns the bound after these gaps, in a thread that waited for a long time between them.
fn grain(gaps: &[Nanos]) -> Nanos {
    let (mut strategy, mut now) = (Policy::Grain { switch: C, quantum: Policy::QUANTUM }.strategy(0), Nanos::ZERO);
    for &gap in [Nanos::ZERO].iter().chain(gaps) {
        now += gap;
        strategy.arrive(now);
        now += C * 500;
        strategy.learn(parked(C * 500));
        strategy.leave(now);
    }
    bound(&mut *strategy)
}

#[test]
fn grain_spins_when_it_is_fine_or_medium_and_blocks_when_it_is_coarse() {
    let spin = C.percent(250);
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
    assert_eq!(grain(&[preempted, fine, preempted, fine, preempted]), C.percent(250));
    assert_eq!(grain(&[preempted, coarse, preempted, coarse, preempted]), BLOCK);
    assert_eq!(grain(&[fine, fine, fine, preempted - Nanos(1), coarse, coarse, coarse]), BLOCK, "a gap below the quantum counts");
    assert_eq!(grain(&[preempted; 3]), BLOCK, "no gap is left: the grain is coarser than a quantum");
}

/// A fixed policy does not pay for clock readings and is not notified of waits.
#[test]
fn a_policy_is_told_only_what_it_goes_by() {
    let told = |policy: Policy| policy.strategy(0).interest();
    let none = Interest::default();
    for policy in [Policy::Spin, Policy::Yield, Policy::Block, Policy::TwoPhase { spin: C }, Policy::SpinThenYield { spin: C }] {
        assert_eq!(told(policy), none, "{policy}");
    }
    assert_eq!(told(Policy::HolderRunning { switch: C }), none);
    for policy in [Policy::Recent { switch: C }, Policy::Randomised { switch: C }] {
        assert_eq!(told(policy), Interest { waits: true, ..none }, "{policy}");
    }
    assert_eq!(told(Policy::Grain { switch: C, quantum: C }), Interest { episodes: true, ..none });
}
