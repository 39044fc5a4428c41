//! What a wait does for others: it takes in what has come, gives buffers back, and says what it owes.
use super::connection::{Offer, Unexpected};
use super::frame::{FrameKind, Head};
use super::piece::{LENGTH, PieceFormat, SHORT};
use super::{Messenger, Waiting, count};
use crate::link::Lost;
use foregather_machine::{Address, Cause, Error, Fabric, Key, Rank};

/// What serving came to.
pub(super) enum Served {
    Nothing,
    Something,
    /// Somebody cannot go on until this is fetched.
    Offered(Rank, Offer),
}

/// What became of a frame.
enum Taken {
    /// It belongs to a message: for the program.
    Message(Head),
    /// It is done with; did it use a buffer?
    Obeyed(bool),
}

/// What became of a frame that nobody reads in place.
enum Drained {
    /// It is done with, or was copied; did it use a buffer?
    Done(bool),
    Offer(Offer),
}

fn garbled(from: Rank, what: &'static str) -> Error {
    Cause::ProtocolViolation { from, what }.into()
}

impl Offer {
    /// From the bytes of its frame: a key, and for each piece its short shape and its length.
    pub(super) fn read(head: Head, bytes: &[u8]) -> Option<Self> {
        let last = head.extra != 0;
        let (key, shapes) = bytes.split_first_chunk::<8>()?;
        let (shapes, rest) = shapes.as_chunks::<{ SHORT + LENGTH }>();
        if shapes.is_empty() || !rest.is_empty() {
            return None;
        }
        let shape = |bytes: &[u8; SHORT + LENGTH]| {
            let (short, length) = bytes.split_first_chunk::<SHORT>()?;
            // Written in full whatever the length is.
            PieceFormat::read(u16::from_le_bytes(*short) | 0x1fff << 3, || length.first_chunk().copied())
        };
        let shapes = shapes.iter().map(shape).collect::<Option<_>>()?;
        Some(Self { key: Key(u64::from_le_bytes(*key)), shapes, last })
    }

    pub(super) fn write(key: Key, shapes: impl Iterator<Item = PieceFormat>, into: &mut [u8]) -> usize {
        into[..8].copy_from_slice(&key.0.to_le_bytes());
        let mut at = 8;
        for shape in shapes {
            into[at..at + SHORT].copy_from_slice(&shape.short().to_le_bytes());
            into[at + SHORT..at + SHORT + LENGTH].copy_from_slice(&(shape.bytes as u64).to_le_bytes());
            at += SHORT + LENGTH;
        }
        at
    }
}

impl<F: Fabric> Messenger<F> {
    /// Is there a frame, or something fetched, of a message of `from`?
    #[inline]
    pub(super) fn ready(&self, from: Rank) -> Result<bool, Error> {
        let with = self.with(from);
        if with.held.get() || (self.kept.get() > 0 && !with.kept.borrow().is_empty()) {
            return Ok(true);
        }
        let at = self.address(from);
        while let Some(taken) = self.fabric.peek(at, |bits, bytes| self.obey(from, bits, bytes)) {
            match taken.inspect_err(|_| self.give_up(from))? {
                Taken::Message(_) => {
                    with.held.set(true);
                    return Ok(true);
                }
                Taken::Obeyed(costs) => self.give_back(from, costs),
            }
        }
        Ok(false)
    }

    /// Does what a frame says, unless it is part of a message.
    #[inline]
    fn obey(&self, from: Rank, bits: u32, bytes: &[u8]) -> Result<Taken, Error> {
        let with = self.with(from);
        let head: Head = with.link.receive(self.rules.terms, from, bits)?;
        if head.kind.may_release() {
            with.taken.set(with.taken.get().wrapping_add(1));
        }
        if head.kind.is_message() { Ok(Taken::Message(head)) } else { self.obey_other(from, head, bytes) }
    }

    fn obey_other(&self, from: Rank, head: Head, bytes: &[u8]) -> Result<Taken, Error> {
        let with = self.with(from);
        match head.kind {
            FrameKind::Done => with.done.set(with.done.get() + u32::from(head.extra)),
            FrameKind::Abort => {
                let blame = Lost::unpack(from, bytes, self.size);
                if head.extra != 0 {
                    self.failed.set(self.failed.get().or(Some(blame)));
                }
                with.told.set(true);
                with.poisoned.set(with.poisoned.get().or(Some(blame)));
            }
            FrameKind::Signal => {
                let slot =
                    self.signals.get(usize::from(head.extra)).ok_or_else(|| garbled(from, "a slot that does not exist"))?;
                slot.set(slot.get() + 1);
            }
            FrameKind::Packet => self.take_packet(from, head.extra, bytes)?,
            FrameKind::Chase | FrameKind::Heard | FrameKind::Deadlock => self.note_chase(from, head.kind, bytes)?,
            FrameKind::Credit | FrameKind::Data | FrameKind::Last | FrameKind::Offer => {}
        }
        Ok(Taken::Obeyed(head.kind.costs()))
    }

