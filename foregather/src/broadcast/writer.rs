//! The writing end of a queue.
use super::{QueueMemory, deadline_of};
use crate::long_wait::in_slices;
use crate::seated::RankHandle;
use core::time::Duration;
use foregather_machine::{Cause, Error, Nanos, SharedBytes, block_on};
use foregather_message::broadcast::{BroadcastWriter, WRITER};
use foregather_shm::{Process, SeatState};
use foregather_wait::Account;
use std::sync::Arc;

/// How `foregather hang` names a wait for room.
const SEND: &str = "send to broadcast";

/// The only writing end of a [`Broadcast`](crate::Broadcast). Dropping it closes the queue: readers receive
/// all messages that were sent, and then `Cause::Closed`.
pub struct Writer {
    end: RankHandle<BroadcastWriter<Process, SharedBytes>>,
    /// The loss of a reader that no call has returned yet.
    loss: Option<Error>,
}

impl Writer {
    pub(super) fn new(shared: &Arc<QueueMemory>) -> Result<Self, Error> {
        let readers = 1..shared.ring.readers() + 1;
        let ring = &shared.ring;
        let make = |cpu, policy| ring.writer(cpu, policy);
        let end = RankHandle::new(super::WHAT, &shared.seats, (WRITER, None), readers, make, BroadcastWriter::fail)?;
        Ok(Self { end, loss: None })
    }

    /// Sends a message to all readers. Returns when it has been copied to the ring, so that `message` may be
    /// reused.
    ///
    /// # Errors
    /// `Cause::PeerLost` once for each detected death of a reader: **the message was sent** to the other
    /// readers, and the next call sends the next one. If no reader is left, each call returns it. With all
    /// other errors the message is not sent: `Cause::Closed` if all readers have closed their ends normally,
    /// which may be detected only after some messages; `Cause::Length` if the message is too long for the
    /// ring of a skipping queue; `Cause::Poisoned` with the rank of a reader that has failed; `Cause::Unseen`
    /// if this process cannot check whether a reader's process is alive; `Cause::ProtocolViolation` if the
    /// queue's memory is corrupt.
    pub fn send(&mut self, message: &[u8]) -> Result<(), Error> {
        self.send_parts(&[message])
    }

    /// Sends the bytes of several slices, in order, as one message.
    ///
    /// # Errors
    /// As for [`Writer::send`].
    pub fn send_parts(&mut self, parts: &[&[u8]]) -> Result<(), Error> {
        self.send_within(parts, None, false)
    }

    /// Sends like [`Writer::send_parts`], and waits for at most `timeout`.
    ///
    /// # Errors
    /// `Cause::TimedOut`, which names the slowest reader: no reader gets this message unless
    /// [`Writer::go_on_timeout`] sends the rest of it; the next call sends the next message. Otherwise as for
    /// [`Writer::send`].
    pub fn send_timeout(&mut self, parts: &[&[u8]], timeout: Duration) -> Result<(), Error> {
        self.send_within(parts, Some(timeout), false)
    }

    /// Continues the same message after `Cause::TimedOut`. Parts that are already in the ring are not written
    /// again.
    ///
    /// # Errors
    /// As for [`Writer::send_timeout`].
    pub fn go_on_timeout(&mut self, parts: &[&[u8]], timeout: Duration) -> Result<(), Error> {
        self.send_within(parts, Some(timeout), true)
    }

    /// Returns the ranks of readers whose processes have died and that no replacement
    /// ([`Broadcast::replace`](crate::Broadcast::replace)) has taken over and received a message for.
    ///
    /// # Errors
    /// In a child of a fork of the process that took this end.
    pub fn lost(&mut self) -> Result<&[u32], Error> {
        self.end.own().map(|writer| writer.lost())
    }

    /// Sends a message, or the rest of it, within `limit`.
    fn send_within(&mut self, parts: &[&[u8]], limit: Option<Duration>, mut goes_on: bool) -> Result<(), Error> {
        let bytes = parts.iter().map(|part| part.len()).sum();
        if self.end.own()?.has_room(bytes) {
            return self.send_until(parts, limit.map_or(Nanos::MAX, deadline_of), goes_on);
        }
        let send =
            |writer: &mut Self, slice| writer.send_until(parts, deadline_of(slice), core::mem::replace(&mut goes_on, true));
        in_slices(self, SEND, limit, send, |writer, error| writer.awaited(error))
    }

    /// Sends a message, or the rest of it, to all live readers.
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

    /// Stops waiting for a reader whose process has died.
    ///
    /// # Errors
    /// `error`, if a second check does not confirm the death.
    fn let_go(&mut self, rank: u32, error: Error) -> Result<(), Error> {
        let writer = self.end.own()?;
        // A process that takes over the rank from here on has another PID, and is not affected.
        let holder = writer.holder(rank);
        if self.end.seats.bury(rank) {
            self.end.own()?.let_go(rank, holder);
            self.loss.get_or_insert(error);
            return Ok(());
        }
        // Another process has taken over the slot by now, and is watched from now on.
        if matches!(self.end.seats.state(rank), SeatState::Lives(_)) { Ok(()) } else { Err(error) }
    }

    /// Closes this end as failed, like a panic: readers receive the messages that were sent, and then
    /// `Cause::Poisoned`.
    pub fn fail(self) {
        self.end.fail();
    }

    /// Returns the rank that a timed-out call waited for, with the process ID of its holder if it is taken.
    #[must_use]
    pub fn awaited(&self, error: &Error) -> Vec<(u32, Option<u32>)> {
        self.end.awaited(error)
    }

    /// Returns the statistics of this writer's waits.
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
