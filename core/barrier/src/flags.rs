//! Null messages made of words: an [`Endpoint`] for every world that has memory.
//!
//! Each slot of each member is a counting word on a line of its own, written by the sender, watched by its owner, who
//! also remembers how many it has taken. Counting, unlike a flag that is set and cleared, needs no second message.
use crate::{Kind, Line};
use core::cell::Cell;
use foregather_machine::{Clock, Cpu, Endpoint, Error, Member, Nanos, Rank, Why, run_ready};
use foregather_wait::{Policy, Waited};

/// The words of a whole group: `slots` for each of `size` members.
pub struct Flags<C: Cpu> {
    words: Box<[Line<C::Word>]>,
    size: u32,
    slots: u32,
}

/// A member's end of [`Flags`].
pub struct FlagEndpoint<'g, C: Cpu> {
    flags: &'g Flags<C>,
    cpu: C,
    policy: Policy,
    why: Cell<Why>,
    timed: Cell<bool>,
    taken: Box<[Cell<u32>]>,
    waited: Cell<Waited>,
}

impl<C: Cpu> Flags<C> {
    /// All slots empty.
    pub fn new(size: u32, slots: u32) -> Self {
        Self { words: (0..size as usize * slots as usize).map(|_| Line::default()).collect(), size, slots }
    }

    #[inline]
    fn word(&self, rank: Rank, slot: u32) -> &C::Word {
        &self.words[(rank * self.slots + slot) as usize]
    }

    /// The end of `rank`. There must be one end per rank, ever: it alone takes from the rank's slots, and a peer may
    /// have signalled before it was made.
    pub fn endpoint(&self, cpu: C, rank: Rank, policy: Policy) -> FlagEndpoint<'_, C> {
        let taken = vec![Cell::new(0); self.slots as usize].into();
        let (why, waited) = (Cell::new(Why::new("flags", rank)), Cell::new(Waited::first_look(false)));
        FlagEndpoint { flags: self, cpu, policy, why, timed: Cell::new(false), taken, waited }
    }

    /// Poisons what `rank` would have signalled in a barrier of that kind, and nothing else: other members' signals
    /// may still be under way and must be taken.
    pub(crate) fn poison_targets(&self, cpu: &C, kind: Kind, rank: Rank) {
        let poison = Targets { size: self.size, rank, each: |peer, slot| cpu.poison(self.word(peer, slot)) };
        // A recording endpoint never fails, and the group's size was checked when it was made.
        let _ = run_ready(kind.over(&poison));
    }
}

impl<C: Cpu> FlagEndpoint<'_, C> {
    pub(crate) fn cpu(&self) -> &C {
        &self.cpu
    }

    /// Begins an episode: what its waits are for, and whether even short ones are to be timed.
    #[inline]
    pub(crate) fn begin(&self, why: Why, timed: bool) {
        self.why.set(why);
        self.timed.set(timed);
        self.waited.set(Waited::first_look(false));
    }

    /// How the waits since [`FlagEndpoint::begin`] went, together.
    #[inline]
    pub(crate) fn waited(&self) -> Waited {
        self.waited.get()
    }
}

impl<C: Cpu> Clock for FlagEndpoint<'_, C> {
    fn now(&self) -> Nanos {
        self.cpu.now()
    }
    async fn delay(&self, span: Nanos) {
        self.cpu.delay(span).await;
    }
}

impl<C: Cpu> Member for FlagEndpoint<'_, C> {
    #[inline]
    fn rank(&self) -> Rank {
        self.why.get().rank
    }
    #[inline]
    fn size(&self) -> u32 {
        self.flags.size
    }
}

impl<C: Cpu> Endpoint for FlagEndpoint<'_, C> {
    #[inline]
    async fn signal(&self, peer: Rank, slot: u32) -> Result<(), Error> {
        self.cpu.add(self.flags.word(peer, slot), 1);
        Ok(())
    }

    #[inline]
    async fn wait(&self, slot: u32) -> Result<(), Error> {
        let (word, taken) = (self.flags.word(self.rank(), slot), &self.taken[slot as usize]);
        let come = || (self.cpu.load(word) != taken.get()).then_some(());
        let ((), waited) = self.policy.wait(&self.cpu, word, self.why.get(), self.timed.get(), come).await?;
        taken.set(taken.get().wrapping_add(1) & foregather_machine::VALUE_MASK);
        self.waited.set(self.waited.get().then(waited));
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
