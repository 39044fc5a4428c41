//! A processor made of shuttle's primitives that can tell where threads are, and move them: for the adaptive
//! policy.
//!
//! Each member has a clock of its own, which only its verbs move. An operation that takes time on a machine
//! is two steps here, so the others may come in between. A fault can be planted, which the schedules must
//! find.
use crate::scheduled::{Scheduled, Word, team};
use foregather_barrier::{Algorithm, BarrierMember, Group, SignalMatrix};
use foregather_machine::{
    Affinity, Clock, CounterOf, CpuId, Error, Nanos, Park, Placement, Rank, SharedLines, ThreadId, WaitContext, WordLine, Words,
};
use foregather_wait::{Adaptive, Policy};
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use shuttle::thread;
use std::cell::Cell;
use std::sync::{Arc, Mutex};

/// The faults of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Sleeps until a change after the one that it sees when it goes to sleep, not after the one it armed
    /// for.
    ParksUnarmed,
    /// Never says that a wait cannot succeed.
    NeverChecks,
    /// Any member may move at any time.
    MovesUnasked,
    /// The right to move is not given back.
    KeepsTheTurn,
    /// Was killed while it moved, before the members came: the right to move is never given back. No fault of
    /// the members that are left.
    KilledWhileItMoved,
    /// Was killed while it moved, and members wait for the right to move.
    WaitsForTheTurn,
    /// Believes for a while to be where it was.
    HidesItsMove,
    /// Gives a thread the mask back that it found, whichever thread had set it.
    RestoresWhatItFound,
    /// Takes any answer of a scout for the answer to the last question.
    BelievesOldAnswers,
}

impl Fault {
    fn killed(self) -> bool {
        matches!(self, Self::KilledWhileItMoved | Self::WaitsForTheTurn)
    }
}

/// A machine and its team.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) kind: Algorithm,
    pub(crate) of: Adaptive,
    /// Where the members begin.
    pub(crate) places: &'static [CpuId],
    pub(crate) processors: u32,
    /// A background thread computes on this processor forever.
    pub(crate) stranger: Option<CpuId>,
    /// Some yields go to strangers.
    pub(crate) slow_yields: bool,
    /// Whether it can tell which threads run, at random, so members are fetched; and some moves are refused.
    pub(crate) tells: bool,
    pub(crate) fault: Fault,
}

/// Words like those of a segment.
struct Segment(Vec<WordLine<Word>>);

impl AsRef<[WordLine<Word>]> for Segment {
    fn as_ref(&self) -> &[WordLine<Word>] {
        &self.0
    }
}

/// Questions to the scout: by number and processor.
#[derive(Default)]
struct Scout {
    question: (u32, CpuId),
    under_way: Option<(u32, CpuId)>,
    answer: Option<(u32, CpuId)>,
}

/// What all members share.
pub(crate) struct Machine {
    plan: Plan,
    segment: Arc<Segment>,
    /// The line of the word of the member that moves.
    mover: usize,
    pub(crate) places: Vec<AtomicU32>,
    masks: Vec<AtomicU32>,
    moving: AtomicU32,
    /// What is noted of each processor.
    notes: Vec<AtomicU32>,
    scout: Mutex<Scout>,
    /// The first rule of a move that was broken. A member that panics would also poison its group, in the
    /// middle of anything.
    broken: Mutex<Option<&'static str>>,
}

impl Machine {
    pub(crate) fn new(plan: Plan) -> Self {
        let size = plan.places.len() as u32;
        let lines = Group::<Placed>::lines(plan.kind, size);
        Self {
            plan,
            segment: Arc::new(Segment((0..lines).map(|_| WordLine::default()).collect())),
            // The flags come last, and begin with the roster.
            mover: lines - SignalMatrix::<Placed>::lines(size, plan.kind.slots(size)),
            places: plan.places.iter().map(|&place| AtomicU32::new(place)).collect(),
            masks: plan.places.iter().map(|_| AtomicU32::new(Self::own(plan.processors))).collect(),
            moving: AtomicU32::new(0),
            notes: (0..plan.processors).map(|_| AtomicU32::new(0)).collect(),
            scout: Mutex::default(),
            broken: Mutex::default(),
        }
    }

    fn expect(&self, so: bool, otherwise: &'static str) {
        if !so {
            self.broken.lock().unwrap().get_or_insert(otherwise);
        }
    }

