//! Pieces that stay in their sender's memory until the receiver has fetched them, of one message or of
//! several open ones.
//!
//! Offers are posted and fetched in the order of their connection, so both sides count them: an offer is
//! fetched once as many were. Memory is exposed within [`exposing`], or owned by the lane
//! ([`Exposures`](foregather_machine::Exposures)): no handle that can be forgotten guards it.
use super::frame::{FrameKind, Head};
use super::loan::FETCHED;
use super::piece::{LENGTH, PieceFormat, SHORT};
use super::{Messenger, Waiting, count};
use core::cell::{Cell, RefCell};
use core::future::Future;
use foregather_machine::{Cause, Error, Exposing, Fabric, Key, Rank, exposing, reached};

/// The most open offers of a scope: a lane exposes 64 memories at a time, and some are for others.
const OPEN: usize = 32;

/// Pieces in the peer's memory.
#[derive(Clone)]
pub(super) struct Offer {
    pub(super) key: Key,
    pub(super) shapes: Vec<PieceFormat>,
    /// Does its message end with this offer?
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

/// The number of an offer among all of its connection.
pub(super) type OfferNumber = u32;

/// Offers of a connection, both ways.
#[derive(Default)]
pub(super) struct Offers {
    /// Our offers: posted, and fetched by the peer. The counts wrap.
    posted: Cell<OfferNumber>,
    fetched: Cell<OfferNumber>,
    /// The peer's offers that we have fetched, and not reported yet.
    untold: Cell<u32>,
}

impl Offers {
    pub(super) fn untold(&self) -> u32 {
        self.untold.get()
    }

    /// How many of our offers the peer has not fetched.
    fn open(&self) -> u32 {
        self.posted.get().wrapping_sub(self.fetched.get())
    }

    pub(super) fn post(&self) -> OfferNumber {
        self.posted.set(self.posted.get().wrapping_add(1));
        self.posted.get()
    }

    /// The peer has fetched `many` more offers. `false`: more than there were.
    pub(super) fn fetch(&self, many: u16) -> bool {
        let open = self.open();
        if u32::from(many) < open {
            reached("messenger:9");
        }
        self.fetched.set(self.fetched.get().wrapping_add(u32::from(many)));
        u32::from(many) <= open
    }

    pub(super) fn is_fetched(&self, number: OfferNumber) -> bool {
        (self.fetched.get().wrapping_sub(number) as i32) >= 0
    }
}

/// An offer that was posted: its receiver, and where its pieces are.
#[derive(Clone, Copy)]
pub(super) struct Posted {
    pub(super) to: Rank,
    number: OfferNumber,
    pub(super) key: Key,
}

impl<F: Fabric> Messenger<F> {
    /// Posts the offer of the memory exposed under that key, once there is room for it and for its answer. It
    /// has a credit already.
    pub(super) async fn post_offer(
        &self,
        to: Rank,
        key: Key,
        shapes: impl Iterator<Item = PieceFormat>,
        last: bool,
    ) -> Result<Posted, Error> {
        let offers = &self.with(to).offers;
        if offers.open() >= self.rules.open {
            let fetched = || (offers.open() < self.rules.open).then_some(Ok(()));
            self.until("earlier pieces to be fetched", Waiting::To(to), fetched).await?;
        }
        let len = self.fabric.write_with(self.address(to), |buffer| Offer::write(key, shapes, buffer));
        let post = || {
            let sent = self.post_filled(to, FrameKind::Offer, u16::from(last), len);
            sent.map(|sent| sent.then_some(())).transpose()
        };
        match post() {
            Some(posted) => posted?,
            None => self.until("room for an offer", Waiting::Room(to), post).await?,
        }
        Ok(Posted { to, number: offers.post(), key })
    }

    pub(super) fn is_fetched(&self, posted: Posted) -> bool {
        self.with(posted.to).offers.is_fetched(posted.number)
    }

    /// Waits until the peer has fetched that offer.
    pub(super) async fn until_fetched(&self, posted: Posted) -> Result<(), Error> {
        let fetched = || self.is_fetched(posted).then_some(Ok(()));
        match fetched() {
            Some(fetched) => fetched,
            None => self.until("its pieces to be fetched", Waiting::To(posted.to), fetched).await,
        }
    }

    /// Reports to `from` that one of its offers was fetched.
    pub(super) fn tell_fetched(&self, from: Rank) {
        let untold = &self.with(from).offers.untold;
        untold.set(untold.get() + 1);
        self.retell(from);
    }

    pub(super) fn retell(&self, to: Rank) {
        let untold = &self.with(to).offers.untold;
        let told = untold.get().min(u32::from(FETCHED - 1));
        match self.post(to, FrameKind::Done, told as u16, &[]) {
            Ok(true) => untold.set(untold.get() - told),
            Ok(false) => self.backlog.set(true),
            Err(_) => {}
        }
    }

