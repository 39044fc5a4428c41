//! Null messages and sized packets over the same frames, so that every barrier, exchange and collective runs
//! over any fabric.
use super::channel::Messenger;
use super::frame::FrameKind;
use super::packets::{BEFORE, extra};
use super::progress::Waiting;
use super::rendezvous::Loan;
use super::send::Packing;
use core::cell::Cell;
use core::future::Future;
use foregather_machine::{Cause, Endpoint, Error, Exposing, Fabric, Member, Packet, Park, Port, Rank, exposing};

/// The longest short message: it travels with its head, or in one static buffer of any fabric.
const SHORT_LIMIT: usize = 100;

/// A packet that a program waited for.
enum Come {
    Whole(Vec<u8>),
    Lent,
}

/// Takes one from a counter above 0.
#[inline]
fn take(from: &Cell<u32>) -> Option<()> {
    from.set(from.get().checked_sub(1)?);
    Some(())
}

/// A packet while it is lent. If it is dropped unfetched, the connection is given up, and the peer is
/// notified before the memory is released.
struct LentPacket<'m, F: Fabric> {
    messenger: &'m Messenger<F>,
    to: Rank,
}

impl<'m, F: Fabric> LentPacket<'m, F> {
    fn new(messenger: &'m Messenger<F>, to: Rank) -> Self {
        messenger.rendezvous.set_lent(to, true);
        messenger.exposed.add();
        Self { messenger, to }
    }
}

impl<F: Fabric> Drop for LentPacket<'_, F> {
    fn drop(&mut self) {
        if self.messenger.rendezvous.set_lent(self.to, false) {
            self.messenger.connections.give_up(self.to);
        }
        self.messenger.exposed.remove();
    }
}

impl<F: Fabric> Messenger<F> {
    /// Returns whether a packet of that kind and length is lent.
    fn lends(&self, packet: Packet, bytes: usize) -> bool {
        packet == Packet::Data && bytes >= self.direct_at() && self.connections.rules.lends
    }

    /// Lends a packet to `to`, runs `meanwhile`, and waits until it was fetched.
    async fn lend<'m, T>(
        &'m self,
        to: Rank,
        tag: u32,
        bytes: &'m [u8],
        meanwhile: impl AsyncFnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        exposing(self.fabric(), async move |exposing: &Exposing<'_, 'm, F>| {
            let key = exposing.expose(&[bytes])?;
            // Declared after the key, so that it is dropped before the memory goes.
            let lending = LentPacket::new(self, to);
            self.send(to, FrameKind::Lent, 0, &Loan { tag, key, bytes: bytes.len() }.write()).await?;
            let out = meanwhile().await?;
            let fetched = || (!self.rendezvous.is_lent(to)).then_some(Ok(()));
            self.unless_now("a part of a collective operation to be fetched", Waiting::To(to), fetched).await?;
            drop(lending);
            Ok(out)
        })
        .await
    }

    /// Sends one frame that costs a credit, as soon as there is one, and room.
    async fn send(&self, to: Rank, kind: FrameKind, extra: u16, bytes: &[u8]) -> Result<(), Error> {
        let connections = &self.connections;
        let post = || {
            let credit = connections.link(to).take_credit();
            let sent = if credit { connections.post_paid(to, kind, extra, bytes) } else { Ok(false) };
            sent.map(|sent| sent.then_some(())).transpose()
        };
        match post() {
            Some(sent) => sent,
            None => self.until("room for a part of a collective operation", Waiting::Room(to), post).await,
        }
    }

    async fn wait_in(&self, slot: u32, peer: Option<Rank>) -> Result<(), Error> {
        peer.map_or(Ok(()), |peer| self.connections.known(peer))?;
        let count = self.packets.slot(slot)?;
        match take(count) {
            Some(()) => Ok(()),
            None => self.until("the arrival at a barrier", Waiting::Signal(peer), || take(count).map(Ok)).await,
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
        let (now, mut later) = bytes.split_at(bytes.len().min(self.connections.rules.buffer - BEFORE));
        let first = [&tag.to_le_bytes()[..], &(bytes.len() as u64).to_le_bytes(), now].concat();
        self.send(to, FrameKind::Packet, extra(packet, !later.is_empty()), &first).await?;
        while !later.is_empty() {
            let (now, rest) = later.split_at(later.len().min(self.connections.rules.buffer));
            later = rest;
            self.send(to, FrameKind::Packet, extra(packet, !later.is_empty()), now).await?;
        }
        Ok(())
    }

    /// Checks that a packet may go there now: not while a message is being packed, which may have filled a
    /// buffer half.
    fn free(&self, to: Rank, packet: Packet, bytes: usize) -> Result<(), Error> {
        self.connections.known(to)?;
        let room = if packet == Packet::Short { SHORT_LIMIT } else { usize::MAX };
        if bytes > room {
            return Err(Cause::Length { what: "a packet", bytes, room }.into());
        }
        if let Some(blame) = self.connections.link(to).ended() {
            return Err(self.connections.accused(blame, "a packet"));
        }
        if self.packing(to).is_busy() {
            return Err(Packing::busy(to));
        }
        Ok(())
    }
}

