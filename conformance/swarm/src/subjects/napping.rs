//! A lane as MPI makes it: no frame wakes its owner, who notices one at its own looks, or when a nap is over.
use foregather_machine::{
    Address, Affinity, Clock, Costs, CounterOf, CpuId, Error, Fabric, FabricCosts, Key, LastingPieces, Limits, Member, Nanos,
    Park, Placement, Rank, ThreadId, WaitContext, WordLine, Words,
};
use foregather_sim::cluster::Lane;
use foregather_sim::event::Heap;

type Card<'s> = Lane<'s, Heap>;
type CardCpu<'s> = <Card<'s> as Fabric>::Cpu;
type CardWord<'s> = <CardCpu<'s> as Words>::Word;

/// The processor of such a lane's owner: no sleep is longer than a nap.
pub(super) struct NappingCpu<'s> {
    /// Another handle of the lane, for its processor.
    card: Card<'s>,
    nap: Option<Nanos>,
}

impl Clock for NappingCpu<'_> {
    fn now(&self) -> Nanos {
        self.card.cpu().now()
    }
    fn delay(&self, span: Nanos) -> impl Future<Output = ()> {
        self.card.cpu().delay(span)
    }
    fn delay_until(&self, moment: Nanos) -> impl Future<Output = Nanos> {
        self.card.cpu().delay_until(moment)
    }
}

impl<'s> Words for NappingCpu<'s> {
    type Word = CardWord<'s>;

    fn load(&self, word: &Self::Word) -> u32 {
        self.card.cpu().load(word)
    }
    fn store(&self, word: &Self::Word, value: u32) {
        self.card.cpu().store(word, value);
    }
    fn publish(&self, word: &Self::Word, value: u32) {
        self.card.cpu().publish(word, value);
    }
    fn fetch_add(&self, word: &Self::Word, n: u32) -> u32 {
        self.card.cpu().fetch_add(word, n)
    }
    fn ring(&self, word: &Self::Word) {
        self.card.cpu().ring(word);
    }
    fn ring_each(&self, words: &[(&Self::Word, u32)]) {
        self.card.cpu().ring_each(words);
    }
    fn add_last(&self, word: &Self::Word, n: u32) {
        self.card.cpu().add_last(word, n);
    }
    fn compare_exchange(&self, word: &Self::Word, expected: u32, new: u32) -> Result<u32, u32> {
        self.card.cpu().compare_exchange(word, expected, new)
    }
    fn poison(&self, word: &Self::Word) {
        self.card.cpu().poison(word);
    }
    fn take_ticket(&self, counter: &CounterOf<Self>) -> u64 {
        self.card.cpu().take_ticket(counter)
    }
}

impl Park for NappingCpu<'_> {
    fn spin_briefly<T>(&self, probe: impl FnMut() -> Option<T>) -> Option<T> {
        self.card.cpu().spin_briefly(probe)
    }
    /// A simulated spin ends by a change of its word: here it spins in stretches, and looks after each.
    async fn spin_for<T>(&self, on: &Self::Word, budget: Nanos, mut probe: impl FnMut() -> Option<T>) -> (Option<T>, Nanos) {
        let Some(nap) = self.nap else { return self.card.cpu().spin_for(on, budget, probe).await };
        let mut used = Nanos::ZERO;
        loop {
            let (found, span) = self.card.cpu().spin_for(on, nap.min(budget - used), &mut probe).await;
            used += span;
            if found.is_some() || used >= budget || span == Nanos::ZERO {
                return (found, used);
            }
        }
    }
    fn yield_now(&self) -> impl Future<Output = ()> {
        self.card.cpu().yield_now()
    }
    fn prepare_park(&self, on: &Self::Word) -> u32 {
        self.card.cpu().prepare_park(on)
    }
    async fn park(&self, on: &Self::Word, prepared: u32, until: Nanos) {
        let until = self.nap.map_or(until, |nap| until.min(Nanos(self.now().0.saturating_add(nap.0))));
        self.card.cpu().park(on, prepared, until).await;
    }
    fn max_spin(&self) -> Nanos {
        self.card.cpu().max_spin()
    }
    fn sometimes(&self, point: &'static str) -> bool {
        self.card.cpu().sometimes(point)
    }
    fn check(&self, on: &Self::Word, context: &WaitContext) -> Result<(), Error> {
        self.card.cpu().check(on, context)
    }
}

