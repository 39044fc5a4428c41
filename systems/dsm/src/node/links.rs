//! What one lane knows about each other lane: the link, and the message that is arriving over it.
//!
//! A lane returns the credits for frames that it has taken with its next frame to that lane, or in a frame of
//! their own if it owes half of all credits.
use super::state::{Node, PageStore};
use super::stop::SHARING;
use crate::Minipage;
use crate::protocol::Message;
use foregather_machine::{Address, Cause, Cpu, Error, Fabric, Rank};
use foregather_message::link::{Kinds, Link, Lost, Terms};

/// The contents of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageFrame {
    /// A message, and the first of the bytes that follow it.
    First,
    /// More bytes of a message.
    Further,
    /// No payload: it only returns credits.
    Credits,
    /// Shared memory has ended; contains the rank that caused it.
    Stop,
}

impl PageFrame {
    /// Returns whether it needs a static buffer.
    pub(super) fn costs(self) -> bool {
        matches!(self, Self::First | Self::Further)
    }
}

impl Kinds for PageFrame {
    const ALL: &'static [Self] = &[Self::First, Self::Further, Self::Credits, Self::Stop];
    const CREDIT: Self = Self::Credits;
    const ABORT: Self = Self::Stop;

    fn number(self) -> u8 {
        self as u8
    }
}

/// The part of a message that has arrived from one lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arriving(Option<(Message, Minipage, usize)>);

impl Arriving {
    /// Takes a frame and writes its bytes to their destination. Returns the message once all of it has
    /// arrived.
    ///
    /// # Errors
    /// [`Cause::ProtocolViolation`] for a frame that no correct peer sends.
    pub(super) fn take<C: Cpu, P: PageStore>(
        &mut self,
        node: &Node<C, P>,
        from: Rank,
        frame: PageFrame,
        bytes: &[u8],
    ) -> Result<Option<Message>, Error> {
        let garbled = |what| Err(Cause::ProtocolViolation { from, what }.into());
        let (message, minipage, come, bytes) = match (self.0.take(), frame) {
            (None, PageFrame::First) => {
                let message = Message::unpack(from, bytes)?;
                let Some(minipage) = message.carries() else { return Ok(Some(message)) };
                (message, minipage, 0, &bytes[Message::LEN..])
            }
            (Some((message, minipage, come)), PageFrame::Further) => (message, minipage, come, bytes),
            _ => return garbled("a frame of shared memory out of turn"),
        };
        let Some(whole) = node.copies().bytes(minipage) else { return garbled("bytes of a minipage that is not there") };
        if bytes.len() > whole - come || (bytes.is_empty() && come < whole) {
            return garbled("more or fewer bytes than the minipage has");
        }
        node.copies().write(minipage, come, bytes);
        let come = come + bytes.len();
        if come == whole {
            return Ok(Some(message));
        }
        self.0 = Some((message, minipage, come));
        Ok(None)
    }
}

#[derive(Debug)]
struct PeerLane {
    link: Link,
    arriving: Arriving,
}

/// All links from one lane.
#[derive(Debug)]
pub(super) struct Links {
    lanes: u32,
    terms: Terms,
    peers: Box<[PeerLane]>,
    /// Whether a lane is owed half of its credits or more, and they could not be returned yet.
    backlog: bool,
}

impl Links {
    pub(super) fn new<F: Fabric>(lane: &F) -> Self {
        let limits = lane.limits();
        let terms = Terms { full: limits.credits, alert: limits.credits / 2 };
        let peers = (0..lane.size() * limits.lanes).map(|_| PeerLane { link: Link::new(terms), arriving: Arriving::default() });
        Self { lanes: limits.lanes, terms, peers: peers.collect(), backlog: false }
    }

    fn at(&self, of: Address) -> usize {
        of.index(self.lanes)
    }

    /// Sends a frame if there is a credit. `write` fills in its bytes.
    pub(super) fn post<F: Fabric>(
        &self,
        lane: &F,
        to: Address,
        frame: PageFrame,
        len: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<bool, Error> {
        let Some(PeerLane { link, .. }) = self.peers.get(self.at(to)) else { return Ok(false) };
        if frame.costs() && !link.take_credit() {
            return Ok(false);
        }
        let posted = if len <= lane.limits().inline.min(INLINE) {
            let mut bytes = [0; INLINE];
            write(&mut bytes[..len]);
            link.post(lane, to, frame, 0, &bytes[..len])
        } else {
            lane.write_with(to, |buffer| write(&mut buffer[..len]));
            link.post_filled(lane, to, frame, 0, len)
        };
        if frame.costs() && posted != Ok(true) {
            link.untake_credit();
        }
        posted
    }

    /// Takes the oldest frame from a lane and writes its bytes to their destination. Returns the message once
    /// all of it has arrived.
    ///
    /// # Errors
    /// [`Cause::ProtocolViolation`] for a frame that no correct peer sends; the end of shared memory, if the
    /// peer reports it.
    pub(super) fn take<F: Fabric, P: PageStore>(
        &mut self,
        lane: &F,
        node: &Node<F::Cpu, P>,
        from: Address,
    ) -> Result<Option<Message>, Error> {
        let (at, terms, rank) = (self.at(from), self.terms, from.rank);
        let stranger = || Cause::ProtocolViolation { from: rank, what: "a frame of a lane that is not there" };
        let PeerLane { link, arriving } = self.peers.get_mut(at).ok_or_else(stranger)?;
        let taken = lane.peek(from, |bits, bytes| match link.receive(terms, rank, bits)?.kind {
            PageFrame::Credits => Ok((false, None)),
            PageFrame::Stop => Err(Lost::unpack(rank, bytes, lane.size()).error(lane.now(), SHARING)),
            frame => arriving.take(node, rank, frame, bytes).map(|message| (true, message)),
        });
        lane.release(from);
        let (costs, message) = taken.unwrap_or(Ok((false, None)))?;
        if costs && link.owes_one_more(terms) && !link.grant::<PageFrame>(lane, from)? {
            self.backlog = true;
        }
        Ok(message)
    }

    /// Reports the end of shared memory and its cause to a lane. A lost lane needs no report.
    pub(super) fn tell<F: Fabric>(&self, lane: &F, to: Address, blame: Lost) {
        let Some(PeerLane { link, .. }) = self.peers.get(self.at(to)) else { return };
        link.end(blame);
        let told = link.abort::<PageFrame>(lane, to, 0);
        debug_assert!(told, "there is room for a word to stop");
    }

    /// Returns credits that could not be returned before.
    pub(super) fn pay<F: Fabric>(&mut self, lane: &F) -> Result<(), Error> {
        if !core::mem::take(&mut self.backlog) {
            return Ok(());
        }
        for (at, PeerLane { link, .. }) in self.peers.iter().enumerate() {
            let to = Address::of_index(at, self.lanes);
            if link.overdue(self.terms) && !link.grant::<PageFrame>(lane, to)? {
                self.backlog = true;
            }
        }
        Ok(())
    }
}

/// The longest frame that is assembled outside a static buffer.
const INLINE: usize = 64;
