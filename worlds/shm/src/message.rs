//! A message that is read where it lies in a ring.
use crate::Process;
use core::ops::Deref;
use core::ptr::NonNull;
use foregather_machine::{Error, Nanos, SharedBytes, block_on};
use foregather_message::broadcast::BroadcastReader;

/// A message in the ring of a broadcast, as bytes. Dropping it passes the message: from then on the writer
/// may use that part of the ring again. If it is leaked, the next call of the reader finds the same message.
///
/// All processes of a queue are trusted to store into its memory by this library only.
pub struct MessageView<'a>(&'a mut BroadcastReader<Process, SharedBytes>);

impl<'a> MessageView<'a> {
    /// Waits for the next message. `None` if it lies in the ring in several pieces: `receive` joins them.
    ///
    /// # Errors
    /// As [`BroadcastReader::view`].
    pub fn next(reader: &'a mut BroadcastReader<Process, SharedBytes>, deadline: Nanos) -> Result<Option<Self>, Error> {
        let is_whole = block_on(reader.view(deadline))?.is_whole();
        Ok(is_whole.then_some(Self(reader)))
    }

    /// Passes the message, as dropping does, and returns whether it was this reader's to the end.
    ///
    /// # Errors
    /// `Cause::Replaced` if another process has this reader's place: the bytes may have been written over.
    pub fn pass(self) -> Result<(), Error> {
        self.0.pass()
    }

    /// Returns where the message lies, for languages whose memory is addresses. It stays there until
    /// the reader passes it.
    #[must_use]
    pub fn into_raw(self) -> NonNull<[u8]> {
        let bytes = NonNull::from(&*self);
        core::mem::forget(self);
        bytes
    }
}

impl Deref for MessageView<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let Some((words, bytes)) = self.0.shown() else { return &[] };
        // SAFETY: the words hold at least `bytes` bytes, are mapped as long as the reader lives, and have
        // been stored before the record was published. By the contract of `BroadcastReader::shown` no thread
        // stores there before the message is passed, which needs this view by value or ends its borrow.
        unsafe { core::slice::from_raw_parts(words.as_ptr().cast(), bytes) }
    }
}

impl Drop for MessageView<'_> {
    fn drop(&mut self) {
        // An error is the reader's, and its next call returns it, too.
        _ = self.0.pass();
    }
}

impl core::fmt::Debug for MessageView<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "MessageView of {} bytes", self.len())
    }
}
