//! The writing end.
use super::{QueueMemory, deadline_of};
use crate::seated::Seated;
use core::time::Duration;
use foregather_machine::{Cause, Error, Nanos, SharedBytes, block_on};
use foregather_message::broadcast::{BroadcastWriter, WRITER};
use foregather_shm::{Process, SeatState};
use foregather_wait::Account;
use std::sync::Arc;

/// The one writing end of a [`Broadcast`](crate::Broadcast). Dropping it ends the queue in order: readers get
/// all that it has sent, and then `Cause::Closed`.
pub struct Writer {
    end: Seated<BroadcastWriter<Process, SharedBytes>>,
    /// The loss of a reader, which no call has returned yet.
    loss: Option<Error>,
}

impl Writer {
    pub(super) fn new(shared: &Arc<QueueMemory>) -> Result<Self, Error> {
        let readers = 1..shared.ring.readers() + 1;
        let ring = &shared.ring;
        let make = |cpu, policy| ring.writer(cpu, policy);
        let end = Seated::new(super::WHAT, &shared.seats, WRITER, readers, make, BroadcastWriter::fail)?;
        Ok(Self { end, loss: None })
    }

    /// Sends a message to all readers. Returns when it is in the ring, and may be changed.
    ///
    /// # Errors
    /// `Cause::PeerLost` if the process of a reader has died, once for each time that one is noticed: **the
    /// message was sent** to the other readers, and the next call sends the next one. If no reader is left,
    /// each call returns it. `Cause::Closed` if all readers have left in order, which is noticed after some
    /// messages; `Cause::Length` where a queue that skips has too small a ring; `Cause::Poisoned` with the
    /// rank of a reader that has failed; `Cause::Unseen` if nothing can be known of a reader's process;
    /// `Cause::ProtocolViolation` if the memory of the queue was overwritten. The message is not sent then.
    pub fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        self.send_parts(&[message])
    }

    /// Sends the bytes of several slices, one after the other, as one message.
    ///
    /// # Errors
    /// As [`Writer::send`].
    pub fn send_parts(&mut self, parts: &[&[u8]]) -> Result<(), Error> {
        self.send_until(parts, Nanos::MAX, false)
    }

    /// [`Writer::send_parts`] that gives up after `timeout`.
    ///
    /// # Errors
    /// `Cause::TimedOut`, which names the slowest reader: no reader gets the message, and the next one is
    /// right; else as [`Writer::send`].
    pub fn send_timeout(&mut self, parts: &[&[u8]], timeout: Duration) -> Result<(), Error> {
        self.send_until(parts, deadline_of(timeout), false)
    }

    /// Goes on with the same message after `Cause::TimedOut`: what is in the ring of it is not written again.
    ///
    /// # Errors
    /// As [`Writer::send_timeout`].
    pub fn go_on_timeout(&mut self, parts: &[&[u8]], timeout: Duration) -> Result<(), Error> {
        self.send_until(parts, deadline_of(timeout), true)
    }

    /// The readers whose processes have died, as far as no other one has their places since
    /// ([`Broadcast::replace`](crate::Broadcast::replace)) and got a message.
    ///
    /// # Errors
    /// In a child of a fork of the process that took this end.
    pub fn lost(&mut self) -> Result<&[u32], Error> {
        self.end.own().map(|writer| writer.lost())
    }

    /// Sends a message, or the rest of it, to all readers that live.
    fn send_until(&mut self, parts: &[&[u8]], deadline: Nanos, mut goes_on: bool) -> Result<(), Error> {
        loop {
            let writer = self.end.own()?;
            let end = match goes_on {
                true => block_on(writer.go_on(parts, deadline)),
                false => block_on(writer.send(parts, deadline)),
            };
            let lost = |writer: &BroadcastWriter<_, _>| writer.lost().first().map(|&rank| Error::lost(rank));
            match end {
                Ok(()) => return self.loss.take().map_or(Ok(()), Err),
                Err(error) => match *error.cause() {
                    Cause::PeerLost { rank, .. } => self.let_go(rank, error)?,
                    Cause::Closed { peer: None } => return Err(self.loss.take().or_else(|| lost(writer)).unwrap_or(error)),
                    _ => return Err(error),
                },
            }
            goes_on = true;
        }
    }

    /// A reader's process has died: the writer waits for it no more.
    ///
    /// # Errors
    /// `error`, if that cannot be proven once more.
    fn let_go(&mut self, rank: u32, error: Error) -> Result<(), Error> {
        let writer = self.end.own()?;
        // One that takes the place from here on has another number, and is not meant.
        let holder = writer.holder(rank);
        if self.end.seats.bury(rank) {
            self.end.own()?.let_go(rank, holder);
            self.loss.get_or_insert(error);
            return Ok(());
        }
        // Another process has its seat by now, and is watched from now on.
        if matches!(self.end.seats.state(rank), SeatState::Lives(_)) { Ok(()) } else { Err(error) }
    }

    /// Leaves because this side has failed, as a panic does: readers get `Cause::Poisoned` once they have
    /// read what was sent.
    pub fn fail(self) {
        self.end.fail();
    }

    /// How its waits ended.
    ///
    /// # Errors
    /// In a child of a fork of the process that took this end.
    pub fn account(&mut self) -> Result<Arc<Account>, Error> {
        self.end.own().map(|writer| writer.account().clone())
    }
}

impl core::fmt::Debug for Writer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Writer of rank {}", self.end.rank())
    }
}
