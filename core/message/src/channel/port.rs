//! One member's end of [`Channels`].
//!
//! Every wait goes the same way: look at the bell, serve the others, look whether the awaited is there, and wait until the bell
//! is rung. What changed before the look at the bell is seen while serving, and what changes later rings it.
use super::Channels;
use super::system::{LONGEST, System, header};
use core::cell::{Cell, RefCell};
use core::future::Future;
use foregather_barrier::Signaller;
use foregather_machine::{Cause, Clock, Cpu, Endpoint, Error, Member, Nanos, Packet, Port, Rank, WaitContext};
use foregather_wait::{Policy, WaitFor};

/// The longest short message, in bytes: with its header two pairs of cache lines at most.
const SHORT_LIMIT: usize = 120;

/// What was sent to one peer.
#[derive(Default)]
struct Outgoing {
    /// How many words were put.
    put: Cell<u32>,
    /// How many of them the peer had taken, when last looked.
    taken: Cell<u32>,
    /// Is a message under way of which some words were put and some were not?
    halfway: Cell<bool>,
}

/// A member's end: a [`Port`] whose system is at work in all of its waits, null ones included, and in [`Port::post`].
///
/// Whoever is done says so by [`ChannelPort::leave`]. An end that is dropped without that, or in the middle of a wait, has gone
/// away: unfinished waits of all the others fail, and name it.
pub struct ChannelPort<'g, C: Cpu> {
    channels: &'g Channels<C>,
    flags: Signaller<C>,
    rank: Rank,
    deadline: Cell<Nanos>,
    system: RefCell<System>,
    outgoing: Box<[Outgoing]>,
    leaves: Cell<bool>,
}

/// A message of which the first words may have been put already.
struct Rest<'b> {
    header: Option<u64>,
    bytes: &'b [u8],
}

impl Rest<'_> {
    fn words(&self) -> u32 {
        u32::from(self.header.is_some()) + self.bytes.len().div_ceil(8) as u32
    }

    /// The next so many words of it.
    fn take(&mut self, count: u32) -> impl Iterator<Item = u64> {
        let header = self.header.take();
        let bytes = 8 * (count as usize - usize::from(header.is_some()));
        let (now, later) = self.bytes.split_at(bytes.min(self.bytes.len()));
        self.bytes = later;
        let (whole, part) = now.as_chunks::<8>();
        let last = (!part.is_empty()).then(|| {
            let mut padded = [0; 8];
            padded[..part.len()].copy_from_slice(part);
            u64::from_le_bytes(padded)
        });
        header.into_iter().chain(whole.iter().map(|word| u64::from_le_bytes(*word))).chain(last)
    }
}

/// Whoever drops a wait in the middle has gone away.
struct Unfinished<'p, 'g, C: Cpu>(&'p ChannelPort<'g, C>);

impl<C: Cpu> Drop for Unfinished<'_, '_, C> {
    fn drop(&mut self) {
        self.0.break_off();
    }
}

impl<'g, C: Cpu> ChannelPort<'g, C> {
    pub(super) fn new(channels: &'g Channels<C>, cpu: C, rank: Rank, policy: Policy) -> Self {
        Self {
            channels,
            flags: channels.flags.endpoint(cpu, rank, policy),
            rank,
            deadline: Cell::new(Nanos::MAX),
            system: RefCell::new(System::new(channels.size)),
            outgoing: (0..channels.size).map(|_| Outgoing::default()).collect(),
            leaves: Cell::new(false),
        }
    }

    fn cpu(&self) -> &C {
        self.flags.cpu()
    }

    /// From now on every wait ends at `deadline`, by [`Cause::TimedOut`]; [`Nanos::MAX`] for never. A packet that is then only
    /// half sent breaks the group; other waits may be begun again.
    pub fn set_deadline(&self, deadline: Nanos) {
        self.deadline.set(deadline);
    }

    /// Leaves in order: what was sent can still be received, and only who waits for more is told.
    pub fn leave(self) {
        self.leaves.set(true);
    }