    /// The mask of a member that may run on all processors.
    fn own(processors: u32) -> u32 {
        (1 << processors) - 1
    }

    fn mover(&self) -> &Word {
        &self.segment.0[self.mover][0]
    }

    fn crowd(&self, cpu: CpuId) -> usize {
        self.places.iter().filter(|place| place.load(SeqCst) == cpu).count()
    }

    /// Asserts that moves were as they must be, and that none of them or of pulls is left.
    fn assert_settled(&self) {
        let broken = self.broken.lock().unwrap().take();
        assert!(broken.is_none(), "somebody {}", broken.unwrap_or_default());
        assert!(self.plan.fault.killed() || Scheduled.load(self.mover()) == 0, "the mover's word is left taken");
        for mask in &self.masks {
            assert_eq!(mask.load(SeqCst), Self::own(self.plan.processors), "a mask was left behind");
        }
    }

    /// Puts that thread on a processor, and its mask back; `false` if another thread has changed the mask.
    pub(crate) fn lend(&self, thread: usize, cpu: CpuId) -> bool {
        let (mask, one) = (&self.masks[thread], 1 << cpu);
        let found = mask.load(SeqCst);
        let faulty = self.plan.fault == Fault::RestoresWhatItFound;
        if !faulty && found != Self::own(self.plan.processors) {
            return false;
        }
        mask.store(one, SeqCst);
        self.places[thread].store(cpu, SeqCst);
        (0..8).for_each(|_| thread::yield_now());
        if faulty || mask.load(SeqCst) == one {
            mask.store(found, SeqCst);
        }
        true
    }
}

/// Runs `member` as all members of a group over that machine.
pub(crate) fn run(
    plan: Plan,
    member: impl Fn(&Machine, BarrierMember<Placed>, Rank) + Copy + Send + Sync + 'static,
) -> impl Fn() + Copy + Send + Sync + 'static {
    move || {
        let machine = Arc::new(Machine::new(plan));
        let size = plan.places.len() as u32;
        Scheduled.store(machine.mover(), plan.fault.killed().into());
        let group = Group::over(SharedLines::shared(machine.segment.clone()), plan.kind, size).unwrap();
        let shared = machine.clone();
        team(size, move |rank| {
            let cpu = Placed { machine: shared.clone(), rank, now: Cell::new(1), was: Cell::new((0, 0)) };
            member(&shared, group.member(cpu, rank, Policy::Adaptive(plan.of)).unwrap(), rank);
        });
        machine.assert_settled();
    }
}

/// One member's processor.
pub(crate) struct Placed {
    machine: Arc<Machine>,
    rank: Rank,
    now: Cell<u64>,
    /// Where it was, and for how many looks it still believes to be there.
    was: Cell<(CpuId, u32)>,
}

impl Placed {
    fn fault(&self) -> Fault {
        self.machine.plan.fault
    }

    fn pass(&self, ns: u64) {
        thread::yield_now();
        self.now.set(self.now.get() + ns);
        if self.machine.plan.stranger.is_some() {
            self.let_the_scout_go_on();
        }
    }

    /// The scout reads a question, and answers it some time later, unless a stranger computes there.
    fn let_the_scout_go_on(&self) {
        let chance = thread_rng().gen_range(0..4_u32);
        let scout = &mut *self.machine.scout.lock().unwrap();
        match (scout.under_way, chance) {
            (None, 0) if scout.question.0 > 0 => scout.under_way = Some(scout.question),
            (Some(question), 1) => {
                if Some(question.1) != self.machine.plan.stranger {
                    scout.answer = Some(question);
                }
                scout.under_way = None;
            }
            _ => {}
        }
    }

    fn here(&self) -> CpuId {
        self.machine.places[self.rank as usize].load(SeqCst)
    }
}

impl Clock for Placed {
    fn now(&self) -> Nanos {
        Nanos(self.now.get())
    }
    async fn delay(&self, span: Nanos) {
        self.pass(span.0);
    }
}

