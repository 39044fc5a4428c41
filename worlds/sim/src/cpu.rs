//! The smallest virtual processor: every thread has one to itself, and words cost what memory and the kernel cost.
//!
//! A spin is one event, however long: it ends when the word changes or its budget is over. What a verb costs (a wake,
//! say) is charged when the thread next waits.
use crate::engine::{Engine, Run};
use crate::event::{Class, Event, Queue};
use crate::word::{NONE, Shared, SimWord};
use foregather_machine::{Cause, Clock, Costs, Cpu, CpuId, Error, Nanos, VALUE_MASK, Why};
use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What a thread is doing, as far as events are concerned.
struct Thread {
    /// Which of its waits is the present one; events of earlier waits are stale.
    wait: Cell<u32>,
    /// The next watcher of the same word.
    next_watcher: Shared,
    parked: Cell<bool>,
    debt: Cell<Nanos>,
}

/// Threads with a processor each.
pub struct Processors<Q> {
    engine: Engine<Q>,
    costs: Costs,
    threads: Box<[Thread]>,
}

/// One thread's processor.
pub struct VirtualCpu<'p, Q> {
    processors: &'p Processors<Q>,
    thread: u32,
}

impl<Q> Clone for VirtualCpu<'_, Q> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<Q> Copy for VirtualCpu<'_, Q> {}

impl<Q: Queue> Processors<Q> {
    /// `count` processors of a machine with these costs.
    pub fn new(count: u32, costs: Costs) -> Self {
        let thread = |_| Thread {
            wait: Cell::new(0),
            next_watcher: Shared::new(NONE),
            parked: Cell::new(false),
            debt: Cell::new(Nanos::ZERO),
        };
        Self { engine: Engine::default(), costs, threads: (0..count).map(thread).collect() }
    }

    /// The processor of one thread.
    pub fn cpu(&self, thread: u32) -> VirtualCpu<'_, Q> {
        assert!((thread as usize) < self.threads.len(), "there is no processor {thread}");
        VirtualCpu { processors: self, thread }
    }

    /// Runs `program` on every processor, the `i`-th from `start(i)` on.
    pub fn run<'p, F: Future>(
        &'p self,
        start: impl Fn(u32) -> Nanos,
        program: impl Fn(VirtualCpu<'p, Q>) -> F,
    ) -> Run<F::Output> {
        let threads = 0..self.threads.len() as u32;
        self.engine.run(threads.map(|thread| program(self.cpu(thread))), start, |event| self.deliver(event))
    }

    fn deliver(&self, event: &Event) -> bool {
        self.threads[event.task as usize].wait.get() == event.what
    }

    /// Tells the watchers of a word that it has changed; sleepers take longer, and cost the waker.
    fn changed(&self, word: &SimWord, by: u32) {
        word.version.set(word.version.get().wrapping_add(1));
        let mut watcher = word.first_watcher.replace(NONE);
        while watcher != NONE {
            let thread = &self.threads[watcher as usize];
            let latency = if thread.parked.get() {
                let debt = &self.threads[by as usize].debt;
                debt.set(debt.get() + self.costs.waker);
                self.costs.remote_wake
            } else {
                self.costs.line_round_trip.percent(50)
            };
            self.engine.at(self.engine.now() + latency, Class::Arrival, watcher, thread.wait.get());
            watcher = thread.next_watcher.replace(NONE);
        }
    }
}

impl<'p, Q: Queue> VirtualCpu<'p, Q> {
    /// Which of the processors this is.
    pub fn number(&self) -> u32 {
        self.thread
    }

    fn thread(&self) -> &'p Thread {
        &self.processors.threads[self.thread as usize]
    }

    fn resume_at(&self, time: Nanos, class: Class) {
        self.processors.engine.at(time, class, self.thread, self.thread().wait.get());
    }

    fn change(&self, word: &SimWord, value: u32) -> u32 {
        let before = word.value.replace(value & VALUE_MASK);
        self.processors.changed(word, self.thread);
        before
    }

    fn watch(&self, word: &SimWord) {
        self.thread().next_watcher.set(word.first_watcher.replace(self.thread));
    }

    /// Stops watching, if the word has not changed meanwhile; older events become stale.
    fn unwatch(&self, word: &SimWord) {
        let mut link = &word.first_watcher;
        while link.get() != NONE && link.get() != self.thread {
            link = &self.processors.threads[link.get() as usize].next_watcher;
        }
        if link.get() == self.thread {
            link.set(self.thread().next_watcher.replace(NONE));
        }
        self.thread().parked.set(false);
        self.thread().wait.set(self.thread().wait.get().wrapping_add(1) & VALUE_MASK);
    }

    /// Waits on a word until `look` finds something, `budget` is over, or, when parking, anything happens.
    fn wait<'w, T, P: FnMut() -> Option<T>>(&self, on: Watch<'w>, budget: Nanos, look: P) -> Wait<'p, 'w, Q, P> {
        Wait { cpu: *self, on, look, budget, state: State::New }
    }
}

