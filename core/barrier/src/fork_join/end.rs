//! What a master and a slave have in common: the words of the team, and how to wait on one of them.
use super::{AWAY, ForkJoin, MASTER, TAKEN};
use foregather_machine::{Cause, Cpu, Error, Nanos, Rank, WaitContext, WordLine};
use foregather_wait::{Account, Awaited, Outcome, Policy, Roster, WaitFor, Waited, Waiter};
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
    /// How many slaves have no part of the regions. Changes only between two of them.
    pub(super) absent: &'t C::Word,
    /// How many parts of the region are done.
    count: &'t C::Word,
    /// The last region of which all are.
    pub(super) joined: &'t C::Word,
    seats: &'t [WordLine<C::Word>],
    pub(super) roster: Roster<'t, C>,
    pub(super) arrived: &'t C::Word,
    chooser: Waiter,
}

impl<'t, C: Cpu> End<'t, C> {
    pub(super) fn new(team: &'t ForkJoin<C>, cpu: C, rank: Rank, policy: Policy) -> Self {
        let (head, seats, roster) = (&*team.head, &*team.seats, Roster::new(&team.roster));
        roster.enroll(&cpu, rank);
        let [epoch, ended, culprit, absent] = &head[0].0;
        let (count, joined, arrived) = (&head[1][0], &head[2][0], roster.arrived(rank));
        let chooser = Waiter::new(policy, rank);
        Self { cpu, rank, epoch, ended, culprit, absent, count, joined, seats, roster, arrived, chooser }
    }

    /// Another thread is this member from now on.
    pub(super) fn enroll(&mut self, cpu: C) {
        self.roster.enroll(&cpu, self.rank);
        self.cpu = cpu;
    }

    /// From its next wait on.
    pub(super) fn wait_by(&mut self, policy: Policy) {
        self.chooser = Waiter::new(policy, self.rank);
    }

    /// How many parts a region has besides the master's.
    #[inline]
    pub(super) fn parts(&self) -> u32 {
        self.roster.size() - 1 - self.cpu.load(self.absent)
    }

    /// The last region of which the part of `slave` was taken, or [`AWAY`]. Whoever changes it from the region before to the
    /// present one has taken the part.
    #[inline]
    pub(super) fn taken(&self, slave: Rank) -> &'t C::Word {
        &self.seats[slave as usize][TAKEN]
    }

    /// The part of `slave` is done, by whoever has taken it. The last one lets the master go on.
    #[inline]
    pub(super) fn done(&self, slave: Rank, region: u32) {
        self.cpu.store(self.roster.arrived(slave), region);
        // Read before the addition: after that the region may be over.
        let last = self.parts() - 1;
        if self.cpu.fetch_add(self.count, 1) == last {
            // In this order: the master may fork the next region before this slave goes on.
            self.cpu.store(self.count, 0);
            self.cpu.publish(self.joined, region);
        }
    }

    pub(super) fn account(&self) -> &Arc<Account> {
        self.chooser.account()
    }

    pub(super) fn why(&self, deadline: Nanos) -> WaitContext {
        WaitContext::new(WHAT, self.rank).until(deadline)
    }

    /// The others can see from now on where this member runs.
    #[inline]
    pub(super) fn be_seen(&self) {
        self.chooser.observe(&self.cpu, self.roster, self.rank);
    }

    /// For the master: are all parts of the region done?
    #[inline]
    pub(super) fn all_done(&self, region: u32) -> Option<()> {
        (self.parts() == 0 || self.cpu.load(self.joined) == region).then_some(())
    }

    /// The beginning of [`End::wait`] by itself.
    #[inline]
    pub(super) fn glance(&self, probe: impl Fn() -> Option<()>) -> bool {
        self.chooser.arrive(&self.cpu);
        let found = self.chooser.phases().try_wait(&self.cpu, false, probe);
        if let Some(((), waited)) = found {
            self.chooser.learn(waited);
            self.met(waited);
        }
        found.is_some()
    }

    /// Waits on a word: looks here and now; only what may have to wait is a future. A probe that is dropped changes nothing.
    #[inline]
    pub(super) fn wait<'a, T: 'a>(
        &'a self,
        on: &'a C::Word,
        why: WaitContext,
        whom: WaitFor,
        probe: impl Fn() -> Option<T> + Copy + 'a,
    ) -> Result<T, impl Future<Output = Result<T, Error>>> {
        self.chooser.arrive(&self.cpu);
        self.be_seen();
        match self.chooser.phases().try_wait(&self.cpu, self.account().sample(), probe) {
            Some((found, waited)) => {
                self.chooser.learn(waited);
                self.met(waited);
                Ok(found)
            }
            None => Err(self.cpu.run_inline(self.persist(on, why, whom, probe))),
        }
    }

    #[cold]
    async fn persist<T>(&self, on: &C::Word, why: WaitContext, whom: WaitFor, probe: impl Fn() -> Option<T>) -> Result<T, Error> {
        let awaited = Awaited { roster: self.roster, rank: self.rank, whom };
        match self.chooser.wait_slow(&self.cpu, on, why, awaited, probe).await {
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
            self.cpu.store(self.culprit, rank + 1);
        }
        if rank != MASTER {
            return self.cpu.poison(self.joined);
        }
        self.cpu.poison(self.epoch);
        self.away().for_each(|slave| self.cpu.poison(self.taken(slave)));
    }

    /// Those who were sent away.
    pub(super) fn away(&self) -> impl Iterator<Item = Rank> {
        (MASTER + 1..self.roster.size()).filter(|&slave| self.cpu.load(self.taken(slave)) == AWAY)
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
        let (cpu, region) = (&self.cpu, self.cpu.load(self.arrived));
        let behind = |&slave: &Rank| cpu.load(self.roster.arrived(slave)) != region && cpu.load(self.taken(slave)) != AWAY;
        (MASTER + 1..self.roster.size()).find(behind)
    }
}

#[cold]
pub(super) fn out_of_turn(what: &'static str, needs: &'static str) -> Error {
    Cause::Setting { what, needs }.into()
}
