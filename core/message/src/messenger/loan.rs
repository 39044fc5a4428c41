//! Long packets that stay in their sender's memory until the receiver has fetched them: offers of their own,
//! beside those of messages.
//!
//! A packet must not wait until the program asks for it, since its sender may wait for null messages or other
//! packets of the same rank: so every wait fetches the packets lent to it. If the program waits for just that
//! packet, it comes into its place at once, otherwise into memory of its own. Each connection lends one
//! packet at a time each way, and its answer is a bit of Done: it is not counted with the offers.
use super::frame::FrameKind;
use super::{Messenger, Waiting};
use core::cell::Cell;
use foregather_machine::{Cause, Error, Exposing, Fabric, Key, Packet, Rank, exposing, reached};

/// The bytes of a loan's frame: tag, key and length.
const BYTES: usize = 4 + 8 + 8;
/// The bit of Done that says that the packet was fetched; the others count offers.
pub(super) const FETCHED: u16 = 1 << 15;

/// A packet in the memory of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loan {
    pub(super) tag: u32,
    key: Key,
    pub(super) bytes: usize,
}

impl Loan {
    fn read(bytes: &[u8]) -> Option<Self> {
        let (tag, rest) = bytes.split_first_chunk::<4>()?;
        let (key, rest) = rest.split_first_chunk::<8>()?;
        let bytes = u64::from_le_bytes(*rest.first_chunk::<8>().filter(|_| rest.len() == 8)?);
        Some(Self { tag: u32::from_le_bytes(*tag), key: Key(u64::from_le_bytes(*key)), bytes: usize::try_from(bytes).ok()? })
    }

    fn write(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..4].copy_from_slice(&self.tag.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.key.0.to_le_bytes());
        bytes[12..].copy_from_slice(&(self.bytes as u64).to_le_bytes());
        bytes
    }
}

/// A connection's state about packets that are lent.
#[derive(Default)]
pub(super) struct Loans {
    /// A packet of ours that the peer has not fetched.
    ours: Cell<bool>,
    /// A packet of the peer's that we have not fetched.
    theirs: Cell<Option<Loan>>,
    /// The peer's packet was fetched, and the peer was not told.
    untold: Cell<bool>,
}

impl Loans {
    pub(super) fn is_untold(&self) -> bool {
        self.untold.get()
    }

    /// The peer has fetched our packet. `false`: none was lent.
    pub(super) fn fetch(&self) -> bool {
        self.ours.replace(false)
    }
}

/// A packet while it is lent. If it is dropped unfetched the connection is given up, and the peer is told
/// before the memory goes.
struct Lending<'m, F: Fabric> {
    messenger: &'m Messenger<F>,
    to: Rank,
}

impl<'m, F: Fabric> Lending<'m, F> {
    fn new(messenger: &'m Messenger<F>, to: Rank) -> Self {
        messenger.with(to).loans.ours.set(true);
        messenger.exposed.set(messenger.exposed.get() + 1);
        Self { messenger, to }
    }
}

impl<F: Fabric> Drop for Lending<'_, F> {
    fn drop(&mut self) {
        if self.messenger.with(self.to).loans.ours.take() {
            self.messenger.give_up(self.to);
        }
        self.messenger.exposed.set(self.messenger.exposed.get() - 1);
    }
}

impl<F: Fabric> Messenger<F> {
    /// Is a packet of that kind and length lent?
    pub(super) fn lends(&self, packet: Packet, bytes: usize) -> bool {
        packet == Packet::Data && bytes >= self.rules.direct_at && self.rules.lends
    }

    /// Lends a packet to `to`, runs `meanwhile`, and waits until it was fetched.
    pub(super) async fn lend<'m, T>(
        &'m self,
        to: Rank,
        tag: u32,
        bytes: &'m [u8],
        meanwhile: impl AsyncFnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        exposing(&*self.fabric, async move |exposing: &Exposing<'_, 'm, F>| {
            let key = exposing.expose(&[bytes])?;
            // Declared after the key, so that it is dropped before the memory goes.
            let lending = Lending::new(self, to);
            self.send(to, FrameKind::Lent, 0, &Loan { tag, key, bytes: bytes.len() }.write()).await?;
            let out = meanwhile().await?;
            let fetched = || (!self.with(to).loans.ours.get()).then_some(Ok(()));
            match fetched() {
                Some(fetched) => fetched?,
                None => self.until("a part of a collective operation to be fetched", Waiting::To(to), fetched).await?,
            }
            drop(lending);
            Ok(out)
        })
        .await
    }

    /// Records a packet that `from` lends to us.
    pub(super) fn take_loan(&self, from: Rank, bytes: &[u8]) -> Result<(), Error> {
        let violation = |what| Error::from(Cause::ProtocolViolation { from, what });
        let loan = Loan::read(bytes).ok_or_else(|| violation("a packet of no length"))?;
        if self.with(from).loans.theirs.replace(Some(loan)).is_some() {
            return Err(violation("two packets lent at a time"));
        }
        self.loans.set(self.loans.get() + 1);
        Ok(())
    }

    /// The rank whose packet must be fetched before a wait goes on.
    #[inline]
    pub(super) fn lender(&self) -> Option<Rank> {
        if self.loans.get() == 0 {
            return None;
        }
        (0..self.size).find(|&peer| self.loan(peer).is_some())
    }

    /// The packet that `from` lends. If the lender has given up since, its packet is gone.
    pub(super) fn loan(&self, from: Rank) -> Option<Loan> {
        let with = self.with(from);
        with.loans.theirs.get().filter(|_| with.link.ended().is_none())
    }

    /// Fetches the packet that `from` lends, which the program has not asked for.
    #[cold]
    pub(super) async fn fetch_loan_aside(&self, from: Rank) -> Result<(), Error> {
        let Some(Loan { tag, bytes, .. }) = self.with(from).loans.theirs.get() else { return Ok(()) };
        let mut aside = self.room_aside(from, bytes)?;
        self.fetch_loan(from, &mut aside).await?;
        let mut inbox = self.inbox.borrow_mut();
        inbox.admits(Packet::Data, (from, tag));
        inbox.arrive(Packet::Data, (from, tag), aside);
        Ok(())
    }

    /// Fetches the packet that `from` lends into `into`, and tells it so.
    pub(super) async fn fetch_loan(&self, from: Rank, into: &mut [u8]) -> Result<(), Error> {
        let loans = &self.with(from).loans;
        let Some(loan) = loans.theirs.take() else { return Ok(()) };
        self.loans.set(self.loans.get() - 1);
        if self.exposed.get() > 0 {
            reached("messenger:12");
        }
        self.bring(from, loan.key, &mut [&mut into[..loan.bytes]]).await?;
        loans.untold.set(true);
        self.tell_loan(from);
        Ok(())
    }

    pub(super) fn tell_loan(&self, to: Rank) {
        match self.post(to, FrameKind::Done, FETCHED, &[]) {
            Ok(true) => self.with(to).loans.untold.set(false),
            Ok(false) => self.backlog.set(true),
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loan_is_read_as_it_was_written() {
        let loan = Loan { tag: 0xc011_0003, key: Key(u64::MAX - 4), bytes: 1 << 40 };
        let bytes = loan.write();
        assert_eq!(Loan::read(&bytes), Some(loan));
        assert!((0..BYTES).all(|len| Loan::read(&bytes[..len]).is_none()));
        assert_eq!(Loan::read(&[0; BYTES + 1]), None);
    }
}
