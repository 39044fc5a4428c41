//! Null messages made of words: an [`Endpoint`] for every world that has memory.
//!
//! Each slot of each member is a counting word on a line of its own, written by the sender, watched by its owner, who
//! also remembers how many it has taken. Counting, unlike a flag that is set and cleared, needs no second message.
use crate::Algorithm;
use core::cell::Cell;
use foregather_machine::{
    Cause, Clock, Cpu, Endpoint, Error, Member, Nanos, Rank, SharedLines, VALUE_MASK, WaitContext, WordLine, block_on, ready,
};
use foregather_wait::{Awaited, Outcome, Policy, Roster, WaitFor, Waited, Waiter};

/// The words of a whole group: `slots` for each of `size` members, and who they are.
pub struct SignalMatrix<C: Cpu> {
    lines: SharedLines<C::Word>,
    size: u32,
    slots: u32,
}

/// A member's end of [`SignalMatrix`].
pub struct Signaller<'g, C: Cpu> {
    words: Words<'g, C>,
    roster: Roster<'g, C>,
    cpu: C,
    chooser: Waiter,
    rank: Rank,
    what: Cell<&'static str>,
    deadline: Cell<Nanos>,
    timed: Cell<bool>,
    taken: Box<[Cell<u32>]>,
    /// Did a wait of this episode end in a blink?
    blinked: Cell<bool>,
    /// The longer waits of this episode.
    waited: Cell<Waited>,
}

impl<C: Cpu> SignalMatrix<C> {
    /// All slots empty.
    pub fn new(size: u32, slots: u32) -> Self {
        Self::over(SharedLines::own(Self::lines(size, slots)), size, slots)
    }

    /// How many lines that takes.
    pub const fn lines(size: u32, slots: u32) -> usize {
        Roster::<C>::lines(size) + size as usize * slots as usize
    }

    /// The same in given lines, which may be in a segment of several processes: all zeros, or in use by others already.
    ///
    /// # Panics
    /// If there are not [`SignalMatrix::lines`] of them.
    pub fn over(lines: SharedLines<C::Word>, size: u32, slots: u32) -> Self {
        assert_eq!(lines.len(), Self::lines(size, slots), "lines for {size} members with {slots} slots");
        Self { lines, size, slots }
    }

    /// Who the members are.
    pub fn roster(&self) -> Roster<'_, C> {
        Roster::new(&self.lines[..Roster::<C>::lines(self.size)])
    }

    fn words(&self) -> Words<'_, C> {
        Words { lines: &self.lines[Roster::<C>::lines(self.size)..], size: self.size, slots: self.slots }
    }
}

/// Where the slots are.
struct Words<'g, C: Cpu> {
    lines: &'g [WordLine<C::Word>],
    size: u32,
    slots: u32,
}

impl<'g, C: Cpu> Words<'g, C> {
    #[inline]
    fn word(&self, rank: Rank, slot: u32) -> Result<&'g C::Word, Error> {
        match self.lines.get((rank * self.slots + slot) as usize) {
            Some(line) if slot < self.slots => Ok(&line[0]),
            _ => Err(self.no_such(rank, slot)),
        }
    }

    /// Nonzero once a member has gone and all that it would have signalled is poisoned; it shares the line of the first slot.
    fn gone(&self, rank: Rank) -> Option<&'g C::Word> {
        self.lines.get((rank * self.slots) as usize).map(|line| &line[1])
    }

    #[cold]
    fn no_such(&self, rank: Rank, slot: u32) -> Error {
        let cause =
            if slot < self.slots { Cause::Rank { rank, size: self.size } } else { Cause::Slot { slot, slots: self.slots } };
        cause.into()
    }
}

impl<C: Cpu> SignalMatrix<C> {
    /// The end of `rank`. There must be one end per rank, ever: it alone takes from the rank's slots, and a peer may
    /// have signalled before it was made.
    pub fn endpoint(&self, cpu: C, rank: Rank, policy: Policy) -> Signaller<'_, C> {
        let taken = vec![Cell::new(0); self.slots as usize].into();
        let (what, deadline, waited) =
            (Cell::new("flags"), Cell::new(Nanos::MAX), Cell::new(Waited::first_look(policy.phases().spins())));
        let roster = self.roster();
        roster.enroll(&cpu, rank);
        Signaller {
            words: self.words(),
            roster,
            cpu,
            chooser: Waiter::new(policy, rank),
            rank,
            what,
            deadline,
            timed: Cell::new(false),
            taken,
            blinked: Cell::new(false),
            waited,
        }
    }

    /// Poisons what `rank` would have signalled in a barrier of that kind, and nothing else: other members' signals
    /// may still be under way and must be taken.
    pub(crate) fn poison_targets(&self, cpu: &C, kind: Algorithm, rank: Rank) {
        let words = self.words();
        let poison = Targets { size: self.size, rank, each: |peer, slot| words.word(peer, slot).map_or((), |w| cpu.poison(w)) };
        // A recording endpoint never fails, and the group's size was checked when it was made.
        let _ = block_on(kind.over(&poison));
        if let Some(gone) = words.gone(rank) {
            cpu.store(gone, 1);
        }
    }
}