/// What to watch, and whether the processor is given away meanwhile.
#[derive(Clone, Copy)]
struct Watch<'w> {
    word: Option<&'w SimWord>,
    parked: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// Pays its debt until then.
    Paying(Nanos),
    /// Has watched since then.
    Watching(Nanos),
    Over,
}

/// The one leaf of this world.
struct Wait<'p, 'w, Q: Queue, P> {
    cpu: VirtualCpu<'p, Q>,
    on: Watch<'w>,
    look: P,
    budget: Nanos,
    state: State,
}

impl<Q: Queue, P> Unpin for Wait<'_, '_, Q, P> {}

impl<Q: Queue, T, P: FnMut() -> Option<T>> Future for Wait<'_, '_, Q, P> {
    type Output = (Option<T>, Nanos);

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let cpu = self.cpu;
        let now = cpu.now();
        if self.state == State::New {
            let debt = cpu.thread().debt.replace(Nanos::ZERO);
            self.state = State::Paying(now + debt);
            if debt > Nanos::ZERO {
                cpu.resume_at(now + debt, Class::Resume);
            }
        }
        if let State::Paying(until) = self.state {
            if now < until {
                return Poll::Pending;
            }
            if let Some(found) = (self.look)() {
                self.state = State::Over;
                return Poll::Ready((Some(found), Nanos::ZERO));
            }
            self.state = State::Watching(now);
            cpu.thread().parked.set(self.on.parked);
            cpu.resume_at(now + self.budget, Class::Timeout);
        } else if let State::Watching(since) = self.state {
            let found = (self.look)();
            if found.is_some() || self.on.parked || now >= since + self.budget {
                self.end();
                return Poll::Ready((found, now - since));
            }
        }
        if let Some(word) = self.on.word {
            cpu.watch(word);
        }
        Poll::Pending
    }
}

impl<Q: Queue, P> Wait<'_, '_, Q, P> {
    fn end(&mut self) {
        if let State::Watching(_) = std::mem::replace(&mut self.state, State::Over) {
            self.cpu.unwatch(self.on.word.unwrap_or(&SimWord::default()));
        }
    }
}

impl<Q: Queue, P> Drop for Wait<'_, '_, Q, P> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Looks for nothing: only time or a wake ends such a wait.
fn nothing() -> Option<()> {
    None
}

impl<Q: Queue> Clock for VirtualCpu<'_, Q> {
    fn now(&self) -> Nanos {
        self.processors.engine.now()
    }
    async fn delay(&self, span: Nanos) {
        self.wait(Watch { word: None, parked: false }, span, nothing).await;
    }
}

impl<Q: Queue> Cpu for VirtualCpu<'_, Q> {
    type Word = SimWord;

    fn load(&self, word: &SimWord) -> u32 {
        word.value.get()
    }
    fn note(&self, word: &SimWord, value: u32) {
        word.value.set(value & VALUE_MASK);
    }
    fn store(&self, word: &SimWord, value: u32) {
        self.change(word, value);
    }
    fn add(&self, word: &SimWord, n: u32) -> u32 {
        self.change(word, word.value.get().wrapping_add(n))
    }
    fn poison(&self, word: &SimWord) {
        word.poison();
        self.processors.changed(word, self.thread);
    }

    fn blink<T>(&self, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
        probe()
    }
    fn spin<T>(&self, on: &SimWord, budget: Nanos, probe: impl FnMut() -> Option<T>) -> impl Future<Output = (Option<T>, Nanos)> {
        self.wait(Watch { word: Some(on), parked: false }, budget, probe)
    }
    async fn yield_now(&self) {
        self.delay(self.processors.costs.yield_switch).await;
    }
    fn arm(&self, on: &SimWord) -> u32 {
        on.version.get()
    }
    async fn park(&self, on: &SimWord, armed: u32, until: Nanos) {
        let changed = || (on.version.get() != armed).then_some(());
        self.wait(Watch { word: Some(on), parked: true }, until - self.now(), changed).await;
    }

    fn place(&self) -> Option<CpuId> {
        Some(self.thread)
    }
    fn check(&self, on: &SimWord, why: &Why) -> Result<(), Error> {
        if on.is_poisoned() {
            return Err(Error::from(Cause::Poisoned { by: None }));
        }
        if self.now() >= why.deadline { Err(Error::timed_out(why, self.now())) } else { Ok(()) }
    }
}
