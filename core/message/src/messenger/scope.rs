//! Several open messages at a time: offers of memory, and the waits until they were fetched.
//!
//! Memory is exposed within [`exposing`], or owned by the lane
//! ([`Exposures`](foregather_machine::Exposures)): no handle that can be forgotten guards it.
use super::channel::Messenger;
use super::frame::FrameKind;
use super::piece::PieceFormat;
use super::progress::Waiting;
use super::rendezvous::{Offer, Posted};
use core::cell::RefCell;
use core::future::Future;
use foregather_machine::{Error, Exposing, Fabric, Key, Park, Rank, exposing, reached};

/// The most open offers of a scope: a lane exposes 64 memories at a time, and some are for others.
const OPEN: usize = 32;

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
        let (connections, rendezvous) = (&self.connections, &self.rendezvous);
        let fetched = || (rendezvous.open(to) < connections.rules.open).then_some(Ok(()));
        self.unless_now("earlier pieces to be fetched", Waiting::To(to), fetched).await?;
        let len = connections.fabric.write_with(connections.address(to), |buffer| Offer::write(key, shapes, buffer));
        let post = || {
            let sent = connections.post_filled(to, FrameKind::Offer, u16::from(last), len);
            sent.map(|sent| sent.then_some(())).transpose()
        };
        self.unless_now("room for an offer", Waiting::Room(to), post).await?;
        Ok(rendezvous.posted(to, key))
    }

    /// Waits until the peer has fetched that offer.
    pub(super) async fn until_fetched(&self, posted: Posted) -> Result<(), Error> {
        let fetched = || self.rendezvous.is_fetched(posted).then_some(Ok(()));
        self.unless_now("its pieces to be fetched", Waiting::To(posted.to), fetched).await
    }

    /// Waits until all that was sent from owned memory was fetched, whether or not its handles still exist: a
    /// rank that leaves earlier takes the memory away from its receivers. Acts when called: await it.
    ///
    /// # Errors
    /// As [`Outgoing::end`](super::Outgoing::end).
    pub fn settle(&self) -> impl Future<Output = Result<(), Error>> {
        self.fabric().cpu().run_inline(async move {
            for (posted, _) in self.exposed.owned() {
                self.until_fetched(posted).await?;
            }
            self.free_fetched();
            Ok(())
        })
    }

    /// Frees owned memory that was fetched and whose handles were dropped.
    pub(super) fn free_fetched(&self) {
        let fetched = |&(posted, dropped): &(Posted, bool)| dropped && self.rendezvous.is_fetched(posted);
        let fetched = self.exposed.owned().into_iter().filter(fetched);
        fetched.for_each(|(posted, _)| drop(self.exposed.take_back(&self.connections, posted)));
    }

    /// Runs `body`, in which several messages may be open at a time ([`MessageScope::end_later`]). If it ends
    /// well, the scope waits for all of them; if it fails or panics, it gives up those that are not fetched
    /// yet, and their receivers get an error. Acts when called: await it.
    ///
    /// # Errors
    /// The errors of `body`; as [`Outgoing::end`](super::Outgoing::end) for the messages that are open then.
    pub fn scope<'s, 'env: 's, T>(
        &'s self,
        body: impl AsyncFnOnce(&MessageScope<'_, 'env, F>) -> Result<T, Error>,
    ) -> impl Future<Output = Result<T, Error>> {
        exposing(self.fabric(), async move |exposing: &Exposing<'_, 'env, F>| {
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
    messenger: &'s Messenger<F>,
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
        exposed.add();
        let posted = self.messenger.post_offer(to, key, group.drain(..).map(|(shape, _)| shape), last).await;
        match posted {
            Ok(posted) => self.open.borrow_mut().push(posted),
            Err(_) => {
                exposed.remove();
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
            if !self.messenger.rendezvous.is_fetched(posted) {
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
        self.messenger.exposed.remove();
    }
}

/// A scope that fails gives up what was not fetched. A receiver that finds the pieces gone looks behind them
/// for the reason.
impl<F: Fabric> Drop for MessageScope<'_, '_, F> {
    fn drop(&mut self) {
        while let Some(posted) = self.oldest() {
            if !self.messenger.rendezvous.is_fetched(posted) {
                reached("messenger:8");
                self.messenger.connections.give_up(posted.to);
            }
            self.close(posted);
        }
    }
}
