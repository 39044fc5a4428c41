//! One end of a non-blocking connection: assembles received bytes into frames, and sends frames as the other
//! side accepts them.
use crate::frame::{Inbox, JobFrame};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// The connection is over: the other side closed it or sent a malformed frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionClosed;

/// The coordinator's end of a connection.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) stream: TcpStream,
    inbox: Inbox,
    outbox: VecDeque<Arc<[u8]>>,
    /// How many bytes of the first frame have been sent.
    sent: usize,
}

impl Link {
    pub(crate) fn new(stream: TcpStream) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, inbox: Inbox::default(), outbox: VecDeque::new(), sent: 0 })
    }

    /// Returns whether there are bytes that the other side has not accepted yet.
    pub(crate) fn pending(&self) -> bool {
        !self.outbox.is_empty()
    }

    pub(crate) fn send(&mut self, frame: &JobFrame) -> Result<(), ConnectionClosed> {
        self.send_shared(frame.encode().into())
    }

    pub(crate) fn send_shared(&mut self, bytes: Arc<[u8]>) -> Result<(), ConnectionClosed> {
        self.outbox.push_back(bytes);
        self.flush()
    }

    /// Sends as much as the other side accepts.
    pub(crate) fn flush(&mut self) -> Result<(), ConnectionClosed> {
        while let Some(first) = self.outbox.front() {
            match self.stream.write(&first[self.sent..]) {
                Ok(bytes) => self.sent += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return Err(ConnectionClosed),
            }
            if self.sent == first.len() {
                self.outbox.pop_front();
                self.sent = 0;
            }
        }
        Ok(())
    }

    /// Returns the complete frames received, of at most `most` bytes each, and whether the connection is over
    /// after them.
    pub(crate) fn receive(&mut self, most: usize) -> (Vec<JobFrame>, Result<(), ConnectionClosed>) {
        let mut frames = Vec::new();
        let mut piece = [0; 16 << 10];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return (frames, Err(ConnectionClosed)),
                Ok(bytes) => self.inbox.push(&piece[..bytes]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return (frames, Ok(())),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return (frames, Err(ConnectionClosed)),
            }
            loop {
                match self.inbox.next(most) {
                    Ok(Some(frame)) => frames.push(frame),
                    Ok(None) => break,
                    Err(_) => return (frames, Err(ConnectionClosed)),
                }
            }
            // A peer that sends without end must not keep the coordinator from the others.
            if frames.len() >= 64 {
                return (frames, Ok(()));
            }
        }
    }
}
