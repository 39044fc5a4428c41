//! The work of one look at the network: frames out, completions in, and the messages between the two sides of
//! a reading.
//!
//! Nothing here waits. A frame for which the network has no room just now (most of all before there is a
//! connection) is kept in a queue, up to a bound, and goes at the next look, since nothing changes otherwise.
use crate::abi::{EAGAIN, ECANCELED};
use crate::endpoint::Completion;
use crate::inner::Inner;
use crate::peers::Arrived;
use crate::queued::{POSTED, Payload, Queued};
use crate::slots::{BufferPurpose, Slots};
use crate::wire::{
    BUFFER, CREDITS, FrameKind, HEAD, INLINE, RECORDS_MAX, RemoteMemory, SPARE, Tag, TagReading, read_head, write_head,
};
use core::ffi::c_int;
use foregather_machine::{Cause, Error, Key, Nanos, WaitContext};

/// At fewer open receives than this they are restocked at once.
const POSTED_LEAST: usize = POSTED / 2;
/// The most batches of completions that one look takes in.
const BATCHES: usize = 8;
/// A sleep where the network has no descriptor.
const NAP: Nanos = Nanos::from_us(200);

const AGAIN: isize = -(EAGAIN as isize);
/// The result as if libfabric had returned it.
const GONE: isize = -(libc::ENOTCONN as isize);

/// Frames that may be queued for one lane: all that it may have on its way, and as many of the lanes' own.
const QUEUED_MAX: u32 = 2 * (CREDITS + SPARE);

/// The fate of a frame that cannot go now.
enum Postponed {
    Queue,
    /// The queue has no room for it, for the time being.
    Full,
    /// Its receiver has left, and reads no more.
    Nobody,
}

impl Inner {
    /// Looks at the network once. `true`: something has happened.
    pub(crate) fn progress(&self) -> bool {
        if self.progressing.replace(true) {
            return false;
        }
        let mut some = false;
        for _ in 0..BATCHES {
            let more = self.cpu.guard().endpoint.poll(|completion| {
                some = true;
                self.ended(completion);
            });
            if !more {
                break;
            }
        }
        // Frames that have come go first: receives are opened while none comes, or when few are left.
        if !some || (self.posted.get() as usize) < POSTED_LEAST {
            self.restock();
        }
        some |= self.flush();
        self.progressing.set(false);
        some
    }

    /// Sleeps until there may be something to do.
    pub(crate) fn pause(&self, longest: Nanos) {
        if self.cpu.guard().endpoint.can_sleep() {
            self.cpu.guard().endpoint.rest(longest);
        } else {
            std::thread::sleep(core::time::Duration::from_nanos(longest.min(NAP).0));
        }
    }

    fn ended(&self, completion: Completion) {
        if completion.context.is_null() {
            return;
        }
        // SAFETY: all lent contexts are those of slots.
        let slot = unsafe { Slots::returned(completion.context) };
        match slot.purpose {
            BufferPurpose::Receive => {
                self.posted.set(self.posted.get() - 1);
                if completion.error == 0 { self.received(slot.index, completion) } else { self.spoilt(slot.index, completion) }
            }
            BufferPurpose::Send => {
                self.outgoing.give(slot.index);
                if completion.error != 0 {
                    self.broken(slot.peer as usize);
                }
            }
            BufferPurpose::Read => {
                self.outgoing.give(slot.index);
                self.reading.borrow_mut().ended(completion.error != 0);
                if completion.error != 0 {
                    self.broken(slot.peer as usize);
                }
            }
        }
    }

    #[cold]
    fn garbled(&self, from: usize, what: &'static str) {
        self.cpu.guard().fail(Cause::ProtocolViolation { from: self.rank_of(from), what }.into());
    }

    /// Sends to that lane fail from now on.
    #[cold]
    pub(crate) fn broken(&self, to: usize) {
        let peer = &self.peers[to];
        if !peer.broken.replace(true) && !peer.left.get() {
            self.cpu.guard().suspect(self.rank_of(to));
        }
    }

    /// A receive that failed, because the frame was too long or its connection ended: it proves nothing, not
    /// even its rank.
    #[cold]
    fn spoilt(&self, slot: u32, completion: Completion) {
        if u64::from(completion.error) == ECANCELED { self.incoming.give(slot) } else { self.strange(slot) }
    }

    #[cold]
    fn strange(&self, slot: u32) {
        self.unverified_frames.set(self.unverified_frames.get() + 1);
        self.incoming.give(slot);
    }

