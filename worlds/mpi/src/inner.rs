//! The state of a lane, and one poll of MPI: receives frames, completes sends, and answers peers that want to
//! read memory. Nothing in this module waits.
use crate::abi::STATUS_ROOM;
use crate::bells::Bells;
use crate::buffers::Buffers;
use crate::cpu::MpiProcessor;
use crate::functions::MpiHandle;
use crate::lendings::Lendings;
use crate::process::{Calls, Mpi, Status};
use crate::wire::{BUFFER, FrameHead, HEAD, MpiFrameKind, Tags};
use core::cell::{Cell, RefCell};
use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;
use foregather_machine::{Address, Error, FabricCosts, Key, Nanos, Rank, Slope, VALUE_MASK, Words};
use foregather_thread::Word;
use std::collections::VecDeque;

/// The number of receives posted for all senders together, and the number below which more are posted at
/// once.
const POSTED: usize = 32;
const POSTED_LEAST: usize = POSTED / 2;
/// The maximum number of frames received by one poll, and the maximum number of sends tested by it.
const LOOKS: usize = 16;
const TESTS: usize = 4;
/// The maximum number of consecutive polls that do not call MPI: if nothing is being sent, and while
/// something is.
const SKIPS: u32 = 64;
const SKIPS_SENDING: u32 = 8;

/// The rank of a lane, and its group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneGroup {
    pub(crate) rank: Rank,
    pub(crate) size: u32,
    pub(crate) lanes: u32,
    pub(crate) tags: Tags,
}

/// A received frame: its buffer, and its length without the header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Landed {
    pub(crate) buffer: u32,
    pub(crate) len: u32,
}

/// One other lane, as seen from here.
#[derive(Debug, Default)]
pub(crate) struct FarLane {
    /// Frames for the layer above, the oldest first.
    pub(crate) frames: RefCell<VecDeque<Landed>>,
    /// The buffer that is being filled.
    pub(crate) filling: Cell<Option<u32>>,
    pub(crate) left: Cell<bool>,
}

/// The source of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SendSource {
    /// A static buffer; the second number is the index of the receiving lane.
    Buffer(u32, usize),
    /// Exposed memory; the second number is the index of the receiving lane.
    Lent(Key, usize),
}

/// The state of the one read that a lane may have under way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asking {
    pub(crate) ticket: u32,
    pub(crate) is_refused: bool,
}

pub(crate) struct Inner {
    pub(crate) mpi: &'static Mpi,
    pub(crate) group: LaneGroup,
    pub(crate) lane: u32,
    pub(crate) peers: Box<[FarLane]>,
    /// The number of frames for the layer above that it has not released.
    pub(crate) waiting: Cell<u32>,
    pub(crate) incoming: Buffers,
    pub(crate) outgoing: Buffers,
    /// The posted receives, in the order in which MPI fills them, which is the order of posting.
    posted: RefCell<VecDeque<(MpiHandle, u32)>>,
    /// Sends that MPI has not completed, and the index of the one that is tested next.
    sends: RefCell<Vec<(MpiHandle, SendSource)>>,
    next: Cell<usize>,
    pub(crate) lendings: RefCell<Lendings>,
    pub(crate) asking: Cell<Asking>,
    /// The time until which the lane polls MPI on behalf of peers that read from its memory.
    pub(crate) pushing_until: Cell<Nanos>,
    /// The number of calls of `has_left` since the last poll.
    pub(crate) asked: Cell<u32>,
    /// The number of frames received, to be compared with the number sent.
    taken: Cell<u32>,
    /// The number of polls since the last one that called MPI.
    skipped: Cell<u32>,
    /// The number of frames that are being read in place.
    pub(crate) looking: Cell<u32>,
    pub(crate) left: Cell<bool>,
    pub(crate) bells: Bells,
    pub(crate) cpu: MpiProcessor,
}

impl Inner {
    pub(crate) fn new(mpi: &'static Mpi, group: LaneGroup, lane: u32, (cpu, bells): (MpiProcessor, Bells)) -> Self {
        Self {
            mpi,
            group,
            lane,
            peers: (0..group.size * group.lanes).map(|_| FarLane::default()).collect(),
            waiting: Cell::new(0),
            incoming: Buffers::default(),
            outgoing: Buffers::default(),
            posted: RefCell::default(),
            sends: RefCell::default(),
            next: Cell::new(0),
            lendings: RefCell::default(),
            asking: Cell::default(),
            pushing_until: Cell::default(),
            asked: Cell::new(0),
            taken: Cell::new(0),
            skipped: Cell::new(0),
            looking: Cell::new(0),
            left: Cell::new(false),
            bells,
            cpu,
        }
    }

    pub(crate) fn index(&self, address: Address) -> Result<usize, Error> {
        address.index_within(self.group.size, self.group.lanes)
    }

