//! Null messages and sized packets over the same frames, so that every barrier, exchange and collective runs
//! over any fabric.
use super::frame::FrameKind;
use super::loan::Loan;
use super::{Messenger, Waiting};
use core::cell::{Cell, RefCell};
use core::future::Future;
use foregather_machine::{Cause, Clock, Endpoint, Error, Fabric, Member, Nanos, Packet, Park, Port, Rank, reached};
use std::collections::VecDeque;

/// Bytes before those of a packet, in its first frame: tag and length.
const BEFORE: usize = 4 + 8;
/// The longest short message: it travels with its head, or in one static buffer of any fabric.
const SHORT_LIMIT: usize = 100;

/// A sized packet of which not all frames have come.
struct Assembling {
    packet: Packet,
    tag: u32,
    bytes: usize,
    /// `None` for a packet that had to be announced and was not.
    kept: Option<Vec<u8>>,
    come: usize,
}

/// A packet that a program waited for.
enum Come {
    Whole(Vec<u8>),
    Lent(Loan),
}

/// A connection's state about packets.
#[derive(Default)]
pub(super) struct Packets {
    assembling: RefCell<Option<Assembling>>,
    /// Answers to PROBEs that are still to be sent, by tag.
    requests: RefCell<VecDeque<u32>>,
}

impl Packets {
    pub(super) fn has_requests(&self) -> bool {
        !self.requests.borrow().is_empty()
    }
}

/// Takes one from a counter above 0.
#[inline]
fn take(from: &Cell<u32>) -> Option<()> {
    from.set(from.get().checked_sub(1)?);
    Some(())
}

/// The extra bits of a packet's frame: its kind, and whether more follows.
fn extra(packet: Packet, more: bool) -> u16 {
    let number = Packet::ALL.iter().position(|&of| of == packet).unwrap_or(0);
    (number << 1) as u16 | u16::from(more)
}

fn garbled(from: Rank, what: &'static str) -> Error {
    Cause::ProtocolViolation { from, what }.into()
}

impl<F: Fabric> Messenger<F> {
    /// Takes a part of a packet.
    pub(super) fn take_packet(&self, from: Rank, extra: u16, bytes: &[u8]) -> Result<(), Error> {
        let packet = *Packet::ALL.get(usize::from(extra >> 1)).ok_or_else(|| garbled(from, "a packet of no known kind"))?;
        let more = extra & 1 == 1;
        if let Packet::Probe | Packet::Request = packet {
            // These packets come in between the parts of another one.
            if self.with(from).packets.assembling.borrow().is_some() {
                reached("messenger:6");
            }
            let tag = bytes.first_chunk().ok_or_else(|| garbled(from, "a packet that is too short"))?;
            return self.take_question(from, packet, u32::from_le_bytes(*tag));
        }
        let mut assembling = self.with(from).packets.assembling.borrow_mut();
        let (mut part, bytes) = match assembling.take() {
            Some(part) => (part, bytes),
            None => self.begin_packet(from, packet, bytes)?,
        };
        if part.packet != packet || bytes.len() > part.bytes - part.come || (!more && bytes.len() != part.bytes - part.come) {
            return Err(garbled(from, "parts of a packet that do not fit together"));
        }
        part.come += bytes.len();
        if let Some(kept) = &mut part.kept {
            kept.extend_from_slice(bytes);
        }
        if more {
            *assembling = Some(part);
        } else if let Some(kept) = part.kept {
            self.inbox.borrow_mut().arrive(packet, (from, part.tag), kept);
        }
        Ok(())
    }

