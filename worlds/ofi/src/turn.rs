//! The turn at a lane: its owner's, or the caretaker's, which looks at the network while the owner is
//! elsewhere.
//!
//! The owner comes first: it waits for the end of the caretaker's turn; the caretaker never waits for the
//! owner's. Turns are short but for the owner's sleeps, which end when the network has something to do.
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use foregather_host::pause::pause;

/// Pauses between two offers of the processor: some microseconds.
const LOOKS: u32 = 128;

#[derive(Debug, Default)]
pub(crate) struct Turn {
    taken: AtomicBool,
    /// The depth of the owner's nested calls. The caretaker does not touch it.
    depth: Cell<u32>,
    /// Turns that the owner has taken.
    visits: AtomicU32,
}

impl Turn {
    /// The owner's turn. For the owner's threads alone, which use the lane one at a time.
    #[inline]
    pub(crate) fn of_owner(&self) -> Owners<'_> {
        if self.depth.get() == 0 {
            self.take();
            self.visits.store(self.visits.load(Relaxed).wrapping_add(1), Relaxed);
        }
        self.depth.set(self.depth.get() + 1);
        Owners(self)
    }

    #[inline]
    fn take(&self) {
        let mut looks = 0_u32;
        while self.taken.swap(true, Acquire) {
            // A caretaker that takes longer than a look at the network has lost its processor, perhaps to
            // this very thread.
            looks += 1;
            if looks.is_multiple_of(LOOKS) { std::thread::yield_now() } else { pause() }
        }
    }

    /// The caretaker's turn; `None` if the owner has it, or has had it since the caretaker's last.
    pub(crate) fn of_caretaker(&self, seen: &mut u32) -> Option<Caretakers<'_>> {
        let visits = self.visits.load(Relaxed);
        if core::mem::replace(seen, visits) != visits {
            return None;
        }
        (!self.taken.swap(true, Acquire)).then(|| Caretakers(self))
    }
}

#[derive(Debug)]
pub(crate) struct Owners<'a>(&'a Turn);

impl Drop for Owners<'_> {
    #[inline]
    fn drop(&mut self) {
        let depth = self.0.depth.get() - 1;
        self.0.depth.set(depth);
        if depth == 0 {
            self.0.taken.store(false, Release);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Caretakers<'a>(&'a Turn);

impl Drop for Caretakers<'_> {
    fn drop(&mut self) {
        self.0.taken.store(false, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_may_take_a_turn_within_its_own_and_the_caretaker_may_not() {
        let (turn, mut seen) = (Turn::default(), 1);
        let outer = turn.of_owner();
        drop(turn.of_owner());
        assert!(turn.of_caretaker(&mut seen).is_none());
        assert!(turn.of_caretaker(&mut seen).is_none(), "to be refused a turn ends nobody's");
        drop(outer);
        let caretakers = turn.of_caretaker(&mut seen);
        assert!(caretakers.is_some() && turn.of_caretaker(&mut seen).is_none());
    }

    #[test]
    fn an_owner_that_comes_by_itself_needs_no_caretaker() {
        let (turn, mut seen) = (Turn::default(), 0);
        drop(turn.of_owner());
        assert!(turn.of_caretaker(&mut seen).is_none());
        assert!(turn.of_caretaker(&mut seen).is_some());
    }
}