    /// Lets go of the frame at the head of the ring.
    #[inline]
    pub(super) fn give_back(&self, from: Rank, costs: bool) {
        self.fabric.release(self.address(from));
        if costs {
            self.owe_credit(from);
        }
    }

    #[inline]
    pub(super) fn owe_credit(&self, from: Rank) {
        if self.with(from).link.owes_one_more(self.rules.terms) {
            self.acknowledge(from);
        }
    }

    #[cold]
    fn acknowledge(&self, to: Rank) {
        match self.post(to, FrameKind::Credit, 0, &[]) {
            Ok(true) => count(&self.traffic.acknowledgements, 1),
            Ok(false) => self.backlog.set(true),
            // A peer that is lost needs no credits; the wait says so.
            Err(_) => {}
        }
    }

    /// An offer of `from` was taken.
    pub(super) fn tell_done(&self, from: Rank) {
        let with = self.with(from);
        with.untold.set(with.untold.get() + 1);
        self.retell(from);
    }

    fn retell(&self, to: Rank) {
        let with = self.with(to);
        let told = with.untold.get().min(u32::from(u16::MAX));
        match self.post(to, FrameKind::Done, told as u16, &[]) {
            Ok(true) => with.untold.set(with.untold.get() - told),
            Ok(false) => self.backlog.set(true),
            Err(_) => {}
        }
    }

    /// Takes in what has come, as far as this wait does not read it in place; says what is owed; helps who reads from here.
    #[inline]
    pub(super) fn serve(&self, waiting: Waiting) -> Result<Served, Error> {
        let mut served = if self.exposed.get() > 0 && self.fabric.progress() { Served::Something } else { Served::Nothing };
        let in_place = |from: Rank| waiting == Waiting::Any || waiting == Waiting::From(from);
        let mut at = None;
        while let Some(from) = self.fabric.arrived(at) {
            at = Some(from);
            if in_place(from.rank) && from.lane == self.here.lane {
                continue;
            }
            match self.drain(from, waiting)? {
                Served::Nothing => {}
                Served::Something => served = Served::Something,
                offered @ Served::Offered(..) => return Ok(offered),
            }
        }
        // Behind what has come, since that may be what is to be answered, or the room that was missing.
        if self.backlog.get() {
            self.retry_credits();
        }
        Ok(served)
    }

    #[cold]
    fn drain(&self, at: Address, waiting: Waiting) -> Result<Served, Error> {
        let (from, with) = (at.rank, self.with(at.rank));
        if at.lane != self.here.lane {
            return Err(garbled(from, "a frame from another lane"));
        }
        let mut served = Served::Nothing;
        while let Some(drained) = self.fabric.peek(at, |bits, bytes| self.drain_frame(from, bits, bytes)) {
            let (costs, offer) = match drained.inspect_err(|_| self.give_up(from))? {
                Drained::Done(costs) => (costs, None),
                Drained::Offer(_) if waiting == Waiting::Nothing => {
                    with.held.set(true);
                    break;
                }
                Drained::Offer(offer) => (true, Some(offer)),
            };
            with.held.set(false);
            self.give_back(from, costs);
            served = Served::Something;
            if let Some(offer) = offer {
                return Ok(Served::Offered(from, offer));
            }
        }
        Ok(served)
    }

    /// Kept messages that this rank has not asked for take too much memory: the next frame is the last until its credit is paid.
    fn is_full(&self) -> bool {
        self.kept_bytes.get() > self.rules.kept_bytes
    }

    fn drain_frame(&self, from: Rank, bits: u32, bytes: &[u8]) -> Result<Drained, Error> {
        // A frame that is held was obeyed when it was found.
        let taken = if self.with(from).held.get() {
            Taken::Message(Head::unpack(bits).ok_or_else(|| garbled(from, "a frame that changed"))?)
        } else {
            self.obey(from, bits, bytes)?
        };
        match taken {
            Taken::Message(head) if head.kind == FrameKind::Offer => {
                let offer = Offer::read(head, bytes).ok_or_else(|| garbled(from, "an offer of nothing"))?;
                if !self.is_full() {
                    return Ok(Drained::Offer(offer));
                }
                self.keep(from, Unexpected::Offered(offer), true);
                Ok(Drained::Done(false))
            }
            Taken::Message(head) => {
                let full = self.is_full();
                self.keep(from, Unexpected::Frame(head, bytes.to_vec()), full);
                Ok(Drained::Done(!full))
            }
            Taken::Obeyed(costs) => Ok(Drained::Done(costs)),
        }
    }