    /// Returns whether the frame proves that it belongs to this lane. Before this, no part of it is trusted.
    #[inline]
    fn is_proven(&self, slot: u32, len: usize, from: u32) -> bool {
        // SAFETY: the slot holds a frame that has come, so it is not lent to libfabric.
        let frame = unsafe { &*self.incoming.bytes(slot) };
        let proof = frame.get(..len).and_then(read_head).map(|(_, proof, _)| proof);
        proof == Some(self.proof_from(from as usize))
    }

    fn received(&self, slot: u32, completion: Completion) {
        let tag = match Tag::read(completion.tag, self.lane_set.stamp, self.peers.len()) {
            TagReading::Ours(tag) => tag,
            TagReading::ProtocolViolation(from) if self.is_proven(slot, completion.len, from) => {
                self.garbled(from as usize, "a frame of an unknown kind");
                return self.incoming.give(slot);
            }
            TagReading::ProtocolViolation(_) | TagReading::Unverified => return self.strange(slot),
        };
        if !self.is_proven(slot, completion.len, tag.from) {
            return self.strange(slot);
        }
        let from = tag.from as usize;
        let peer = &self.peers[from];
        if tag.kind != FrameKind::Bye {
            peer.in_touch.set(true);
        }
        if !peer.sort(tag, Arrived { slot, len: (completion.len - HEAD) as u32 }) {
            self.garbled(from, "a frame twice, or out of turn");
            return self.incoming.give(slot);
        }
        while let Some((tag, arrived)) = peer.next() {
            if tag.kind == FrameKind::Frame && !peer.left.get() && peer.keep(arrived) {
                self.waiting.set(self.waiting.get() + 1);
                continue;
            }
            match tag.kind {
                FrameKind::Frame if peer.left.get() => self.garbled(from, "a frame after its last"),
                FrameKind::Frame => self.garbled(from, "more frames than there are credits"),
                kind => self.obey(from, kind, arrived),
            }
            self.incoming.give(arrived.slot);
        }
    }

    /// A frame between lanes.
    fn obey(&self, from: usize, kind: FrameKind, arrived: Arrived) {
        let bytes = self.incoming.bytes(arrived.slot);
        // SAFETY: the slot holds a frame that has come, so it is not lent to libfabric.
        let frame = unsafe { &(&*bytes)[..HEAD + arrived.len as usize] };
        let Some((ticket, _, rest)) = read_head(frame) else { return };
        let number = |at: usize| rest.get(at..).and_then(<[u8]>::first_chunk).map(|bytes| u64::from_le_bytes(*bytes));
        let fits = match kind {
            FrameKind::Frame => false,
            FrameKind::Bye => {
                self.peers[from].left.set(true);
                self.cpu.guard().absolve(self.rank_of(from));
                self.exposures.borrow_mut().forget(from as u32);
                true
            }
            FrameKind::Ask => {
                let asked = number(0).zip(number(8)).filter(|_| rest.len() == 16);
                asked.map(|(key, bytes)| self.answer(from, ticket, Key(key), bytes)).is_some()
            }
            FrameKind::Records => self.reading.borrow_mut().told(from, ticket, rest),
            FrameKind::Unexposed => self.reading.borrow_mut().refused(from, ticket),
            FrameKind::Done => number(0).is_some_and(|key| self.exposures.borrow_mut().done(Key(key), from as u32)),
        };
        if !fits {
            self.garbled(from, "a control frame that makes no sense");
        }
    }

    /// Answers where exposed memory stands.
    fn answer(&self, from: usize, ticket: u32, key: Key, bytes: u64) {
        let Some(records) = self.exposures.borrow_mut().read_by(key, bytes, from as u32) else {
            return self.enqueue(from, FrameKind::Unexposed, ticket, Vec::new());
        };
        self.read_from_here(bytes);
        let frames = records.len().div_ceil(RECORDS_MAX).max(1);
        for at in 0..frames {
            let part = &records[at * RECORDS_MAX..records.len().min((at + 1) * RECORDS_MAX)];
            self.enqueue(from, FrameKind::Records, ticket, RemoteMemory::write_all(part, at + 1 < frames));
        }
    }

    /// Sends a frame of the lane's own as soon as it can go, behind all that was posted before.
    pub(crate) fn enqueue(&self, to: usize, kind: FrameKind, head: u32, bytes: Vec<u8>) {
        self.push(Queued { to, kind, head, body: Payload::Bytes(bytes) });
    }

