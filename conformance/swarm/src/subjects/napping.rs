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

foregather_machine::clock_by! { [] NappingCpu<'_>, |this| this.lane.cpu() }

impl<'s> Words for NappingCpu<'s> {
    type Word = LaneWord<'s>;

    foregather_machine::forward! { |this| this.lane.cpu() =>
        fn load(word: &Self::Word) -> u32;
        fn store(word: &Self::Word, value: u32);
        fn publish(word: &Self::Word, value: u32);
        fn fetch_add(word: &Self::Word, n: u32) -> u32;
        fn ring(word: &Self::Word);
        fn ring_each(words: &[(&Self::Word, u32)]);
        fn add_last(word: &Self::Word, n: u32);
        fn compare_exchange(word: &Self::Word, expected: u32, new: u32) -> Result<u32, u32>;
        fn poison(word: &Self::Word);
        fn take_ticket(counter: &CounterOf<Self>) -> u64;
    }
}

impl Park for NappingCpu<'_> {
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
    async fn park(&self, on: &Self::Word, prepared: u32, until: Nanos) {
        let until = self.nap.map_or(until, |nap| until.min(Nanos(self.now().0.saturating_add(nap.0))));
        self.lane.cpu().park(on, prepared, until).await;
    }

    foregather_machine::forward! { |this| this.lane.cpu() =>
        fn spin_briefly<T>(probe: impl FnMut() -> Option<T>) -> Option<T>;
        fn yield_now() -> impl Future<Output = ()>;
        fn prepare_park(on: &Self::Word) -> u32;
        fn max_spin() -> Nanos;
        fn sometimes(point: &'static str) -> bool;
        fn check(on: &Self::Word, context: &WaitContext) -> Result<(), Error>;
    }
}

impl Placement for NappingCpu<'_> {
    foregather_machine::forward! { |this| this.lane.cpu() =>
        fn place() -> Option<CpuId>;
        fn identity() -> Option<ThreadId>;
        fn running(thread: ThreadId) -> Option<bool>;
        fn affinity() -> Option<Affinity>;
        fn allows(cpu: CpuId) -> bool;
        fn idle(cpu: CpuId) -> Option<bool>;
        fn move_to(cpu: CpuId) -> impl Future<Output = bool>;
        fn pull(thread: ThreadId) -> impl Future<Output = bool>;
        fn keep_off(cpu: Option<CpuId>) -> bool;
        fn run_queue_wait() -> Option<Nanos>;
        fn note_of(cpu: CpuId) -> u32;
        fn set_note(cpu: CpuId, word: u32);
        fn costs() -> Costs;
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

foregather_machine::clock_by! { [] NappingLane<'_>, |this| this.lane }

impl Member for NappingLane<'_> {
    foregather_machine::forward! { |this| this.lane => fn rank() -> Rank; fn size() -> u32; }
}

impl<'s> Fabric for NappingLane<'s> {
    type Cpu = NappingCpu<'s>;

    fn cpu(&self) -> &NappingCpu<'s> {
        &self.cpu
    }
    fn bell(&self) -> &LaneWord<'s> {
        self.bell.as_ref().unwrap_or_else(|| self.lane.bell())
    }

    foregather_machine::forward! { |this| this.lane =>
        fn roster() -> &[WordLine<LaneWord<'s>>];
        fn here() -> Address;
        fn limits() -> Limits;
        fn costs() -> FabricCosts;
        fn post(to: Address, head: u32, bytes: &[u8]) -> Result<bool, Error>;
        fn write_with<R>(to: Address, write: impl FnOnce(&mut [u8]) -> R) -> R;
        fn post_filled(to: Address, head: u32, len: usize) -> Result<bool, Error>;
        fn arrived(after: Option<Address>) -> Option<Address>;
        fn peek<R>(from: Address, read: impl FnOnce(u32, &[u8]) -> R) -> Option<R>;
        fn release(from: Address);
        fn expose(pieces: LastingPieces<'_>) -> Result<Key, Error>;
        fn unexpose(key: Key);
        fn get(from: Address, key: Key, into: &mut [&mut [u8]]) -> impl Future<Output = Result<(), Error>>;
        fn progress() -> bool;
        fn charge(span: Nanos);
        fn leave();
        fn has_left(peer: Address) -> bool;
    }
}