    /// Runs `body`, in which several messages may be open at a time ([`MessageScope::end_later`]). If it ends
    /// well, the scope waits for all of them; if it fails or panics, it gives up those that are not fetched
    /// yet, and their receivers are told. Acts when called: await it.
    ///
    /// # Errors
    /// The errors of `body`; as [`Outgoing::end`](super::Outgoing::end) for the messages that are open then.
    pub fn scope<'s, 'env: 's, T>(
        &'s self,
        body: impl AsyncFnOnce(&MessageScope<'_, 'env, F>) -> Result<T, Error>,
    ) -> impl Future<Output = Result<T, Error>> {
        exposing(&*self.fabric, async move |exposing: &Exposing<'_, 'env, F>| {
            let scope = MessageScope { messenger: self, exposing, open: RefCell::default() };
            let out = body(&scope).await?;
            while let Some(posted) = scope.oldest() {
                self.until_fetched(posted).await?;
                scope.close(posted);
            }
            Ok(out)
        })
    }
}

/// A scope in which several messages may be open at a time: [`Messenger::scope`].
pub struct MessageScope<'s, 'env, F: Fabric> {
    pub(super) messenger: &'s Messenger<F>,
    exposing: &'s Exposing<'s, 'env, F>,
    open: RefCell<Vec<Posted>>,
}

impl<'s, 'env, F: Fabric> MessageScope<'s, 'env, F> {
    /// Exposes pieces for that rank and offers them. The offer has a credit already.
    pub(super) async fn offer(&self, to: Rank, group: &mut Vec<(PieceFormat, &'env [u8])>, last: bool) -> Result<(), Error> {
        self.make_room().await?;
        let pieces: Vec<&'env [u8]> = group.iter().map(|(_, bytes)| *bytes).collect();
        let key = self.exposing.expose(&pieces)?;
        let exposed = &self.messenger.exposed;
        exposed.set(exposed.get() + 1);
        let posted = self.messenger.post_offer(to, key, group.drain(..).map(|(shape, _)| shape), last).await;
        match posted {
            Ok(posted) => self.open.borrow_mut().push(posted),
            Err(_) => {
                exposed.set(exposed.get() - 1);
                self.exposing.unexpose(key);
            }
        }
        posted.map(|_| ())
    }

    /// Waits for the oldest offers where there are many.
    async fn make_room(&self) -> Result<(), Error> {
        while let Some(posted) = self.oldest() {
            if self.open.borrow().len() >= OPEN {
                self.messenger.until_fetched(posted).await?;
            }
            if !self.messenger.is_fetched(posted) {
                return Ok(());
            }
            self.close(posted);
        }
        Ok(())
    }

    fn oldest(&self) -> Option<Posted> {
        self.open.borrow().first().copied()
    }

    fn close(&self, posted: Posted) {
        self.open.borrow_mut().retain(|open| open.key != posted.key);
        self.exposing.unexpose(posted.key);
        self.messenger.exposed.set(self.messenger.exposed.get() - 1);
    }
}

/// A scope that fails gives up what was not fetched. A receiver that finds the pieces gone looks behind them
/// for the reason.
impl<F: Fabric> Drop for MessageScope<'_, '_, F> {
    fn drop(&mut self) {
        while let Some(posted) = self.oldest() {
            if !self.messenger.is_fetched(posted) {
                reached("messenger:8");
                self.messenger.give_up(posted.to);
            }
            self.close(posted);
        }
    }
}

impl<F: Fabric> Messenger<F> {
    /// Fetches what a peer offers, and tells the peer so.
    pub(super) async fn fetch(&self, from: Rank, offer: &Offer, into: &mut [&mut [u8]]) -> Result<(), Error> {
        self.bring(from, offer.key, into).await?;
        self.tell_fetched(from);
        Ok(())
    }

    /// Reads the memory that `from` has exposed under that key.
    pub(super) async fn bring(&self, from: Rank, key: Key, into: &mut [&mut [u8]]) -> Result<(), Error> {
        if let Err(error) = self.fabric.get(self.address(from), key, into).await {
            let error = if let Cause::Unexposed { .. } = error.cause() { self.withdrawn(from).await } else { error };
            return Err(self.blamed(error));
        }
        count(&self.traffic.direct_bytes, into.iter().map(|piece| piece.len() as u64).sum());
        Ok(())
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
        let offers = Offers { posted: Cell::new(u32::MAX - 1), fetched: Cell::new(u32::MAX - 1), untold: Cell::new(0) };
        let numbers = [offers.post(), offers.post(), offers.post()];
        assert!(offers.fetch(2));
        assert_eq!(numbers.map(|number| offers.is_fetched(number)), [true, true, false]);
        assert!(offers.fetch(1) && offers.is_fetched(numbers[2]) && !offers.fetch(1));
    }
}