    fn push(&self, queued: Queued) {
        let backlog = &self.peers[queued.to].backlog;
        backlog.set(backlog.get() + 1);
        self.queue.borrow_mut().push_back(queued);
    }

    /// Sends the frames of the queue that can go. `true`: at least one went.
    fn flush(&self) -> bool {
        let waiting = self.queue.borrow().len();
        if waiting == 0 {
            return false;
        }
        let mut stuck = vec![false; self.peers.len()];
        let mut some = false;
        for _ in 0..waiting {
            let Some(queued) = self.queue.borrow_mut().pop_front() else { break };
            let Queued { to, kind, head, ref body } = queued;
            let peer = &self.peers[to];
            let result = match body {
                _ if peer.broken.get() => GONE,
                _ if stuck[to] => AGAIN,
                Payload::Bytes(bytes) => self.transmit(to, kind, head, bytes),
                &Payload::Filled(slot, len) => self.transmit_filled(to, head, slot, len),
            };
            if result == AGAIN {
                stuck[to] = true;
                self.queue.borrow_mut().push_back(queued);
                continue;
            }
            // A lane that cannot be reached has gone, and its frames with it.
            if let Payload::Filled(slot, _) = body
                && result != 0
            {
                self.outgoing.give(*slot);
            }
            peer.backlog.set(peer.backlog.get() - 1);
            some = true;
        }
        some
    }

    fn tag(&self, to: usize, kind: FrameKind) -> u64 {
        Tag { kind, from: self.own_index() as u32, number: self.peers[to].next_out.get() }.pack(self.lane_set.stamp)
    }

    /// Hands a frame to libfabric, if it takes it.
    fn transmit(&self, to: usize, kind: FrameKind, head: u32, bytes: &[u8]) -> isize {
        let len = HEAD + bytes.len();
        if len <= self.inject.min(HEAD + INLINE) {
            let mut frame = [0; HEAD + INLINE];
            write_head(&mut frame, head, self.proof_to(to));
            frame[HEAD..len].copy_from_slice(bytes);
            return self.inject(to, kind, &frame[..len]);
        }
        let Some(slot) = self.buffer_for(to) else { return AGAIN };
        // SAFETY: the slot is taken and not lent to libfabric.
        unsafe { (&mut *self.outgoing.bytes(slot))[HEAD..len].copy_from_slice(bytes) };
        let result = self.transmit_slot(to, kind, head, slot, len);
        if result != 0 {
            self.outgoing.give(slot);
        }
        result
    }

    fn inject(&self, to: usize, kind: FrameKind, frame: &[u8]) -> isize {
        let result = self.cpu.guard().endpoint.inject(frame, self.peers[to].address, self.tag(to, kind));
        self.transmitted(to, kind, result)
    }

    /// Hands the frame in a slot to libfabric, which has the slot lent if the result is 0.
    fn transmit_slot(&self, to: usize, kind: FrameKind, head: u32, slot: u32, len: usize) -> isize {
        let bytes = self.outgoing.bytes(slot);
        // SAFETY: the slot is taken and not lent to libfabric yet; after a result of 0 it is lent until its
        // completion gives it back.
        let result = unsafe {
            write_head(&mut *bytes, head, self.proof_to(to));
            let (descriptor, context) = (self.outgoing.descriptor(slot), self.outgoing.context(slot));
            self.cpu.guard().endpoint.send((bytes.cast(), len), descriptor, self.peers[to].address, self.tag(to, kind), context)
        };
        self.transmitted(to, kind, result)
    }

    #[inline]
    fn transmitted(&self, to: usize, kind: FrameKind, result: isize) -> isize {
        let peer = &self.peers[to];
        if result == 0 {
            peer.next_out.set(peer.next_out.get().wrapping_add(1));
            if kind != FrameKind::Bye {
                peer.in_touch.set(true);
            }
        } else if result != AGAIN {
            self.broken(to);
        }
        result
    }

    /// A buffer for a frame to that lane. `None`: memory cannot be registered, and the lane has failed.
    pub(crate) fn buffer_for(&self, to: usize) -> Option<u32> {
        self.outgoing.take(&self.cpu.guard().endpoint, BufferPurpose::Send, to).unwrap_or_else(|error| {
            self.cpu.guard().fail(error);
            None
        })
    }

