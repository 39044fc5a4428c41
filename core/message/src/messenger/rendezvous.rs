//! Pieces and packets that stay in their sender's memory until the receiver has fetched them.
//!
//! Offers are posted and fetched in the order of their connection, so both sides count them: an offer is
//! fetched once as many were. A packet must not wait until the program asks for it, since its sender may wait
//! for null messages or other packets of the same rank: so it is no offer but lent, one at a time each way,
//! and every wait fetches it. Its answer is a bit of Done.
use super::connections::Connections;
use super::frame::{FrameKind, Head};
use super::piece::{LENGTH, PieceFormat, SHORT};
use core::cell::{Cell, RefCell};
use foregather_machine::{Cause, Error, Fabric, Key, Rank, reached};

/// The bytes of a loan's frame: tag, key and length.
const BYTES: usize = 4 + 8 + 8;
/// The bit of Done that says that the packet was fetched; the others count offers.
const FETCHED: u16 = 1 << 15;

/// Pieces in the peer's memory.
#[derive(Clone)]
pub(super) struct Offer {
    pub(super) key: Key,
    pub(super) shapes: Vec<PieceFormat>,
    /// Whether the message ends with this offer.
    pub(super) last: bool,
}

impl Offer {
    pub(super) fn bytes(&self) -> usize {
        self.shapes.iter().fold(0, |sum: usize, shape| sum.saturating_add(shape.bytes))
    }

    /// Reads the bytes of its frame: a key, and for each piece its short shape and its length.
    pub(super) fn read(head: Head, bytes: &[u8]) -> Option<Self> {
        let last = head.extra != 0;
        let (key, shapes) = bytes.split_first_chunk::<8>()?;
        let (shapes, rest) = shapes.as_chunks::<{ SHORT + LENGTH }>();
        if shapes.is_empty() || !rest.is_empty() {
            return None;
        }
        let shape = |bytes: &[u8; SHORT + LENGTH]| {
            let (short, length) = bytes.split_first_chunk::<SHORT>()?;
            // The length is written in full, whatever its value.
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

/// A packet in the memory of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loan {
    pub(super) tag: u32,
    pub(super) key: Key,
    pub(super) bytes: usize,
}

impl Loan {
    fn read(bytes: &[u8]) -> Option<Self> {
        let (tag, rest) = bytes.split_first_chunk::<4>()?;
        let (key, rest) = rest.split_first_chunk::<8>()?;
        let bytes = u64::from_le_bytes(*rest.first_chunk::<8>().filter(|_| rest.len() == 8)?);
        Some(Self { tag: u32::from_le_bytes(*tag), key: Key(u64::from_le_bytes(*key)), bytes: usize::try_from(bytes).ok()? })
    }

    pub(super) fn write(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..4].copy_from_slice(&self.tag.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.key.0.to_le_bytes());
        bytes[12..].copy_from_slice(&(self.bytes as u64).to_le_bytes());
        bytes
    }
}

/// The number of an offer among all of its connection. The numbers wrap.
type OfferNumber = u32;

/// A connection's state about offers and packets that are lent.
#[derive(Default)]
struct PeerOffers {
    /// Our offers: posted, and fetched by the peer.
    posted: Cell<OfferNumber>,
    fetched: Cell<OfferNumber>,
    /// The peer's offers that we have fetched, and not reported yet.
    untold: Cell<u32>,
    /// A packet of ours that the peer has not fetched.
    lent: Cell<bool>,
    /// A packet of the peer's that we have not fetched.
    loan: Cell<Option<Loan>>,
    /// The peer's packet was fetched, and the peer was not told.
    untold_loan: Cell<bool>,
}

/// An offer that was posted: its receiver, and where its pieces are.
#[derive(Clone, Copy)]
pub(super) struct Posted {
    pub(super) to: Rank,
    number: OfferNumber,
    pub(super) key: Key,
}

/// Offers and packets that are lent, of all connections, both ways.
pub(super) struct Rendezvous {
    peers: Box<[PeerOffers]>,
    /// Packets that peers lend, and that no wait has fetched yet.
    loans: Cell<u32>,
}

impl Rendezvous {
    pub(super) fn new(size: u32) -> Self {
        Self { peers: (0..size).map(|_| PeerOffers::default()).collect(), loans: Cell::new(0) }
    }

