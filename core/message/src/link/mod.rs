//! Frames between two ends, under credits, over any [`Fabric`]: what messages and shared memory both stand on.
//!
//! A credit is an empty static buffer at the receiver (Namyst et al. 1999 §4). A frame of most kinds spends one. The receiver owes one for each
//! such frame it has let go of, and returns what it owes on whatever frame goes that way; only if the sender may have no more left than an
//! agreed number, they travel alone. So no sender waits for room in a ring, which rings no bell. States and races: `README.md`.
//!
//! - this file: one end's way to one peer. `head`: what stands before a frame's bytes. `lost`: why a connection has ended.

mod head;
mod lost;

pub use head::{FrameHead, Kinds};
pub use lost::Lost;

use core::cell::Cell;
use foregather_machine::{Address, Cause, Error, Fabric, Park, Rank, Words, reached};

/// How many credits there are between two ends, which both of them know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// All of them.
    pub full: u32,
    /// If the peer may have no more left than these, they are returned alone.
    pub alert: u32,
}

/// One end's way to one peer.
#[derive(Debug)]
pub struct Link {
    /// Empty buffers of the peer's.
    credits: Cell<u32>,
    /// Buffers that are empty here, of which the peer was not told.
    owed: Cell<u32>,
    /// Buffers that are empty here, and of which the peer is not told before the program has read what was in them.
    unpaid: Cell<u32>,
}

impl Link {
    /// All buffers are empty.
    pub fn new(terms: Terms) -> Self {
        Self { credits: Cell::new(terms.full), owed: Cell::new(0), unpaid: Cell::new(0) }
    }

    /// Takes a credit, if there is one: a frame that costs one may be posted then.
    #[inline]
    pub fn take_credit(&self) -> bool {
        let left = self.credits.get();
        if left > 0 {
            self.credits.set(left - 1);
        }
        left > 0
    }

    /// Gives a credit back that was not used after all.
    #[inline]
    pub fn untake_credit(&self) {
        self.credits.set(self.credits.get() + 1);
    }

    /// Posts a frame with the credits that are owed. Its own credit, if it costs one, was taken before. `false`: there was no room, and
    /// nothing has changed.
    ///
    /// # Errors
    /// If the peer is known to be lost.
    #[inline]
    pub fn post<K: Kinds>(&self, fabric: &impl Fabric, to: Address, kind: K, extra: u16, bytes: &[u8]) -> Result<bool, Error> {
        let credits = self.riding(kind);
        let sent = fabric.post(to, FrameHead { kind, credits, extra }.pack(), bytes)?;
        Ok(self.posted(sent, credits))
    }

    /// The same with what was [written](Fabric::write_with) into a static buffer.
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
        Ok(self.posted(sent, credits))
    }

    #[inline]
    fn riding(&self, kind: impl Kinds) -> u8 {
        if kind.carries() { self.owed.get().min(u32::from(u8::MAX)) as u8 } else { 0 }
    }

    #[inline]
    fn posted(&self, sent: bool, credits: u8) -> bool {
        if sent {
            self.owed.set(self.owed.get() - u32::from(credits));
        } else if credits > 0 {
            reached("link:3");
        }
        sent
    }

    /// What stands before a frame that `from` has sent; its credits are in force.
    ///
    /// # Errors
    /// [`Cause::ProtocolViolation`] for a kind that is none, or more credits than there are.
    #[inline]
    pub fn receive<K: Kinds>(&self, terms: Terms, from: Rank, bits: u32) -> Result<FrameHead<K>, Error> {
        let garbled = |what| Error::from(Cause::ProtocolViolation { from, what });
        let head = FrameHead::<K>::unpack(bits).ok_or_else(|| garbled("a frame of no known kind"))?;
        if head.credits > 0 {
            self.credits.set(self.credits.get().saturating_add(u32::from(head.credits)));
            if self.credits.get() > terms.full {
                reached("link:4");
                return Err(garbled("more credits than there are"));
            }
        }
        Ok(head)
    }

    /// A frame was let go of, so its buffer is empty. `true`: the peer may have too few credits to wait for a frame that takes them along.
    #[inline]
    pub fn owes_one_more(&self, terms: Terms) -> bool {
        self.owed.set(self.owed.get() + 1);
        self.overdue(terms)
    }

    /// The same, asked again: what had no room has to go when there is.
    #[inline]
    pub fn overdue(&self, terms: Terms) -> bool {
        self.owed.get() > 0 && terms.full.saturating_sub(self.owed.get() + self.unpaid.get()) <= terms.alert
    }

    /// A frame was let go of before the program has read it: its credit is not owed yet.
    pub fn defer(&self) {
        reached("link:5");
        self.unpaid.set(self.unpaid.get() + 1);
    }

    /// The program has read such a frame: from now on its credit is one of those that [`Link::owes_one_more`] returns.
    pub fn undefer(&self) {
        self.unpaid.set(self.unpaid.get().saturating_sub(1));
    }

    /// Returns credits alone.
    ///
    /// # Errors
    /// As [`Link::post`].
    pub fn grant<K: Kinds>(&self, fabric: &impl Fabric, to: Address) -> Result<bool, Error> {
        if fabric.cpu().sometimes("link: no room") {
            // Where there is room again a bell rings.
            fabric.cpu().fetch_add(fabric.bell(), 1);
            reached("link:2");
            return Ok(self.posted(false, self.riding(K::CREDIT)));
        }
        let sent = self.post(fabric, to, K::CREDIT, 0, &[])?;
        reached(if sent { "link:1" } else { "link:2" });
        Ok(sent)
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
    }

    impl Kinds for Kind {
        const ALL: &'static [Self] = &[Self::Data, Self::Credit];
        const CREDIT: Self = Self::Credit;
        fn number(self) -> u8 {
            self as u8
        }
    }

    /// As if those had come on a frame.
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
                    assert!(receiver.posted(true, credits));
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
    fn what_is_unpaid_counts_as_taken_and_is_not_returned() {
        let link = Link::new(TERMS);
        link.defer();
        link.defer();
        assert!(!link.overdue(TERMS), "nothing is owed that could be returned");
        assert!(link.owes_one_more(TERMS), "the peer has one left");
        assert_eq!(link.riding(Kind::Data), 1);
    }
}