    /// Hands a filled buffer to libfabric. A result of 0 takes the buffer.
    fn transmit_filled(&self, to: usize, head: u32, slot: u32, len: usize) -> isize {
        if HEAD + len > self.inject {
            return self.transmit_slot(to, FrameKind::Frame, head, slot, HEAD + len);
        }
        // SAFETY: the slot is taken and not lent to libfabric.
        let bytes = unsafe { &mut *self.outgoing.bytes(slot) };
        write_head(bytes, head, self.proof_to(to));
        let result = self.inject(to, FrameKind::Frame, &bytes[..HEAD + len]);
        if result == 0 {
            self.outgoing.give(slot);
        }
        result
    }

    /// Returns whether no frame to that lane is queued.
    #[inline]
    fn is_clear(&self, to: usize) -> bool {
        let peer = &self.peers[to];
        peer.backlog.get() == 0 && !peer.broken.get()
    }

    /// Sends a frame of the layer above. `false`: not now.
    #[inline]
    pub(crate) fn send(&self, to: usize, head: u32, bytes: &[u8]) -> Result<bool, Error> {
        if self.is_clear(to) && self.transmit(to, FrameKind::Frame, head, bytes) == 0 {
            return Ok(true);
        }
        Ok(match self.room_later(to)? {
            Postponed::Queue => {
                self.enqueue(to, FrameKind::Frame, head, bytes.to_vec());
                self.progress();
                true
            }
            Postponed::Nobody => true,
            Postponed::Full => false,
        })
    }

    /// Sends a filled buffer of the layer above. `false`: not now.
    pub(crate) fn send_filled(&self, to: usize, head: u32, len: usize) -> Result<bool, Error> {
        let filling = &self.peers[to].filling;
        let Some(slot) = filling.take().or_else(|| self.buffer_for(to)) else {
            return self.cpu.guard().fault().map_or(Ok(false), Err);
        };
        if self.is_clear(to) && self.transmit_filled(to, head, slot, len) == 0 {
            return Ok(true);
        }
        let later = self.room_later(to);
        match later {
            Ok(Postponed::Queue) => {
                self.push(Queued { to, kind: FrameKind::Frame, head, body: Payload::Filled(slot, len) });
                self.progress();
            }
            Ok(Postponed::Nobody) => self.outgoing.give(slot),
            Ok(Postponed::Full) | Err(_) => filling.set(Some(slot)),
        }
        later.map(|later| !matches!(later, Postponed::Full))
    }

    /// Decides about a frame that cannot go now.
    #[cold]
    fn room_later(&self, to: usize) -> Result<Postponed, Error> {
        let peer = &self.peers[to];
        if peer.backlog.get() >= QUEUED_MAX || peer.broken.get() {
            self.progress();
        }
        if peer.broken.get() && peer.left.get() {
            return Ok(Postponed::Nobody);
        }
        self.cpu.guard().trouble(&WaitContext::new("post", self.lane_set.rank).of(self.rank_of(to)))?;
        let full = peer.backlog.get() >= QUEUED_MAX || peer.broken.get();
        Ok(if full { Postponed::Full } else { Postponed::Queue })
    }

    /// Opens receives until as many stand open as there should be.
    pub(crate) fn restock(&self) {
        while (self.posted.get() as usize) < POSTED {
            match self.incoming.take(&self.cpu.guard().endpoint, BufferPurpose::Receive, 0) {
                Ok(Some(slot)) => {
                    if !self.open_for_frames(slot) {
                        return self.incoming.give(slot);
                    }
                }
                Ok(None) => return,
                Err(error) => return self.cpu.guard().fail(error),
            }
        }
    }

    fn open_for_frames(&self, slot: u32) -> bool {
        let (descriptor, context) = (self.incoming.descriptor(slot), self.incoming.context(slot));
        // SAFETY: the slot is taken, and no code looks at it until its completion.
        let result =
            unsafe { self.cpu.guard().endpoint.receive(self.incoming.bytes(slot).cast(), HEAD + BUFFER, descriptor, context) };
        if result == 0 {
            self.posted.set(self.posted.get() + 1);
        } else if result != AGAIN && !self.cpu.guard().endpoint.is_silent() {
            let remedy = "FI_LOG_LEVEL=warn makes libfabric say more";
            self.cpu.guard().fail(Cause::Os { what: "fi_trecv", errno: -result as c_int, remedy }.into());
        }
        result == 0
    }
}
