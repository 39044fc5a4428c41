//! A lane as MPI makes it: no frame wakes its owner, who notices one at its own looks, or when a nap is over.
use foregather_machine::{
    Address, Affinity, Clock, Costs, CounterOf, CpuId, Error, Fabric, FabricCosts, Key, LastingPieces, Limits, Member, Nanos,
    Park, Placement, Rank, ThreadId, WaitContext, WordLine, Words,
};
use foregather_sim::cluster::Lane;
use foregather_sim::event::Heap;

type SimLane<'s> = Lane<'s, Heap>;
type LaneCpu<'s> = <SimLane<'s> as Fabric>::Cpu;
type LaneWord<'s> = <LaneCpu<'s> as Words>::Word;

/// The processor of such a lane's owner: no sleep is longer than a nap.
pub(super) struct NappingCpu<'s> {
    /// Another handle of the lane, for its processor.
    lane: SimLane<'s>,
    nap: Option<Nanos>,
}

impl Clock for NappingCpu<'_> {
    fn now(&self) -> Nanos {
        self.lane.cpu().now()
    }
    fn delay(&self, span: Nanos) -> impl Future<Output = ()> {
        self.lane.cpu().delay(span)
    }
    fn delay_until(&self, moment: Nanos) -> impl Future<Output = Nanos> {
        self.lane.cpu().delay_until(moment)
    }
}

impl<'s> Words for NappingCpu<'s> {
    type Word = LaneWord<'s>;

    fn load(&self, word: &Self::Word) -> u32 {
        self.lane.cpu().load(word)
    }
    fn store(&self, word: &Self::Word, value: u32) {
        self.lane.cpu().store(word, value);
    }
    fn publish(&self, word: &Self::Word, value: u32) {
        self.lane.cpu().publish(word, value);
    }
    fn fetch_add(&self, word: &Self::Word, n: u32) -> u32 {
        self.lane.cpu().fetch_add(word, n)
    }
    fn ring(&self, word: &Self::Word) {
        self.lane.cpu().ring(word);
    }
    fn ring_each(&self, words: &[(&Self::Word, u32)]) {
        self.lane.cpu().ring_each(words);
    }
    fn add_last(&self, word: &Self::Word, n: u32) {
        self.lane.cpu().add_last(word, n);
    }
    fn compare_exchange(&self, word: &Self::Word, expected: u32, new: u32) -> Result<u32, u32> {
        self.lane.cpu().compare_exchange(word, expected, new)
    }
    fn poison(&self, word: &Self::Word) {
        self.lane.cpu().poison(word);
    }
    fn take_ticket(&self, counter: &CounterOf<Self>) -> u64 {
        self.lane.cpu().take_ticket(counter)
    }
}

impl Park for NappingCpu<'_> {
    fn spin_briefly<T>(&self, probe: impl FnMut() -> Option<T>) -> Option<T> {
        self.lane.cpu().spin_briefly(probe)
    }
    /// A simulated spin ends by a change of its word: here it spins in stretches, and looks after each.
    async fn spin_for<T>(&self, on: &Self::Word, budget: Nanos, mut probe: impl FnMut() -> Option<T>) -> (Option<T>, Nanos) {
        let Some(nap) = self.nap else { return self.lane.cpu().spin_for(on, budget, probe).await };
        let mut used = Nanos::ZERO;
        loop {
            let (found, span) = self.lane.cpu().spin_for(on, nap.min(budget - used), &mut probe).await;
            used += span;
            if found.is_some() || used >= budget || span == Nanos::ZERO {
                return (found, used);
            }
        }
    }
    fn yield_now(&self) -> impl Future<Output = ()> {
        self.lane.cpu().yield_now()
    }
    fn prepare_park(&self, on: &Self::Word) -> u32 {
        self.lane.cpu().prepare_park(on)
    }
    async fn park(&self, on: &Self::Word, prepared: u32, until: Nanos) {
        let until = self.nap.map_or(until, |nap| until.min(Nanos(self.now().0.saturating_add(nap.0))));
        self.lane.cpu().park(on, prepared, until).await;
    }
    fn max_spin(&self) -> Nanos {
        self.lane.cpu().max_spin()
    }
    fn sometimes(&self, point: &'static str) -> bool {
        self.lane.cpu().sometimes(point)
    }
    fn check(&self, on: &Self::Word, context: &WaitContext) -> Result<(), Error> {
        self.lane.cpu().check(on, context)
    }
}

