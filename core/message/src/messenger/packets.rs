//! Null messages and sized packets that have come, and answers that are still to be sent.
use super::connections::{Connections, garbled};
use super::frame::FrameKind;
use crate::inbox::Inbox;
use core::cell::{Cell, RefCell};
use foregather_machine::{Cause, Error, Fabric, Packet, Rank, reached};
use std::collections::VecDeque;

/// Bytes before those of a packet, in its first frame: tag and length.
pub(super) const BEFORE: usize = 4 + 8;

/// A sized packet of which not all frames have come.
struct Assembling {
    packet: Packet,
    tag: u32,
    bytes: usize,
    /// `None` for a packet that had to be announced and was not.
    kept: Option<Vec<u8>>,
    come: usize,
}

/// A connection's state about packets.
#[derive(Default)]
struct FromPeer {
    assembling: RefCell<Option<Assembling>>,
    /// Answers to PROBEs that are still to be sent, by tag.
    requests: RefCell<VecDeque<u32>>,
}

/// Null messages by slot, and packets by sender and tag.
pub(super) struct Packets {
    signals: Box<[Cell<u32>]>,
    inbox: RefCell<Inbox<Vec<u8>>>,
    peers: Box<[FromPeer]>,
}

/// The extra bits of a packet's frame: its kind, and whether more follows.
pub(super) fn extra(packet: Packet, more: bool) -> u16 {
    let number = Packet::ALL.iter().position(|&of| of == packet).unwrap_or(0);
    (number << 1) as u16 | u16::from(more)
}

impl Packets {
    pub(super) fn new(size: u32, slots: u32) -> Self {
        Self {
            signals: (0..slots).map(|_| Cell::new(0)).collect(),
            inbox: RefCell::default(),
            peers: (0..size).map(|_| FromPeer::default()).collect(),
        }
    }

    /// The null messages of that slot.
    pub(super) fn slot(&self, slot: u32) -> Result<&Cell<u32>, Error> {
        let slots = self.signals.len() as u32;
        self.signals.get(slot as usize).ok_or_else(|| Cause::Slot { slot, slots }.into())
    }

    /// Takes a null message.
    pub(super) fn take_signal(&self, from: Rank, slot: u16) -> Result<(), Error> {
        let slot = self.slot(u32::from(slot)).map_err(|_| garbled(from, "a slot that does not exist"))?;
        slot.set(slot.get() + 1);
        Ok(())
    }

    /// The packets that have come as a whole, and the receives that were announced.
    pub(super) fn inbox<T>(&self, act: impl FnOnce(&mut Inbox<Vec<u8>>) -> T) -> T {
        act(&mut self.inbox.borrow_mut())
    }

    fn with(&self, peer: Rank) -> &FromPeer {
        &self.peers[peer as usize]
    }

    /// Takes a part of a packet.
    pub(super) fn take_packet<F: Fabric>(
        &self,
        connections: &Connections<F>,
        from: Rank,
        extra: u16,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let packet = *Packet::ALL.get(usize::from(extra >> 1)).ok_or_else(|| garbled(from, "a packet of no known kind"))?;
        let more = extra & 1 == 1;
        let mut assembling = self.with(from).assembling.borrow_mut();
        if let Packet::Probe | Packet::Request = packet {
            // These packets come in between the parts of another one.
            if assembling.is_some() {
                reached("messenger:6");
            }
            let tag = bytes.first_chunk().ok_or_else(|| garbled(from, "a packet that is too short"))?;
            self.take_question(connections, from, packet, u32::from_le_bytes(*tag));
            return Ok(());
        }
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
    fn take_question<F: Fabric>(&self, connections: &Connections<F>, from: Rank, packet: Packet, tag: u32) {
        self.inbox(|inbox| {
            if inbox.admits(packet, (from, tag)) {
                inbox.arrive(packet, (from, tag), Vec::new());
            }
        });
        if crate::long::answer(packet) == Some(Packet::Request) {
            self.with(from).requests.borrow_mut().push_back(tag);
            // Sent by the next look, since this one still looks at a frame.
            connections.retry_later();
        }
    }

    pub(super) fn has_requests(&self, peer: Rank) -> bool {
        !self.with(peer).requests.borrow().is_empty()
    }

    /// Sends as many answers as there are credits and room for.
    pub(super) fn retry<F: Fabric>(&self, connections: &Connections<F>, to: Rank) {
        let mut requests = self.with(to).requests.borrow_mut();
        while let Some(tag) = requests.front() {
            let (kind, extra) = (FrameKind::Packet, extra(Packet::Request, false));
            let sent =
                connections.link(to).take_credit() && connections.post_paid(to, kind, extra, &tag.to_le_bytes()) == Ok(true);
            if !sent {
                return connections.retry_later();
            }
            requests.pop_front();
        }
    }
}