    fn with(&self, peer: Rank) -> &PeerOffers {
        &self.peers[peer as usize]
    }

    /// Records that the offer of the memory under `key` was posted.
    pub(super) fn posted(&self, to: Rank, key: Key) -> Posted {
        let posted = &self.with(to).posted;
        posted.set(posted.get().wrapping_add(1));
        Posted { to, number: posted.get(), key }
    }

    /// How many of our offers the peer has not fetched.
    pub(super) fn open(&self, peer: Rank) -> u32 {
        self.with(peer).posted.get().wrapping_sub(self.with(peer).fetched.get())
    }

    pub(super) fn is_fetched(&self, posted: Posted) -> bool {
        (self.with(posted.to).fetched.get().wrapping_sub(posted.number) as i32) >= 0
    }

    /// Takes a Done: the peer has fetched our packet, or more of our offers. `false`: there were none.
    pub(super) fn take_done(&self, from: Rank, extra: u16) -> bool {
        if extra >= FETCHED {
            return extra == FETCHED && self.with(from).lent.take();
        }
        let (open, fetched) = (self.open(from), &self.with(from).fetched);
        if u32::from(extra) < open {
            reached("messenger:9");
        }
        fetched.set(fetched.get().wrapping_add(u32::from(extra)));
        u32::from(extra) <= open
    }

    /// Returns whether the peer was not told of all that was fetched from it.
    pub(super) fn is_untold(&self, peer: Rank) -> bool {
        self.with(peer).untold.get() > 0 || self.with(peer).untold_loan.get()
    }

    /// Reports to `from` that one of its offers was fetched.
    pub(super) fn report_fetched<F: Fabric>(&self, connections: &Connections<F>, from: Rank) {
        let untold = &self.with(from).untold;
        untold.set(untold.get() + 1);
        self.report_offers(connections, from);
    }

    fn report_offers<F: Fabric>(&self, connections: &Connections<F>, to: Rank) {
        let untold = &self.with(to).untold;
        let told = untold.get().min(u32::from(FETCHED - 1));
        match connections.post(to, FrameKind::Done, told as u16, &[]) {
            Ok(true) => untold.set(untold.get() - told),
            Ok(false) => connections.retry_later(),
            Err(_) => {}
        }
    }

    /// Reports to `from` that its packet was fetched.
    pub(super) fn report_loan<F: Fabric>(&self, connections: &Connections<F>, from: Rank) {
        let untold = &self.with(from).untold_loan;
        untold.set(true);
        match connections.post(from, FrameKind::Done, FETCHED, &[]) {
            Ok(true) => untold.set(false),
            Ok(false) => connections.retry_later(),
            Err(_) => {}
        }
    }

    /// Reports what found no room before.
    pub(super) fn retry<F: Fabric>(&self, connections: &Connections<F>, peer: Rank) {
        if self.with(peer).untold.get() > 0 {
            self.report_offers(connections, peer);
        }
        if self.with(peer).untold_loan.get() {
            self.report_loan(connections, peer);
        }
    }

    /// Returns whether a packet is lent to that rank and not fetched.
    pub(super) fn is_lent(&self, to: Rank) -> bool {
        self.with(to).lent.get()
    }

    /// Records that a packet is lent to that rank, or no longer; returns whether one was.
    pub(super) fn set_lent(&self, to: Rank, lent: bool) -> bool {
        self.with(to).lent.replace(lent)
    }

