//! Frames between two ends, under credits, over any [`Fabric`]: messages and shared memory both use it.
//!
//! A credit is an empty static buffer at the receiver (Namyst et al. 1999 §4). A frame of most kinds spends
//! one. The receiver owes one for each such frame that it has released, and returns what it owes on any frame
//! that goes that way. Owed credits travel alone only if the sender may have no more left than an agreed
//! number. So no sender waits for room in a ring, which rings no bell. States and races: `README.md`.
//!
//! - this file: one end's way to one peer. `head`: the bits before a frame's bytes. `lost`: why a connection
//!   has ended.

mod head;
mod lost;

pub use head::{FrameHead, Kinds};
pub use lost::Lost;

use core::cell::Cell;
use foregather_machine::{Address, Cause, Error, Fabric, Park, Rank, Words, reached};

/// The number of credits between two ends, which both of them know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// All credits.
    pub full: u32,
    /// If the peer may have no more left than these, credits are returned alone.
    pub alert: u32,
}

/// One end's way to one peer.
#[derive(Debug)]
pub struct Link {
    /// Empty buffers at the peer.
    credits: Cell<u32>,
    /// Buffers that are empty here, not yet reported to the peer.
    owed: Cell<u32>,
    /// Buffers that are empty here, and are reported to the peer only when the program has read what was in
    /// them.
    unpaid: Cell<u32>,
    /// Frames to and from the peer of the kinds that carry credits. The counts wrap.
    sent: Cell<u32>,
    taken: Cell<u32>,
    /// Why the link has ended, and whether the peer knows.
    ended: Cell<Option<Lost>>,
    told: Cell<bool>,
}

impl Link {
    /// A link whose buffers are all empty.
    pub fn new(terms: Terms) -> Self {
        Self {
            credits: Cell::new(terms.full),
            owed: Cell::new(0),
            unpaid: Cell::new(0),
            sent: Cell::new(0),
            taken: Cell::new(0),
            ended: Cell::new(None),
            told: Cell::new(false),
        }
    }

    /// Takes a credit, if there is one: then a frame that costs one may be posted.
    #[inline]
    pub fn take_credit(&self) -> bool {
        let left = self.credits.get();
        if left > 0 {
            self.credits.set(left - 1);
        }
        left > 0
    }

    /// Returns a credit that was not used after all.
    #[inline]
    pub fn untake_credit(&self) {
        self.credits.set(self.credits.get() + 1);
    }

    /// Posts a frame with the credits that are owed. The frame's own credit, if it costs one, was taken
    /// before. `false`: there was no room, and nothing has changed.
    ///
    /// # Errors
    /// If the peer is known to be lost.
    #[inline]
    pub fn post<K: Kinds>(&self, fabric: &impl Fabric, to: Address, kind: K, extra: u16, bytes: &[u8]) -> Result<bool, Error> {
        let credits = self.riding(kind);
        let sent = fabric.post(to, FrameHead { kind, credits, extra }.pack(), bytes)?;
        Ok(self.posted(kind, sent, credits))
    }

    /// Posts the bytes that were [written](Fabric::write_with) into a static buffer, like [`Link::post`].
    ///
    /// # Errors
    /// As [`Link::post`].
    #[inline]
    pub fn post_filled<K: Kinds>(
        &self,
        fabric: &impl Fabric,
        to: Address,
        kind: K,
        extra: u16,
        len: usize,
    ) -> Result<bool, Error> {
        let credits = self.riding(kind);
        let sent = fabric.post_filled(to, FrameHead { kind, credits, extra }.pack(), len)?;
        Ok(self.posted(kind, sent, credits))
    }

    #[inline]
    fn riding(&self, kind: impl Kinds) -> u8 {
        if kind.carries() { self.owed.get().min(u32::from(u8::MAX)) as u8 } else { 0 }
    }

    #[inline]
    fn posted(&self, kind: impl Kinds, sent: bool, credits: u8) -> bool {
        if sent && kind.carries() {
            self.owed.set(self.owed.get() - u32::from(credits));
            self.sent.set(self.sent.get().wrapping_add(1));
        } else if credits > 0 {
            reached("link:3");
        }
        sent
    }

    /// Reads the head of a frame that `from` has sent, and credits what it returns.
    ///
    /// # Errors
    /// [`Cause::ProtocolViolation`] for a kind that does not exist, or more credits than there are.
    #[inline]
    pub fn receive<K: Kinds>(&self, terms: Terms, from: Rank, bits: u32) -> Result<FrameHead<K>, Error> {
        let garbled = |what| Error::from(Cause::ProtocolViolation { from, what });
        let head = FrameHead::<K>::unpack(bits).ok_or_else(|| garbled("a frame of no known kind"))?;
        if head.kind.carries() {
            self.taken.set(self.taken.get().wrapping_add(1));
        }
        if head.credits > 0 {
            self.credits.set(self.credits.get().saturating_add(u32::from(head.credits)));
            if self.credits.get() > terms.full {
                reached("link:4");
                return Err(garbled("more credits than there are"));
            }
        }
        Ok(head)
    }

    /// Counts a released frame, whose buffer is empty. `true`: the peer may have too few credits to wait for
    /// a frame that carries them.
    #[inline]
    pub fn owes_one_more(&self, terms: Terms) -> bool {
        self.owed.set(self.owed.get() + 1);
        self.overdue(terms)
    }