    pub(crate) fn known(&self, address: Address) -> Option<&FarLane> {
        self.peers.get(self.index(address).ok()?)
    }

    pub(crate) fn address(&self, index: usize) -> Address {
        Address::of_index(index, self.group.lanes)
    }

    /// Returns the bell of this lane.
    ///
    /// # Panics
    /// Never: the group's bells have one for each lane of this rank.
    #[inline]
    pub(crate) fn bell(&self) -> &Word {
        self.bells.of(self.here()).unwrap().0
    }

    pub(crate) fn here(&self) -> Address {
        Address { rank: self.group.rank, lane: self.lane }
    }

    /// Wakes the owner of lane `to` if it sleeps and is on this host; called when MPI has something for that
    /// lane. Adds `frames` to the number of frames sent to it.
    #[inline]
    pub(crate) fn ring(&self, to: usize, frames: u32) {
        if let Some((bell, sent)) = self.bells.of(self.address(to)) {
            if frames > 0 {
                self.cpu.fetch_add(sent, frames);
            }
            self.cpu.ring(bell);
        }
    }

    /// Returns how many consecutive polls need not call MPI: none if a frame is due. An MPI call blocks the
    /// other threads of this process from calling MPI.
    #[inline]
    fn skips(&self) -> u32 {
        let sent = || self.bells.of(self.here()).map(|(_, sent)| self.cpu.load(sent));
        let has_all = self.cpu.guard().is_rung && sent() == Some(self.taken.get());
        match (has_all, self.sends.borrow().is_empty()) {
            (false, _) => 0,
            (true, false) => SKIPS_SENDING,
            (true, true) => SKIPS,
        }
    }

    pub(crate) fn own_index(&self) -> usize {
        self.here().index(self.group.lanes)
    }

    pub(crate) fn next_ready(&self, first: usize) -> Option<Address> {
        if self.waiting.get() == 0 {
            return None;
        }
        let at = first + self.peers.get(first..)?.iter().position(|peer| !peer.frames.borrow().is_empty())?;
        Some(self.address(at))
    }

    /// Returns fixed costs, measured between two processes of one host (`README.md`).
    pub(crate) fn costs(&self) -> FabricCosts {
        let slope = |fixed, byte_ps| Slope { fixed: Nanos(fixed), byte_ps };
        FabricCosts { buffered: slope(600, 350), direct: slope(4_000, 100) }
    }

    fn fail(&self, error: Error) {
        self.mpi.give_up();
        error.lost_rank().into_iter().for_each(|rank| self.mpi.declare_lost(rank));
        self.cpu.guard().fail(error);
    }

    /// Tests a request. Returns whether it has completed. An MPI error is recorded as a permanent failure,
    /// and also completes the request.
    pub(crate) fn ended(&self, calls: &Calls<'_>, what: &str, request: &mut MpiHandle, status: &mut Status) -> bool {
        let mut flag: c_int = 0;
        // SAFETY: the request is active; flag and status have room.
        let code = unsafe { (calls.test)(request, &raw mut flag, status.0.as_mut_ptr()) };
        if code != 0 {
            self.mpi.done(what, None, code).unwrap_or_else(|error| self.fail(error));
        }
        flag != 0 || code != 0
    }

    /// Polls MPI once. Returns whether a frame was received or a send has completed.
    pub(crate) fn look(&self, calls: &Calls<'_>) -> bool {
        let mut some = false;
        for _ in 0..LOOKS {
            let Some((buffer, source, len)) = self.landed(calls) else { break };
            some = true;
            self.received(calls, buffer, source, len);
        }
        // Received frames are handled first. New receives are posted only if no frame was received, or if few
        // are left.
        if !some || self.posted.borrow().len() < POSTED_LEAST {
            self.restock(calls);
        }
        let some = some | self.collect(calls);
        if some {
            self.cpu.guard().stir();
        }
        some
    }

    /// Polls like [`Inner::progress`], for callers that poll repeatedly. Most polls only read this host's
    /// shared memory. Only the first one after a nap waits for MPI's lock, because other threads may have
    /// something to send.
    #[inline]
    pub(crate) fn glance(&self) {
        let (has_slept, skipped) = (self.cpu.guard().has_slept.take(), self.skipped.get());
        let skips = self.skips();
        self.cpu.guard().set_under_way(skips < SKIPS);
        if !has_slept && skipped < skips {
            self.skipped.set(skipped + 1);
        } else if has_slept {
            self.skipped.set(0);
            self.progress();
        } else if let Some(calls) = self.mpi.idle_calls() {
            self.skipped.set(0);
            self.look(&calls);
        }
    }

    /// Takes MPI's lock and polls once, like [`Inner::look`].
    pub(crate) fn progress(&self) -> bool {
        self.look(&self.mpi.calls())
    }

