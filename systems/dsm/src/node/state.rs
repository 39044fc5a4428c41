//! The state that the threads and the server of a rank share.
use super::stop::Stopped;
use super::words::WordTable;
use crate::protocol::{Action, Begin, Ended, Homes, Word};
use crate::{Access, Minipage};
use core::sync::atomic::{AtomicU32, Ordering::*};
use foregather_machine::{Cpu, Error, Nanos, Rank, reached};
use foregather_message::link::Lost;
use std::sync::Arc;

/// Sleepers on different minipages occasionally share a word: they check, and sleep again.
const WAIT_QUEUES: usize = 64;

/// The bytes of minipages and their protection, on one rank.
///
/// All methods run while the application's threads run; only the protection excludes them.
pub trait PageStore: Send + Sync {
    /// Returns the length of a minipage, or `None` if there is none with that number.
    fn bytes(&self, minipage: Minipage) -> Option<usize>;
    /// Reads from byte `at` on, whatever access the application has.
    fn read(&self, minipage: Minipage, at: usize, into: &mut [u8]);
    /// Writes from byte `at` on, whatever access the application has.
    fn write(&self, minipage: Minipage, at: usize, bytes: &[u8]);
    /// Changes the access of the application. It has taken effect for all threads when this returns.
    ///
    /// # Errors
    /// If the system refuses.
    fn protect(&self, minipage: Minipage, from: Access, to: Access) -> Result<(), Error>;
    /// Returns the additional cost of an action in virtual time.
    fn toll(&self, action: &Action) -> Nanos {
        let _ = action;
        Nanos::ZERO
    }
}

/// The state that the threads and the server of a rank share.
pub struct Node<C: Cpu, P> {
    homes: Homes,
    words: Arc<WordTable>,
    copies: P,
    wait_queues: Box<[C::Word]>,
    /// The number of prefetches, and of pushes without a waiting thread, in flight.
    prefetches: AtomicU32,
    /// Changes when one of these has completed.
    ended: C::Word,
    /// Whether it has failed, and why.
    stopped: Stopped,
}

impl<C: Cpu, P: PageStore> Node<C, P> {
    /// Creates a node with `minipages` minipages, all closed.
    ///
    /// # Panics
    /// If there is no memory for their words.
    pub fn new(homes: Homes, minipages: u32, copies: P) -> Self {
        let words = WordTable::new(minipages).expect("there is memory for four bytes a minipage");
        Self::with_words(homes, Arc::new(words), copies)
    }

    /// Creates a node whose minipages have these words, all closed; accessors read the words, too.
    pub fn with_words(homes: Homes, words: Arc<WordTable>, copies: P) -> Self {
        Self {
            homes,
            words,
            copies,
            wait_queues: (0..WAIT_QUEUES).map(|_| C::Word::default()).collect(),
            prefetches: AtomicU32::new(0),
            ended: C::Word::default(),
            stopped: Stopped::default(),
        }
    }

    /// Returns which rank manages what.
    pub fn homes(&self) -> Homes {
        self.homes
    }

    /// Returns the bytes and their protection.
    pub fn copies(&self) -> &P {
        &self.copies
    }

    /// Returns the maximum number of minipages.
    pub fn minipages(&self) -> u32 {
        self.words.minipages()
    }

    /// Returns the word of a minipage.
    pub fn word(&self, minipage: Minipage) -> Word {
        self.words.word(minipage)
    }

    /// Returns the word on which threads sleep that wait for a change of that minipage's word.
    pub(super) fn wait_queue(&self, minipage: Minipage) -> &C::Word {
        &self.wait_queues[minipage.0 as usize % WAIT_QUEUES]
    }

    /// Returns whether it has failed, and why.
    pub(super) fn stopped(&self) -> &Stopped {
        &self.stopped
    }

    /// Checks whether it can continue.
    ///
    /// # Errors
    /// The rank that caused the failure: [`Cause::PeerLost`](foregather_machine::Cause::PeerLost) or
    /// [`Cause::Poisoned`](foregather_machine::Cause::Poisoned).
    pub fn check(&self) -> Result<(), Error> {
        self.stopped.check()
    }

