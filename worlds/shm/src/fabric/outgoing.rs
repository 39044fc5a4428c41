//! The sender's end of a channel: its position in the ring, and which static buffers are free.
use super::ring::{INLINE, Nonsense, RingBuffer, Sending};
use core::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// Set in a frame's size if its bytes are in a static buffer, whose number is in the slot.
pub(crate) const IN_BUFFER: u16 = 1 << 15;
/// Before a sender uses more than this many buffers, and again at every multiple, it checks which have been
/// released. So only a few buffers occupy the caches, and a check, which costs a cache-line transfer,
/// reclaims several at once.
const FEW: u32 = 2;

/// The channel to one lane.
pub(crate) struct OutgoingChannel {
    pub(crate) sending: Sending,
    /// A bit for each free buffer.
    free: Cell<u64>,
    /// The buffer that is being filled.
    filling: Cell<Option<u8>>,
    /// The buffers in flight, with the number of their frame, oldest first.
    lent: RefCell<VecDeque<(u32, u8)>>,
}

impl OutgoingChannel {
    /// Creates a channel with one buffer more than credits.
    pub(crate) fn new(credits: u32) -> Self {
        let free = Cell::new(u64::MAX >> (63 - credits));
        Self { sending: Sending::new(), free, filling: Cell::new(None), lent: RefCell::default() }
    }

    /// Sends a frame within its slot.
    #[inline]
    pub(crate) fn send(&self, ring: RingBuffer<'_>, head: u32, bytes: &[u8]) -> Result<bool, Nonsense> {
        debug_assert!(bytes.len() <= INLINE);
        self.sending.send(ring, head, bytes.len() as u16, bytes)
    }

    /// Returns the next buffer to fill. It stays the same until it is sent.
    #[inline]
    pub(crate) fn filling(&self, ring: RingBuffer<'_>) -> u8 {
        if let Some(filling) = self.filling.get() {
            return filling;
        }
        let mut next = self.free.get().trailing_zeros();
        if next > 0 && next.is_multiple_of(FEW) {
            // A receiver's error is reported when the buffer is sent.
            let _ = self.collect(ring);
            next = self.free.get().trailing_zeros();
        }
        debug_assert!(next < 64, "no more buffers are lent than there are credits");
        let next = next.min(63) as u8;
        self.free.set(self.free.get() & !(1 << next));
        self.filling.set(Some(next));
        next
    }

    /// Sends the first `len` bytes of the filled buffer. At most `credits` buffers may be in flight.
    #[inline]
    pub(crate) fn send_filled(&self, ring: RingBuffer<'_>, credits: u32, head: u32, len: usize) -> Result<bool, Nonsense> {
        let filled = self.filling(ring);
        if self.lent.borrow().len() >= credits as usize {
            self.collect(ring)?;
            if self.lent.borrow().len() >= credits as usize {
                return Ok(false);
            }
        }
        let number = self.sending.sent();
        let sent = self.sending.send(ring, head, len as u16 | IN_BUFFER, &[filled])?;
        if sent {
            self.lent.borrow_mut().push_back((number, filled));
            self.filling.set(None);
        }
        Ok(sent)
    }

    /// Reclaims the buffers of released frames.
    fn collect(&self, ring: RingBuffer<'_>) -> Result<(), Nonsense> {
        self.sending.look(ring)?;
        let in_flight = self.sending.sent().wrapping_sub(self.sending.seen());
        let mut lent = self.lent.borrow_mut();
        while let Some(&(number, buffer)) = lent.front()
            && self.sending.sent().wrapping_sub(number) > in_flight
        {
            self.free.set(self.free.get() | 1 << buffer);
            lent.pop_front();
        }
        Ok(())
    }
}
