//! What one lane knows of the way to each other lane: credits, and what of a message has come from there.
//!
//! A credit is a static buffer at the receiver; each frame costs one. What a lane has taken it owes, and returns along with whatever it
//! sends that way, or alone once it owes half of them. So nobody ever waits for mere room, of which no bell tells.
use super::state::{Node, PageStore};
use super::stop::StoppedBy;
use super::transfer::{Arriving, Frame};
use crate::protocol::Message;
use foregather_machine::{Address, Cause, Error, Fabric};

#[derive(Clone, Copy, Debug)]
struct Link {
    credits: u32,
    owed: u32,
    arriving: Arriving,
}

/// All ways from one lane.
#[derive(Debug)]
pub(super) struct Links {
    lanes: u32,
    full: u32,
    links: Box<[Link]>,
    /// Somebody is owed half of his credits or more, and could not be told.
    backlog: bool,
}

/// The kind of a frame stands in the lowest bits of its head, the credits that it returns above.
const KIND_BITS: u32 = 2;

impl Links {
    pub(super) fn new<F: Fabric>(lane: &F) -> Self {
        let limits = lane.limits();
        let link = Link { credits: limits.credits, owed: 0, arriving: Arriving::default() };
        Self {
            lanes: limits.lanes,
            full: limits.credits,
            links: vec![link; (lane.size() * limits.lanes) as usize].into(),
            backlog: false,
        }
    }

    fn link(&mut self, of: Address) -> Option<&mut Link> {
        self.links.get_mut((of.rank * self.lanes + of.lane) as usize)
    }

    /// Sends a frame, if there is a credit. `write` fills in its bytes.
    pub(super) fn post<F: Fabric>(
        &mut self,
        lane: &F,
        to: Address,
        frame: Frame,
        len: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<bool, Error> {
        let Some(link) = self.link(to).filter(|link| !frame.costs() || link.credits > 0) else { return Ok(false) };
        let head = frame as u32 | link.owed << KIND_BITS;
        let posted = if len <= lane.limits().inline.min(INLINE) {
            let mut bytes = [0; INLINE];
            write(&mut bytes[..len]);
            lane.post(to, head, &bytes[..len])?
        } else {
            lane.write_with(to, |buffer| write(&mut buffer[..len]));
            lane.post_filled(to, head, len)?
        };
        if posted {
            link.owed = 0;
            link.credits -= u32::from(frame.costs());
        }
        Ok(posted)
    }

    /// Takes the oldest frame from there; its bytes are written where they belong. The message, once all of it is there.
    ///
    /// # Errors
    /// [`Cause::ProtocolViolation`] for what no peer sends; what a peer says of the end of shared memory.
    pub(super) fn take<F: Fabric, P: PageStore>(
        &mut self,
        lane: &F,
        node: &Node<F::Cpu, P>,
        from: Address,
    ) -> Result<Option<Message>, Error> {
        let full = self.full;
        let garbled = |what| Error::from(Cause::ProtocolViolation { from: from.rank, what });
        let link = self.link(from).ok_or_else(|| garbled("a frame of a lane that is not there"))?;
        let taken = lane.peek(from, |head, bytes| {
            link.credits += head >> KIND_BITS;
            if link.credits > full {
                return Err(garbled("more credits than there are"));
            }
            match Frame::of(head & ((1 << KIND_BITS) - 1)) {
                Some(Frame::Credits) => Ok(None),
                Some(Frame::Stop) => Err(StoppedBy::unpack(from.rank, bytes, lane.size()).error(lane.now())),
                Some(frame) => {
                    link.owed += 1;
                    link.arriving.take(node, from.rank, frame, bytes)
                }
                None => Err(garbled("a frame of no known kind")),
            }
        });
        lane.release(from);
        if link.owed * 2 >= full && !self.post(lane, from, Frame::Credits, 0, |_| ())? {
            self.backlog = true;
        }
        taken.unwrap_or(Ok(None))
    }

    /// Returns what could not be returned before.
    pub(super) fn pay<F: Fabric>(&mut self, lane: &F) -> Result<(), Error> {
        if !core::mem::take(&mut self.backlog) {
            return Ok(());
        }
        for at in 0..self.links.len() {
            let to = Address { rank: at as u32 / self.lanes, lane: at as u32 % self.lanes };
            if self.links[at].owed * 2 >= self.full && !self.post(lane, to, Frame::Credits, 0, |_| ())? {
                self.backlog = true;
            }
        }
        Ok(())
    }
}

/// The longest frame that is put together outside a static buffer.
const INLINE: usize = 64;