impl Placement for Placed {
    fn place(&self) -> Option<CpuId> {
        let (was, looks) = self.was.get();
        self.was.set((was, looks.saturating_sub(1)));
        Some(if looks > 0 { was } else { self.here() })
    }
    fn identity(&self) -> Option<ThreadId> {
        Some(self.rank + 1)
    }
    fn running(&self, _: ThreadId) -> Option<bool> {
        self.machine.plan.tells.then(|| thread_rng().gen_range(0..3_u32)).map(|chance| chance == 0)
    }
    fn affinity(&self) -> Option<Affinity> {
        Some(Affinity { fingerprint: 1, width: self.machine.plan.processors, beyond: self.machine.plan.processors })
    }
    fn allows(&self, cpu: CpuId) -> bool {
        cpu < self.machine.plan.processors
    }
    fn idle(&self, cpu: CpuId) -> Option<bool> {
        let scout = &mut *self.machine.scout.lock().unwrap();
        let answered = scout.answer == Some(scout.question);
        if self.fault() == Fault::BelievesOldAnswers && scout.answer.is_some() || answered && scout.question.1 == cpu {
            return Some(true);
        }
        if answered || scout.question.1 != cpu {
            scout.question = (scout.question.0 + 1, cpu);
        }
        Some(false)
    }
    fn note_of(&self, cpu: CpuId) -> u32 {
        self.machine.notes[cpu as usize].load(SeqCst)
    }
    fn set_note(&self, cpu: CpuId, word: u32) {
        self.machine.notes[cpu as usize].store(word, SeqCst);
    }
    async fn move_to(&self, cpu: CpuId) -> bool {
        let (machine, from) = (&self.machine, self.here());
        machine.expect(machine.moving.fetch_add(1, SeqCst) == 0, "moves while another one does");
        // A member that moves does not know which members are fetched meanwhile.
        machine.expect(machine.plan.tells || machine.crowd(cpu) < machine.crowd(from), "moves to where as many are");
        machine.expect(Some(cpu) != machine.plan.stranger, "moves beside a stranger");
        let refused = machine.plan.tells && thread_rng().gen_range(0..8_u32) == 0;
        let moved = !refused && machine.lend(self.rank as usize, cpu);
        self.pass(10);
        machine.moving.fetch_sub(1, SeqCst);
        if self.fault() == Fault::HidesItsMove {
            self.was.set((from, 6));
        }
        moved
    }
    async fn pull(&self, thread: ThreadId) -> bool {
        let pulled = self.machine.lend(thread as usize - 1, self.here());
        if pulled {
            self.yield_now().await;
        }
        pulled
    }
}

impl Words for Placed {
    type Word = Word;

    foregather_machine::forward! { |_this| Scheduled =>
        fn load(word: &Word) -> u32;
        fn publish(word: &Word, value: u32);
        fn compare_exchange(word: &Word, expected: u32, new: u32) -> Result<u32, u32>;
        fn poison(word: &Word);
        fn take_ticket(counter: &CounterOf<Self>) -> u64;
    }
    fn store(&self, word: &Word, value: u32) {
        if self.fault() != Fault::KeepsTheTurn || !std::ptr::eq(word, self.machine.mover()) {
            Scheduled.store(word, value);
        }
    }
    fn fetch_add(&self, word: &Word, n: u32) -> u32 {
        while self.fault() == Fault::WaitsForTheTurn && std::ptr::eq(word, self.machine.mover()) && Scheduled.load(word) != 0 {
            thread::yield_now();
        }
        let before = Scheduled.fetch_add(word, n);
        if self.fault() == Fault::MovesUnasked && std::ptr::eq(word, self.machine.mover()) { 0 } else { before }
    }
}

impl Park for Placed {
    foregather_machine::forward! { |_this| Scheduled =>
        fn spin_briefly<T>(probe: impl FnMut() -> Option<T>) -> Option<T>;
        fn prepare_park(on: &Word) -> u32;
    }
    async fn spin_for<T>(&self, _: &Word, budget: Nanos, mut probe: impl FnMut() -> Option<T>) -> (Option<T>, Nanos) {
        self.pass(budget.0);
        (probe(), budget)
    }
    async fn yield_now(&self) {
        let slow = self.machine.plan.slow_yields && thread_rng().gen_range(0..4_u32) == 0;
        let Adaptive { hand_over, tick, .. } = self.machine.plan.of;
        self.pass(if slow { tick.0 } else { hand_over.0 });
    }
    async fn park(&self, on: &Word, armed: u32, until: Nanos) {
        let armed = if self.fault() == Fault::ParksUnarmed { Scheduled.prepare_park(on) } else { armed };
        Scheduled.park(on, armed, until).await;
    }
    fn check(&self, on: &Word, why: &WaitContext) -> Result<(), Error> {
        if self.fault() == Fault::NeverChecks { Ok(()) } else { Scheduled.check(on, why) }
    }
}
