//! What the threads and the server of a rank share.
use super::stop::Stopped;
use super::words::WordTable;
use crate::protocol::{Action, Begin, Ended, Homes, Word};
use crate::{Access, Minipage};
use core::sync::atomic::{AtomicU32, Ordering::*};
use foregather_machine::{Cpu, Error, Nanos, Rank, reached};
use foregather_message::link::Lost;
use std::sync::Arc;

/// Sleepers on different minipages share a word now and then: they check, and sleep on.
const WAIT_QUEUES: usize = 64;

/// The bytes of minipages and their protection, on one rank.
///
/// All methods run beside the application's threads; protection alone keeps these out.
pub trait PageStore: Send + Sync {
    /// The length of a minipage; `None` if there is none of that number.
    fn bytes(&self, minipage: Minipage) -> Option<usize>;
    /// Reads from byte `at` on, whatever the application may do.
    fn read(&self, minipage: Minipage, at: usize, into: &mut [u8]);
    /// Writes from byte `at` on, whatever the application may do.
    fn write(&self, minipage: Minipage, at: usize, bytes: &[u8]);
    /// Changes what the application may do. When it returns this holds for all threads.
    ///
    /// # Errors
    /// If the system refuses.
    fn protect(&self, minipage: Minipage, from: Access, to: Access) -> Result<(), Error>;
    /// What doing this costs besides, where time is virtual.
    fn toll(&self, action: &Action) -> Nanos {
        let _ = action;
        Nanos::ZERO
    }
}

/// What the threads and the server of a rank share.
pub struct Node<C: Cpu, P> {
    homes: Homes,
    words: Arc<WordTable>,
    copies: P,
    wait_queues: Box<[C::Word]>,
    /// Prefetches, and pushes without a waiting thread, that are under way.
    prefetches: AtomicU32,
    /// Changes when one of these has ended.
    ended: C::Word,
    /// Whether and why it has ended badly.
    stopped: Stopped,
}

impl<C: Cpu, P: PageStore> Node<C, P> {
    /// A node with `minipages` minipages, all closed.
    ///
    /// # Panics
    /// If there is no memory for their words.
    pub fn new(homes: Homes, minipages: u32, copies: P) -> Self {
        let words = WordTable::new(minipages).expect("there is memory for four bytes a minipage");
        Self::with_words(homes, Arc::new(words), copies)
    }

    /// A node whose minipages have these words, all closed: accessors read the words, too.
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

    /// Which rank manages what.
    pub fn homes(&self) -> Homes {
        self.homes
    }

    /// The bytes and their protection.
    pub fn copies(&self) -> &P {
        &self.copies
    }

    /// How many minipages there can be.
    pub fn minipages(&self) -> u32 {
        self.words.minipages()
    }

    /// The word of a minipage.
    pub fn word(&self, minipage: Minipage) -> Word {
        self.words.word(minipage)
    }

    /// Where threads sleep that wait for a change of that word.
    pub(super) fn wait_queue(&self, minipage: Minipage) -> &C::Word {
        &self.wait_queues[minipage.0 as usize % WAIT_QUEUES]
    }

    /// Whether and why it has ended badly.
    pub(super) fn stopped(&self) -> &Stopped {
        &self.stopped
    }

    /// Whether it can go on.
    ///
    /// # Errors
    /// The culprit: [`Cause::PeerLost`](foregather_machine::Cause::PeerLost) or
    /// [`Cause::Poisoned`](foregather_machine::Cause::Poisoned).
    pub fn check(&self) -> Result<(), Error> {
        self.stopped.check()
    }

    /// Ends it because of `error` and wakes all sleepers, which learn of it. Returns `true` if this is the
    /// first reason.
    pub(super) fn stop(&self, cpu: &C, now: Nanos, error: &Error, here: Rank) -> bool {
        let first = self.stopped.mark(Lost::of(error).unwrap_or(Lost::on(here)), now);
        if first {
            self.wait_queues.iter().chain([&self.ended]).for_each(|bed| _ = cpu.fetch_add(bed, 1));
        }
        first
    }

    /// Begins a request, or joins the threads that wait for one.
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

    /// Changes a word, and returns the old one.
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

    /// Takes one of the `bound` places for requests without a waiting thread, if there is one.
    pub(super) fn begin_prefetch(&self, bound: u32) -> bool {
        self.prefetches.fetch_update(AcqRel, Acquire, |begun| (begun < bound).then_some(begun + 1)).is_ok()
    }

    /// Gives that place back.
    pub(super) fn end_prefetch(&self, cpu: &C) {
        self.prefetches.fetch_sub(1, AcqRel);
        cpu.fetch_add(&self.ended, 1);
    }

    /// Where threads sleep that wait until no request without a waiting thread is under way.
    pub(super) fn ended(&self) -> &C::Word {
        &self.ended
    }

    /// How many prefetches are under way.
    pub fn prefetches(&self) -> u32 {
        self.prefetches.load(Acquire)
    }

    /// Does the action on this rank's own copies. The caller sends; and it writes the bytes of
    /// [`Action::Install`] as they come.
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

impl<C: Cpu, P> core::fmt::Debug for Node<C, P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Node").field("homes", &self.homes).field("minipages", &self.words.minipages()).finish_non_exhaustive()
    }
}
