//! Members whose policy chooses anew for every wait, on processors that write down how they were used.
//!
//! Spinning and parking are pending once, so the test says who arrives when, and a wait that began tells its first verb.
use core::cell::{Cell, RefCell};
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use foregather_barrier::{Algorithm, BarrierMember, Group};
use foregather_machine::{Clock, Cpu, Error, Nanos, Placement, Rank, ThreadId, WaitContext};
use foregather_wait::Policy;

/// One context switch.
const C: Nanos = Nanos::from_us(6);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Did {
    ReadClock,
    Asked(Rank),
    Spun(Nanos),
    Parked,
}

/// What all processors share.
#[derive(Default)]
struct Machine {
    now: Cell<Nanos>,
    did: RefCell<Vec<Did>>,
    running: Cell<[Option<bool>; 3]>,
}

impl Machine {
    fn log(&self, did: Did) {
        self.did.borrow_mut().push(did);
    }

    /// What was done since this was asked last.
    fn did(&self) -> Vec<Did> {
        self.did.take()
    }
}

/// One member's processor.
#[derive(Clone, Copy)]
struct Own<'m>(&'m Machine, Rank);

impl core::ops::Deref for Own<'_> {
    type Target = Machine;
    fn deref(&self) -> &Machine {
        self.0
    }
}

impl Clock for Own<'_> {
    fn now(&self) -> Nanos {
        self.log(Did::ReadClock);
        self.now.get()
    }
    async fn delay(&self, span: Nanos) {
        self.now.set(self.now.get() + span);
    }
}

