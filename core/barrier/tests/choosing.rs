//! Members whose policy decides again for each wait, on processors that record all operations.
//!
//! Spinning and parking return `Pending` once. So the test decides when each member arrives, and can see the
//! first operation of a wait.
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use foregather_barrier::{Algorithm, BarrierMember, Group};
use foregather_conformance::scripted::{Did, Script};
use foregather_machine::{Nanos, Rank};
use foregather_wait::Policy;

/// One context switch.
const C: Nanos = Nanos::from_us(6);

/// Returns the first processor of a machine, for the clock and the notes. `running` says which ranks are
/// running.
fn machine(running: &[Option<bool>]) -> Script {
    let script = Script::on(0, 1);
    script.place.set(None);
    script.affinity.set(None);
    script.takes_turns.set(true);
    script.runs.borrow_mut().extend((1..).zip(running.iter().copied()));
    script
}

/// Returns the processor of a rank.
fn own(machine: &Script, rank: Rank) -> Script {
    let script = machine.beside(0, rank + 1);
    script.place.set(None);
    script.affinity.set(None);
    script
}

/// Returns the record of a check whether `rank` is running.
fn asked(rank: Rank) -> Did {
    Did::Ask(rank + 1)
}

fn poll<F: Future>(future: core::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Returns a member's steps from its arrival to the first `Pending`, without clock readings.
fn begins(machine: &Script, member: &mut BarrierMember<Script>) -> Vec<Did> {
    machine.did.take();
    assert!(poll(pin!(member.wait())).is_pending());
    machine.did.take().into_iter().filter(|did| !matches!(did, Did::ReadClock | Did::SpinBriefly)).collect()
}

#[test]
fn holder_running_blocks_at_once_if_somebody_awaited_does_not_run() {
    use Did::{Park, Spin};
    const RUNS: Option<bool> = Some(true);
    const READY: Option<bool> = Some(false);
    for (running, expected) in [
        ([RUNS, RUNS, RUNS], vec![asked(1), asked(2), Spin(C * 2)]),
        ([RUNS, RUNS, READY], vec![asked(1), asked(2), Park]),
        ([RUNS, READY, RUNS], vec![asked(1), Park]),
        ([RUNS, None, READY], vec![asked(1), Spin(C * 2)]),
    ] {
        let (machine, policy) = (machine(&running), Policy::HolderRunning { switch: C });
        let group = Group::new(Algorithm::Central, 3).unwrap();
        let mut member = group.member(own(&machine, 0), 0, policy).unwrap();
        let _others = [1, 2].map(|rank| group.member(own(&machine, rank), rank, policy).unwrap());
        assert_eq!(begins(&machine, &mut member), expected, "{running:?}");
    }
}

#[test]
fn holder_running_asks_nothing_about_those_who_have_arrived() {
    let machine = machine(&[Some(false), Some(true), Some(true)]);
    let group = Group::new(Algorithm::Central, 3).unwrap();
    let mut early = group.member(own(&machine, 0), 0, Policy::Block).unwrap();
    let mut late = group.member(own(&machine, 2), 2, Policy::HolderRunning { switch: C }).unwrap();
    let _absent = group.member(own(&machine, 1), 1, Policy::Block).unwrap();
    let waiting = pin!(early.wait());
    assert!(poll(waiting).is_pending());
    assert_eq!(begins(&machine, &mut late), [asked(1), Did::Spin(C * 2)], "rank 0 sleeps, but nobody waits for it");
}

/// An endpoint does not know which member will send a signal, but a member that has arrived less often cannot
/// have sent it.
#[test]
fn over_flags_holder_running_asks_about_those_who_have_not_arrived() {
    let machine = machine(&[Some(true), Some(true), Some(false)]);
    let group = Group::new(Algorithm::Dissemination, 3).unwrap();
    let mut member = group.member(own(&machine, 0), 0, Policy::HolderRunning { switch: C }).unwrap();
    assert_eq!(begins(&machine, &mut member), [Did::Spin(C * 2)], "nobody else is there to be asked after");
    let group = Group::new(Algorithm::Dissemination, 3).unwrap();
    let mut members = [0, 1, 2].map(|rank| group.member(own(&machine, rank), rank, Policy::HolderRunning { switch: C }).unwrap());
    assert_eq!(begins(&machine, &mut members[0]), [asked(1), asked(2), Did::Park]);
}

/// Runs episodes in which rank 0 arrives last, each `gap` after it left the previous one. Then, again after
/// `gap`, rank 0 arrives first; returns its steps.
fn after_gaps(kind: Algorithm, policy: Policy, gap: Nanos) -> Vec<Did> {
    let machine = machine(&[]);
    let group = Group::new(kind, 2).unwrap();
    let mut member = group.member(own(&machine, 0), 0, policy).unwrap();
    let mut other = group.member(own(&machine, 1), 1, Policy::Block).unwrap();
    for _ in 0..6 {
        let mut waiting = pin!(other.wait());
        assert!(poll(waiting.as_mut()).is_pending());
        machine.now.set(machine.now.get() + gap);
        assert_eq!(poll(pin!(member.wait())), Poll::Ready(Ok(())));
        assert_eq!(poll(waiting), Poll::Ready(Ok(())));
    }
    machine.now.set(machine.now.get() + gap);
    begins(&machine, &mut member)
}

#[test]
fn grain_is_measured_from_one_synchronisation_to_the_arrival_at_the_next() {
    let policy = Policy::Grain { switch: C, quantum: C * 20 };
    for kind in Algorithm::ALL {
        assert_eq!(after_gaps(kind, policy, C * 3), [Did::Spin(C.percent(250))], "{kind:?}: medium grain");
        assert_eq!(after_gaps(kind, policy, C * 7), [Did::Park], "{kind:?}: coarse grain");
        assert_eq!(after_gaps(kind, policy, C * 20), [Did::Park], "{kind:?}: nothing but preemptions");
    }
}

#[test]
fn only_grain_reads_the_clock_of_who_need_not_wait() {
    for (policy, expected) in
        [(Policy::Grain { switch: C, quantum: C }, 2), (Policy::Recent { switch: C }, 0), (Policy::TwoPhase { spin: C }, 0)]
    {
        let machine = machine(&[]);
        machine.logs_clock.set(true);
        let group = Group::new(Algorithm::Central, 1).unwrap();
        let mut member = group.member(own(&machine, 0), 0, policy).unwrap();
        assert_eq!(poll(pin!(member.wait())), Poll::Ready(Ok(())));
        assert_eq!(machine.did.take(), vec![Did::ReadClock; expected], "{policy}");
    }
}

/// Members that learn from waits learn from every wait, with shared words and with null messages.
#[test]
fn recent_blocks_once_its_waits_have_been_long() {
    for kind in Algorithm::ALL {
        let machine = machine(&[]);
        let group = Group::new(kind, 2).unwrap();
        let mut member = group.member(own(&machine, 0), 0, Policy::Recent { switch: C }).unwrap();
        let mut late = group.member(own(&machine, 1), 1, Policy::Block).unwrap();
        for spins in [true, false] {
            let mut waiting = pin!(member.wait());
            assert!(poll(waiting.as_mut()).is_pending());
            assert_eq!(machine.did.take().contains(&Did::Spin(C)), spins, "{kind:?}");
            if spins {
                assert!(poll(waiting.as_mut()).is_pending(), "the bound is over");
            }
            machine.now.set(machine.now.get() + C * 50);
            let mut last = pin!(late.wait());
            let released = poll(last.as_mut()).is_ready();
            assert_eq!(poll(waiting), Poll::Ready(Ok(())));
            assert!(released || poll(last).is_ready(), "{kind:?}: the tree releases its child afterwards");
        }
    }
}