    fn keep(&self, from: Rank, kept: Unexpected, unpaid: bool) {
        self.kept.set(self.kept.get() + 1);
        self.kept_bytes.set(self.kept_bytes.get() + kept.bytes());
        let with = self.with(from);
        if unpaid {
            with.link.defer();
            if with.link.overdue(self.rules.terms) {
                // What it may wait for is owed already; sent by this look, once no frame is being looked at.
                self.backlog.set(true);
            }
        }
        with.kept.borrow_mut().push_back((kept, unpaid));
    }

    /// Fetches what a peer offers before the program asks for it, because the program waits for somebody else.
    #[cold]
    pub(super) async fn fetch_aside(&self, from: Rank, offer: Offer) -> Result<(), Error> {
        let bytes = offer.bytes();
        let mut aside = Vec::new();
        if aside.try_reserve_exact(bytes).is_err() {
            self.give_up(from);
            return Err(Cause::Length { what: "a message that came", bytes, room: 0 }.into());
        }
        aside.resize(bytes, 0);
        self.fetch(from, &offer, &mut [&mut aside]).await?;
        self.keep(from, Unexpected::Fetched(offer, aside), false);
        Ok(())
    }

    /// Fetches what a peer offers, and tells it so.
    pub(super) async fn fetch(&self, from: Rank, offer: &Offer, into: &mut [&mut [u8]]) -> Result<(), Error> {
        let got = self.fabric.get(self.address(from), offer.key, into).await;
        if let Err(error) = got {
            let error = if let Cause::Unexposed { .. } = error.cause() { self.withdrawn(from) } else { error };
            return Err(self.blamed(error));
        }
        count(&self.traffic.direct_bytes, offer.bytes() as u64);
        self.tell_done(from);
        Ok(())
    }

    /// What `from` has offered is gone, since it has given that message up: it said why before it took the pieces away.
    fn withdrawn(&self, from: Rank) -> Error {
        let with = self.with(from);
        while with.poisoned.get().is_none() {
            // The rest of the message is nobody's any more.
            let taken = if with.held.replace(false) { Some(Ok(Taken::Obeyed(true))) } else { self.front_frame(from) };
            match taken {
                Some(Ok(Taken::Obeyed(costs))) => self.give_back(from, costs),
                Some(Ok(Taken::Message(head))) => self.give_back(from, head.kind.costs()),
                Some(Err(error)) => return error,
                None => break,
            }
        }
        let blame = with.poisoned.get().unwrap_or(Lost::on(from));
        self.accused(blame, "a piece in its sender's memory")
    }

    fn front_frame(&self, from: Rank) -> Option<Result<Taken, Error>> {
        self.fabric.peek(self.address(from), |bits, bytes| self.obey(from, bits, bytes))
    }

    /// What had no room may have some now.
    #[cold]
    fn retry_credits(&self) {
        self.backlog.set(false);
        for peer in 0..self.size {
            let with = self.with(peer);
            if with.untold.get() > 0 {
                self.retell(peer);
            }
            if with.poisoned.get().is_some() && !with.told.get() {
                self.tell_abort(peer);
            }
            if with.unheard.get() {
                self.hear(peer);
            }
            if !with.requests.borrow().is_empty() {
                self.answer(peer);
            }
            if with.link.overdue(self.rules.terms) {
                self.acknowledge(peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::piece::{Mode, Receive};
    use super::*;

    #[test]
    fn an_offer_is_read_as_it_was_written() {
        let shape = |bytes| PieceFormat { mode: Mode::Cheaper, receive: Receive::Cheaper, bytes };
        let shapes = [shape(0), shape(5), shape(1 << 33)];
        let head = Head { kind: FrameKind::Offer, credits: 0, extra: 1 };
        let mut bytes = [0; 64];
        let len = Offer::write(Key(77), shapes.into_iter(), &mut bytes);
        let offer = Offer::read(head, &bytes[..len]).unwrap();
        assert!(offer.key == Key(77) && offer.shapes == shapes && offer.last);
        assert!((0..len).all(|len| len == 18 || len == 28 || Offer::read(head, &bytes[..len]).is_none()));
    }
}
