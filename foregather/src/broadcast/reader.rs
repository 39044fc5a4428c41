//! The reading end of a queue.
use super::{QueueMemory, deadline_of};
use crate::long_wait::in_slices;
use crate::seated::RankHandle;
use core::time::Duration;
use foregather_machine::{Error, Nanos, SharedBytes, block_on};
use foregather_message::broadcast::{BroadcastReader, WRITER};
use foregather_shm::{MessageView, Process};
use foregather_wait::Account;
use std::sync::Arc;

/// How `foregather hang` names a wait for a message.
const RECEIVE: &str = "receive from broadcast";

/// A reading end of a [`Broadcast`](crate::Broadcast). After it is dropped, the writer no longer waits for
/// it.
pub struct Reader(RankHandle<BroadcastReader<Process, SharedBytes>>);

impl Reader {
    /// The end of a rank, or of the successor of one whose process has died.
    pub(super) fn new(shared: &Arc<QueueMemory>, rank: u32, succeeds: bool) -> Result<Self, Error> {
        let (writer, ring) = (WRITER..WRITER + 1, &shared.ring);
        let make = |cpu, policy| if succeeds { ring.replace(cpu, rank, policy) } else { ring.reader(cpu, rank, policy) };
        let slot = (rank, succeeds.then(|| shared.lock()));
        RankHandle::new(super::WHAT, &shared.seats, slot, writer, make, BroadcastReader::fail).map(Self)
    }

    /// Waits for the next message and returns it.
    ///
    /// # Errors
    /// `Cause::Closed` if the writer has closed the queue, `Cause::PeerLost` if its process has died, and
    /// `Cause::Poisoned` if it has failed, each after all messages were received; `Cause::Skipped` if the
    /// writer has overtaken this reader: the next call returns the oldest message still available;
    /// `Cause::Replaced` if another process has taken over this reader's rank; `Cause::Unseen` if this
    /// process cannot check whether the writer's process is alive; `Cause::ProtocolViolation` if the queue's
    /// memory is corrupt.
    pub fn receive(&mut self) -> Result<Vec<u8>, Error> {
        let mut message = Vec::new();
        self.receive_into(&mut message).map(|()| message)
    }

    /// Waits for the next message and appends it to `into`.
    ///
    /// # Errors
    /// As for [`Reader::receive`]; `into` is then unchanged.
    pub fn receive_into(&mut self, into: &mut Vec<u8>) -> Result<(), Error> {
        self.receive_within(into, None)
    }

    /// Receives like [`Reader::receive`], for at most `timeout`.
    ///
    /// # Errors
    /// `Cause::TimedOut`: nothing is lost; call again to continue the wait. Otherwise as for
    /// [`Reader::receive`].
    pub fn receive_timeout(&mut self, timeout: Duration) -> Result<Vec<u8>, Error> {
        let mut message = Vec::new();
        self.receive_within(&mut message, Some(timeout)).map(|()| message)
    }

    fn receive_within(&mut self, into: &mut Vec<u8>, limit: Option<Duration>) -> Result<(), Error> {
        if limit.is_none() && self.is_ready()? {
            return block_on(self.0.own()?.receive(into, Nanos::MAX));
        }
        let receive = |reader: &mut Self, slice| block_on(reader.0.own()?.receive(into, deadline_of(slice)));
        in_slices(self, RECEIVE, limit, receive, |reader, error| reader.awaited(error))
    }

    /// Waits until a view finds a message at once, or a reason why there is none.
    fn await_view(&mut self, limit: Option<Duration>) -> Result<(), Error> {
        if self.is_ready()? {
            return Ok(());
        }
        let look = |reader: &mut Self, slice| block_on(reader.0.own()?.view(deadline_of(slice))).map(drop);
        in_slices(self, RECEIVE, limit, look, |reader, error| reader.awaited(error))
    }

    /// Waits for the next message, and returns a view of it in the ring, without a copy. Waits for at most
    /// `timeout`, or forever if it is `None`. The writer can reuse that part of the ring after the view is
    /// dropped. Returns `None` if the message is not contiguous in the ring: [`Reader::receive`] joins its
    /// pieces.
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
    /// As for [`Reader::receive_timeout`]; `Cause::Setting` if the queue was created by
    /// [`Broadcast::skipping`](crate::Broadcast::skipping).
    pub fn view(&mut self, timeout: Option<Duration>) -> Result<Option<MessageView<'_>>, Error> {
        // What has just been found may be gone: another process may store anything in the memory.
        let deadline = timeout.map_or(Nanos::MAX, deadline_of);
        self.await_view(timeout)?;
        MessageView::next(self.0.own()?, deadline)
    }

    /// Consumes the message whose view was turned into an address by [`MessageView::into_raw`]. Does nothing
    /// if there is none.
    ///
    /// # Errors
    /// In a child of a fork of the process that took this end; `Cause::Replaced` if another process has taken
    /// over this reader's rank, so the bytes may have been overwritten.
    pub fn pass(&mut self) -> Result<(), Error> {
        self.0.own()?.pass()
    }

    /// Returns whether [`Reader::receive`] would return at once: with a message, or because the queue has
    /// ended.
    ///
    /// # Errors
    /// In a child of a fork of the process that took this end.
    pub fn is_ready(&mut self) -> Result<bool, Error> {
        self.0.own().map(|reader| reader.is_ready())
    }

    /// Closes this end as failed, like a panic: the writer gets `Cause::Poisoned`.
    pub fn fail(self) {
        self.0.fail();
    }

    /// Returns the rank that a timed-out call waited for, with the process ID of its holder if it is taken.
    #[must_use]
    pub fn awaited(&self, error: &Error) -> Vec<(u32, Option<u32>)> {
        self.0.awaited(error)
    }

    /// Returns the statistics of this reader's waits.
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
