//! Sends messages and the bytes that follow them as frames: the first frame contains the message, further
//! frames continue its bytes.
use super::links::{Links, PageFrame};
use super::state::{Node, PageStore};
use crate::protocol::Message;
use foregather_machine::{Address, Error, Fabric};

/// A message that is being sent, with how many of its bytes were sent.
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

    /// Sends as much as there are credits for. Returns whether all of it was sent.
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