    #[cold]
    fn break_off(&self) {
        let broken = &self.channels.broken;
        if self.cpu().load(broken) == 0 {
            self.cpu().store(broken, self.rank + 1);
        }
        self.channels.ring_all(self.cpu());
    }

    /// Takes in what has come, and answers what is to be answered.
    fn serve(&self) -> Result<(), Error> {
        let (channels, cpu, mut system) = (self.channels, self.cpu(), self.system.borrow_mut());
        for from in 0..channels.size {
            if let Some(stream) = channels.stream(from, self.rank) {
                system.take_in(cpu, stream, from, || channels.ring_bell(cpu, from))?;
            }
        }
        system.owed.retain(|&(to, packet, tag)| !self.answers(to, packet, tag));
        Ok(())
    }

    /// Sends an answer if it can be sent now. A packet that is halfway goes first: then the answer waits until it has gone.
    fn answers(&self, to: Rank, packet: Packet, tag: u32) -> bool {
        let mut answer = Rest { header: Some(header(packet, tag, 0)), bytes: &[] };
        !self.outgoing[to as usize].halfway.get() && self.put(to, &mut answer)
    }

    /// Puts as many words as there is room for; were they all?
    fn put(&self, to: Rank, rest: &mut Rest<'_>) -> bool {
        let (stream, out) = (self.channels.stream_for(self.rank, to), &self.outgoing[to as usize]);
        loop {
            let wanted = rest.words().min(stream.piece());
            if wanted == 0 {
                return true;
            }
            let put = out.put.get();
            if stream.room(put, out.taken.get()) < wanted {
                out.taken.set(stream.taken(self.cpu()));
            }
            let count = stream.room(put, out.taken.get()).min(wanted);
            if count == 0 {
                return false;
            }
            out.put.set(stream.put(self.cpu(), put, rest.take(count)));
            self.channels.ring_bell(self.cpu(), to);
        }
    }

    /// The one wait there is: for `peer`, or for anybody, until `found` finds something.
    async fn until<T>(
        &self,
        what: &'static str,
        peer: Option<Rank>,
        mut found: impl FnMut() -> Option<Result<T, Error>>,
    ) -> Result<T, Error> {
        let (cpu, bell) = (self.cpu(), &self.channels.bells[self.rank as usize].0);
        let unfinished = Unfinished(self);
        let end = loop {
            let seen = cpu.load(bell);
            // What a peer did before it left is seen below: so this comes first.
            let lost = self.channels.lost(cpu, self.rank, peer);
            // Fails only for want of memory, and then the group is lost.
            self.serve()?;
            if let Some(found) = found() {
                break found;
            }
            if let Some(lost) = lost {
                break Err(lost);
            }
            let why = WaitContext { peer, ..WaitContext::new(what, self.rank).until(self.deadline.get()) };
            let rung = || (cpu.load(bell) != seen).then_some(());
            let (waiter, roster) = (self.flags.waiter(), self.flags.roster());
            waiter.publish_cpu(cpu, roster, self.rank);
            let whom = peer.map_or(WaitFor::All(roster), |peer| WaitFor::Member(roster, peer));
            if let Err(error) = waiter.wait(cpu, bell, false, || (why, whom), rung).finish().await {
                break Err(error);
            }
        };
        core::mem::forget(unfinished);
        end
    }

    /// The rest of a packet for which there was no room at once.
    async fn transmit_rest(&self, to: Rank, mut rest: Rest<'_>) -> Result<(), Error> {
        let end = self.until("room for a message", Some(to), || self.put(to, &mut rest).then_some(Ok(()))).await;
        match end {
            Ok(()) => self.sent(to),
            // What is halfway stays so: nothing else may come behind it.
            Err(_) => self.break_off(),
        }
        end
    }

    /// The packet has gone, so answers may.
    fn sent(&self, to: Rank) {
        self.outgoing[to as usize].halfway.set(false);
        self.system.borrow_mut().owed.retain(|&(to, packet, tag)| !self.answers(to, packet, tag));
    }

