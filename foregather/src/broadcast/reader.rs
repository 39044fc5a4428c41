//! A reading end.
use super::{QueueMemory, deadline_of};
use crate::seated::Seated;
use core::time::Duration;
use foregather_machine::{Error, Nanos, SharedBytes, block_on};
use foregather_message::broadcast::{BroadcastReader, WRITER};
use foregather_shm::{MessageView, Process};
use foregather_wait::Account;
use std::sync::Arc;

/// One reading end of a [`Broadcast`](crate::Broadcast). Dropping it lets the writer go on without it.
pub struct Reader(Seated<BroadcastReader<Process, SharedBytes>>);

impl Reader {
    pub(super) fn new(shared: &Arc<QueueMemory>, rank: u32) -> Result<Self, Error> {
        let writer = WRITER..WRITER + 1;
        let ring = &shared.ring;
        Seated::new(super::WHAT, &shared.seats, rank, writer, |cpu, policy| ring.reader(cpu, rank, policy), BroadcastReader::fail)
            .map(Self)
    }

    pub(super) fn replace(shared: &Arc<QueueMemory>, rank: u32) -> Result<Self, Error> {
        let writer = WRITER..WRITER + 1;
        let ring = &shared.ring;
        let make = |cpu, policy| ring.replace(cpu, rank, policy);
        Seated::after(super::WHAT, &shared.seats, (rank, shared.lock()), writer, make, BroadcastReader::fail).map(Self)
    }

    /// Waits for the next message.
    ///
    /// # Errors
    /// `Cause::Closed` once the writer has ended the queue and all is read; `Cause::PeerLost` or
    /// `Cause::Poisoned` if it has died or failed, once all is read; `Cause::Skipped` where the writer has
    /// overtaken this reader: the next call goes on; `Cause::Replaced` if another process has this reader's
    /// place; `Cause::Unseen` if nothing can be known of the writer's process; `Cause::ProtocolViolation` if
    /// the memory of the queue was overwritten.
    pub fn receive(&mut self) -> Result<Vec<u8>, Error> {
        let mut message = Vec::new();
        self.receive_into(&mut message).map(|()| message)
    }

    /// Waits for the next message, and appends it to `into`.
    ///
    /// # Errors
    /// As [`Reader::receive`]; nothing is appended then.
    pub fn receive_into(&mut self, into: &mut Vec<u8>) -> Result<(), Error> {
        block_on(self.0.own()?.receive(into, Nanos::MAX))
    }

    /// [`Reader::receive`] that gives up after `timeout`.
    ///
    /// # Errors
    /// `Cause::TimedOut`: nothing is lost; call again to continue the wait; else as [`Reader::receive`].
    pub fn receive_timeout(&mut self, timeout: Duration) -> Result<Vec<u8>, Error> {
        let (mut message, deadline) = (Vec::new(), deadline_of(timeout));
        block_on(self.0.own()?.receive(&mut message, deadline)).map(|()| message)
    }

    /// Waits for the next message, for `timeout` at most if there is one, and lets it be read where it lies
    /// in the ring, without a copy. The writer can use that part of the ring again once the view is dropped.
    /// `None` if the message lies there in several pieces: [`Reader::receive`] joins them.
    ///
    /// ```
    /// let queue = foregather::Broadcast::create(1, 1 << 10)?;
    /// let (mut writer, mut reader) = (queue.writer()?, queue.reader(1)?);
    /// writer.send(b"one")?;
    /// writer.send(b"two")?;
    /// for expected in [b"one", b"two"] {
    ///     let message = reader.view(None)?.expect("a short message is one piece");
    ///     assert_eq!(*message, *expected);
    /// }
    /// # Ok::<(), foregather::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Reader::receive_timeout`]; `Cause::Setting` where the writer waits for no reader.
    pub fn view(&mut self, timeout: Option<Duration>) -> Result<Option<MessageView<'_>>, Error> {
        let deadline = timeout.map_or(Nanos::MAX, deadline_of);
        MessageView::next(self.0.own()?, deadline)
    }

    /// Passes the message whose view was taken apart by [`MessageView::into_raw`]; else nothing.
    ///
    /// # Errors
    /// In a child of a fork of the process that took this end; `Cause::Replaced` if another process has this
    /// reader's place, so that what was shown may have been written over.
    pub fn pass(&mut self) -> Result<(), Error> {
        self.0.own()?.pass()
    }

    /// Is a message there, or the end of the queue, so that [`Reader::receive`] need not wait for one?
    ///
    /// # Errors
    /// In a child of a fork of the process that took this end.
    pub fn is_ready(&mut self) -> Result<bool, Error> {
        self.0.own().map(|reader| reader.is_ready())
    }

    /// Leaves because this side has failed, as a panic does: the writer gets `Cause::Poisoned`.
    pub fn fail(self) {
        self.0.fail();
    }

    /// How its waits ended.
    ///
    /// # Errors
    /// In a child of a fork of the process that took this end.
    pub fn account(&mut self) -> Result<Arc<Account>, Error> {
        self.0.own().map(|reader| reader.account().clone())
    }
}

impl core::fmt::Debug for Reader {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Reader of rank {}", self.0.rank())
    }
}
