//! What a master and a slave have in common: the words of the team, and how to wait on one of them.
use super::MASTER;
use foregather_machine::{Cause, Cpu, Error, Nanos, Quad, Rank, VALUE_MASK, Why};
use foregather_wait::{Account, Awaited, Chooser, Outcome, Policy, Roster, Waited, Whom};
use std::sync::Arc;

/// For messages.
const WHAT: &str = "team";

/// One member's end.
pub(super) struct End<'t, C: Cpu> {
    pub(super) cpu: C,
    pub(super) rank: Rank,
    /// The region that the master has forked last.
    pub(super) epoch: &'t C::Word,
    /// Is there none after it? Written before the last change of `epoch`.
    pub(super) ended: &'t C::Word,
    /// One more than the rank of whoever broke the team.
    culprit: &'t C::Word,
    /// How many slaves have done their part of the region.
    pub(super) count: &'t C::Word,
    /// The last region in which all have.
    pub(super) joined: &'t C::Word,
    pub(super) roster: Roster<'t, C>,
    pub(super) arrived: &'t C::Word,
    chooser: Chooser,
}

impl<'t, C: Cpu> End<'t, C> {
    pub(super) fn new(head: &'t [Quad<C::Word>], roster: Roster<'t, C>, cpu: C, rank: Rank, policy: Policy) -> Self {
        roster.enroll(&cpu, rank);
        let [epoch, ended, culprit, _] = &head[0].0;
        let (count, joined, arrived) = (&head[1][0], &head[2][0], roster.arrived(rank));
        Self { cpu, rank, epoch, ended, culprit, count, joined, roster, arrived, chooser: Chooser::new(policy, rank) }
    }

    pub(super) fn slaves(&self) -> u32 {
        self.roster.size() - 1
    }

    pub(super) fn account(&self) -> &Arc<Account> {
        self.chooser.account()
    }

    pub(super) fn why(&self, deadline: Nanos) -> Why {
        Why::new(WHAT, self.rank).until(deadline)
    }

    /// The others can see from now on where this member runs.
    #[inline]
    pub(super) fn be_seen(&self) {
        self.chooser.be_seen(&self.cpu, self.roster, self.rank);
    }

    /// Waits on a word: looks here and now; only what may have to wait is a future. A probe that is dropped changes nothing.
    #[inline]
    pub(super) fn wait<'a, T: 'a>(
        &'a self,
        on: &'a C::Word,
        why: Why,
        whom: Whom,
        probe: impl Fn() -> Option<T> + Copy + 'a,
    ) -> Result<T, impl Future<Output = Result<T, Error>>> {
        self.chooser.arrive(&self.cpu);
        self.be_seen();
        match self.chooser.phases().glance(&self.cpu, self.account().sample(), probe) {
            Some((found, waited)) => {
                self.chooser.learn(waited);
                self.met(waited);
                Ok(found)
            }
            None => Err(self.cpu.at_once(self.persist(on, why, whom, probe))),
        }
    }

    #[cold]
    async fn persist<T>(&self, on: &C::Word, why: Why, whom: Whom, probe: impl Fn() -> Option<T>) -> Result<T, Error> {
        let awaited = Awaited { roster: self.roster, rank: self.rank, whom };
        match self.chooser.persist(&self.cpu, on, why, awaited, probe).await {
            Ok((found, waited)) => {
                self.met(waited);
                Ok(found)
            }
            Err(error) => {
                self.account().failed();
                Err(self.explain(error))
            }
        }
    }

    #[inline]
    fn met(&self, waited: Waited) {
        // A master that finds all done has come last: it has waited for nobody.
        if self.rank == MASTER && waited.outcome == Outcome::FirstLook {
            self.account().last();
        } else {
            self.account().waited(waited);
        }
        self.chooser.leave(&self.cpu);
    }

    /// Whoever still waits for something of `rank` shall get an error.
    #[cold]
    pub(super) fn poison(&self, rank: Rank) {
        if self.cpu.load(self.culprit) == 0 {
            self.cpu.note(self.culprit, rank + 1);
        }
        self.cpu.poison(if rank == MASTER { self.epoch } else { self.joined });
    }

    /// Names the culprit, or the slave waited for, in an error of the world.
    #[cold]
    fn explain(&self, error: Error) -> Error {
        match *error.cause() {
            Cause::Poisoned { .. } => Cause::Poisoned { by: self.cpu.load(self.culprit).checked_sub(1) }.into(),
            // The dead cannot tell: nobody else need be watching it.
            Cause::PeerLost { rank, .. } if rank < self.roster.size() => {
                self.poison(rank);
                error
            }
            Cause::TimedOut { what, rank, peer: None, waited_ns } => {
                Cause::TimedOut { what, rank, peer: self.missing(), waited_ns }.into()
            }
            _ => error,
        }
    }

    /// The lowest slave that has not done its part of the region that the master is joining.
    fn missing(&self) -> Option<Rank> {
        let region = self.cpu.load(self.arrived);
        let behind = |&slave: &Rank| region.wrapping_sub(self.cpu.load(self.roster.arrived(slave))) & VALUE_MASK == 1;
        (MASTER + 1..self.roster.size()).find(behind)
    }
}