    /// Records a packet that `from` lends to us, by the content of its frame.
    pub(super) fn take_loan(&self, from: Rank, bytes: &[u8]) -> Result<(), Error> {
        let violation = |what| Error::from(Cause::ProtocolViolation { from, what });
        let loan = Loan::read(bytes).ok_or_else(|| violation("a packet of no length"))?;
        if self.with(from).loan.replace(Some(loan)).is_some() {
            return Err(violation("two packets lent at a time"));
        }
        self.loans.set(self.loans.get() + 1);
        Ok(())
    }

    /// A rank whose packet must be fetched before a wait goes on.
    #[inline]
    pub(super) fn lender<F: Fabric>(&self, connections: &Connections<F>) -> Option<Rank> {
        if self.loans.get() == 0 {
            return None;
        }
        (0..connections.size).find(|&peer| self.loan(connections, peer).is_some())
    }

    /// The packet that `from` lends. If the lender has given up since, its packet is gone.
    pub(super) fn loan<F: Fabric>(&self, connections: &Connections<F>, from: Rank) -> Option<Loan> {
        self.with(from).loan.get().filter(|_| connections.link(from).ended().is_none())
    }

    /// Takes the packet that `from` lends, to fetch it.
    pub(super) fn begin_fetch(&self, from: Rank) -> Option<Loan> {
        let loan = self.with(from).loan.take()?;
        self.loans.set(self.loans.get() - 1);
        Some(loan)
    }
}

/// Memory of this rank that peers may read. While there is any, each wait helps the readers.
#[derive(Default)]
pub(super) struct ExposedMemory {
    regions: Cell<u32>,
    /// Offers of owned memory, and whether their handles were dropped.
    owned: RefCell<Vec<(Posted, bool)>>,
}

impl ExposedMemory {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.regions.get() == 0
    }

    pub(super) fn add(&self) {
        self.regions.set(self.regions.get() + 1);
    }

    pub(super) fn remove(&self) {
        self.regions.set(self.regions.get() - 1);
    }

    pub(super) fn add_owned(&self, posted: Posted) {
        self.add();
        self.owned.borrow_mut().push((posted, false));
    }

    /// All offers of owned memory, and whether their handles were dropped.
    pub(super) fn owned(&self) -> Vec<(Posted, bool)> {
        self.owned.borrow().clone()
    }

    /// The handle of owned memory was dropped: it is freed when it was fetched.
    pub(super) fn orphan(&self, posted: Posted) {
        self.owned.borrow_mut().iter_mut().filter(|(open, _)| open.key == posted.key).for_each(|(_, dropped)| *dropped = true);
    }

    /// Takes owned memory back.
    pub(super) fn take_back<F: Fabric>(&self, connections: &Connections<F>, posted: Posted) -> Option<Vec<u8>> {
        self.owned.borrow_mut().retain(|(open, _)| open.key != posted.key);
        connections.fabric.take_back(posted.key).inspect(|_| self.remove())
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

    #[test]
    fn offers_are_fetched_in_order_and_never_more_than_there_are() {
        let rendezvous = Rendezvous::new(1);
        let PeerOffers { posted, fetched, .. } = rendezvous.with(0);
        posted.set(u32::MAX - 1);
        fetched.set(u32::MAX - 1);
        let offers = [1, 2, 3].map(|key| rendezvous.posted(0, Key(key)));
        assert!(rendezvous.take_done(0, 2));
        assert_eq!(offers.map(|offer| rendezvous.is_fetched(offer)), [true, true, false]);
        assert!(rendezvous.take_done(0, 1) && rendezvous.is_fetched(offers[2]) && !rendezvous.take_done(0, 1));
    }

    #[test]
    fn a_loan_is_read_as_it_was_written() {
        let loan = Loan { tag: 0xc011_0003, key: Key(u64::MAX - 4), bytes: 1 << 40 };
        let bytes = loan.write();
        assert_eq!(Loan::read(&bytes), Some(loan));
        assert!((0..BYTES).all(|len| Loan::read(&bytes[..len]).is_none()));
        assert_eq!(Loan::read(&[0; BYTES + 1]), None);
    }
}
