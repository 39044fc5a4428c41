//! One lane of a rank for its owner; and the thread that makes progress for it meanwhile.
use crate::cpu::Processor;
use crate::inner::Inner;
use crate::turn::Owners;
use crate::wire::{BUFFER, CREDITS, FrameKind, HEAD, INLINE, SPARE, read_head};
use core::cell::Cell;
use core::future::Future;
use core::marker::PhantomData;
use core::ops::Deref;
use foregather_machine::{
    Address, Cause, Clock, Error, Fabric, FabricCosts, Key, LastingPieces, Limits, Member, Rank, WordLine, ready,
};
use foregather_thread::Word;
use std::sync::{Arc, Weak};

/// One lane: a [`Fabric`] over libfabric. It makes progress in its owner's calls, and in those of its
/// [`ProgressThread`].
///
/// Dropping it ends all its exposures; if it has left ([`Fabric::leave`]), its posted frames are delivered
/// first, for two seconds after that at most.
pub struct Lane {
    shared: Arc<SharedInner>,
    /// One thread uses it at a time.
    _owned: PhantomData<Cell<()>>,
}

struct SharedInner(Inner);

// SAFETY: one thread at a time uses it, the one that has the turn: the lane's owner by `Lane::turn` and in
// its processor, the caretaker in `ProgressThread::tend`. Only words and constants are used without a turn.
unsafe impl Send for SharedInner {}
// SAFETY: the turn serialises all uses but those of words and constants.
unsafe impl Sync for SharedInner {}

/// The owner's turn at its lane.
struct Turn<'a> {
    lane: &'a Inner,
    _owners: Owners<'a>,
}

impl Deref for Turn<'_> {
    type Target = Inner;
    #[inline]
    fn deref(&self) -> &Inner {
        self.lane
    }
}

impl Lane {
    pub(crate) fn new(inner: Inner) -> Self {
        Self { shared: Arc::new(SharedInner(inner)), _owned: PhantomData }
    }

    #[inline]
    fn inner(&self) -> &Inner {
        &self.shared.0
    }

    #[inline]
    fn turn(&self) -> Turn<'_> {
        let lane = self.inner();
        Turn { lane, _owners: lane.cpu.guard().turn.of_owner() }
    }

    /// Looks at the network once.
    #[cfg(test)]
    pub(crate) fn progress(&self) -> bool {
        self.turn().progress()
    }

    /// How many frames came without a proof that they are of this job: all of them were dropped.
    pub fn unverified_frames(&self) -> u64 {
        self.turn().unverified_frames.get()
    }

    /// The handle by which another thread makes progress for this lane.
    pub fn tender(&self) -> ProgressThread {
        ProgressThread { lane: Arc::downgrade(&self.shared), seen: 0 }
    }
}

/// Makes progress for a lane while its owner computes, or waits for another lane: makes connections, sends
/// frames that wait for one, takes in frames that have come. Without a thread that does so now and then, the
/// receiver of a posted frame may wait for as long as the owner is elsewhere.
pub struct ProgressThread {
    lane: Weak<SharedInner>,
    /// Turns that the owner had taken at the last look.
    seen: u32,
}

impl ProgressThread {
    /// Looks at the lane's network once, unless its owner has done so since the last time. `Some(true)` if
    /// something happened; `None` if the lane is gone.
    pub fn tend(&mut self) -> Option<bool> {
        let shared = self.lane.upgrade()?;
        let lane = &shared.0;
        let Some(_turn) = lane.cpu.guard().turn.of_caretaker(&mut self.seen) else { return Some(false) };
        let some = lane.progress();
        if some {
            // The owner may have looked, found nothing, and be about to sleep.
            lane.cpu.guard().ring();
        }
        Some(some)
    }
}

foregather_machine::debug_by! { [] ProgressThread, "ProgressThread", |_this| }

/// While one exists, a frame is being read in place.
struct Looking<'a>(&'a Cell<u32>);

impl<'a> Looking<'a> {
    fn at(count: &'a Cell<u32>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let lane = self.turn();
        if let (Some(left_at), false) = (lane.left_at.get(), std::thread::panicking()) {
            lane.settle(left_at);
        }
        lane.cpu.guard().endpoint.silence();
    }
}

foregather_machine::clock_by! { [] Lane, |this| this.inner().cpu }

impl Member for Lane {
    #[inline]
    fn rank(&self) -> Rank {
        self.inner().lane_set.rank
    }
    #[inline]
    fn size(&self) -> u32 {
        self.inner().lane_set.size
    }
}

impl Fabric for Lane {
    type Cpu = Processor;

    #[inline]
    fn cpu(&self) -> &Processor {
        &self.inner().cpu
    }
    #[inline]
    fn bell(&self) -> &Word {
        &self.inner().cpu.guard().bell
    }
    #[inline]
    fn roster(&self) -> &[WordLine<Word>] {
        &self.inner().roster
    }
    #[inline]
    fn here(&self) -> Address {
        let lane = self.inner();
        Address { rank: lane.lane_set.rank, lane: lane.lane }
    }
    fn limits(&self) -> Limits {
        let lane = self.inner();
        let provider = lane.cpu.guard().endpoint.provider();
        Limits {
            lanes: lane.lane_set.lanes,
            inline: INLINE,
            buffer: BUFFER,
            credits: CREDITS,
            spare: SPARE,
            gather: provider.pieces(),
            direct: provider.reads(),
        }
    }
    fn costs(&self) -> FabricCosts {
        self.inner().costs()
    }

