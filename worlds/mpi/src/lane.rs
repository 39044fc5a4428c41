//! One lane of a rank, and the creation of lanes.
use crate::bells::Bells;
use crate::cpu::{MpiProcessor, Napping};
use crate::inner::{Inner, LaneGroup};
use crate::process::{Mpi, NAP, nap};
use crate::wire::{BUFFER, CREDITS, FrameHead, HEAD, INLINE, LANES_MAX, MpiFrameKind, SPARE, Tags};
use core::cell::Cell;
use core::future::Future;
use core::sync::atomic::Ordering::Relaxed;
use foregather_host::failure_detector::FailureDetector;
use foregather_machine::{
    Address, Cause, Clock, Error, Fabric, FabricCosts, Key, LastingPieces, Limits, Member, Nanos, Rank, WordLine, ready,
};
use foregather_thread::Word;
use std::sync::{Arc, Weak};

/// How long a lane that has left waits for MPI to send its frames.
const SETTLING: Nanos = Nanos::from_ms(2_000);

/// One lane: a [`Fabric`] over MPI. MPI makes progress only in calls of the lane's owner and of an
/// [`MpiProgress`].
pub struct Lane {
    inner: Inner,
    /// Tells [`MpiProgress`] when the lanes have been dropped.
    _alive: Arc<()>,
}

impl Lane {
    /// Creates the lanes of this rank to all ranks of `mpi`. All ranks must create their groups of lanes in
    /// the same order. With a `failure_detector`, waits fail once it reports that a rank was lost. With
    /// `bells`, ranks of one host wake each other; either all ranks of a host pass bells in the same memory,
    /// or none does.
    ///
    /// # Errors
    /// If `lanes` is 0 or above 128, if the bells are for another group, or if MPI fails.
    pub fn group(
        mpi: &'static Mpi,
        lanes: u32,
        failure_detector: Option<&Arc<FailureDetector>>,
        bells: Option<Bells>,
    ) -> Result<Vec<Self>, Error> {
        let tags = Tags(mpi.groups.fetch_add(1, Relaxed));
        if lanes == 0 || lanes > LANES_MAX {
            return Err(Cause::Size { what: "a fabric's lanes", size: lanes, needs: "1 to 128 a rank over MPI" }.into());
        }
        if let Some(failure_detector) = failure_detector {
            mpi.watch(failure_detector);
        }
        let group = LaneGroup { rank: mpi.rank(), size: mpi.size(), lanes, tags };
        let bells = bells.map_or_else(|| Bells::own(mpi.rank(), (mpi.size(), lanes)), Ok)?;
        if !bells.serve(mpi.rank(), (mpi.size(), lanes)) {
            return Err(
                Cause::Setting { what: "the bells of a group of lanes", needs: "to be made for its ranks and lanes" }.into()
            );
        }
        let alive = Arc::new(());
        let lane = |lane| {
            let cpu = Napping::processor(failure_detector.cloned(), bells.reach_all());
            let inner = Inner::new(mpi, group, lane, (cpu, bells.clone()));
            inner.progress();
            inner.cpu.guard().fault().map(|()| Self { inner, _alive: Arc::clone(&alive) })
        };
        (0..lanes).map(lane).collect()
    }

    /// Returns a handle with which another thread makes progress for this rank's lanes.
    pub fn progress_handle(&self) -> MpiProgress {
        MpiProgress { mpi: self.inner.mpi, alive: Arc::downgrade(&self._alive) }
    }

    fn is_usable(&self) -> bool {
        !self.inner.mpi.is_over() && self.inner.cpu.guard().fault().is_ok()
    }

    /// Waits until MPI has sent all frames, except those to lanes that have left, which may never be
    /// received.
    fn settle(&self) {
        let end = self.inner.cpu.now() + SETTLING;
        while self.inner.is_awaited() && self.inner.cpu.now() < end && self.is_usable() {
            if !self.inner.progress() {
                nap(NAP);
            }
        }
    }
}

/// Makes progress for the lanes of this process while their owners compute: MPI continues transfers that have
/// begun, but no frame is received.
#[derive(Debug)]
pub struct MpiProgress {
    mpi: &'static Mpi,
    alive: Weak<()>,
}

impl MpiProgress {
    /// Calls MPI once. Returns whether sends are under way, or `None` if the lanes have been dropped.
    pub fn tend(&mut self) -> Option<bool> {
        (self.alive.strong_count() > 0).then(|| {
            self.mpi.nudge();
            self.mpi.under_way.load(Relaxed) > 0
        })
    }
}

/// A guard that exists while a frame is being read in place.
struct InPlace<'a>(&'a Cell<u32>);

impl<'a> InPlace<'a> {
    fn at(count: &'a Cell<u32>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for InPlace<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        if self.inner.left.get() && !std::thread::panicking() {
            self.settle();
        }
        if self.is_usable() {
            self.inner.take_back(&self.inner.mpi.calls());
        }
    }
}

foregather_machine::clock_by! { [] Lane, |this| this.inner.cpu }

impl Member for Lane {
    #[inline]
    fn rank(&self) -> Rank {
        self.inner.group.rank
    }
    #[inline]
    fn size(&self) -> u32 {
        self.inner.group.size
    }
}

impl Fabric for Lane {
    type Cpu = MpiProcessor;

