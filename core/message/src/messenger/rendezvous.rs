//! Pieces that stay in their sender's memory until the receiver has fetched them, of one message or of
//! several open ones.
//!
//! Offers are posted and fetched in the order of their connection, so both sides count them: an offer is
//! fetched once as many were. Memory is exposed within [`exposing`], or owned by the lane
//! ([`Exposures`](foregather_machine::Exposures)): no handle that can be forgotten guards it.
use super::frame::{FrameKind, Head};
use super::loan::FETCHED;
use super::piece::{LENGTH, PieceFormat, SHORT};
use super::send::Outgoing;
use super::{Messenger, Waiting, count};
use core::cell::{Cell, RefCell};
use core::future::Future;
use foregather_machine::{Cause, Error, Exposing, Fabric, Key, Park, Rank, exposing, reached};

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
    to: Rank,
    number: OfferNumber,
    key: Key,
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

    fn is_fetched(&self, posted: Posted) -> bool {
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
    /// The errors of `body`; as [`Outgoing::end`] for the messages that are open then.
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

    /// Sends a message of one CHEAPER piece that is received CHEAPER, from memory that the messenger keeps
    /// until the receiver has fetched it. The returned handle gives the memory back. Acts when called: await
    /// it.
    ///
    /// # Errors
    /// As [`Messenger::begin_packing`] and [`Outgoing::end`]. The memory is freed then.
    pub fn send_owned(&self, to: Rank, memory: Vec<u8>) -> impl Future<Output = Result<Pending<'_, F>, Error>> {
        self.fabric.cpu().run_inline(async move {
            self.forget_fetched();
            if memory.len() < self.rules.direct_at {
                self.send_whole(to, super::Cheaper(&memory), super::Receive::Cheaper).await?;
                return Ok(Pending { messenger: self, held: PendingMemory::Here(memory) });
            }
            let message = self.begin_packing(to)?;
            message.wait_for_credit().await?;
            let shape = PieceFormat { mode: super::Mode::Cheaper, receive: super::Receive::Cheaper, bytes: memory.len() };
            let key = self.fabric.expose_owned(memory)?;
            let posted = self.post_offer(to, key, core::iter::once(shape), true).await;
            let posted = posted.inspect_err(|_| drop(self.fabric.take_back(key)))?;
            self.exposed.set(self.exposed.get() + 1);
            self.owned.borrow_mut().push((posted, false));
            message.finish();
            Ok(Pending { messenger: self, held: PendingMemory::Offered(posted) })
        })
    }

    /// Waits until all that was sent from owned memory was fetched, whether or not its handles still exist: a
    /// rank that leaves earlier takes the memory away from its receivers. Acts when called: await it.
    ///
    /// # Errors
    /// As [`Outgoing::end`].
    pub fn settle(&self) -> impl Future<Output = Result<(), Error>> {
        self.fabric.cpu().run_inline(async move {
            let open: Vec<Posted> = self.owned.borrow().iter().map(|(posted, _)| *posted).collect();
            for posted in open {
                self.until_fetched(posted).await?;
            }
            self.forget_fetched();
            Ok(())
        })
    }

    /// Frees owned memory that was fetched and whose handles were dropped.
    fn forget_fetched(&self) {
        let fetched = |&(posted, dropped): &(Posted, bool)| (dropped && self.is_fetched(posted)).then_some(posted);
        let fetched: Vec<Posted> = self.owned.borrow().iter().filter_map(fetched).collect();
        fetched.into_iter().for_each(|posted| drop(self.take_back(posted)));
    }

    fn take_back(&self, posted: Posted) -> Option<Vec<u8>> {
        self.owned.borrow_mut().retain(|(open, _)| open.key != posted.key);
        let memory = self.fabric.take_back(posted.key);
        self.exposed.set(self.exposed.get() - u32::from(memory.is_some()));
        memory
    }
}

/// A scope in which several messages may be open at a time: [`Messenger::scope`].
pub struct MessageScope<'s, 'env, F: Fabric> {
    messenger: &'s Messenger<F>,
    exposing: &'s Exposing<'s, 'env, F>,
    open: RefCell<Vec<Posted>>,
}

impl<'s, 'env, F: Fabric> MessageScope<'s, 'env, F> {
    /// Ends a message without waiting until its large pieces were fetched: the memory that it borrows stays
    /// borrowed until the scope ends. Acts when called: await it.
    ///
    /// # Errors
    /// As [`Outgoing::end`].
    pub fn end_later(&self, message: Outgoing<'s, 'env, F>) -> impl Future<Output = Result<(), Error>> {
        self.messenger.fabric.cpu().run_inline(message.end_within(self))
    }

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

/// A message that was sent from owned memory. Dropped, it leaves the memory to the messenger until it was
/// fetched.
#[must_use = "`wait` gives the memory back"]
pub struct Pending<'c, F: Fabric> {
    messenger: &'c Messenger<F>,
    held: PendingMemory,
}

enum PendingMemory {
    /// Its bytes have left.
    Here(Vec<u8>),
    Offered(Posted),
    Nowhere,
}

impl<F: Fabric> Pending<'_, F> {
    /// Would [`Pending::wait`] return at once? Looks at what has come, and takes nothing in.
    pub fn is_fetched(&self) -> bool {
        match &self.held {
            PendingMemory::Here(_) | PendingMemory::Nowhere => true,
            PendingMemory::Offered(posted) => self.messenger.is_fetched(*posted),
        }
    }

    /// Waits until the receiver has fetched the message, and returns the memory. Acts when called: await it.
    ///
    /// # Errors
    /// As [`Outgoing::end`]. The memory is freed then.
    pub fn wait(mut self) -> impl Future<Output = Result<Vec<u8>, Error>> {
        let messenger = self.messenger;
        messenger.fabric.cpu().run_inline(async move {
            match core::mem::replace(&mut self.held, PendingMemory::Nowhere) {
                PendingMemory::Here(memory) => Ok(memory),
                PendingMemory::Nowhere => Ok(Vec::new()),
                PendingMemory::Offered(posted) => {
                    let fetched = messenger.until_fetched(posted).await;
                    if fetched.is_err() {
                        // Before the memory goes: a receiver that finds it gone looks behind it for the
                        // reason.
                        messenger.give_up(posted.to);
                    }
                    let memory = messenger.take_back(posted);
                    fetched?;
                    memory.ok_or_else(|| Cause::Unexposed { rank: posted.to }.into())
                }
            }
        })
    }
}

impl<F: Fabric> Drop for Pending<'_, F> {
    fn drop(&mut self) {
        if let PendingMemory::Offered(posted) = self.held {
            let mut owned = self.messenger.owned.borrow_mut();
            owned.iter_mut().filter(|(open, _)| open.key == posted.key).for_each(|(_, dropped)| *dropped = true);
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