    /// Repeats the question of [`Link::owes_one_more`]: a grant that found no room must go when there is
    /// some.
    #[inline]
    pub fn overdue(&self, terms: Terms) -> bool {
        self.owed.get() > 0 && terms.full.saturating_sub(self.owed.get() + self.unpaid.get()) <= terms.alert
    }

    /// A frame was released before the program has read it: its credit is not owed yet.
    pub fn defer(&self) {
        reached("link:5");
        self.unpaid.set(self.unpaid.get() + 1);
    }

    /// The program has read a deferred frame: from now on its credit is among those that
    /// [`Link::owes_one_more`] returns.
    pub fn undefer(&self) {
        self.unpaid.set(self.unpaid.get().saturating_sub(1));
    }

    /// Returns credits alone.
    ///
    /// # Errors
    /// As [`Link::post`].
    pub fn grant<K: Kinds>(&self, fabric: &impl Fabric, to: Address) -> Result<bool, Error> {
        if fabric.cpu().sometimes("link: no room") {
            // A bell rings when there is room again.
            fabric.cpu().fetch_add(fabric.bell(), 1);
            reached("link:2");
            return Ok(self.posted(K::CREDIT, false, self.riding(K::CREDIT)));
        }
        let sent = self.post(fabric, to, K::CREDIT, 0, &[])?;
        if sent {
            reached("link:1");
        } else {
            reached("link:2");
        }
        Ok(sent)
    }

    /// Frames that were sent to the peer, and taken from it, of the kinds that carry credits.
    pub fn counts(&self) -> (u32, u32) {
        (self.sent.get(), self.taken.get())
    }

    /// Why the link has ended, if it has.
    #[inline]
    pub fn ended(&self) -> Option<Lost> {
        self.ended.get()
    }

    /// This end gives the link up, and the peer must still be told. `false`: it had ended before, and the
    /// first reason stays.
    pub fn end(&self, lost: Lost) -> bool {
        let first = self.ended.get().is_none();
        if first {
            self.ended.set(Some(lost));
        }
        first
    }

    /// The peer has said that the link has ended, and need not be told.
    pub fn has_heard(&self, lost: Lost) {
        self.told.set(true);
        self.end(lost);
    }

    /// Returns whether the link has ended and the peer does not know it yet.
    pub fn is_untold(&self) -> bool {
        self.ended.get().is_some() && !self.told.get()
    }

    /// Tells the peer why the link has ended. `false`: there was no room, so the peer must still be told. A
    /// peer that is lost need not be told.
    pub fn abort<K: Kinds>(&self, fabric: &impl Fabric, to: Address, extra: u16) -> bool {
        let Some(lost) = self.ended.get() else { return true };
        let told = !matches!(self.post(fabric, to, K::ABORT, extra, &lost.pack()), Ok(false));
        self.told.set(told);
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms { full: 4, alert: 1 };

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Kind {
        Data,
        Credit,
        Abort,
    }

    impl Kinds for Kind {
        const ALL: &'static [Self] = &[Self::Data, Self::Credit, Self::Abort];
        const CREDIT: Self = Self::Credit;
        const ABORT: Self = Self::Abort;
        fn number(self) -> u8 {
            self as u8
        }
    }

    /// Receives a frame that returns `credits`.
    fn returned(link: &Link, credits: u8) -> Result<(), Error> {
        let head = FrameHead { kind: Kind::Data, credits, extra: 0 };
        link.receive::<Kind>(TERMS, 1, head.pack()).map(|got| assert_eq!(got, head))
    }

    #[test]
    fn credits_are_neither_made_nor_lost() {
        let (sender, receiver) = (Link::new(TERMS), Link::new(TERMS));
        let mut in_flight = 0;
        for turn in 0..1_000 {
            if turn % 3 != 2 && sender.take_credit() {
                in_flight += 1;
            } else if in_flight > 0 {
                in_flight -= 1;
                if receiver.owes_one_more(TERMS) {
                    let credits = receiver.riding(Kind::Credit);
                    assert!(receiver.posted(Kind::Credit, true, credits));
                    returned(&sender, credits).unwrap();
                }
            }
            assert_eq!(sender.credits.get() + in_flight + receiver.owed.get(), TERMS.full);
        }
    }

    #[test]
    fn a_peer_that_returns_too_many_is_noticed() {
        let sender = Link::new(TERMS);
        assert!((0..4).all(|_| sender.take_credit()) && !sender.take_credit());
        assert_eq!(returned(&sender, 4), Ok(()));
        let end = returned(&sender, 1);
        assert!(matches!(Error::of(&end), Some(Cause::ProtocolViolation { from: 1, .. })), "{end:?}");
    }

    #[test]
    fn the_first_reason_of_an_end_stays() {
        let link = Link::new(TERMS);
        assert!(!link.is_untold() && link.end(Lost::on(1)) && !link.end(Lost::on(2)));
        assert!(link.is_untold() && link.ended() == Some(Lost::on(1)));
        link.has_heard(Lost::on(3));
        assert!(!link.is_untold() && link.ended() == Some(Lost::on(1)));
    }

    #[test]
    fn what_is_unpaid_counts_as_taken_and_is_not_returned() {
        let link = Link::new(TERMS);
        link.defer();
        link.defer();
        assert!(!link.overdue(TERMS), "nothing is owed that could be returned");
        assert!(link.owes_one_more(TERMS), "the peer has one left");
        assert_eq!(link.riding(Kind::Data), 1);
    }
}