    /// Returns the buffer, the sender's rank and the length of the oldest posted receive, if it has
    /// completed.
    fn landed(&self, calls: &Calls<'_>) -> Option<(u32, c_int, usize)> {
        let mut posted = self.posted.borrow_mut();
        let (request, buffer) = posted.front_mut()?;
        let mut status = Status([0; STATUS_ROOM]);
        if !self.ended(calls, "MPI_Irecv", request, &mut status) {
            return None;
        }
        let buffer = *buffer;
        posted.pop_front();
        if self.cpu.guard().fault().is_err() {
            self.incoming.give(buffer);
            return None;
        }
        let (source, len) = self.mpi.received(calls, &mut status);
        Some((buffer, source, len))
    }

    fn received(&self, calls: &Calls<'_>, buffer: u32, source: c_int, len: usize) {
        let bytes = self.incoming.bytes(buffer);
        // SAFETY: the receive has completed, so MPI no longer uses the buffer.
        let frame = unsafe { &(&*bytes)[..len.min(HEAD + BUFFER)] };
        let sender = FrameHead::read(frame).filter(|head| u32::from(head.group) == self.group.tags.0 & 0xffff);
        let from = sender.and_then(|head| {
            let rank = Rank::try_from(source).ok()?;
            Some((head, self.index(Address { rank, lane: head.lane.into() }).ok()?))
        });
        // A frame of an earlier group with the same tags, which arrived too late for its lane.
        let Some((head, from)) = from else { return self.incoming.give(buffer) };
        self.taken.set((self.taken.get() + 1) & VALUE_MASK);
        let peer = &self.peers[from];
        if head.kind == MpiFrameKind::Message {
            self.waiting.set(self.waiting.get() + 1);
            return peer.frames.borrow_mut().push_back(Landed { buffer, len: (len - HEAD) as u32 });
        }
        let number = |at: usize| frame.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        match head.kind {
            MpiFrameKind::Message => {}
            MpiFrameKind::Bye => peer.left.set(true),
            MpiFrameKind::Ask => self.answer(calls, from, head.number, Key(number(HEAD)), number(HEAD + 8)),
            MpiFrameKind::Unexposed => {
                let asking = self.asking.get();
                self.asking.set(Asking { is_refused: asking.is_refused || asking.ticket == head.number, ..asking });
            }
        }
        self.incoming.give(buffer);
    }

    /// Posts receives until [`POSTED`] are open.
    fn restock(&self, calls: &Calls<'_>) {
        let mut posted = self.posted.borrow_mut();
        while posted.len() < POSTED {
            let (buffer, mut request) = (self.incoming.take(), MpiHandle(0));
            let (tag, any) = (self.group.tags.frames(self.lane), self.mpi.any_source());
            let bytes = self.incoming.bytes(buffer).cast();
            // SAFETY: the buffer is taken, and the lane does not access it until the receive has completed.
            // If the receive never completes, the buffer is never freed.
            let code = unsafe {
                (calls.irecv)(bytes, (HEAD + BUFFER) as c_int, self.mpi.byte, any, tag, self.mpi.comm, &raw mut request)
            };
            if let Err(error) = self.mpi.done("MPI_Irecv", None, code) {
                self.incoming.give(buffer);
                return self.fail(error);
            }
            posted.push_back((request, buffer));
        }
    }

    /// Tests a few of the sends. Returns whether one has completed.
    fn collect(&self, calls: &Calls<'_>) -> bool {
        let mut sends = self.sends.borrow_mut();
        let mut some = false;
        for _ in 0..TESTS.min(sends.len()) {
            let at = if self.next.get() < sends.len() { self.next.get() } else { 0 };
            let (request, source) = &mut sends[at];
            let mut status = Status([0; STATUS_ROOM]);
            if !self.ended(calls, "MPI_Isend", request, &mut status) {
                self.next.set(at + 1);
                continue;
            }
            let (SendSource::Buffer(_, to) | SendSource::Lent(_, to)) = *source;
            if let SendSource::Buffer(buffer, _) = *source {
                self.outgoing.give(buffer);
            }
            // Rings again, because the frame may not have been visible when the bell rang first.
            self.ring(to, 0);
            sends.swap_remove(at);
            self.mpi.under_way.fetch_sub(1, Relaxed);
            some = true;
        }
        some
    }

    /// Returns whether MPI is still sending the memory exposed under `key`.
    pub(crate) fn is_sending(&self, key: Key) -> bool {
        self.sends.borrow().iter().any(|(_, source)| matches!(source, SendSource::Lent(lent, _) if *lent == key))
    }