impl<C: Cpu> Signaller<'_, C> {
    /// Has the next signal in `slot` come? Then the next [`Endpoint::wait`] for it takes it at once.
    ///
    /// # Errors
    /// [`Cause::Slot`] if there is no such slot.
    pub fn come(&self, slot: u32) -> Result<bool, Error> {
        let word = self.words.word(self.rank, slot)?;
        Ok(self.taken.get(slot as usize).is_some_and(|taken| self.cpu.load(word) != taken.get()))
    }

    /// The processor it waits on.
    #[inline]
    pub fn cpu(&self) -> &C {
        &self.cpu
    }

    /// What it waits by.
    #[inline]
    pub fn chooser(&self) -> &Waiter {
        &self.chooser
    }

    /// Who else is there.
    #[inline]
    pub fn roster(&self) -> Roster<'_, C> {
        self.roster
    }

    /// Begins an episode: what its waits are for, and whether even short ones are to be timed.
    #[inline]
    pub(crate) fn begin(&self, why: WaitContext, timed: bool) {
        self.what.set(why.what);
        self.deadline.set(why.deadline);
        self.timed.set(timed);
        self.blinked.set(false);
        self.waited.set(Waited::first_look(self.chooser.phases().spins()));
    }

    /// How the waits since [`Signaller::begin`] went, together.
    #[inline]
    pub(crate) fn waited(&self) -> Waited {
        let outcome = if self.blinked.get() { Outcome::Spun } else { Outcome::FirstLook };
        self.waited.get().then(Waited { outcome, ..Waited::first_look(self.blinked.get()) })
    }
}

impl<C: Cpu> Clock for Signaller<'_, C> {
    fn now(&self) -> Nanos {
        self.cpu.now()
    }
    async fn delay(&self, span: Nanos) {
        self.cpu.delay(span).await;
    }
}

impl<C: Cpu> Member for Signaller<'_, C> {
    #[inline]
    fn rank(&self) -> Rank {
        self.rank
    }
    #[inline]
    fn size(&self) -> u32 {
        self.words.size
    }
}

impl<C: Cpu> Endpoint for Signaller<'_, C> {
    #[inline]
    fn signal(&self, peer: Rank, slot: u32) -> impl Future<Output = Result<(), Error>> {
        ready(self.words.word(peer, slot).map(|word| {
            self.cpu.fetch_add(word, 1);
        }))
    }

    /// Looks here and now; only what may have to wait is a future.
    #[inline]
    fn wait(&self, slot: u32) -> impl Future<Output = Result<(), Error>> {
        let rest = (!self.glance(slot)).then(|| self.cpu.run_inline(self.persist(slot)));
        async move {
            match rest {
                None => Ok(()),
                Some(rest) => rest.await,
            }
        }
    }
}

impl<C: Cpu> Signaller<'_, C> {
    /// Has the next signal in `slot` come, or does it within a blink? Takes it.
    #[inline]
    fn glance(&self, slot: u32) -> bool {
        let (Ok(word), Some(taken)) = (self.words.word(self.rank, slot), self.taken.get(slot as usize)) else {
            return false;
        };
        let before = taken.get();
        let come = || (self.cpu.load(word) != before).then_some(());
        let Some(((), waited)) = self.chooser.phases().try_wait(&self.cpu, self.timed.get(), come) else { return false };
        // A short wait leaves one bit: what it took is not known anyway.
        if waited.outcome == Outcome::Spun {
            self.blinked.set(true);
            if !self.chooser.fixed() {
                self.learn_from_blink();
            }
        }
        taken.set(before.wrapping_add(1) & VALUE_MASK);
        true
    }

    /// Apart, so that a fixed policy need not even write down how it went.
    #[cold]
    #[inline(never)]
    fn learn_from_blink(&self) {
        self.chooser.learn(Waited { outcome: Outcome::Spun, ..Waited::first_look(true) });
    }

    /// Is that the loss of a member that had gone by itself before?
    fn is_of_one_gone(&self, error: &Error) -> bool {
        match *error.cause() {
            Cause::PeerLost { rank, .. } if rank < self.words.size => {
                self.words.gone(rank).is_some_and(|gone| self.cpu.load(gone) != 0)
            }
            _ => false,
        }
    }

    /// Waits for the next signal in `slot` after a glance that found none, and takes it.
    #[cold]
    async fn persist(&self, slot: u32) -> Result<(), Error> {
        let (cpu, word) = (&self.cpu, self.words.word(self.rank, slot)?);
        let Some(taken) = self.taken.get(slot as usize) else { return Err(self.words.no_such(self.rank, slot)) };
        let before = taken.get();
        let come = move || (cpu.load(word) != before).then_some(());
        let why = WaitContext::new(self.what.get(), self.rank).until(self.deadline.get());
        self.chooser.observe(cpu, self.roster, self.rank);
        let ((), waited) = loop {
            let awaited = Awaited { roster: self.roster, rank: self.rank, whom: WaitFor::Behind };
            match self.chooser.wait_slow(cpu, word, why, awaited, come).await {
                // Its process has ended, but whoever needs something of it knows that by poison, and this one does not.
                Err(error) if self.is_of_one_gone(&error) => {}
                end => break end?,
            }
        };
        self.waited.set(self.waited.get().then(waited));
        taken.set(before.wrapping_add(1) & VALUE_MASK);
        Ok(())
    }
}

/// An endpoint that only notes whom it would signal: so the algorithm itself says who depends on a member.
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
