//! The state of a minipage that the threads of a rank and its server share: the access that it allows, and
//! whether a thread has requested more.
//!
//! These are pure functions on 32 bits. Callers apply each with a compare-and-swap, and start again if it
//! fails. Only the holder of *pending* and the server change the access, and never both at once, because the
//! manager serves only one request for the minipage at a time.
use crate::Access;

const ACCESS: u32 = 0b11;
/// A request is pending. There is one at a time; other threads that need the minipage wait for it.
const PENDING: u32 = 1 << 2;
/// The pending request is a prefetch: no thread waits for its reply unless it faults.
const PREFETCH: u32 = 1 << 3;
/// A thread sleeps on this word, or is about to.
const SLEEPERS: u32 = 1 << 4;

/// The state of one minipage at one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Word(u32);

/// What a thread that needs more access must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Store this word and, if that succeeds, send the request: the minipage is *pending*.
    Go(Word),
    /// Another thread was faster: try the instruction again.
    Already,
    /// Store this word if it differs, sleep until it changes, and start again.
    Wait(Word),
}

/// The word after a request has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The word to store.
    pub word: Word,
    /// Whether all threads that sleep on it must be woken.
    pub wake: bool,
    /// Whether it was a prefetch, so that one fewer is in flight.
    pub prefetched: bool,
}

impl Word {
    /// Reads a word from its stored form.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Returns the stored form of the word.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns the access of the rank to its copy. It never promises more than the view allows.
    pub const fn access(self) -> Access {
        match self.0 & ACCESS {
            0 => Access::None,
            1 => Access::Read,
            _ => Access::Write,
        }
    }

    /// Returns whether a request is pending.
    pub const fn is_pending(self) -> bool {
        self.0 & PENDING != 0
    }

    /// Returns whether a prefetch is pending.
    pub const fn is_prefetch(self) -> bool {
        self.0 & PREFETCH != 0
    }

    /// Returns how a thread that needs this access must proceed, after a fault or ahead of one.
    pub fn begin(self, need: Access, prefetch: bool) -> Begin {
        if self.access() >= need {
            Begin::Already
        } else if self.is_pending() {
            Begin::Wait(Self(self.0 | SLEEPERS))
        } else {
            Begin::Go(Self(self.0 | PENDING | if prefetch { PREFETCH } else { 0 }))
        }
    }

    /// Returns the word when the server closes the copy or makes it read-only, **before** it changes the
    /// view. Threads that have requested more keep waiting.
    #[must_use]
    pub fn lower(self, to: Access) -> Self {
        self.with(self.access().min(to))
    }

    /// Returns the word when the server has opened a copy that no thread here requested. A pending request
    /// stays pending; sleepers check whether this copy is enough.
    #[must_use]
    pub fn raise(self, to: Access) -> Ended {
        let word = self.with(self.access().max(to));
        Ended { word: Self(word.0 & !SLEEPERS), wake: self.0 & SLEEPERS != 0, prefetched: false }
    }

    /// Returns the word when the request has completed, **after** the view was opened; `None` if it was
    /// refused.
    #[must_use]
    pub fn end(self, access: Access) -> Ended {
        let Ended { word, wake, .. } = self.raise(access);
        Ended { word: Self(word.0 & !(PENDING | PREFETCH)), wake, prefetched: self.is_prefetch() }
    }

    fn with(self, access: Access) -> Self {
        Self(self.0 & !ACCESS | access as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn go(word: Word, need: Access, prefetch: bool) -> Word {
        match word.begin(need, prefetch) {
            Begin::Go(word) => word,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_asks_and_the_others_wait_for_it() {
        let word = go(Word::default(), Access::Read, false);
        let Begin::Wait(asleep) = word.begin(Access::Write, false) else { panic!("two requests at a time") };
        assert_eq!(asleep.begin(Access::Read, true), Begin::Wait(asleep));
        let ended = asleep.end(Access::Read);
        assert!(ended.wake && !ended.prefetched && !ended.word.is_pending());
        assert_eq!(ended.word.begin(Access::Read, false), Begin::Already);
        assert!(!go(ended.word, Access::Write, false).end(Access::Write).wake);
    }

    #[test]
    fn a_prefetch_is_told_from_a_fault_when_it_ends() {
        let word = go(Word::default(), Access::Write, true);
        assert!(word.is_prefetch() && word.end(Access::Write).prefetched);
        assert!(!word.end(Access::Write).word.is_prefetch());
    }

    #[test]
    fn closing_and_pushing_leave_a_request_under_way() {
        let word = go(Word::default().raise(Access::Read).word, Access::Write, false);
        let closed = word.lower(Access::None);
        assert_eq!((closed.access(), closed.is_pending()), (Access::None, true));
        let Begin::Wait(asleep) = closed.begin(Access::Read, false) else { panic!("nothing is pending") };
        let pushed = asleep.raise(Access::Read);
        assert_eq!((pushed.word.access(), pushed.word.is_pending(), pushed.wake), (Access::Read, true, true));
    }

    #[test]
    fn lowering_never_raises_and_a_refusal_raises_nothing() {
        assert_eq!(Word::default().lower(Access::Read).access(), Access::None);
        assert_eq!(go(Word::default(), Access::Read, false).end(Access::None).word, Word::default());
    }
}
