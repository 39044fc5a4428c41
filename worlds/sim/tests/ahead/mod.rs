//! A processor that goes on while its loads are still under way, as hardware does, and may read its clock
//! meanwhile.
use foregather_machine::{Clock, CounterOf, Error, Nanos, Park, Placement, WaitContext, Words};
use foregather_sim::event::Heap;
use foregather_sim::smp::SmpCpu;
use std::cell::Cell;

/// How long a load of another processor's line takes.
const MISS: Nanos = Nanos(150);

/// Without `ORDERED` it knows only the reading of its clock ahead of loads.
pub(crate) struct Ahead<const ORDERED: bool> {
    cpu: SmpCpu<'static, Heap>,
    /// How much longer the loads under way take: an act that waits for them waits that long.
    under_way: Cell<Nanos>,
}

impl<const ORDERED: bool> Ahead<ORDERED> {
    pub(crate) fn new(cpu: SmpCpu<'static, Heap>) -> Self {
        Self { cpu, under_way: Cell::new(Nanos::ZERO) }
    }
}

impl<const ORDERED: bool> Clock for Ahead<ORDERED> {
    fn now(&self) -> Nanos {
        self.cpu.now()
    }

    fn now_in_order(&self) -> Nanos {
        self.cpu.now() + if ORDERED { self.under_way.get() } else { Nanos::ZERO }
    }

    async fn delay(&self, span: Nanos) {
        // A span of zero is no computation: it waits for nothing.
        let loads = if span == Nanos::ZERO { Nanos::ZERO } else { self.under_way.take() };
        self.cpu.delay(span + loads).await;
    }
}

impl<const ORDERED: bool> Words for Ahead<ORDERED> {
    type Word = <SmpCpu<'static, Heap> as Words>::Word;

    fn load(&self, word: &Self::Word) -> u32 {
        self.under_way.set(MISS);
        self.cpu.load(word)
    }
    fn store(&self, word: &Self::Word, value: u32) {
        self.cpu.store(word, value);
    }
    fn publish(&self, word: &Self::Word, value: u32) {
        self.cpu.publish(word, value);
    }
    fn fetch_add(&self, word: &Self::Word, n: u32) -> u32 {
        self.cpu.fetch_add(word, n)
    }
    fn compare_exchange(&self, word: &Self::Word, expected: u32, new: u32) -> Result<u32, u32> {
        self.cpu.compare_exchange(word, expected, new)
    }
    fn poison(&self, word: &Self::Word) {
        self.cpu.poison(word);
    }
    fn take_ticket(&self, counter: &CounterOf<Self>) -> u64 {
        self.cpu.take_ticket(counter)
    }
}

impl<const ORDERED: bool> Park for Ahead<ORDERED> {
    fn spin_briefly<T>(&self, probe: impl FnMut() -> Option<T>) -> Option<T> {
        self.cpu.spin_briefly(probe)
    }
    async fn spin_for<T>(&self, on: &Self::Word, budget: Nanos, probe: impl FnMut() -> Option<T>) -> (Option<T>, Nanos) {
        self.cpu.spin_for(on, budget, probe).await
    }
    async fn yield_now(&self) {
        self.cpu.yield_now().await;
    }
    fn prepare_park(&self, on: &Self::Word) -> u32 {
        self.cpu.prepare_park(on)
    }
    async fn park(&self, on: &Self::Word, prepared: u32, until: Nanos) {
        self.cpu.park(on, prepared, until).await;
    }
    fn check(&self, on: &Self::Word, context: &WaitContext) -> Result<(), Error> {
        self.cpu.check(on, context)
    }
}

impl<const ORDERED: bool> Placement for Ahead<ORDERED> {}
