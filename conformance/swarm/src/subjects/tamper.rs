//! Wrappers around a protocol: ends of a network or of a fabric that make one mistake.
use crate::plant::Plant;
use foregather_machine::{
    Address, ByteStore, Cpu, Endpoint, Error, Fabric, FabricCosts, Key, LastingPieces, Limits, Member, Nanos, Rank, SharedBytes,
    WordLine, Words,
};
use std::cell::{Cell, RefCell};

/// An endpoint that leaves a slot out, or swallows one of its signals.
pub(super) struct TamperedEndpoint<'e, E> {
    end: &'e E,
    plant: Option<Plant>,
    slots: u32,
    /// Signals until one is swallowed.
    left: Cell<u32>,
}

impl<'e, E: Endpoint> TamperedEndpoint<'e, E> {
    pub(super) fn new(end: &'e E, plant: impl Into<Option<Plant>>, slots: u32, left: u32) -> Self {
        Self { end, plant: plant.into(), slots, left: Cell::new(left) }
    }

    fn left_out(&self, slot: u32) -> bool {
        self.plant == Some(Plant::RoundMissing) && slot + 1 == self.slots
    }

    fn swallows(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.wrapping_sub(1));
        self.plant == Some(Plant::SignalSwallowed) && left == 0
    }
}

foregather_machine::clock_by! { [E: Endpoint] TamperedEndpoint<'_, E>, |this| this.end }

impl<E: Endpoint> Member for TamperedEndpoint<'_, E> {
    foregather_machine::forward! { |this| this.end => fn rank() -> Rank; fn size() -> u32; }
}

impl<E: Endpoint> Endpoint for TamperedEndpoint<'_, E> {
    async fn signal(&self, peer: Rank, slot: u32) -> Result<(), Error> {
        if self.left_out(slot) || self.swallows() { Ok(()) } else { self.end.signal(peer, slot).await }
    }
    async fn wait(&self, slot: u32) -> Result<(), Error> {
        if self.left_out(slot) { Ok(()) } else { self.end.wait(slot).await }
    }
}

/// Bytes of which, by mistake, each store is seen only when the next one comes.
pub(super) struct TamperedBytes {
    bytes: SharedBytes,
    late: Option<RefCell<(usize, Vec<u8>)>>,
}

impl TamperedBytes {
    pub(super) fn new(bytes: SharedBytes, plant: Option<Plant>) -> Self {
        Self { bytes, late: (plant == Some(Plant::BytesLate)).then(RefCell::default) }
    }
}

impl ByteStore for TamperedBytes {
    fn store(&self, at: usize, from: &[u8]) {
        let Some(late) = &self.late else { return self.bytes.store(at, from) };
        let (before, bytes) = late.replace((at, from.to_vec()));
        self.bytes.store(before, &bytes);
    }

    foregather_machine::forward! { |this| this.bytes => fn size() -> usize; fn load(at: usize, into: &mut [u8]); }
}

/// A lane that makes a mistake with one of its frames.
pub(super) struct TamperedLane<F> {
    lane: F,
    plant: Option<Plant>,
    /// Frames until the mistake.
    left: Cell<u32>,
}

impl<F: Fabric> TamperedLane<F> {
    pub(super) fn new(lane: F, plant: Option<Plant>, left: u32) -> Self {
        Self { lane, plant, left: Cell::new(left) }
    }

    /// Whether it is this frame's turn, and what becomes of its head.
    fn tamper(&self, head: u32) -> (u32, Option<Plant>) {
        let Some(plant) = self.plant else { return (head, None) };
        let credits = head >> 4 & 0xff;
        let concerned = credits > 0 || !matches!(plant, Plant::CreditLost | Plant::CreditTwice);
        let left = self.left.get();
        if !concerned || left != 0 {
            self.left.set(left.saturating_sub(u32::from(concerned)));
            return (head, None);
        }
        self.left.set(u32::MAX);
        let with = |credits: u32| head & !(0xff << 4) | credits.min(0xff) << 4;
        match plant {
            Plant::CreditLost => (with(0), None),
            Plant::CreditTwice => (with(credits * 2), None),
            plant => (head, Some(plant)),
        }
    }

    fn posts(&self, head: u32, post: impl Fn(u32) -> Result<bool, Error>) -> Result<bool, Error> {
        match self.tamper(head) {
            (_, Some(Plant::FrameLost)) => Ok(true),
            (head, Some(Plant::FrameTwice)) => post(head).and_then(|sent| post(head).map(|_| sent)),
            (head, _) => post(head),
        }
    }
}

foregather_machine::clock_by! { [F: Fabric] TamperedLane<F>, |this| this.lane }

impl<F: Fabric> Member for TamperedLane<F> {
    foregather_machine::forward! { |this| this.lane => fn rank() -> Rank; fn size() -> u32; }
}

impl<F: Fabric<Cpu: Cpu>> Fabric for TamperedLane<F> {
    type Cpu = F::Cpu;

    fn post(&self, to: Address, head: u32, bytes: &[u8]) -> Result<bool, Error> {
        self.posts(head, |head| self.lane.post(to, head, bytes))
    }
    fn post_filled(&self, to: Address, head: u32, len: usize) -> Result<bool, Error> {
        self.posts(head, |head| self.lane.post_filled(to, head, len))
    }
    fn peek<R>(&self, from: Address, read: impl FnOnce(u32, &[u8]) -> R) -> Option<R> {
        self.lane.peek(from, |head, bytes| {
            if self.plant == Some(Plant::TrustsLengths) {
                assert!(!bytes.is_empty(), "a frame of rank {} has no first byte", from.rank);
            }
            read(head, bytes)
        })
    }

    foregather_machine::forward! { |this| this.lane =>
        fn cpu() -> &F::Cpu;
        fn bell() -> &<F::Cpu as Words>::Word;
        fn roster() -> &[WordLine<<F::Cpu as Words>::Word>];
        fn here() -> Address;
        fn limits() -> Limits;
        fn costs() -> FabricCosts;
        fn write_with<R>(to: Address, write: impl FnOnce(&mut [u8]) -> R) -> R;
        fn arrived(after: Option<Address>) -> Option<Address>;
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
