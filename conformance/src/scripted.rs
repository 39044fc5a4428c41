//! A processor that does what a test says and records what it was asked to do. Time passes only when a verb
//! lets it.
use core::cell::{Cell, RefCell};
use core::task::Poll;
use foregather_machine::{Affinity, Cause, Clock, Costs, CpuId, Error, Nanos, Park, Placement, SplitMix, ThreadId, WaitContext};
use std::collections::BTreeMap;
use std::rc::Rc;

/// One thing that a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// Read the clock, if that is recorded.
    ReadClock,
    /// Spun briefly.
    SpinBriefly,
    /// Spun for that budget.
    Spin(Nanos),
    /// Yielded.
    Yield,
    /// Parked.
    Park,
    /// Asked whether that thread runs.
    Ask(ThreadId),
    /// Sent a scout there, or asked for its answer.
    Scout(CpuId),
    /// Moved there.
    Move(CpuId),
    /// Pulled that thread.
    Pull(ThreadId),
}

/// The processor of one thread. Its fields decide what its verbs do; a [`Script::beside`] another one shares
/// its clock and record.
pub struct Script {
    /// The time.
    pub now: Rc<Cell<Nanos>>,
    /// The record of what was done, in order.
    pub did: Rc<RefCell<Vec<Did>>>,
    /// Whether readings of the clock are recorded.
    pub logs_clock: Cell<bool>,
    /// Whether spins in a row are recorded as one, of no length.
    pub merges_spins: Cell<bool>,
    /// Whether each spin, yield and park is pending once, and takes no time.
    pub takes_turns: Cell<bool>,
    /// When the event comes.
    pub event: Cell<Nanos>,
    /// The event comes after this many records.
    pub event_after: Cell<usize>,
    /// When the word is poisoned.
    pub poison: Cell<Nanos>,
    /// The event comes, and its sender goes, just before the wait asks whether it can still succeed.
    pub lost_at_check: Cell<bool>,
    /// Where the thread is.
    pub place: Cell<Option<CpuId>>,
    /// Its number.
    pub identity: Cell<Option<ThreadId>>,
    /// Where it may run.
    pub affinity: Cell<Option<Affinity>>,
    /// What is noted of processors, by number.
    pub notes: Rc<RefCell<BTreeMap<CpuId, u32>>>,
    /// Whether threads run, by number; else `running` for all.
    pub runs: Rc<RefCell<BTreeMap<ThreadId, Option<bool>>>>,
    /// Whether any thread runs.
    pub running: Cell<Option<bool>>,
    /// A scout's answer.
    pub idle: Cell<Option<bool>>,
    /// Whether moves and pulls are granted.
    pub granted: Cell<bool>,
    /// How long a brief spin takes.
    pub brief_span: Cell<Nanos>,
    /// How long a yield takes.
    pub yield_span: Cell<Nanos>,
    /// How long a pull takes.
    pub pull_span: Cell<Nanos>,
    /// How long a question takes.
    pub ask_span: Cell<Nanos>,
    /// How long a sleep takes; else until the event, poison or the deadline.
    pub park_span: Cell<Option<Nanos>>,
    /// How long the next spin is preempted.
    pub gap: Cell<Nanos>,
    /// What the system says of the time in which other threads had its processor.
    pub run_queue_wait: Cell<Option<Nanos>>,
    /// The longest spin.
    pub max_spin: Cell<Nanos>,
    /// The verb that never returns.
    pub stuck_in: Cell<Option<Did>>,
    /// Processor time spent spinning.
    pub spun: Cell<Nanos>,
    /// Draws again at each verb which threads run, what is granted, and how long verbs take.
    pub dice: RefCell<Option<SplitMix>>,
}

