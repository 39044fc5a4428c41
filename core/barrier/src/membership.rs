//! The members of a group: which of them broke it, and which are missing. The same for barriers and for fork
//! and join.
use foregather_machine::{Cause, Cpu, Error, Rank, VALUE_MASK, reached};
use foregather_wait::Roster;

/// The bit of the culprit's word that says that its process was lost; else it has left, or has failed.
const LOST: u32 = 1 << 29;

/// How a member has gone that others still need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    /// It has left in the middle, has failed, or has panicked.
    Left,
    /// Its process has died.
    Lost,
}

/// The members of a group, by the words that they share.
pub(crate) struct Membership<'g, C: Cpu> {
    pub(crate) roster: Roster<'g, C>,
    /// One more than the rank of the first member that broke the group, and whether it was lost.
    culprit: &'g C::Word,
}

impl<'g, C: Cpu> Membership<'g, C> {
    pub(crate) fn new(roster: Roster<'g, C>, culprit: &'g C::Word) -> Self {
        Self { roster, culprit }
    }

    /// Gives out the handle of `rank`, once.
    ///
    /// # Errors
    /// [`Cause::Rank`] if there is no such rank or its handle was given out before.
    pub(crate) fn claim(&self, cpu: &C, rank: Rank) -> Result<(), Error> {
        let size = self.roster.size();
        if rank < size && self.roster.claim(cpu, rank) { Ok(()) } else { Err(Cause::Rank { rank, size }.into()) }
    }

    /// Records that `rank` broke the group, if it is the first.
    pub(crate) fn blame(&self, cpu: &C, rank: Rank, gone: Gone) {
        if cpu.load(self.culprit) == 0 {
            cpu.store(self.culprit, (rank + 1) | if gone == Gone::Lost { LOST } else { 0 });
        }
    }

    /// Records that `rank` gives up in a meeting in which it has arrived. A member that had done its part of
    /// that meeting and left in peace is not to blame for it.
    pub(crate) fn blame_in_meeting(&self, cpu: &C, rank: Rank) {
        let before = self.culprit(cpu);
        if before.is_none_or(|(before, _)| self.all_missing(cpu, rank).all(|missing| missing != before)) {
            cpu.store(self.culprit, rank + 1);
        }
    }

    /// The first member that broke the group. Members may be processes that write nonsense: no other rank is
    /// named.
    fn culprit(&self, cpu: &C) -> Option<(Rank, Gone)> {
        let word = cpu.load(self.culprit);
        let rank = (word & !LOST).checked_sub(1).filter(|&rank| rank < self.roster.size())?;
        Some((rank, if word & LOST == 0 { Gone::Left } else { Gone::Lost }))
    }

    /// The lowest rank that has not arrived in the episode that `rank` waits in.
    pub(crate) fn missing(&self, cpu: &C, rank: Rank) -> Option<Rank> {
        self.all_missing(cpu, rank).next()
    }

    /// All ranks that have not arrived in the episode that `rank` waits in.
    pub(crate) fn all_missing<'a>(&'a self, cpu: &'a C, rank: Rank) -> impl Iterator<Item = Rank> + 'a {
        let episode = cpu.load(self.roster.arrived(rank));
        let behind = move |other: &Rank| episode.wrapping_sub(cpu.load(self.roster.arrived(*other))) & VALUE_MASK == 1;
        (0..self.roster.size()).filter(behind)
    }

    /// Names the culprit, or the member waited for, in an error of the world: every member that needs one
    /// whose process has died gets [`Cause::PeerLost`]. `poison` does for a dead member what it can no longer
    /// do: each member that needs it gets an error with its rank, even a member that watches no process.
    #[cold]
    pub(crate) fn explain(
        &self,
        cpu: &C,
        doing: &'static str,
        error: Error,
        missing: impl FnOnce() -> Option<Rank>,
        poison: impl FnOnce(Rank),
    ) -> Error {
        match *error.cause() {
            Cause::Poisoned { .. } => match self.culprit(cpu) {
                Some((rank, Gone::Lost)) => Cause::PeerLost { rank, since: cpu.now(), doing }.into(),
                culprit => Cause::Poisoned { by: culprit.map(|(rank, _)| rank) }.into(),
            },
            Cause::PeerLost { rank, .. } if rank < self.roster.size() => {
                poison(rank);
                error
            }
            Cause::TimedOut { what, rank, peer: None, waited_ns } => {
                reached("barrier:P4");
                Cause::TimedOut { what, rank, peer: missing(), waited_ns }.into()
            }
            _ => error,
        }
    }
}