    /// Returns whether MPI is still sending a frame to a lane that has not left.
    pub(crate) fn is_awaited(&self) -> bool {
        let awaits = |source: &SendSource| matches!(*source, SendSource::Buffer(_, to) if !self.peers[to].left.get());
        self.sends.borrow().iter().any(|(_, source)| awaits(source))
    }

    /// Returns whether a peer is reading memory of this lane.
    pub(crate) fn is_read(&self) -> bool {
        self.sends.borrow().iter().any(|(_, source)| matches!(source, SendSource::Lent(..)))
    }

    /// Sends a filled buffer with `len` bytes after the header. The buffer is freed when MPI has sent it, or
    /// at once on an error.
    pub(crate) fn transmit(
        &self,
        calls: &Calls<'_>,
        to: usize,
        (kind, number): (MpiFrameKind, u32),
        (buffer, len): (u32, usize),
    ) -> Result<(), Error> {
        let Address { rank, lane } = self.address(to);
        let bytes = self.outgoing.bytes(buffer);
        let head = FrameHead { number, group: self.group.tags.0 as u16, kind, lane: self.lane as u8 };
        let mut request = MpiHandle(0);
        // SAFETY: the buffer is taken, and MPI does not use it before this call. From then on, only MPI uses
        // it until the send has completed.
        let code = unsafe {
            head.write(&mut *bytes);
            let (count, tag) = ((HEAD + len) as c_int, self.group.tags.frames(lane));
            (calls.isend)(bytes.cast(), count, self.mpi.byte, rank as c_int, tag, self.mpi.comm, &raw mut request)
        };
        if let Err(error) = self.mpi.done("MPI_Isend", Some(rank), code) {
            self.outgoing.give(buffer);
            self.fail(error.clone());
            return Err(error);
        }
        if self.ended(calls, "MPI_Isend", &mut request, &mut Status([0; STATUS_ROOM])) {
            self.outgoing.give(buffer);
        } else {
            self.send_on(request, SendSource::Buffer(buffer, to));
        }
        self.ring(to, 1);
        Ok(())
    }

    fn send_on(&self, request: MpiHandle, source: SendSource) {
        self.mpi.under_way.fetch_add(1, Relaxed);
        self.sends.borrow_mut().push((request, source));
    }

    /// Copies a few bytes to a buffer and sends them as a frame.
    pub(crate) fn send(&self, calls: &Calls<'_>, to: usize, kind: (MpiFrameKind, u32), bytes: &[u8]) -> Result<(), Error> {
        let buffer = self.outgoing.take();
        // SAFETY: the buffer is taken, and MPI does not use it.
        unsafe { (&mut *self.outgoing.bytes(buffer))[HEAD..HEAD + bytes.len()].copy_from_slice(bytes) };
        self.transmit(calls, to, kind, (buffer, bytes.len()))
    }

    /// Sends the memory that a peer has requested, or a frame that says that it is not exposed.
    fn answer(&self, calls: &Calls<'_>, from: usize, ticket: u32, key: Key, bytes: u64) {
        let pieces = if self.left.get() { None } else { self.lendings.borrow_mut().first(key, bytes) };
        let done = match pieces {
            None => self.send(calls, from, (MpiFrameKind::Unexposed, ticket), &[]),
            Some(pieces) => {
                let Address { rank, lane } = self.address(from);
                let tag = self.group.tags.memory(lane);
                // SAFETY: the pieces stay exposed until `unexpose`, which waits for this send.
                let begun = unsafe { self.mpi.begin_pieces(calls, &pieces, true, (rank, tag)) };
                self.read_from_here(bytes);
                begun.map(|request| {
                    self.send_on(request, SendSource::Lent(key, from));
                    self.ring(from, 0);
                })
            }
        };
        done.unwrap_or_else(|error| self.fail(error));
    }

    /// Cancels the lane's receives, and frees the buffers that MPI no longer uses. Buffers of transfers that
    /// do not complete at once are never freed.
    pub(crate) fn take_back(&self, calls: &Calls<'_>) {
        let mut posted = self.posted.borrow_mut();
        for (request, _) in posted.iter_mut() {
            // SAFETY: the receive is active.
            unsafe { (calls.cancel)(request) };
        }
        while let Some((request, buffer)) = posted.front_mut() {
            if !self.ended(calls, "MPI_Cancel", request, &mut Status([0; STATUS_ROOM])) {
                break;
            }
            self.incoming.give(*buffer);
            posted.pop_front();
        }
        for frame in self.peers.iter().flat_map(|peer| peer.frames.take()) {
            self.incoming.give(frame.buffer);
        }
        for buffer in self.peers.iter().filter_map(|peer| peer.filling.take()) {
            self.outgoing.give(buffer);
        }
        let left = self.sends.borrow().len() as u32;
        self.mpi.under_way.fetch_sub(left, Relaxed);
    }
}