impl Placement for NappingCpu<'_> {
    fn place(&self) -> Option<CpuId> {
        self.card.cpu().place()
    }
    fn identity(&self) -> Option<ThreadId> {
        self.card.cpu().identity()
    }
    fn running(&self, thread: ThreadId) -> Option<bool> {
        self.card.cpu().running(thread)
    }
    fn affinity(&self) -> Option<Affinity> {
        self.card.cpu().affinity()
    }
    fn allows(&self, cpu: CpuId) -> bool {
        self.card.cpu().allows(cpu)
    }
    fn idle(&self, cpu: CpuId) -> Option<bool> {
        self.card.cpu().idle(cpu)
    }
    fn move_to(&self, cpu: CpuId) -> impl Future<Output = bool> {
        self.card.cpu().move_to(cpu)
    }
    fn pull(&self, thread: ThreadId) -> impl Future<Output = bool> {
        self.card.cpu().pull(thread)
    }
    fn keep_off(&self, cpu: Option<CpuId>) -> bool {
        self.card.cpu().keep_off(cpu)
    }
    fn run_queue_wait(&self) -> Option<Nanos> {
        self.card.cpu().run_queue_wait()
    }
    fn note_of(&self, cpu: CpuId) -> u32 {
        self.card.cpu().note_of(cpu)
    }
    fn set_note(&self, cpu: CpuId, word: u32) {
        self.card.cpu().set_note(cpu, word);
    }
    fn costs(&self) -> Costs {
        self.card.cpu().costs()
    }
}

/// A lane whose owner naps, or a lane as the card makes it.
pub(super) struct NappingLane<'s> {
    card: Card<'s>,
    cpu: NappingCpu<'s>,
    /// In place of the card's bell: no frame rings it.
    bell: Option<CardWord<'s>>,
}

impl<'s> NappingLane<'s> {
    /// With `nap` its owner sleeps for that long at most; a nap without end is a planted mistake.
    pub(super) fn new(card: Card<'s>, nap: Option<Nanos>) -> Self {
        let cpu = NappingCpu { card: card.beside(card.here().lane), nap };
        Self { card, cpu, bell: nap.map(|_| CardWord::default()) }
    }
}

impl Clock for NappingLane<'_> {
    fn now(&self) -> Nanos {
        self.card.now()
    }
    fn delay(&self, span: Nanos) -> impl Future<Output = ()> {
        self.card.delay(span)
    }
    fn delay_until(&self, moment: Nanos) -> impl Future<Output = Nanos> {
        self.card.delay_until(moment)
    }
}

impl Member for NappingLane<'_> {
    fn rank(&self) -> Rank {
        self.card.rank()
    }
    fn size(&self) -> u32 {
        self.card.size()
    }
}

impl<'s> Fabric for NappingLane<'s> {
    type Cpu = NappingCpu<'s>;

    fn cpu(&self) -> &NappingCpu<'s> {
        &self.cpu
    }
    fn bell(&self) -> &CardWord<'s> {
        self.bell.as_ref().unwrap_or_else(|| self.card.bell())
    }
    fn roster(&self) -> &[WordLine<CardWord<'s>>] {
        self.card.roster()
    }
    fn here(&self) -> Address {
        self.card.here()
    }
    fn limits(&self) -> Limits {
        self.card.limits()
    }
    fn costs(&self) -> FabricCosts {
        self.card.costs()
    }
    fn post(&self, to: Address, head: u32, bytes: &[u8]) -> Result<bool, Error> {
        self.card.post(to, head, bytes)
    }
    fn write_with<R>(&self, to: Address, write: impl FnOnce(&mut [u8]) -> R) -> R {
        self.card.write_with(to, write)
    }
    fn post_filled(&self, to: Address, head: u32, len: usize) -> Result<bool, Error> {
        self.card.post_filled(to, head, len)
    }
    fn arrived(&self, after: Option<Address>) -> Option<Address> {
        self.card.arrived(after)
    }
    fn peek<R>(&self, from: Address, read: impl FnOnce(u32, &[u8]) -> R) -> Option<R> {
        self.card.peek(from, read)
    }
    fn release(&self, from: Address) {
        self.card.release(from);
    }
    fn expose(&self, pieces: LastingPieces<'_>) -> Result<Key, Error> {
        self.card.expose(pieces)
    }
    fn unexpose(&self, key: Key) {
        self.card.unexpose(key);
    }
    fn get(&self, from: Address, key: Key, into: &mut [&mut [u8]]) -> impl Future<Output = Result<(), Error>> {
        self.card.get(from, key, into)
    }
    fn progress(&self) -> bool {
        self.card.progress()
    }
    fn charge(&self, span: Nanos) {
        self.card.charge(span);
    }
    fn leave(&self) {
        self.card.leave();
    }
    fn has_left(&self, peer: Address) -> bool {
        self.card.has_left(peer)
    }
}