    fn begin_packet<'b>(&self, from: Rank, packet: Packet, bytes: &'b [u8]) -> Result<(Assembling, &'b [u8]), Error> {
        let short = || garbled(from, "a packet that is too short");
        let (before, bytes) = bytes.split_first_chunk::<BEFORE>().ok_or_else(short)?;
        let (tag, length) = before.split_first_chunk::<4>().ok_or_else(short)?;
        let length = u64::from_le_bytes(*length.first_chunk().ok_or_else(short)?);
        let length = usize::try_from(length).map_err(|_| garbled(from, "a packet that is too long"))?;
        let tag = u32::from_le_bytes(*tag);
        let kept = if self.inbox.borrow_mut().admits(packet, (from, tag)) {
            let mut kept = Vec::new();
            let refused = |_| Cause::Length { what: "a message that came", bytes: length, room: 0 };
            kept.try_reserve_exact(length).map_err(refused)?;
            Some(kept)
        } else {
            None
        };
        Ok((Assembling { packet, tag, bytes: length, kept, come: 0 }, bytes))
    }

    /// Answers a PROBE in the present wait, whatever it is for; a REQUEST is for the program.
    fn take_question(&self, from: Rank, packet: Packet, tag: u32) -> Result<(), Error> {
        let mut inbox = self.inbox.borrow_mut();
        if inbox.admits(packet, (from, tag)) {
            inbox.arrive(packet, (from, tag), Vec::new());
        }
        if crate::long::answer(packet) == Some(Packet::Request) {
            self.with(from).packets.requests.borrow_mut().push_back(tag);
            // Sent by the next look, since this one still looks at a frame.
            self.backlog.set(true);
        }
        Ok(())
    }

    /// Sends as many answers as there are credits and room for.
    pub(super) fn answer(&self, to: Rank) {
        let with = self.with(to);
        let mut requests = with.packets.requests.borrow_mut();
        while let Some(tag) = requests.front() {
            let sent = with.link.take_credit() && {
                let sent = self.post(to, FrameKind::Packet, extra(Packet::Request, false), &tag.to_le_bytes()) == Ok(true);
                if !sent {
                    with.link.untake_credit();
                }
                sent
            };
            if !sent {
                return self.backlog.set(true);
            }
            requests.pop_front();
        }
    }

    /// Sends one frame that costs a credit, as soon as there is one, and room.
    pub(super) async fn send(&self, to: Rank, kind: FrameKind, extra: u16, bytes: &[u8]) -> Result<(), Error> {
        let post = || {
            if !self.with(to).link.take_credit() {
                return None;
            }
            let sent = if bytes.len() <= self.inline {
                self.post(to, kind, extra, bytes)
            } else {
                self.fabric.write_with(self.address(to), |buffer| buffer[..bytes.len()].copy_from_slice(bytes));
                self.post_filled(to, kind, extra, bytes.len())
            };
            if sent != Ok(true) {
                self.with(to).link.untake_credit();
            }
            sent.map(|sent| sent.then_some(())).transpose()
        };
        match post() {
            Some(sent) => sent,
            None => self.until("room for a part of a collective operation", Waiting::Room(to), post).await,
        }
    }

    async fn wait_in(&self, slot: u32, peer: Option<Rank>) -> Result<(), Error> {
        peer.map_or(Ok(()), |peer| self.known(peer))?;
        let slots = self.signals.len() as u32;
        let count = self.signals.get(slot as usize).ok_or_else(|| Error::from(Cause::Slot { slot, slots }))?;
        let come = || take(count).map(Ok);
        match come() {
            Some(taken) => taken,
            None => self.until("the arrival at a barrier", Waiting::Signal(peer), come).await,
        }
    }

    /// Sends a packet through the fabric's buffers, frame by frame.
    async fn send_frames(&self, to: Rank, packet: Packet, tag: u32, bytes: &[u8]) -> Result<(), Error> {
        let whole = Whole(self, to);
        self.send_parts(to, packet, tag, bytes).await?;
        core::mem::forget(whole);
        Ok(())
    }

    async fn send_parts(&self, to: Rank, packet: Packet, tag: u32, bytes: &[u8]) -> Result<(), Error> {
        if let Packet::Probe | Packet::Request = packet {
            return self.send(to, FrameKind::Packet, extra(packet, false), &tag.to_le_bytes()).await;
        }
        let (now, mut later) = bytes.split_at(bytes.len().min(self.buffer - BEFORE));
        let first = [&tag.to_le_bytes()[..], &(bytes.len() as u64).to_le_bytes(), now].concat();
        self.send(to, FrameKind::Packet, extra(packet, !later.is_empty()), &first).await?;
        while !later.is_empty() {
            let (now, rest) = later.split_at(later.len().min(self.buffer));
            later = rest;
            self.send(to, FrameKind::Packet, extra(packet, !later.is_empty()), now).await?;
        }
        Ok(())
    }

    /// May a packet go there now? Not while a message is being packed, which may have filled a buffer half.
    fn free(&self, to: Rank, packet: Packet, bytes: usize) -> Result<(), Error> {
        self.known(to)?;
        let room = if packet == Packet::Short { SHORT_LIMIT } else { usize::MAX };
        if bytes > room {
            return Err(Cause::Length { what: "a packet", bytes, room }.into());
        }
        let with = self.with(to);
        if let Some(blame) = with.link.ended() {
            return Err(self.accused(blame, "a packet"));
        }
        if with.packing.is_busy() {
            return Err(Cause::Busy { peer: to, what: "a message being packed" }.into());
        }
        Ok(())
    }
}

/// A packet that is dropped half sent can never be whole.
struct Whole<'p, F: Fabric>(&'p Messenger<F>, Rank);

impl<F: Fabric> Drop for Whole<'_, F> {
    fn drop(&mut self) {
        self.0.give_up(self.1);
    }
}