    #[inline]
    fn post(&self, to: Address, head: u32, bytes: &[u8]) -> Result<bool, Error> {
        if bytes.len() > INLINE {
            return Err(Cause::Length { what: "an inline frame", bytes: bytes.len(), room: INLINE }.into());
        }
        let lane = self.turn();
        lane.send(lane.index(to)?, head, bytes)
    }

    fn write_with<R>(&self, to: Address, write: impl FnOnce(&mut [u8]) -> R) -> R {
        let lane = self.turn();
        let Some(peer) = lane.known(to) else { return write(&mut vec![0; BUFFER]) };
        // Taken away meanwhile: whatever `write` does, no other call gets this buffer.
        let Some(slot) = peer.filling.take().or_else(|| lane.buffer_for(lane.index(to).ok()?)) else {
            return write(&mut vec![0; BUFFER]);
        };
        let bytes = lane.outgoing.bytes(slot);
        // SAFETY: the slot is taken and not lent to libfabric, and no other call has its number now.
        let written = write(unsafe { &mut (&mut *bytes)[HEAD..] });
        if let Some(other) = peer.filling.replace(Some(slot)) {
            lane.outgoing.give(other);
        }
        written
    }

    fn post_filled(&self, to: Address, head: u32, len: usize) -> Result<bool, Error> {
        let lane = self.turn();
        if len > BUFFER {
            return Err(Cause::Length { what: "a frame", bytes: len, room: BUFFER }.into());
        }
        lane.send_filled(lane.index(to)?, head, len)
    }

    #[inline]
    fn arrived(&self, after: Option<Address>) -> Option<Address> {
        let lane = self.turn();
        let first = match after {
            None => 0,
            Some(after) => lane.index(after).ok()? + 1,
        };
        // A caller that goes through all of them looks at the network once, at the beginning.
        if after.is_none() {
            lane.progress();
            lane.asked.set(0);
        }
        lane.next_ready(first)
    }

    #[inline]
    fn peek<R>(&self, from: Address, read: impl FnOnce(u32, &[u8]) -> R) -> Option<R> {
        let lane = self.turn();
        let peer = lane.known(from)?;
        if peer.frames.borrow().is_empty() {
            lane.progress();
            lane.asked.set(0);
        }
        let frame = *peer.frames.borrow().front()?;
        let bytes = lane.incoming.bytes(frame.slot);
        let _looking = Looking::at(&lane.looking);
        // SAFETY: the slot holds a frame that has come, so it is not lent to libfabric, and `release` lends
        // no slot meanwhile.
        let whole = unsafe { &(&*bytes)[..HEAD + frame.len as usize] };
        let (head, _, rest) = read_head(whole)?;
        Some(read(head, rest))
    }

    #[inline]
    fn release(&self, from: Address) {
        let lane = self.turn();
        assert_eq!(lane.looking.get(), 0, "a frame is released while one is looked at");
        let Some(frame) = lane.known(from).and_then(|peer| peer.frames.borrow_mut().pop_front()) else { return };
        lane.waiting.set(lane.waiting.get() - 1);
        lane.incoming.give(frame.slot);
    }

    fn expose(&self, pieces: LastingPieces<'_>) -> Result<Key, Error> {
        self.turn().lend(pieces.as_slices())
    }
    fn unexpose(&self, key: Key) {
        self.turn().take_back(key);
    }
    fn get(&self, from: Address, key: Key, into: &mut [&mut [u8]]) -> impl Future<Output = Result<(), Error>> {
        ready(self.turn().fetch(from, key, into))
    }
    fn progress(&self) -> bool {
        self.turn().serve_readers()
    }

    fn leave(&self) {
        let lane = self.turn();
        if lane.left_at.get().is_some() {
            return;
        }
        lane.left_at.set(Some(lane.cpu.now()));
        lane.peers[lane.own_index()].left.set(true);
        // Lanes with a connection first: the others may have gone by the time it would be made.
        for in_touch in [true, false] {
            for (at, peer) in lane.peers.iter().enumerate() {
                if at != lane.own_index() && peer.in_touch.get() == in_touch {
                    lane.enqueue(at, FrameKind::Bye, 0, Vec::new());
                }
            }
        }
        lane.progress();
    }

    fn has_left(&self, peer: Address) -> bool {
        let lane = self.turn();
        let Some(known) = lane.known(peer) else { return false };
        // A caller that asks only this would wait forever if no thread looked at the network; a caller that
        // does both pays once.
        if !known.left.get() && lane.asked.replace(lane.asked.get() + 1) > 2 * lane.lane_set.size * lane.lane_set.lanes {
            lane.asked.set(0);
            lane.progress();
        }
        known.left.get()
    }
}

foregather_machine::debug_by! { [] Lane, "Lane", |this| here: this.here(), seat: this.inner().lane_set }