impl Placement for NappingCpu<'_> {
    fn place(&self) -> Option<CpuId> {
        self.lane.cpu().place()
    }
    fn identity(&self) -> Option<ThreadId> {
        self.lane.cpu().identity()
    }
    fn running(&self, thread: ThreadId) -> Option<bool> {
        self.lane.cpu().running(thread)
    }
    fn affinity(&self) -> Option<Affinity> {
        self.lane.cpu().affinity()
    }
    fn allows(&self, cpu: CpuId) -> bool {
        self.lane.cpu().allows(cpu)
    }
    fn idle(&self, cpu: CpuId) -> Option<bool> {
        self.lane.cpu().idle(cpu)
    }
    fn move_to(&self, cpu: CpuId) -> impl Future<Output = bool> {
        self.lane.cpu().move_to(cpu)
    }
    fn pull(&self, thread: ThreadId) -> impl Future<Output = bool> {
        self.lane.cpu().pull(thread)
    }
    fn keep_off(&self, cpu: Option<CpuId>) -> bool {
        self.lane.cpu().keep_off(cpu)
    }
    fn run_queue_wait(&self) -> Option<Nanos> {
        self.lane.cpu().run_queue_wait()
    }
    fn note_of(&self, cpu: CpuId) -> u32 {
        self.lane.cpu().note_of(cpu)
    }
    fn set_note(&self, cpu: CpuId, word: u32) {
        self.lane.cpu().set_note(cpu, word);
    }
    fn costs(&self) -> Costs {
        self.lane.cpu().costs()
    }
}

/// A lane whose owner naps, or a lane as the lane makes it.
pub(super) struct NappingLane<'s> {
    lane: SimLane<'s>,
    cpu: NappingCpu<'s>,
    /// In place of the lane's bell: no frame rings it.
    bell: Option<LaneWord<'s>>,
}

impl<'s> NappingLane<'s> {
    /// With `nap` its owner sleeps for that long at most; a nap without end is a planted mistake.
    pub(super) fn new(lane: SimLane<'s>, nap: Option<Nanos>) -> Self {
        let cpu = NappingCpu { lane: lane.beside(lane.here().lane), nap };
        Self { lane, cpu, bell: nap.map(|_| LaneWord::default()) }
    }
}

impl Clock for NappingLane<'_> {
    fn now(&self) -> Nanos {
        self.lane.now()
    }
    fn delay(&self, span: Nanos) -> impl Future<Output = ()> {
        self.lane.delay(span)
    }
    fn delay_until(&self, moment: Nanos) -> impl Future<Output = Nanos> {
        self.lane.delay_until(moment)
    }
}

impl Member for NappingLane<'_> {
    fn rank(&self) -> Rank {
        self.lane.rank()
    }
    fn size(&self) -> u32 {
        self.lane.size()
    }
}

impl<'s> Fabric for NappingLane<'s> {
    type Cpu = NappingCpu<'s>;

    fn cpu(&self) -> &NappingCpu<'s> {
        &self.cpu
    }
    fn bell(&self) -> &LaneWord<'s> {
        self.bell.as_ref().unwrap_or_else(|| self.lane.bell())
    }
    fn roster(&self) -> &[WordLine<LaneWord<'s>>] {
        self.lane.roster()
    }
    fn here(&self) -> Address {
        self.lane.here()
    }
    fn limits(&self) -> Limits {
        self.lane.limits()
    }
    fn costs(&self) -> FabricCosts {
        self.lane.costs()
    }
    fn post(&self, to: Address, head: u32, bytes: &[u8]) -> Result<bool, Error> {
        self.lane.post(to, head, bytes)
    }
    fn write_with<R>(&self, to: Address, write: impl FnOnce(&mut [u8]) -> R) -> R {
        self.lane.write_with(to, write)
    }
    fn post_filled(&self, to: Address, head: u32, len: usize) -> Result<bool, Error> {
        self.lane.post_filled(to, head, len)
    }
    fn arrived(&self, after: Option<Address>) -> Option<Address> {
        self.lane.arrived(after)
    }
    fn peek<R>(&self, from: Address, read: impl FnOnce(u32, &[u8]) -> R) -> Option<R> {
        self.lane.peek(from, read)
    }
    fn release(&self, from: Address) {
        self.lane.release(from);
    }
    fn expose(&self, pieces: LastingPieces<'_>) -> Result<Key, Error> {
        self.lane.expose(pieces)
    }
    fn unexpose(&self, key: Key) {
        self.lane.unexpose(key);
    }
    fn get(&self, from: Address, key: Key, into: &mut [&mut [u8]]) -> impl Future<Output = Result<(), Error>> {
        self.lane.get(from, key, into)
    }
    fn progress(&self) -> bool {
        self.lane.progress()
    }
    fn charge(&self, span: Nanos) {
        self.lane.charge(span);
    }
    fn leave(&self) {
        self.lane.leave();
    }
    fn has_left(&self, peer: Address) -> bool {
        self.lane.has_left(peer)
    }
}
