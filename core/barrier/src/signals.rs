//! Null messages over shared words: an [`Endpoint`] for every world with shared memory.
//!
//! Each slot of each member is a counter on its own cache line. The sender increments it; the owner watches
//! it and remembers how many signals it has taken. Unlike a flag, a counter need not be cleared by a second
//! message.
use crate::Algorithm;
use core::cell::Cell;
use core::future::Future;
use foregather_machine::{
    Cause, Clock, Cpu, Endpoint, Error, Member, Nanos, Rank, SharedLines, VALUE_MASK, WaitContext, WordLine, block_on, reached,
    ready,
};
use foregather_wait::{Outcome, Policy, Roster, Wait, WaitFor, Waited, Waiter};

/// The words of a group: `slots` counters for each of `size` members, and their roster. A clone shares the
/// words.
pub struct SignalMatrix<C: Cpu> {
    lines: SharedLines<C::Word>,
    size: u32,
    slots: u32,
}

/// The endpoint of one member in a [`SignalMatrix`].
pub struct Signaller<C: Cpu> {
    matrix: SignalMatrix<C>,
    cpu: C,
    waiter: Waiter,
    rank: Rank,
    /// The context of this episode's waits.
    context: Cell<WaitContext>,
    /// Whether even short waits are timed.
    timed: Cell<bool>,
    taken: Box<[Cell<u32>]>,
    /// Whether a wait of this episode ended during the brief spin.
    spun_briefly: Cell<bool>,
    /// The longer waits of this episode.
    waited: Cell<Waited>,
}

impl<C: Cpu> Clone for SignalMatrix<C> {
    fn clone(&self) -> Self {
        Self { lines: self.lines.clone(), ..*self }
    }
}

impl<C: Cpu> SignalMatrix<C> {
    /// Creates a matrix of empty slots.
    pub fn new(size: u32, slots: u32) -> Self {
        Self::over(SharedLines::own(Self::lines(size, slots)), size, slots)
    }

    /// Returns the number of lines that a matrix needs.
    pub const fn lines(size: u32, slots: u32) -> usize {
        Roster::<C>::lines(size) + size as usize * slots as usize
    }

    /// Creates a matrix over existing lines, which may be in a shared-memory segment. They must be all zeros
    /// or already in use by the same matrix.
    ///
    /// # Panics
    /// If the number of lines is not [`SignalMatrix::lines`].
    pub fn over(lines: SharedLines<C::Word>, size: u32, slots: u32) -> Self {
        assert_eq!(lines.len(), Self::lines(size, slots), "lines for {size} members with {slots} slots");
        Self { lines, size, slots }
    }

    /// Returns the roster of the members.
    #[inline]
    pub fn roster(&self) -> Roster<'_, C> {
        Roster::new(&self.lines[..Roster::<C>::lines(self.size)])
    }

    /// Creates the endpoint of `rank`. Create at most one per rank, because the endpoint consumes the signals
    /// of the rank. It also receives signals that peers sent before it was created.
    pub fn endpoint(&self, cpu: C, rank: Rank, policy: Policy) -> Signaller<C> {
        self.signaller(cpu, rank, Waiter::new(policy, rank))
    }

    /// Creates the endpoint of `rank`, which waits with `waiter`.
    pub(crate) fn signaller(&self, cpu: C, rank: Rank, waiter: Waiter) -> Signaller<C> {
        self.roster().enroll(&cpu, rank);
        Signaller {
            matrix: self.clone(),
            cpu,
            rank,
            context: Cell::new(WaitContext::new("signals", rank)),
            timed: Cell::new(false),
            taken: vec![Cell::new(0); self.slots as usize].into(),
            spun_briefly: Cell::new(false),
            waited: Cell::new(Waited::first_look(waiter.spins())),
            waiter,
        }
    }

    #[inline]
    fn line(&self, rank: Rank, slot: u32) -> Option<&WordLine<C::Word>> {
        let line = self.lines.at(Roster::<C>::lines(self.size) + (rank * self.slots + slot) as usize);
        if slot < self.slots { line } else { None }
    }

    #[inline]
    fn word(&self, rank: Rank, slot: u32) -> Option<&C::Word> {
        self.line(rank, slot).map(|line| &line[0])
    }

    /// Returns the word that becomes nonzero when a member has left and all words that it would have
    /// signalled are poisoned. It shares the line of the first slot.
    fn gone(&self, rank: Rank) -> Option<&C::Word> {
        self.line(rank, 0).map(|line| &line[1])
    }

    #[cold]
    fn no_such(&self, rank: Rank, slot: u32) -> Error {
        let cause =
            if slot < self.slots { Cause::Rank { rank, size: self.size } } else { Cause::Slot { slot, slots: self.slots } };
        cause.into()
    }

    /// Poisons the words that `rank` would have signalled with that algorithm, and no others. Signals from
    /// other members may still be under way and must be received.
    pub(crate) fn poison_targets(&self, cpu: &C, algorithm: Algorithm, rank: Rank) {
        let poison = Targets { size: self.size, rank, each: |peer, slot| self.word(peer, slot).map_or((), |w| cpu.poison(w)) };
        // This endpoint never fails, and the group's size was checked when the group was created.
        let _ = block_on(algorithm.over(&poison));
        if let Some(gone) = self.gone(rank) {
            cpu.store(gone, 1);
        }
    }
}

impl<C: Cpu> Signaller<C> {
    /// Returns the processor on which this member waits.
    #[inline]
    pub fn cpu(&self) -> &C {
        &self.cpu
    }

    /// Rebinds this endpoint to another thread, whose processor is `cpu`.
    pub fn enroll(&mut self, cpu: C) {
        self.roster().enroll(&cpu, self.rank);
        self.cpu = cpu;
    }

