//! Messages and the bytes behind them as frames: the first frame holds the message, further ones continue its
//! bytes.
use super::links::Links;
use super::state::{Node, PageStore};
use crate::Minipage;
use crate::protocol::Message;
use foregather_machine::{Address, Cause, Cpu, Error, Fabric, Rank};
use foregather_message::link::Kinds;

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageFrame {
    /// A message, and the first of its bytes.
    First,
    /// More of its bytes.
    Further,
    /// No payload: it only returns credits.
    Credits,
    /// The end of shared memory, and the culprit.
    Stop,
}

impl PageFrame {
    /// Whether it takes a static buffer.
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

/// A message on its way out, with how many of its bytes have gone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    message: Message,
    begun: bool,
    sent: usize,
}

impl Transfer {
    pub(super) fn new(message: Message) -> Self {
        Self { message, begun: false, sent: 0 }
    }

    /// Sends as much as there are credits for. Returns `true` once all of it has gone.
    ///
    /// # Errors
    /// If the peer is known to be lost.
    pub(super) fn send<F: Fabric, P: PageStore>(
        &mut self,
        lane: &F,
        links: &Links,
        to: Address,
        node: &Node<F::Cpu, P>,
    ) -> Result<bool, Error> {
        let minipage = self.message.carries();
        let bytes = minipage.and_then(|minipage| node.copies().bytes(minipage)).unwrap_or(0);
        while !self.begun || self.sent < bytes {
            let (frame, before) = if self.begun { (PageFrame::Further, 0) } else { (PageFrame::First, Message::LEN) };
            let len = (bytes - self.sent).min(lane.limits().buffer - before);
            let posted = links.post(lane, to, frame, before + len, |buffer| {
                if before > 0 {
                    buffer[..before].copy_from_slice(&self.message.pack());
                }
                if let Some(minipage) = minipage {
                    node.copies().read(minipage, self.sent, &mut buffer[before..]);
                }
            })?;
            if !posted {
                return Ok(false);
            }
            (self.begun, self.sent) = (true, self.sent + len);
        }
        Ok(true)
    }
}

/// The part of a message that has come from one lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arriving(Option<(Message, Minipage, usize)>);

impl Arriving {
    /// Takes a frame and writes its bytes where they belong. Returns the message once all of it is there.
    ///
    /// # Errors
    /// [`Cause::ProtocolViolation`] for what no peer sends.
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