    /// Ends it because of `error`, and wakes all sleepers, which get the error. Returns whether this is the
    /// first failure.
    pub(super) fn stop(&self, cpu: &C, now: Nanos, error: &Error, here: Rank) -> bool {
        let first = self.stopped.mark(Lost::of(error).unwrap_or(Lost::on(here)), now);
        if first {
            self.wait_queues.iter().chain([&self.ended]).for_each(|bed| _ = cpu.fetch_add(bed, 1));
        }
        first
    }

    /// Starts a request, or joins the threads that wait for one.
    pub(super) fn begin(&self, minipage: Minipage, need: Access, prefetch: bool) -> Begin {
        loop {
            let word = self.word(minipage);
            let begin = word.begin(need, prefetch);
            match begin {
                Begin::Go(next) | Begin::Wait(next) if next != word => {
                    if self.words.exchange(minipage, word, next) {
                        return begin;
                    }
                }
                _ => return begin,
            }
        }
    }

    /// Changes a word and returns the old one.
    fn change(&self, minipage: Minipage, mut to: impl FnMut(Word) -> Word) -> Word {
        loop {
            let word = self.word(minipage);
            if self.words.exchange(minipage, word, to(word)) {
                return word;
            }
        }
    }

    fn end(&self, cpu: &C, minipage: Minipage, to: impl Fn(Word) -> Ended) {
        let before = self.change(minipage, |word| to(word).word);
        let Ended { wake, prefetched, .. } = to(before);
        if wake {
            cpu.fetch_add(self.wait_queue(minipage), 1);
        }
        if prefetched {
            self.end_prefetch(cpu);
        }
    }

    /// Takes one of the `bound` places for requests without a waiting thread. Returns whether there was one.
    pub(super) fn begin_prefetch(&self, bound: u32) -> bool {
        self.prefetches.fetch_update(AcqRel, Acquire, |begun| (begun < bound).then_some(begun + 1)).is_ok()
    }

    /// Returns that place.
    pub(super) fn end_prefetch(&self, cpu: &C) {
        self.prefetches.fetch_sub(1, AcqRel);
        cpu.fetch_add(&self.ended, 1);
    }

    /// Returns the word on which threads sleep until no request without a waiting thread is in flight.
    pub(super) fn ended(&self) -> &C::Word {
        &self.ended
    }

    /// Returns how many prefetches are in flight.
    pub fn prefetches(&self) -> u32 {
        self.prefetches.load(Acquire)
    }

    /// Performs the action on this rank's own copies. The caller sends messages, and writes the bytes of
    /// [`Action::Install`] as they arrive.
    ///
    /// # Errors
    /// If the system refuses to change a protection.
    pub(super) fn perform(&self, cpu: &C, action: &Action) -> Result<(), Error> {
        match *action {
            Action::Lower { minipage, to } => {
                let word = self.change(minipage, |word| word.lower(to));
                let before = word.access();
                if before > to {
                    if word.is_pending() {
                        reached("pages:7");
                    }
                    self.copies.protect(minipage, before, to)?;
                }
            }
            Action::Open { minipage, access } => {
                let before = self.word(minipage).access();
                if before < access {
                    self.copies.protect(minipage, before, access)?;
                }
            }
            Action::Publish { minipage, access } => self.end(cpu, minipage, |word| word.end(access)),
            Action::Raise { minipage, access } => {
                if self.word(minipage).is_pending() {
                    reached("pages:8");
                }
                self.end(cpu, minipage, |word| word.raise(access));
            }
            Action::Ended { .. } => self.end_prefetch(cpu),
            Action::Install { .. } | Action::Copy { .. } | Action::Send { .. } => {}
        }
        Ok(())
    }
}

foregather_machine::debug_by! { [C: Cpu, P] Node<C, P>, "Node", |this| homes: this.homes, minipages: this.words.minipages() }