impl Script {
    /// A thread on that processor, which may use processors below 2 of 3, and knows of no other.
    pub fn on(place: CpuId, identity: ThreadId) -> Self {
        let (us, max) = (Nanos::from_us(1), Nanos::MAX);
        Self {
            now: Rc::new(Cell::new(Nanos::from_ms(1))),
            did: Rc::default(),
            logs_clock: Cell::new(false),
            merges_spins: Cell::new(false),
            takes_turns: Cell::new(false),
            event: Cell::new(max),
            event_after: Cell::new(usize::MAX),
            poison: Cell::new(max),
            lost_at_check: Cell::new(false),
            place: Cell::new(Some(place)),
            identity: Cell::new(Some(identity)),
            affinity: Cell::new(Some(Affinity { fingerprint: 7, width: 2, beyond: 3 })),
            notes: Rc::default(),
            runs: Rc::default(),
            running: Cell::new(None),
            idle: Cell::new(Some(false)),
            granted: Cell::new(true),
            brief_span: Cell::new(Nanos::ZERO),
            yield_span: Cell::new(Nanos(700)),
            pull_span: Cell::new(us * 10),
            ask_span: Cell::new(Nanos::ZERO),
            park_span: Cell::new(None),
            gap: Cell::new(Nanos::ZERO),
            run_queue_wait: Cell::new(None),
            max_spin: Cell::new(max),
            stuck_in: Cell::new(None),
            spun: Cell::new(Nanos::ZERO),
            dice: RefCell::new(None),
        }
    }

    /// A thread of the same machine: it shares clock, record, and what is known of running threads.
    #[must_use]
    pub fn beside(&self, place: CpuId, identity: ThreadId) -> Self {
        let (now, did, runs) = (Rc::clone(&self.now), Rc::clone(&self.did), Rc::clone(&self.runs));
        let new = Self { now, did, runs, ..Self::on(place, identity) };
        new.takes_turns.set(self.takes_turns.get());
        new.logs_clock.set(self.logs_clock.get());
        new
    }

    /// A world that can tell nothing and do nothing about where threads run.
    pub fn blind(&self) {
        self.place.set(None);
        self.identity.set(None);
        self.affinity.set(None);
        self.idle.set(None);
        self.granted.set(false);
    }

    /// Lets time pass.
    pub fn pass(&self, span: Nanos) {
        self.now.set(self.now.get() + span);
    }

    /// Whether the event has come.
    pub fn come(&self) -> Option<()> {
        (self.now.get() >= self.event.get() || self.did.borrow().len() >= self.event_after.get()).then_some(())
    }

    fn shake(&self) {
        let us = Nanos::from_us(1);
        if let Some(dice) = &mut *self.dice.borrow_mut() {
            let mut maybe = |answer| [None, Some(false), Some(true)][dice.below(answer) as usize];
            self.running.set(maybe(3));
            self.idle.set(maybe(3));
            self.granted.set(dice.below(4) > 0);
            self.place.set(dice.below(4).checked_sub(1).map(|place| place as CpuId));
            self.yield_span.set(Nanos(300 + dice.below(3_000)));
            if dice.below(20) == 0 {
                self.yield_span.set(us * (1 + dice.below(5_000)));
                self.gap.set(us * dice.below(5_000));
            }
            self.pull_span.set(us * dice.below(5_000));
        }
    }

    fn log(&self, did: Did) {
        self.shake();
        let mut all = self.did.borrow_mut();
        let did = if self.merges_spins.get() && matches!(did, Did::Spin(_)) { Did::Spin(Nanos::ZERO) } else { did };
        if did != Did::Spin(Nanos::ZERO) || all.last() != Some(&did) {
            all.push(did);
        }
        assert!(all.len() < 20_000, "a wait without end: {:?}", &all[..40]);
    }

    async fn act(&self, did: Did, span: Nanos) {
        self.log(did);
        if self.stuck_in.get().is_some_and(|stuck| core::mem::discriminant(&stuck) == core::mem::discriminant(&did)) {
            core::future::pending::<()>().await;
        }
        if self.takes_turns.get() {
            let mut asked = false;
            return core::future::poll_fn(|_| match core::mem::replace(&mut asked, true) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            })
            .await;
        }
        self.pass(span);
    }
}

impl Clock for Script {
    fn now(&self) -> Nanos {
        if self.logs_clock.get() {
            self.log(Did::ReadClock);
        }
        self.now.get()
    }
    async fn delay(&self, span: Nanos) {
        self.pass(span);
    }
}

