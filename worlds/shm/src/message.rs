//! A message that is read in place in a ring.
use crate::Process;
use core::ops::Deref;
use core::ptr::NonNull;
use foregather_machine::{Error, Nanos, SharedBytes, block_on};
use foregather_message::broadcast::BroadcastReader;

/// A message in the ring of a broadcast, as bytes. Dropping it consumes the message: from then on the writer
/// may reuse that part of the ring. If it is leaked, the reader's next call returns the same message.
///
/// All processes of a queue are trusted to write to its memory only through this library.
pub struct MessageView<'a>(&'a mut BroadcastReader<Process, SharedBytes>);

impl<'a> MessageView<'a> {
    /// Waits for the next message. Returns `None` if it is not contiguous in the ring: `receive` joins its
    /// pieces.
    ///
    /// # Errors
    /// As for [`BroadcastReader::view`].
    pub fn next(reader: &'a mut BroadcastReader<Process, SharedBytes>, deadline: Nanos) -> Result<Option<Self>, Error> {
        let is_whole = block_on(reader.view(deadline))?.is_whole();
        Ok(is_whole.then_some(Self(reader)))
    }

    /// Consumes the message, as dropping does, and checks that this reader still owned it.
    ///
    /// # Errors
    /// `Cause::Replaced` if another process has taken over this reader's rank: the bytes may have been
    /// overwritten.
    pub fn pass(self) -> Result<(), Error> {
        self.0.pass()
    }

    /// Returns the address of the message, for languages with raw pointers. It stays valid until the reader
    /// consumes the message.
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
        // The error persists, and the reader's next call returns it, too.
        _ = self.0.pass();
    }
}

impl core::fmt::Debug for MessageView<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "MessageView of {} bytes", self.len())
    }
}
