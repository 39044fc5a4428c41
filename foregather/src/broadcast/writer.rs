//! The writing end.
use super::{Shared, deadline_of};
use crate::seated::Seated;
use core::time::Duration;
use foregather_machine::{Error, Nanos, SharedBytes, block_on};
use foregather_message::broadcast::{BroadcastWriter, WRITER};
use foregather_shm::Process;
use foregather_wait::Account;
use std::sync::Arc;

/// The one writing end of a [`Broadcast`](crate::Broadcast). Dropping it ends the queue in order: readers get
/// all that it has sent, and then `Cause::Closed`.
pub struct Writer(Seated<BroadcastWriter<Process, SharedBytes>>);

impl Writer {
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Self, Error> {
        let readers = 1..shared.ring.readers() + 1;
        let (memory, ring) = ((&shared.segment, &shared.seats), &shared.ring);
        Seated::new(super::WHAT, memory, WRITER, readers, |cpu, policy| ring.writer(cpu, policy), BroadcastWriter::fail).map(Self)
    }

    /// Sends a message to all readers. Returns when it is in the ring, and may be changed.
    ///
    /// # Errors
    /// `Cause::Closed` if all readers have left, which is noticed after some messages; `Cause::Length` where
    /// a queue that skips has too small a ring; `Cause::PeerLost` or `Cause::Poisoned` with the rank of a
    /// reader that has died or failed. The message is not sent then.
    pub fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        self.send_parts(&[message])
    }

    /// Sends the bytes of several slices, one after the other, as one message.
    ///
    /// # Errors
    /// As [`Writer::send`].
    pub fn send_parts(&mut self, parts: &[&[u8]]) -> Result<(), Error> {
        block_on(self.0.own()?.send(parts, Nanos::MAX))
    }

    /// [`Writer::send_parts`] that gives up after `timeout`.
    ///
    /// # Errors
    /// `Cause::TimedOut`, which names the slowest reader: no reader gets the message, and the next one is
    /// right; else as [`Writer::send`].
    pub fn send_timeout(&mut self, parts: &[&[u8]], timeout: Duration) -> Result<(), Error> {
        block_on(self.0.own()?.send(parts, deadline_of(timeout)))
    }

    /// Goes on with the same message after `Cause::TimedOut`: what is in the ring of it is not written again.
    ///
    /// # Errors
    /// As [`Writer::send_timeout`].
    pub fn go_on_timeout(&mut self, parts: &[&[u8]], timeout: Duration) -> Result<(), Error> {
        block_on(self.0.own()?.go_on(parts, deadline_of(timeout)))
    }

    /// Leaves because this side has failed, as a panic does: readers get `Cause::Poisoned` once they have
    /// read what was sent.
    pub fn fail(self) {
        self.0.fail();
    }

    /// How its waits ended.
    ///
    /// # Errors
    /// In a child of a fork of the process that took this end.
    pub fn account(&mut self) -> Result<Arc<Account>, Error> {
        self.0.own().map(|writer| writer.account().clone())
    }
}

impl core::fmt::Debug for Writer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Writer of rank {}", self.0.rank())
    }
}
