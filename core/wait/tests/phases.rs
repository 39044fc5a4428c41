//! Which verbs a policy uses, in which order, on a processor that does nothing but write them down.
use core::cell::{Cell, RefCell};
use foregather_machine::{Cause, Clock, Cpu, Error, Nanos, Placement, WaitContext, block_on};
use foregather_wait::{Outcome, Policy, Waited};

/// What was done, with its length where it has one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verb {
    Blink,
    Spin(Nanos),
    Yield,
    Park,
}

/// Time passes only when a verb lets it; the event comes after so many verbs.
struct Script {
    now: Cell<u64>,
    done: RefCell<Vec<Verb>>,
    event_after: usize,
    patience: Nanos,
    /// The event comes, and its sender goes, just before the wait asks whether it can still succeed.
    lost_at_check: bool,
}

impl Script {
    fn new(event_after: usize) -> Self {
        Self { now: Cell::new(1), done: RefCell::default(), event_after, patience: Nanos::MAX, lost_at_check: false }
    }

    fn note(&self, verb: Verb, span: Nanos) {
        self.done.borrow_mut().push(verb);
        self.now.set(self.now.get() + span.0);
    }

    fn come(&self) -> bool {
        self.done.borrow().len() >= self.event_after
    }

    fn wait(&self, policy: Policy, timed: bool) -> Result<Waited, Error> {
        let come = || (self.come() && !self.lost_at_check || self.lost_at_check && self.now.get() == 0).then_some(());
        block_on(policy.wait(self, &(), WaitContext::new("script", 0), timed, come)).map(|((), waited)| waited)
    }
}

impl Clock for Script {
    fn now(&self) -> Nanos {
        Nanos(self.now.get())
    }
    async fn delay(&self, _: Nanos) {}
}

impl Placement for Script {}

impl Cpu for Script {
    type Word = ();
    fn load(&self, (): &()) -> u32 {
        0
    }
    fn store(&self, (): &(), _: u32) {}
    fn publish(&self, (): &(), _: u32) {}
    fn fetch_add(&self, (): &(), _: u32) -> u32 {
        0
    }
    fn compare_exchange(&self, (): &(), _: u32, _: u32) -> bool {
        true
    }
    fn poison(&self, (): &()) {}
    fn spin_briefly<T>(&self, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
        self.note(Verb::Blink, Nanos(500));
        probe()
    }
    async fn spin_for<T>(&self, (): &(), budget: Nanos, mut probe: impl FnMut() -> Option<T>) -> (Option<T>, Nanos) {
        self.note(Verb::Spin(budget), budget);
        (probe(), budget)
    }
    async fn yield_now(&self) {
        self.note(Verb::Yield, Nanos(700));
    }
    fn prepare_park(&self, (): &()) -> u32 {
        0
    }
    async fn park(&self, (): &(), _: u32, _: Nanos) {
        self.note(Verb::Park, Nanos(20_000));
    }
    fn max_spin(&self) -> Nanos {
        self.patience
    }
    fn check(&self, (): &(), _: &WaitContext) -> Result<(), Error> {
        if self.lost_at_check {
            self.now.set(0);
            return Err(Error::from(Cause::Poisoned { by: None }));
        }
        Ok(())
    }
}

const US: Nanos = Nanos(1_000);
const MS: Nanos = Nanos(1_000_000);

#[test]
fn each_policy_takes_its_part_of_the_three_phases() {
    use Verb::{Blink, Park, Spin, Yield};
    let two_phase = Policy::TwoPhase { spin: US * 2_500 };
    let spin_yield = Policy::SpinThenYield { spin: US * 20 };
    for (policy, verbs) in [
        (Policy::Spin, vec![Blink, Spin(MS), Spin(MS), Spin(MS)]),
        (Policy::Yield, vec![Yield, Yield, Yield, Yield]),
        (Policy::Block, vec![Park, Park]),
        // Long spins stop every millisecond to ask whether they can still succeed; the bound is kept to the nanosecond.
        (two_phase, vec![Blink, Spin(MS), Spin(MS), Spin(US * 500), Park, Park]),
        (spin_yield, vec![Blink, Spin(US * 20), Yield, Yield]),
    ] {
        let script = Script::new(verbs.len());
        let waited = script.wait(policy, false).unwrap();
        assert_eq!(*script.done.borrow(), verbs, "{policy:?}");
        let outcome = [Outcome::Spun, Outcome::Yielded, Outcome::Parked][match verbs.last() {
            Some(Yield) => 1,
            Some(Park) => 2,
            _ => 0,
        }];
        assert_eq!((waited.outcome, waited.began_spinning), (outcome, policy.phases().spins()), "{policy:?}");
        assert_eq!(waited.waited, script.now() - Nanos(1) - if policy.phases().spins() { Nanos(500) } else { Nanos::ZERO });
    }
}

#[test]
fn what_comes_at_once_costs_nothing_and_what_comes_in_a_blink_is_not_timed() {
    for policy in [Policy::Spin, Policy::Block, Policy::Yield] {
        let script = Script::new(0);
        assert_eq!(script.wait(policy, true), Ok(Waited::first_look(policy.phases().spins())));
        assert!(script.done.borrow().is_empty());
    }
    let script = Script::new(1);
    let waited = script.wait(Policy::Spin, false).unwrap();
    assert_eq!((waited.outcome, waited.waited), (Outcome::Spun, Nanos::ZERO));
    let timed = Script::new(1).wait(Policy::Spin, true).unwrap();
    assert!(timed.waited > Nanos::ZERO, "unless somebody asks for it");
}

/// Under a real-time class nobody else gets the processor from a spinner or a yielder.
#[test]
fn bounded_patience_ends_every_spin_and_forbids_yields() {
    for policy in [Policy::Spin, Policy::Yield, Policy::SpinThenYield { spin: MS }] {
        let script = Script { patience: US * 50, ..Script::new(4) };
        assert_eq!(script.wait(policy, false).unwrap().outcome, Outcome::Parked);
        let (mut spun, verbs) = (Nanos::ZERO, script.done.borrow());
        for verb in verbs.iter() {
            match verb {
                Verb::Spin(budget) => spun += *budget,
                Verb::Yield => panic!("{policy:?} yields: {verbs:?}"),
                _ => {}
            }
        }
        assert!(spun <= US * 50, "{policy:?}: {verbs:?}");
    }
}

/// The sender did its part and went away before the waiter asked for it: that wait has succeeded.
#[test]
fn a_sender_that_went_after_its_signal_is_no_loss() {
    for policy in [Policy::Spin, Policy::Yield, Policy::Block] {
        let script = Script { lost_at_check: true, ..Script::new(1) };
        assert!(script.wait(policy, false).is_ok(), "{policy:?}");
    }
}