/// A packet that is dropped half sent can never be whole.
struct Whole<'p, F: Fabric>(&'p Messenger<F>, Rank);

impl<F: Fabric> Drop for Whole<'_, F> {
    fn drop(&mut self) {
        self.0.connections.give_up(self.1);
    }
}

foregather_machine::clock_by! { [F: Fabric] Messenger<F>, |this| this.fabric() }

impl<F: Fabric> Member for Messenger<F> {
    fn rank(&self) -> Rank {
        self.connections.here.rank
    }
    fn size(&self) -> u32 {
        self.connections.size
    }
}

impl<F: Fabric> Endpoint for Messenger<F> {
    fn signal(&self, peer: Rank, slot: u32) -> impl Future<Output = Result<(), Error>> {
        self.fabric().cpu().run_inline(async move {
            self.connections.known(peer)?;
            let own = self.packets.slot(slot)?;
            if peer == self.rank() {
                own.set(own.get() + 1);
                return Ok(());
            }
            self.send(peer, FrameKind::Signal, slot as u16, &[]).await
        })
    }

    fn wait(&self, slot: u32) -> impl Future<Output = Result<(), Error>> {
        self.fabric().cpu().run_inline(self.wait_in(slot, None))
    }

    fn wait_from(&self, peer: Rank, slot: u32) -> impl Future<Output = Result<(), Error>> {
        self.fabric().cpu().run_inline(self.wait_in(slot, Some(peer)))
    }
}

impl<F: Fabric> Port for Messenger<F> {
    fn short_limit(&self) -> usize {
        SHORT_LIMIT
    }

    fn transmit(&self, to: Rank, packet: Packet, tag: u32, bytes: &[u8]) -> impl Future<Output = Result<(), Error>> {
        self.fabric().cpu().run_inline(async move {
            self.free(to, packet, bytes.len())?;
            if self.lends(packet, bytes.len()) {
                return Box::pin(self.lend(to, tag, bytes, async || Ok(()))).await;
            }
            self.send_frames(to, packet, tag, bytes).await
        })
    }

    fn post(&self, from: Rank, tag: u32) -> Result<(), Error> {
        self.connections.known(from)?;
        // A packet that is there already came before the receive was posted.
        self.serve(Waiting::Nothing)?;
        self.packets.inbox(|inbox| inbox.post((from, tag)));
        Ok(())
    }

    fn accept(&self, from: Rank, tag: u32, into: &mut [u8]) -> impl Future<Output = Result<usize, Error>> {
        self.fabric().cpu().run_inline(async move {
            self.connections.known(from)?;
            let room = into.len();
            let arrived = || {
                let kept = self.packets.inbox(|inbox| match inbox.take_message((from, tag)) {
                    Some(message) => Some(Ok(Come::Whole(message))),
                    None => inbox.take_unposted((from, tag)).then(|| Err(Cause::Unposted { from, tag }.into())),
                });
                kept.or_else(|| {
                    let loan = self.rendezvous.loan(&self.connections, from)?;
                    (loan.tag == tag && loan.bytes <= room).then_some(Ok(Come::Lent))
                })
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
                Come::Lent => self.fetch_loan(from, into).await,
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
        self.fabric().cpu().run_inline(async move {
            self.free(to, packet, out.len())?;
            if self.lends(packet, out.len()) {
                return Box::pin(self.lend(to, tag, out, async || self.accept(from, tag, into).await)).await;
            }
            self.send_frames(to, packet, tag, out).await?;
            self.accept(from, tag, into).await
        })
    }

    fn requested(&self, from: Rank, tag: u32) -> impl Future<Output = Result<(), Error>> {
        self.fabric().cpu().run_inline(async move {
            self.connections.known(from)?;
            let requested = || self.packets.inbox(|inbox| inbox.take_request((from, tag)).then_some(Ok(())));
            self.until("a REQUEST", Waiting::Packet(from), requested).await
        })
    }
}