    #[inline]
    fn cpu(&self) -> &MpiProcessor {
        &self.inner.cpu
    }
    #[inline]
    fn bell(&self) -> &Word {
        self.inner.bell()
    }
    #[inline]
    fn roster(&self) -> &[WordLine<Word>] {
        self.inner.bells.roster(self.inner.lane)
    }
    #[inline]
    fn here(&self) -> Address {
        self.inner.here()
    }
    fn limits(&self) -> Limits {
        let lanes = self.inner.group.lanes;
        Limits { lanes, inline: INLINE, buffer: BUFFER, credits: CREDITS, spare: SPARE, gather: 1_024, direct: true }
    }
    fn costs(&self) -> FabricCosts {
        self.inner.costs()
    }

    #[inline]
    fn post(&self, to: Address, head: u32, bytes: &[u8]) -> Result<bool, Error> {
        if bytes.len() > INLINE {
            return Err(Cause::Length { what: "an inline frame", bytes: bytes.len(), room: INLINE }.into());
        }
        let index = self.inner.index(to)?;
        self.inner.cpu.guard().fault()?;
        self.inner.send(&self.inner.mpi.calls(), index, (MpiFrameKind::Message, head), bytes).map(|()| true)
    }

    fn write_with<R>(&self, to: Address, write: impl FnOnce(&mut [u8]) -> R) -> R {
        let Some(peer) = self.inner.known(to) else { return write(&mut vec![0; BUFFER]) };
        // The buffer is taken out in the meantime, so that no other call gets it, whatever `write` does.
        let buffer = peer.filling.take().unwrap_or_else(|| self.inner.outgoing.take());
        let bytes = self.inner.outgoing.bytes(buffer);
        // SAFETY: the buffer is taken, MPI does not use it, and no other call has its number now.
        let written = write(unsafe { &mut (&mut *bytes)[HEAD..] });
        if let Some(other) = peer.filling.replace(Some(buffer)) {
            self.inner.outgoing.give(other);
        }
        written
    }

    fn post_filled(&self, to: Address, head: u32, len: usize) -> Result<bool, Error> {
        if len > BUFFER {
            return Err(Cause::Length { what: "a frame", bytes: len, room: BUFFER }.into());
        }
        let index = self.inner.index(to)?;
        self.inner.cpu.guard().fault()?;
        let peer = &self.inner.peers[index];
        let buffer = peer.filling.take().unwrap_or_else(|| self.inner.outgoing.take());
        self.inner.transmit(&self.inner.mpi.calls(), index, (MpiFrameKind::Message, head), (buffer, len)).map(|()| true)
    }

    #[inline]
    fn arrived(&self, after: Option<Address>) -> Option<Address> {
        let first = match after {
            None => 0,
            Some(after) => self.inner.index(after).ok()? + 1,
        };
        // A caller that iterates over all lanes polls MPI only once, at the beginning.
        if after.is_none() {
            self.inner.glance();
            self.inner.asked.set(0);
        }
        self.inner.next_ready(first)
    }

    #[inline]
    fn peek<R>(&self, from: Address, read: impl FnOnce(u32, &[u8]) -> R) -> Option<R> {
        let peer = self.inner.known(from)?;
        if peer.frames.borrow().is_empty() {
            self.inner.glance();
            self.inner.asked.set(0);
        }
        let frame = *peer.frames.borrow().front()?;
        let bytes = self.inner.incoming.bytes(frame.buffer);
        let _in_place = InPlace::at(&self.inner.looking);
        // SAFETY: the buffer holds a received frame, so MPI does not use it, and `release` cannot free it
        // while the guard exists.
        let whole = unsafe { &(&*bytes)[..HEAD + frame.len as usize] };
        let head = FrameHead::read(whole)?;
        Some(read(head.number, &whole[HEAD..]))
    }

    #[inline]
    fn release(&self, from: Address) {
        assert_eq!(self.inner.looking.get(), 0, "a frame is released while one is looked at");
        let Some(frame) = self.inner.known(from).and_then(|peer| peer.frames.borrow_mut().pop_front()) else { return };
        self.inner.waiting.set(self.inner.waiting.get() - 1);
        self.inner.incoming.give(frame.buffer);
    }

    fn expose(&self, pieces: LastingPieces<'_>) -> Result<Key, Error> {
        Ok(self.inner.lend(pieces.as_slices()))
    }
    fn unexpose(&self, key: Key) {
        self.inner.end_lending(key);
    }
    fn get(&self, from: Address, key: Key, into: &mut [&mut [u8]]) -> impl Future<Output = Result<(), Error>> {
        ready(self.inner.fetch(from, key, into))
    }
    fn progress(&self) -> bool {
        self.inner.serve_readers()
    }

    fn leave(&self) {
        let own = self.inner.own_index();
        if self.inner.left.replace(true) || !self.is_usable() {
            return;
        }
        self.inner.peers[own].left.set(true);
        let calls = self.inner.mpi.calls();
        for to in (0..self.inner.peers.len()).filter(|&to| to != own) {
            if self.inner.send(&calls, to, (MpiFrameKind::Bye, 0), &[]).is_err() {
                return;
            }
        }
    }

    fn has_left(&self, peer: Address) -> bool {
        let Some(known) = self.inner.known(peer) else { return false };
        // A caller that calls only this function would wait forever if MPI were never polled. A caller that
        // also polls otherwise should not pay twice.
        let asked = self.inner.asked.get() + 1;
        self.inner.asked.set(asked);
        if !known.left.get() && asked > 2 * self.inner.group.size * self.inner.group.lanes {
            self.inner.asked.set(0);
            self.inner.glance();
        }
        known.left.get()
    }
}

foregather_machine::debug_by! { [] Lane, "Lane", |this| here: this.here(), group: this.inner.group }