/// Pending once.
async fn turn() {
    let mut asked = false;
    core::future::poll_fn(|_| if core::mem::replace(&mut asked, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

impl Placement for Own<'_> {
    fn identity(&self) -> Option<ThreadId> {
        Some(self.1 + 1)
    }
    fn running(&self, thread: ThreadId) -> Option<bool> {
        self.log(Did::Asked(thread - 1));
        self.running.get()[thread as usize - 1]
    }
}

impl Cpu for Own<'_> {
    type Word = Cell<u32>;
    fn load(&self, word: &Cell<u32>) -> u32 {
        word.get()
    }
    fn store(&self, word: &Cell<u32>, value: u32) {
        word.set(value);
    }
    fn publish(&self, word: &Cell<u32>, value: u32) {
        word.set(value);
    }
    fn fetch_add(&self, word: &Cell<u32>, n: u32) -> u32 {
        word.replace(word.get() + n)
    }
    fn compare_exchange(&self, word: &Cell<u32>, expected: u32, new: u32) -> bool {
        let same = word.get() == expected;
        if same {
            self.publish(word, new);
        }
        same
    }
    fn poison(&self, _: &Cell<u32>) {}
    fn spin_briefly<T>(&self, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
        probe()
    }
    async fn spin_for<T>(&self, _: &Cell<u32>, budget: Nanos, mut probe: impl FnMut() -> Option<T>) -> (Option<T>, Nanos) {
        self.log(Did::Spun(budget));
        turn().await;
        (probe(), budget)
    }
    async fn yield_now(&self) {
        turn().await;
    }
    fn prepare_park(&self, _: &Cell<u32>) -> u32 {
        0
    }
    async fn park(&self, _: &Cell<u32>, _: u32, _: Nanos) {
        self.log(Did::Parked);
        turn().await;
    }
    fn check(&self, _: &Cell<u32>, _: &WaitContext) -> Result<(), Error> {
        Ok(())
    }
}

fn poll<F: Future>(future: core::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// What a member does about a wait, from its arrival to the first time that it gives up its turn, without readings of the clock.
fn begins(machine: &Machine, member: &mut BarrierMember<'_, Own<'_>>) -> Vec<Did> {
    machine.did();
    assert!(poll(pin!(member.wait())).is_pending());
    machine.did().into_iter().filter(|&did| did != Did::ReadClock).collect()
}

#[test]
fn holder_running_blocks_at_once_if_somebody_awaited_does_not_run() {
    use Did::{Asked, Parked, Spun};
    const RUNS: Option<bool> = Some(true);
    const READY: Option<bool> = Some(false);
    for (running, expected) in [
        ([RUNS, RUNS, RUNS], vec![Asked(1), Asked(2), Spun(C * 2)]),
        ([RUNS, RUNS, READY], vec![Asked(1), Asked(2), Parked]),
        ([RUNS, READY, RUNS], vec![Asked(1), Parked]),
        ([RUNS, None, READY], vec![Asked(1), Spun(C * 2)]),
    ] {
        let (machine, policy) = (Machine::default(), Policy::HolderRunning { switch: C });
        machine.running.set(running);
        let group = Group::new(Algorithm::Central, 3).unwrap();
        let mut member = group.member(Own(&machine, 0), 0, policy).unwrap();
        let _others = [1, 2].map(|rank| group.member(Own(&machine, rank), rank, policy).unwrap());
        assert_eq!(begins(&machine, &mut member), expected, "{running:?}");
    }
}

#[test]
fn holder_running_asks_nothing_about_those_who_have_arrived() {
    let machine = Machine::default();
    machine.running.set([Some(false), Some(true), Some(true)]);
    let group = Group::new(Algorithm::Central, 3).unwrap();
    let mut early = group.member(Own(&machine, 0), 0, Policy::Block).unwrap();
    let mut late = group.member(Own(&machine, 2), 2, Policy::HolderRunning { switch: C }).unwrap();
    let _absent = group.member(Own(&machine, 1), 1, Policy::Block).unwrap();
    let waiting = pin!(early.wait());
    assert!(poll(waiting).is_pending());
    assert_eq!(begins(&machine, &mut late), [Did::Asked(1), Did::Spun(C * 2)], "rank 0 sleeps, but nobody waits for it");
}

/// An endpoint does not know whom a signal comes from, but who has not arrived cannot have sent it.
#[test]
fn over_flags_holder_running_asks_about_those_who_have_not_arrived() {
    let machine = Machine::default();
    machine.running.set([Some(true), Some(true), Some(false)]);
    let group = Group::new(Algorithm::Dissemination, 3).unwrap();
    let mut member = group.member(Own(&machine, 0), 0, Policy::HolderRunning { switch: C }).unwrap();
    assert_eq!(begins(&machine, &mut member), [Did::Spun(C * 2)], "nobody else is there to be asked after");
    let group = Group::new(Algorithm::Dissemination, 3).unwrap();
    let mut members = [0, 1, 2].map(|rank| group.member(Own(&machine, rank), rank, Policy::HolderRunning { switch: C }).unwrap());
    assert_eq!(begins(&machine, &mut members[0]), [Did::Asked(1), Did::Asked(2), Did::Parked]);
}

/// Runs episodes in which rank 0 comes last, so long after it left the one before; then, after that time again, it comes first.
fn after_gaps(kind: Algorithm, policy: Policy, gap: Nanos) -> Vec<Did> {
    let machine = Machine::default();
    let group = Group::new(kind, 2).unwrap();
    let mut member = group.member(Own(&machine, 0), 0, policy).unwrap();
    let mut other = group.member(Own(&machine, 1), 1, Policy::Block).unwrap();
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
        assert_eq!(after_gaps(kind, policy, C * 3), [Did::Spun(C.percent(250))], "{kind:?}: medium grain");
        assert_eq!(after_gaps(kind, policy, C * 7), [Did::Parked], "{kind:?}: coarse grain");
        assert_eq!(after_gaps(kind, policy, C * 20), [Did::Parked], "{kind:?}: nothing but preemptions");
    }
}

#[test]
fn only_grain_reads_the_clock_of_who_need_not_wait() {
    for (policy, expected) in
        [(Policy::Grain { switch: C, quantum: C }, 2), (Policy::Recent { switch: C }, 0), (Policy::TwoPhase { spin: C }, 0)]
    {
        let machine = Machine::default();
        let group = Group::new(Algorithm::Central, 1).unwrap();
        let mut member = group.member(Own(&machine, 0), 0, policy).unwrap();
        assert_eq!(poll(pin!(member.wait())), Poll::Ready(Ok(())));
        assert_eq!(machine.did(), vec![Did::ReadClock; expected], "{policy}");
    }
}

/// Members that learn from waits learn of each, over words as over flags.
#[test]
fn recent_blocks_once_its_waits_have_been_long() {
    for kind in Algorithm::ALL {
        let machine = Machine::default();
        let group = Group::new(kind, 2).unwrap();
        let mut member = group.member(Own(&machine, 0), 0, Policy::Recent { switch: C }).unwrap();
        let mut late = group.member(Own(&machine, 1), 1, Policy::Block).unwrap();
        for spins in [true, false] {
            let mut waiting = pin!(member.wait());
            assert!(poll(waiting.as_mut()).is_pending());
            assert_eq!(machine.did().contains(&Did::Spun(C)), spins, "{kind:?}");
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
