//! The parts of a lane, and the work of one look at MPI: frames in, sends that have ended, and the memory
//! that peers ask for. Nothing here waits.
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
use foregather_machine::{Address, Cause, Error, FabricCosts, Key, Nanos, Rank, Slope, VALUE_MASK, Words};
use foregather_thread::Word;
use std::collections::VecDeque;

/// Receives that stand open for all senders together, and the number below which they are restocked at once.
const POSTED: usize = 32;
const POSTED_LEAST: usize = POSTED / 2;
/// The most frames that one look takes in, and the most sends that it tests.
const LOOKS: usize = 16;
const TESTS: usize = 4;
/// The most looks in a row that leave out MPI, also while it sends something.
const SKIPS: u32 = 64;
const SKIPS_SENDING: u32 = 8;

/// The rank of these lanes, and their group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneGroup {
    pub(crate) rank: Rank,
    pub(crate) size: u32,
    pub(crate) lanes: u32,
    pub(crate) tags: Tags,
}

/// A frame that has come: its buffer, and its bytes without the head.
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

/// What MPI sends from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SendSource {
    /// A static buffer, to that lane.
    Buffer(u32, usize),
    /// Lent memory, to that lane.
    Lent(Key, usize),
}

/// The answer to the one reading that a lane may have under way.
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
    /// Frames for the layer above that are not released.
    pub(crate) waiting: Cell<u32>,
    pub(crate) incoming: Buffers,
    pub(crate) outgoing: Buffers,
    /// The open receives in the order in which MPI fills them, which is the order of posting.
    posted: RefCell<VecDeque<(MpiHandle, u32)>>,
    /// Sends that MPI has not ended, and the one that is tested next.
    sends: RefCell<Vec<(MpiHandle, SendSource)>>,
    next: Cell<usize>,
    pub(crate) lendings: RefCell<Lendings>,
    pub(crate) asking: Cell<Asking>,
    /// Until then the lane looks at MPI for peers that read from here.
    pub(crate) pushing_until: Cell<Nanos>,
    /// Questions whether a peer has left since the last look.
    pub(crate) asked: Cell<u32>,
    /// Frames received, to compare with the number that was sent.
    taken: Cell<u32>,
    /// Looks for which nothing was under way since the last look at MPI.
    skipped: Cell<u32>,
    /// While not 0, frames are being read in place.
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
        let LaneGroup { size, lanes, .. } = self.group;
        if address.rank >= size {
            return Err(Cause::Rank { rank: address.rank, size }.into());
        }
        if address.lane >= lanes {
            return Err(Cause::Setting { what: "a lane's number", needs: "to be below the number of lanes" }.into());
        }
        Ok((address.rank * lanes + address.lane) as usize)
    }

    pub(crate) fn known(&self, address: Address) -> Option<&FarLane> {
        self.peers.get(self.index(address).ok()?)
    }

    pub(crate) fn address(&self, index: usize) -> Address {
        Address { rank: index as u32 / self.group.lanes, lane: index as u32 % self.group.lanes }
    }

    /// The bell of this lane.
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

    /// Wakes the owner of a lane of this host if it sleeps, once MPI has something for it. `frames` were sent
    /// to it.
    #[inline]
    pub(crate) fn ring(&self, to: usize, frames: u32) {
        if let Some((bell, sent)) = self.bells.of(self.address(to)) {
            if frames > 0 {
                self.cpu.fetch_add(sent, frames);
            }
            self.cpu.ring(bell);
        }
    }

    /// Returns how many looks in a row may leave out MPI: none if a frame is due. A look keeps the other
    /// threads of this process from MPI.
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
        (self.group.rank * self.group.lanes + self.lane) as usize
    }

    pub(crate) fn next_ready(&self, first: usize) -> Option<Address> {
        if self.waiting.get() == 0 {
            return None;
        }
        let at = first + self.peers.get(first..)?.iter().position(|peer| !peer.frames.borrow().is_empty())?;
        Some(self.address(at))
    }

    /// A table, measured between two processes of one host (README).
    pub(crate) fn costs(&self) -> FabricCosts {
        let slope = |fixed, byte_ps| Slope { fixed: Nanos(fixed), byte_ps };
        FabricCosts { buffered: slope(600, 350), direct: slope(4_000, 100) }
    }

    fn fail(&self, error: Error) {
        self.mpi.give_up();
        error.lost_rank().into_iter().for_each(|rank| self.mpi.declare_lost(rank));
        self.cpu.guard().fail(error);
    }

    /// Tests one request. `None`: it goes on. An error of MPI is a permanent failure, and the request is
    /// over.
    pub(crate) fn ended(&self, calls: &Calls<'_>, what: &str, request: &mut MpiHandle, status: &mut Status) -> bool {
        let mut flag: c_int = 0;
        // SAFETY: the request is active; flag and status have room.
        let code = unsafe { (calls.test)(request, &raw mut flag, status.0.as_mut_ptr()) };
        if code != 0 {
            self.mpi.done(what, None, code).unwrap_or_else(|error| self.fail(error));
        }
        flag != 0 || code != 0
    }

    /// Looks at MPI once. `true`: something has happened.
    pub(crate) fn look(&self, calls: &Calls<'_>) -> bool {
        let mut some = false;
        for _ in 0..LOOKS {
            let Some((buffer, source, len)) = self.landed(calls) else { break };
            some = true;
            self.received(calls, buffer, source, len);
        }
        // Frames that have come go first: receives are opened while none comes, or when few are left.
        if !some || self.posted.borrow().len() < POSTED_LEAST {
            self.restock(calls);
        }
        let some = some | self.collect(calls);
        if some {
            self.cpu.guard().stir();
        }
        some
    }

    /// As [`Inner::progress`], for looks that follow each other. Most of them look at this host's memory
    /// only, and none but the first after a nap waits for MPI's lock: other threads may have something to
    /// send.
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

    /// As [`Inner::look`], for callers that make no other call.
    pub(crate) fn progress(&self) -> bool {
        self.look(&self.mpi.calls())
    }

    /// The oldest open receive, if it has ended: its buffer, the sender's rank, and the bytes.
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
        // SAFETY: the receive has ended, so the buffer is not lent to MPI.
        let frame = unsafe { &(&*bytes)[..len.min(HEAD + BUFFER)] };
        let sender = FrameHead::read(frame).filter(|head| u32::from(head.group) == self.group.tags.0 & 0xffff);
        let from = sender.and_then(|head| {
            let rank = Rank::try_from(source).ok()?;
            Some((head, self.index(Address { rank, lane: head.lane.into() }).ok()?))
        });
        // A frame of an earlier group with these tags came too late for its lane.
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

    /// Opens receives until as many stand open as there should be.
    fn restock(&self, calls: &Calls<'_>) {
        let mut posted = self.posted.borrow_mut();
        while posted.len() < POSTED {
            let (buffer, mut request) = (self.incoming.take(), MpiHandle(0));
            let (tag, any) = (self.group.tags.frames(self.lane), self.mpi.any_source());
            let bytes = self.incoming.bytes(buffer).cast();
            // SAFETY: the buffer is taken, and the lane leaves it alone until the receive has ended; a
            // receive that never ends keeps it forever.
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

    /// Tests a few of the sends. `true`: one has ended.
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
            // It may have come too late for the first time.
            self.ring(to, 0);
            sends.swap_remove(at);
            self.mpi.under_way.fetch_sub(1, Relaxed);
            some = true;
        }
        some
    }

    /// Whether MPI still sends what is lent under that key.
    pub(crate) fn is_sending(&self, key: Key) -> bool {
        self.sends.borrow().iter().any(|(_, source)| matches!(source, SendSource::Lent(lent, _) if *lent == key))
    }

    /// Whether MPI still sends a frame to a lane that has not left.
    pub(crate) fn is_awaited(&self) -> bool {
        let awaits = |source: &SendSource| matches!(*source, SendSource::Buffer(_, to) if !self.peers[to].left.get());
        self.sends.borrow().iter().any(|(_, source)| awaits(source))
    }

    /// Whether a peer reads from here just now.
    pub(crate) fn is_read(&self) -> bool {
        self.sends.borrow().iter().any(|(_, source)| matches!(source, SendSource::Lent(..)))
    }

    /// Sends a filled buffer of `len` bytes after its head, and gives it back when MPI is done with it. On an
    /// error it is back at once.
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
        // SAFETY: the buffer is taken and not lent to MPI yet; from the call on it is, until the send has
        // ended.
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

    /// Sends a frame of a few bytes.
    pub(crate) fn send(&self, calls: &Calls<'_>, to: usize, kind: (MpiFrameKind, u32), bytes: &[u8]) -> Result<(), Error> {
        let buffer = self.outgoing.take();
        // SAFETY: the buffer is taken and not lent to MPI.
        unsafe { (&mut *self.outgoing.bytes(buffer))[HEAD..HEAD + bytes.len()].copy_from_slice(bytes) };
        self.transmit(calls, to, kind, (buffer, bytes.len()))
    }

    /// Sends the memory that a peer asks for, or that there is none.
    fn answer(&self, calls: &Calls<'_>, from: usize, ticket: u32, key: Key, bytes: u64) {
        let pieces = if self.left.get() { None } else { self.lendings.borrow_mut().first(key, bytes) };
        let done = match pieces {
            None => self.send(calls, from, (MpiFrameKind::Unexposed, ticket), &[]),
            Some(pieces) => {
                let Address { rank, lane } = self.address(from);
                let tag = self.group.tags.memory(lane);
                // SAFETY: the pieces are lent until `unexpose`, which waits for this send.
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

    /// Ends what MPI has under way for this lane, as far as it does so within a moment: what remains is the
    /// lane's own memory, and is never freed.
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
