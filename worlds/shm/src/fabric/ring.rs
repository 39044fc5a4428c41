//! A one-way channel between two lanes: a ring of slots, each of which shows whether it holds a frame.
//! States, sequence and races: `README.md`.
use super::primitive::{AtomicU32, AtomicU64, Ordering::*, UnsafeCell, about_to_write};
use core::cell::Cell;
use foregather_machine::reached;

/// Bytes that fit into a frame's slot: a pair of cache lines minus the word.
pub(crate) const INLINE: usize = 120;
/// How many slots ahead a sender prefetches cache lines: about as many frames as it can send while one line
/// is being transferred.
const AHEAD: u32 = 4;

/// A frame, or what is left of a frame of an earlier lap.
///
/// The word contains the lap (16 bits), size (16 bits) and head (32 bits), so one load gives the receiver
/// everything about a frame.
#[repr(C, align(128))]
pub(crate) struct Slot {
    pub(crate) word: AtomicU64,
    pub(crate) bytes: UnsafeCell<[u8; INLINE]>,
}

/// The memory of a channel. It has one [`Sending`] and one [`Receiving`].
#[derive(Clone, Copy)]
pub(crate) struct RingBuffer<'m> {
    pub(crate) slots: &'m [Slot],
    /// The number of released frames, modulo 2^32; written by the receiver.
    pub(crate) consumed: &'m AtomicU32,
}

/// The receiver claims to have released more frames than were sent, or fewer than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nonsense;

/// The position of one end: the slot, and the lap of a frame in it.
struct RingPosition {
    at: Cell<u32>,
    lap: Cell<u16>,
}

impl RingPosition {
    /// Slots start as zeros, so the first lap is 1.
    const fn start() -> Self {
        Self { at: Cell::new(0), lap: Cell::new(1) }
    }

    #[inline]
    fn advance(&self, slots: u32) {
        let next = self.at.get() + 1;
        if next == slots {
            self.at.set(0);
            self.lap.set(self.lap.get().wrapping_add(1));
        } else {
            self.at.set(next);
        }
    }
}

/// The sender's end.
pub(crate) struct Sending {
    place: RingPosition,
    sent: Cell<u32>,
    /// The value of `consumed` when it was last read.
    seen: Cell<u32>,
}

impl Sending {
    pub(crate) const fn new() -> Self {
        Self { place: RingPosition::start(), sent: Cell::new(0), seen: Cell::new(0) }
    }

    /// Returns how many frames were sent, modulo 2^32.
    #[inline]
    pub(crate) fn sent(&self) -> u32 {
        self.sent.get()
    }

    /// Returns how many of them are known to have been released.
    #[inline]
    pub(crate) fn seen(&self) -> u32 {
        self.seen.get()
    }

    /// Reads how many have been released.
    #[inline]
    pub(crate) fn look(&self, ring: RingBuffer<'_>) -> Result<(), Nonsense> {
        // Acquire: the receiver has finished its reads of a released slot or buffer.
        let consumed = ring.consumed.load(Acquire);
        if consumed.wrapping_sub(self.seen.get()) > self.sent.get().wrapping_sub(self.seen.get()) {
            return Err(Nonsense);
        }
        self.seen.set(consumed);
        Ok(())
    }

    /// Sends a frame of that size whose slot holds `bytes`, unless the ring is full.
    #[inline]
    pub(crate) fn send(&self, ring: RingBuffer<'_>, head: u32, size: u16, bytes: &[u8]) -> Result<bool, Nonsense> {
        let slots = ring.slots.len() as u32;
        if self.sent.get().wrapping_sub(self.seen.get()) >= slots {
            self.look(ring)?;
            if self.sent.get().wrapping_sub(self.seen.get()) >= slots {
                reached("lanes:5");
                return Ok(false);
            }
        }
        let at = self.place.at.get();
        let slot = &ring.slots[at as usize];
        let bytes = &bytes[..bytes.len().min(INLINE)];
        // SAFETY: this is the ring's one sender, and the slot's last frame was released, so the receiver
        // reads it no more until the word is published. The slot has room for that many bytes.
        slot.bytes.with_mut(|to| unsafe { to.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) });
        let word = u64::from(head) << 32 | u64::from(size) << 16 | u64::from(self.place.lap.get());
        slot.word.store(word, Release);
        self.place.advance(slots);
        self.sent.set(self.sent.get().wrapping_add(1));
        let ahead = at + AHEAD;
        if let Some(slot) = ring.slots.get(if ahead < slots { ahead } else { ahead - slots } as usize) {
            about_to_write(slot);
        }
        Ok(true)
    }
}

/// The receiver's end of a channel.
pub(crate) struct Receiving {
    place: RingPosition,
    taken: Cell<u32>,
}

/// The content of a word. The reader must check the size, because a peer may have written anything.
#[derive(Clone, Copy)]
pub(crate) struct FrameHeader {
    pub(crate) head: u32,
    pub(crate) size: u16,
}

impl Receiving {
    pub(crate) const fn new() -> Self {
        Self { place: RingPosition::start(), taken: Cell::new(0) }
    }

    /// Returns the oldest frame that has not been released, and its slot.
    #[inline]
    pub(crate) fn peek<'m>(&self, ring: RingBuffer<'m>) -> Option<(FrameHeader, &'m Slot)> {
        let slot = &ring.slots[self.place.at.get() as usize];
        let word = slot.word.load(Acquire);
        (word as u16 == self.place.lap.get())
            .then_some((FrameHeader { head: (word >> 32) as u32, size: (word >> 16) as u16 }, slot))
    }

    /// Releases that frame's slot. Returns true if a quarter of the ring was released since a sender that
    /// waits for room was last woken.
    #[inline]
    pub(crate) fn release(&self, ring: RingBuffer<'_>) -> bool {
        let slots = ring.slots.len() as u32;
        let taken = self.taken.get().wrapping_add(1);
        self.taken.set(taken);
        self.place.advance(slots);
        ring.consumed.store(taken, Release);
        taken.is_multiple_of((slots / 4).max(1))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Returns two slots and the count of released frames.
    fn memory() -> ([Slot; 2], AtomicU32) {
        // SAFETY: all bytes of a slot may be 0, as in a new mapping.
        (unsafe { core::mem::zeroed() }, AtomicU32::new(0))
    }

    /// Race 3: more laps than 16 bits can count.
    #[test]
    fn frames_of_all_laps_are_told_from_old_ones() {
        let (slots, consumed) = memory();
        let (ring, sending, receiving) = (RingBuffer { slots: &slots, consumed: &consumed }, Sending::new(), Receiving::new());
        for number in 0..3 << 17 {
            assert!(receiving.peek(ring).is_none(), "an old frame at {number}");
            assert_eq!(sending.send(ring, number, 0, &[]), Ok(true));
            assert_eq!(receiving.peek(ring).map(|(frame, _)| frame.head), Some(number));
            receiving.release(ring);
        }
    }

    /// The negative control: laps that do not advance with their slots.
    #[test]
    #[should_panic(expected = "an old frame")]
    fn a_slot_that_is_all_laps_behind_shows_an_old_frame() {
        let (slots, consumed) = memory();
        let (ring, sending, receiving) = (RingBuffer { slots: &slots, consumed: &consumed }, Sending::new(), Receiving::new());
        assert_eq!(sending.send(ring, 0, 0, &[]), Ok(true));
        (0..2 << 16).for_each(|_| receiving.place.advance(2));
        assert!(receiving.peek(ring).is_none(), "an old frame");
    }
}