    /// Puts what there is room for; what remains?
    fn begin<'b>(&self, to: Rank, packet: Packet, tag: u32, bytes: &'b [u8]) -> Result<Option<Rest<'b>>, Error> {
        self.channels.known(to)?;
        let room = if packet == Packet::Short { SHORT_LIMIT } else { LONGEST };
        if bytes.len() > room {
            return Err(Cause::Length { what: "a packet", bytes: bytes.len(), room }.into());
        }
        if self.outgoing[to as usize].halfway.replace(true) {
            return Err(Cause::Poisoned { by: Some(self.rank) }.into());
        }
        let mut rest = Rest { header: Some(header(packet, tag, bytes.len())), bytes };
        if !self.put(to, &mut rest) {
            return Ok(Some(rest));
        }
        self.sent(to);
        Ok(None)
    }
}

impl<C: Cpu> Drop for ChannelPort<'_, C> {
    fn drop(&mut self) {
        if !self.leaves.get() {
            return self.break_off();
        }
        self.cpu().store(&self.channels.left[self.rank as usize], 1);
        self.channels.ring_all(self.cpu());
    }
}

impl<C: Cpu> Clock for ChannelPort<'_, C> {
    fn now(&self) -> Nanos {
        self.cpu().now()
    }
    fn delay(&self, span: Nanos) -> impl Future<Output = ()> {
        self.cpu().delay(span)
    }
}

impl<C: Cpu> Member for ChannelPort<'_, C> {
    fn rank(&self) -> Rank {
        self.rank
    }
    fn size(&self) -> u32 {
        self.channels.size
    }
}

impl<C: Cpu> Endpoint for ChannelPort<'_, C> {
    fn signal(&self, peer: Rank, slot: u32) -> impl Future<Output = Result<(), Error>> {
        let sent = self.flags.signal(peer, slot);
        // A peer that does not exist is that signal's error.
        if peer < self.channels.size {
            self.channels.ring_bell(self.cpu(), peer);
        }
        sent
    }

    fn wait(&self, slot: u32) -> impl Future<Output = Result<(), Error>> {
        self.cpu().run_inline(async move {
            let come = || self.flags.come(slot).map(|come| come.then_some(())).transpose();
            self.until("null message", None, come).await?;
            self.flags.wait(slot).await
        })
    }
}

impl<C: Cpu> Port for ChannelPort<'_, C> {
    fn short_limit(&self) -> usize {
        SHORT_LIMIT
    }

    fn transmit(&self, to: Rank, packet: Packet, tag: u32, bytes: &[u8]) -> impl Future<Output = Result<(), Error>> {
        let rest =
            self.begin(to, packet, tag, bytes).map(|rest| rest.map(|rest| self.cpu().run_inline(self.transmit_rest(to, rest))));
        async move {
            match rest? {
                None => Ok(()),
                Some(rest) => rest.await,
            }
        }
    }

    fn post(&self, from: Rank, tag: u32) -> Result<(), Error> {
        self.channels.known(from)?;
        // Whatever is there already came before the receive was posted.
        self.serve()?;
        self.system.borrow_mut().inbox.post((from, tag));
        Ok(())
    }

    fn accept(&self, from: Rank, tag: u32, into: &mut [u8]) -> impl Future<Output = Result<usize, Error>> {
        self.cpu().run_inline(async move {
            self.channels.known(from)?;
            let arrived = || {
                let inbox = &mut self.system.borrow_mut().inbox;
                if let Some(message) = inbox.take_message((from, tag)) {
                    return Some(message.copy_to(into));
                }
                inbox.take_unposted((from, tag)).then(|| Err(Cause::Unposted { from, tag }.into()))
            };
            self.until("message", Some(from), arrived).await
        })
    }

    fn requested(&self, from: Rank, tag: u32) -> impl Future<Output = Result<(), Error>> {
        self.cpu().run_inline(async move {
            self.channels.known(from)?;
            let requested = || self.system.borrow_mut().inbox.take_request((from, tag)).then_some(Ok(()));
            self.until("REQUEST", Some(from), requested).await
        })
    }
}
