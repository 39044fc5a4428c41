//! The members of a group: which of them broke it, and which have not arrived. Barriers and fork-join teams
//! share this code.
use foregather_machine::{Cause, Cpu, Error, Rank, VALUE_MASK, reached};
use foregather_wait::Roster;

/// The bit in the culprit's word that is set if its process was lost. If it is not set, the culprit has left
/// or failed.
const LOST: u32 = 1 << 29;

/// How a member left that others still need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    /// It has left too early, has failed, or has panicked.
    Left,
    /// Its process has died.
    Lost,
}

/// A view of the words that record the membership of a group.
pub(crate) struct Membership<'g, C: Cpu> {
    pub(crate) roster: Roster<'g, C>,
    /// One more than the rank of the first member that broke the group, and whether it was lost.
    culprit: &'g C::Word,
}

impl<'g, C: Cpu> Membership<'g, C> {
    pub(crate) fn new(roster: Roster<'g, C>, culprit: &'g C::Word) -> Self {
        Self { roster, culprit }
    }

    /// Claims `rank`, which succeeds only once.
    ///
    /// # Errors
    /// [`Cause::Rank`] if there is no such rank or it was already claimed.
    pub(crate) fn claim(&self, cpu: &C, rank: Rank) -> Result<(), Error> {
        let size = self.roster.size();
        if rank < size && self.roster.claim(cpu, rank) { Ok(()) } else { Err(Cause::Rank { rank, size }.into()) }
    }

    /// Records `rank` as the culprit, unless there already is one.
    pub(crate) fn blame(&self, cpu: &C, rank: Rank, gone: Gone) {
        if cpu.load(self.culprit) == 0 {
            cpu.store(self.culprit, (rank + 1) | if gone == Gone::Lost { LOST } else { 0 });
        }
    }

    /// Records `rank` as the culprit if it gives up in an episode in which it has arrived. It replaces an
    /// earlier culprit that had arrived in that episode before it left, because that member is not to blame.
    pub(crate) fn blame_in_meeting(&self, cpu: &C, rank: Rank) {
        let before = self.culprit(cpu);
        if before.is_none_or(|(before, _)| self.all_missing(cpu, rank).all(|missing| missing != before)) {
            cpu.store(self.culprit, rank + 1);
        }
    }

    /// Returns the first member that broke the group. The word may contain garbage written by another
    /// process, so ranks out of range are ignored.
    fn culprit(&self, cpu: &C) -> Option<(Rank, Gone)> {
        let word = cpu.load(self.culprit);
        let rank = (word & !LOST).checked_sub(1).filter(|&rank| rank < self.roster.size())?;
        Some((rank, if word & LOST == 0 { Gone::Left } else { Gone::Lost }))
    }

    /// Returns the lowest rank that has not arrived in the episode in which `rank` waits.
    pub(crate) fn missing(&self, cpu: &C, rank: Rank) -> Option<Rank> {
        self.all_missing(cpu, rank).next()
    }

    /// Returns all ranks that have not arrived in the episode in which `rank` waits.
    pub(crate) fn all_missing<'a>(&'a self, cpu: &'a C, rank: Rank) -> impl Iterator<Item = Rank> + 'a {
        let episode = cpu.load(self.roster.arrived(rank));
        let behind = move |other: &Rank| episode.wrapping_sub(cpu.load(self.roster.arrived(*other))) & VALUE_MASK == 1;
        (0..self.roster.size()).filter(behind)
    }

    /// Adds the culprit or the missing member to an error of the world. Every member that needs a member
    /// whose process has died gets [`Cause::PeerLost`]. `poison` poisons words on behalf of the dead member,
    /// so that even members that watch no process get an error with its rank.
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