    /// Returns the waiter of this member.
    #[inline]
    pub(crate) fn waiter(&self) -> &Waiter {
        &self.waiter
    }

    /// Returns the roster of the members.
    #[inline]
    pub fn roster(&self) -> Roster<'_, C> {
        self.matrix.roster()
    }

    /// Begins an episode: sets the context of its waits, and whether even short ones are timed.
    #[inline]
    pub(crate) fn begin(&self, context: WaitContext, timed: bool) {
        self.context.set(context);
        self.timed.set(timed);
        self.spun_briefly.set(false);
        self.waited.set(Waited::first_look(self.waiter.spins()));
    }

    /// Returns the combined outcome of the waits since [`Signaller::begin`].
    #[inline]
    pub(crate) fn waited(&self) -> Waited {
        let outcome = if self.spun_briefly.get() { Outcome::Spun } else { Outcome::FirstLook };
        self.waited.get().then(Waited { outcome, ..Waited::first_look(self.spun_briefly.get()) })
    }

    /// Takes the next signal in `slot` and returns `None` if it is there or arrives within a brief spin.
    /// Otherwise returns a future for the rest of the wait. Errors come from that future only: a return value
    /// with nothing to drop can stay in registers.
    #[inline(always)]
    fn take(&self, slot: u32) -> Option<impl Future<Output = Result<(), Error>>> {
        let left = match (self.matrix.word(self.rank, slot), self.taken.get(slot as usize)) {
            (Some(word), Some(taken)) => {
                let before = taken.get();
                let come = move || (self.cpu.load(word) != before).then_some(());
                let why = move || (self.context.get(), WaitFor::All(self.roster()));
                let wait = move || self.waiter.wait_part(&self.cpu, word, self.timed.get(), why, come);
                match wait() {
                    Wait::Now(((), waited)) => {
                        // For a short wait, one bit is enough, because its length is not known.
                        if waited.outcome == Outcome::Spun {
                            self.spun_briefly.set(true);
                        }
                        taken.set(before.wrapping_add(1) & VALUE_MASK);
                        return None;
                    }
                    Wait::Slow(first) => Some((taken, first, wait)),
                }
            }
            _ => None,
        };
        Some(self.take_slowly(slot, left))
    }

    /// Finishes a wait in `slot`, or returns an error if there is no such slot. It starts when called, not
    /// when polled.
    #[cold]
    #[inline(never)]
    fn take_slowly<F, G, A>(&self, slot: u32, left: Option<(&Cell<u32>, F, A)>) -> impl Future<Output = Result<(), Error>>
    where
        F: Future<Output = Result<((), Waited), Error>>,
        G: Future<Output = Result<((), Waited), Error>>,
        A: Fn() -> Wait<((), Waited), G>,
    {
        self.cpu.run_inline(async move {
            let Some((taken, first, again)) = left else { return Err(self.matrix.no_such(self.rank, slot)) };
            let mut waited = first.await;
            // The process of a member has exited after the member left. Members that need a signal from it
            // find a poisoned word; this member does not need one and continues to wait.
            while waited.as_ref().is_err_and(|error| self.is_of_one_gone(error)) {
                reached("barrier:P1");
                waited = again().finish().await;
            }
            self.waited.set(self.waited.get().then(waited?.1));
            taken.set(taken.get().wrapping_add(1) & VALUE_MASK);
            Ok(())
        })
    }

    /// Returns whether the error is the loss of a member that had already left, so that its words are
    /// poisoned.
    fn is_of_one_gone(&self, error: &Error) -> bool {
        match *error.cause() {
            Cause::PeerLost { rank, .. } if rank < self.matrix.size => {
                self.matrix.gone(rank).is_some_and(|gone| self.cpu.load(gone) != 0)
            }
            _ => false,
        }
    }
}

foregather_machine::clock_by! { [C: Cpu] Signaller<C>, |this| this.cpu }

impl<C: Cpu> Member for Signaller<C> {
    #[inline]
    fn rank(&self) -> Rank {
        self.rank
    }
    #[inline]
    fn size(&self) -> u32 {
        self.matrix.size
    }
}

impl<C: Cpu> Endpoint for Signaller<C> {
    #[inline]
    fn signal(&self, peer: Rank, slot: u32) -> impl Future<Output = Result<(), Error>> {
        ready(match self.matrix.word(peer, slot) {
            Some(word) => {
                self.cpu.fetch_add(word, 1);
                Ok(())
            }
            None => Err(self.matrix.no_such(peer, slot)),
        })
    }

    /// The first check happens in the call; only the rest of the wait is a future.
    #[inline(always)]
    fn wait(&self, slot: u32) -> impl Future<Output = Result<(), Error>> {
        let rest = self.take(slot);
        async move {
            match rest {
                None => Ok(()),
                Some(rest) => rest.await,
            }
        }
    }
}

/// An endpoint that calls `each` for every signal that `rank` would send, instead of sending it. So the
/// algorithm itself determines which members depend on `rank`.
struct Targets<F> {
    size: u32,
    rank: Rank,
    each: F,
}

impl<F> Clock for Targets<F> {
    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
    async fn delay(&self, _: Nanos) {}
}

impl<F> Member for Targets<F> {
    fn rank(&self) -> Rank {
        self.rank
    }
    fn size(&self) -> u32 {
        self.size
    }
}

impl<F: Fn(Rank, u32)> Endpoint for Targets<F> {
    async fn signal(&self, peer: Rank, slot: u32) -> Result<(), Error> {
        (self.each)(peer, slot);
        Ok(())
    }
    async fn wait(&self, _: u32) -> Result<(), Error> {
        Ok(())
    }
}