impl<F: Fabric> Clock for Messenger<F> {
    fn now(&self) -> Nanos {
        self.fabric.now()
    }
    fn delay(&self, span: Nanos) -> impl Future<Output = ()> {
        self.fabric.delay(span)
    }
    fn delay_until(&self, moment: Nanos) -> impl Future<Output = Nanos> {
        self.fabric.delay_until(moment)
    }
}

impl<F: Fabric> Member for Messenger<F> {
    fn rank(&self) -> Rank {
        self.here.rank
    }
    fn size(&self) -> u32 {
        self.size
    }
}

impl<F: Fabric> Endpoint for Messenger<F> {
    fn signal(&self, peer: Rank, slot: u32) -> impl Future<Output = Result<(), Error>> {
        self.fabric.cpu().run_inline(async move {
            self.known(peer)?;
            if slot as usize >= self.signals.len() {
                return Err(Cause::Slot { slot, slots: self.signals.len() as u32 }.into());
            }
            if peer == self.here.rank {
                let slot = &self.signals[slot as usize];
                slot.set(slot.get() + 1);
                return Ok(());
            }
            self.send(peer, FrameKind::Signal, slot as u16, &[]).await
        })
    }

    fn wait(&self, slot: u32) -> impl Future<Output = Result<(), Error>> {
        self.fabric.cpu().run_inline(self.wait_in(slot, None))
    }

    fn wait_from(&self, peer: Rank, slot: u32) -> impl Future<Output = Result<(), Error>> {
        self.fabric.cpu().run_inline(self.wait_in(slot, Some(peer)))
    }
}

impl<F: Fabric> Port for Messenger<F> {
    fn short_limit(&self) -> usize {
        SHORT_LIMIT
    }

    fn transmit(&self, to: Rank, packet: Packet, tag: u32, bytes: &[u8]) -> impl Future<Output = Result<(), Error>> {
        self.fabric.cpu().run_inline(async move {
            self.free(to, packet, bytes.len())?;
            if self.lends(packet, bytes.len()) {
                return Box::pin(self.lend(to, tag, bytes, async || Ok(()))).await;
            }
            self.send_frames(to, packet, tag, bytes).await
        })
    }

    fn post(&self, from: Rank, tag: u32) -> Result<(), Error> {
        self.known(from)?;
        // A packet that is there already came before the receive was posted.
        self.serve(Waiting::Nothing)?;
        self.inbox.borrow_mut().post((from, tag));
        Ok(())
    }

    fn accept(&self, from: Rank, tag: u32, into: &mut [u8]) -> impl Future<Output = Result<usize, Error>> {
        self.fabric.cpu().run_inline(async move {
            self.known(from)?;
            let room = into.len();
            let arrived = || {
                let mut inbox = self.inbox.borrow_mut();
                if let Some(message) = inbox.take_message((from, tag)) {
                    return Some(Ok(Come::Whole(message)));
                }
                if inbox.take_unposted((from, tag)) {
                    return Some(Err(Cause::Unposted { from, tag }.into()));
                }
                let loan = self.loan(from).filter(|loan| loan.tag == tag && loan.bytes <= room);
                loan.map(|loan| Ok(Come::Lent(loan)))
            };
            let come = match arrived() {
                Some(come) => come?,
                None => self.until("its part of a collective operation", Waiting::Packet(from), arrived).await?,
            };
            match come {
                Come::Whole(message) => {
                    let bytes = message.len();
                    let refused = Cause::Length { what: "the message that came", bytes, room };
                    into.get_mut(..bytes).ok_or(refused)?.copy_from_slice(&message);
                    Ok(bytes)
                }
                Come::Lent(loan) => self.fetch_loan(from, into).await.map(|()| loan.bytes),
            }
        })
    }

    fn transmit_and_accept(
        &self,
        (to, packet): (Rank, Packet),
        out: &[u8],
        from: Rank,
        into: &mut [u8],
        tag: u32,
    ) -> impl Future<Output = Result<usize, Error>> {
        self.fabric.cpu().run_inline(async move {
            self.free(to, packet, out.len())?;
            if self.lends(packet, out.len()) {
                return Box::pin(self.lend(to, tag, out, async || self.accept(from, tag, into).await)).await;
            }
            self.send_frames(to, packet, tag, out).await?;
            self.accept(from, tag, into).await
        })
    }

    fn requested(&self, from: Rank, tag: u32) -> impl Future<Output = Result<(), Error>> {
        self.fabric.cpu().run_inline(async move {
            self.known(from)?;
            let requested = || self.inbox.borrow_mut().take_request((from, tag)).then_some(Ok(()));
            self.until("a REQUEST", Waiting::Packet(from), requested).await
        })
    }
}