impl Placement for Script {
    fn place(&self) -> Option<CpuId> {
        self.place.get()
    }
    fn identity(&self) -> Option<ThreadId> {
        self.identity.get()
    }
    fn running(&self, thread: ThreadId) -> Option<bool> {
        self.log(Did::Ask(thread));
        self.pass(self.ask_span.get());
        self.runs.borrow().get(&thread).copied().unwrap_or(self.running.get())
    }
    fn affinity(&self) -> Option<Affinity> {
        self.affinity.get()
    }
    fn allows(&self, cpu: CpuId) -> bool {
        cpu < 2
    }
    fn idle(&self, cpu: CpuId) -> Option<bool> {
        self.log(Did::Scout(cpu));
        self.idle.get()
    }
    async fn move_to(&self, cpu: CpuId) -> bool {
        self.act(Did::Move(cpu), Nanos::from_us(10)).await;
        if self.granted.get() {
            self.place.set(Some(cpu));
        }
        self.granted.get()
    }
    async fn pull(&self, thread: ThreadId) -> bool {
        self.act(Did::Pull(thread), self.pull_span.get()).await;
        self.granted.get()
    }
    fn run_queue_wait(&self) -> Option<Nanos> {
        self.run_queue_wait.get()
    }
    fn note_of(&self, cpu: CpuId) -> u32 {
        self.notes.borrow().get(&cpu).copied().unwrap_or(0)
    }
    fn set_note(&self, cpu: CpuId, word: u32) {
        self.notes.borrow_mut().insert(cpu, word);
    }
    fn costs(&self) -> Costs {
        Costs::TYPICAL
    }
}

/// Implements [`Words`](foregather_machine::Words) for a processor without other threads, whose words are
/// cells. `$changed` is done after each change that may wake a waiter.
macro_rules! words_of_cells {
    ($processor:ty, |$this:ident| $changed:expr) => {
        impl foregather_machine::Words for $processor {
            type Word = core::cell::Cell<u32>;

            fn load(&self, word: &Self::Word) -> u32 {
                word.get()
            }
            fn store(&self, word: &Self::Word, value: u32) {
                word.set(value);
            }
            fn publish(&self, word: &Self::Word, value: u32) {
                word.set(value);
                let $this = self;
                let () = $changed;
            }
            fn fetch_add(&self, word: &Self::Word, n: u32) -> u32 {
                let before = word.get();
                self.publish(word, before + n);
                before
            }
            fn compare_exchange(&self, word: &Self::Word, expected: u32, new: u32) -> Result<u32, u32> {
                let value = word.get();
                if value == expected {
                    self.publish(word, new);
                    return Ok(value);
                }
                Err(value)
            }
            fn poison(&self, _: &Self::Word) {}
            fn take_ticket(&self, counter: &foregather_machine::CounterOf<Self>) -> u64 {
                counter.fetch_add(1, core::sync::atomic::Ordering::Relaxed)
            }
        }
    };
}
pub(crate) use words_of_cells;

words_of_cells! { Script, |_this| () }

impl Park for Script {
    fn spin_briefly<T>(&self, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
        self.log(Did::SpinBriefly);
        self.pass(self.brief_span.get());
        probe()
    }
    async fn spin_for<T>(&self, _: &Cell<u32>, budget: Nanos, mut probe: impl FnMut() -> Option<T>) -> (Option<T>, Nanos) {
        let used = budget.min(self.event.get() - self.now.get());
        self.act(Did::Spin(budget), used + self.gap.take()).await;
        self.spun.set(self.spun.get() + used);
        (probe(), used)
    }
    async fn yield_now(&self) {
        self.act(Did::Yield, self.yield_span.get()).await;
    }
    fn prepare_park(&self, _: &Cell<u32>) -> u32 {
        0
    }
    async fn park(&self, _: &Cell<u32>, _: u32, until: Nanos) {
        let woken = until.min(self.event.get()).min(self.poison.get());
        self.act(Did::Park, self.park_span.get().unwrap_or(woken - self.now.get())).await;
        assert!(woken < Nanos::MAX || self.park_span.get().is_some() || self.takes_turns.get(), "sleeps forever");
    }
    fn max_spin(&self) -> Nanos {
        self.max_spin.get()
    }
    fn check(&self, _: &Cell<u32>, context: &WaitContext) -> Result<(), Error> {
        if self.lost_at_check.get() {
            self.event.set(Nanos::ZERO);
        }
        let now = self.now.get();
        if self.lost_at_check.get() || now >= self.poison.get() {
            return Err(Cause::Poisoned { by: None }.into());
        }
        if now >= context.deadline { Err(Error::timed_out(context, now)) } else { Ok(()) }
    }
}
