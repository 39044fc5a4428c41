//! The front door: a group of members that meet again and again, whatever the barrier beneath.
use crate::harmonize::{NOTES, Notes, Slack};
use crate::{Algorithm, SignalMatrix, Signaller, central, central::Central};
use core::cell::Cell;
use foregather_machine::{Cause, Clock, Cpu, Error, Nanos, Rank, SharedLines, VALUE_MASK, WaitContext};
use foregather_wait::{Account, Awaited, Outcome, Policy, Roster, WaitFor, Waited};
use std::sync::Arc;

/// What all members share. Over the words of a segment it may be shared by processes: each makes a group of its own over them.
pub struct Group<C: Cpu> {
    kind: Algorithm,
    size: u32,
    /// The central barrier's lines, then one for whoever broke the group: its rank plus one.
    head: SharedLines<C::Word>,
    flags: SignalMatrix<C>,
    /// Who arrived when, for those who leave together; the last word of the first note: is the member's handle out?
    pub(crate) notes: Notes<C>,
}

/// One member's handle. Dropping it while others still need it poisons the group.
pub struct BarrierMember<'g, C: Cpu> {
    pub(crate) group: &'g Group<C>,
    central: Central<'g, C>,
    pub(crate) end: Signaller<'g, C>,
    pub(crate) rank: Rank,
    pub(crate) episode: Cell<u32>,
    /// An episode did not end well: this member has arrived in it and can never arrive again.
    pub(crate) broken: Cell<bool>,
    roster: Roster<'g, C>,
    arrived: &'g C::Word,
    pub(crate) slack: Slack,
}

/// Lines before the notes.
const HEAD: usize = central::LINES + 1;
/// The word of a note that is not the note's.
const CLAIMED: usize = 3;

impl<C: Cpu> Group<C> {
    /// A group of `size` members that meet by a barrier of that kind.
    ///
    /// # Errors
    /// [`Cause::Size`] if the barrier does not take that many members.
    pub fn new(kind: Algorithm, size: u32) -> Result<Self, Error> {
        kind.takes(size)?;
        Self::over(SharedLines::own(Self::lines(kind, size)), kind, size)
    }

    /// How many lines that takes.
    pub fn lines(kind: Algorithm, size: u32) -> usize {
        HEAD + NOTES * size as usize + SignalMatrix::<C>::lines(size, kind.slots(size))
    }

    /// The same in given lines, which may be in a segment of several processes: all zeros, or in use by others already. All must
    /// name the same kind and size.
    ///
    /// # Errors
    /// [`Cause::Size`] if the barrier does not take that many members; [`Cause::Setting`] if there are not [`Group::lines`] lines.
    pub fn over(lines: SharedLines<C::Word>, kind: Algorithm, size: u32) -> Result<Self, Error> {
        kind.takes(size)?;
        if lines.len() != Self::lines(kind, size) {
            return Err(Error::from(Cause::Setting { what: "the lines of a group", needs: "as many as `Group::lines` says" }));
        }
        let (head, rest) = lines.split(HEAD);
        let (notes, flags) = rest.split(NOTES * size as usize);
        Ok(Self { kind, size, head, flags: SignalMatrix::over(flags, size, kind.slots(size)), notes: Notes::over(notes) })
    }

    fn culprit(&self) -> &C::Word {
        &self.head[central::LINES][0]
    }

    /// How many members it has.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The handle of `rank`, which waits as the load demands: by the adaptive policy, with the costs that its world knows.
    ///
    /// # Errors
    /// As [`Group::member`].
    pub fn join(&self, cpu: C, rank: Rank) -> Result<BarrierMember<'_, C>, Error> {
        let policy = Policy::adaptive(&cpu.costs());
        self.member(cpu, rank, policy)
    }

    /// The handle of `rank`, which waits by `policy`.
    ///
    /// # Errors
    /// [`Cause::Rank`] if there is no such rank or its handle was given out before.
    pub fn member(&self, cpu: C, rank: Rank, policy: Policy) -> Result<BarrierMember<'_, C>, Error> {
        if rank >= self.size || cpu.fetch_add(&self.notes.of(rank, 0)[CLAIMED], 1) != 0 {
            return Err(Error::from(Cause::Rank { rank, size: self.size }));
        }
        let (end, roster) = (self.flags.endpoint(cpu, rank, policy), self.flags.roster());
        Ok(BarrierMember {
            group: self,
            central: Central::over(&self.head, self.size),
            end,
            rank,
            episode: Cell::new(0),
            broken: Cell::new(false),
            roster,
            arrived: roster.arrived(rank),
            slack: Slack::new(),
        })
    }

    /// The ranks that have not arrived in the episode that `rank` waits in, lowest first.
    fn missing(&self, cpu: &C, rank: Rank) -> impl Iterator<Item = Rank> {
        let roster = self.flags.roster();
        let episode = cpu.load(roster.arrived(rank));
        let behind = move |other: Rank| episode.wrapping_sub(cpu.load(roster.arrived(other))) & VALUE_MASK == 1;
        (0..self.size).filter(move |&other| behind(other))
    }

    /// Whoever still needs a signal of `rank` shall get an error.
    #[cold]
    fn poison(&self, cpu: &C, rank: Rank) {
        if cpu.load(self.culprit()) == 0 {
            cpu.store(self.culprit(), rank + 1);
        }
        match self.kind {
            Algorithm::Central => cpu.poison(Central::<C>::over(&self.head, self.size).epoch()),
            kind => self.flags.poison_targets(cpu, kind, rank),
        }
    }

    /// Names the culprit, or the member waited for, in an error of the world.
    #[cold]
    fn explain(&self, cpu: &C, error: Error) -> Error {
        match *error.cause() {
            Cause::Poisoned { .. } => Cause::Poisoned { by: cpu.load(self.culprit()).checked_sub(1) }.into(),
            // The dead cannot tell: whoever needs it shall hear of it by its name, even if nobody else watches it.
            Cause::PeerLost { rank, .. } if rank < self.size => {
                self.poison(cpu, rank);
                error
            }
            Cause::TimedOut { what, rank, peer: None, waited_ns } => {
                Cause::TimedOut { what, rank, peer: self.missing(cpu, rank).next(), waited_ns }.into()
            }
            _ => error,
        }
    }
}

/// Poisons the group unless the episode ends well: a wait that failed or was dropped in the middle cannot be made good.
struct Unfinished<'a, 'g, C: Cpu>(&'a BarrierMember<'g, C>);

impl<C: Cpu> Drop for Unfinished<'_, '_, C> {
    fn drop(&mut self) {
        self.0.broken.set(true);
        self.0.group.poison(self.0.end.cpu(), self.0.rank);
    }
}

impl<'g, C: Cpu> BarrierMember<'g, C> {
    /// Arrives, here and now, and is ready when all members have arrived. Await it: dropping it poisons the group.
    ///
    /// # Errors
    /// [`Cause::Poisoned`] if a member has gone away. After an error every further wait of this member fails.
    #[inline]
    pub fn wait(&mut self) -> impl Future<Output = Result<(), Error>> {
        self.wait_until(Nanos::MAX)
    }

    /// The same, for `span` at most.
    ///
    /// # Errors
    /// [`Cause::TimedOut`], naming a member that has not arrived; the group is then poisoned.
    pub fn wait_for(&mut self, span: Nanos) -> impl Future<Output = Result<(), Error>> {
        self.wait_until(self.end.now() + span)
    }

    /// Only what may have to wait is a future.
    #[inline]
    fn wait_until(&mut self, deadline: Nanos) -> impl Future<Output = Result<(), Error>> {
        let (cpu, next, broken) = (self.end.cpu(), self.next(), self.broken.get());
        let met = !broken && if self.end.chooser().fixed() { self.arrive(next).is_some() } else { self.arrive_and_learn(next) };
        let rest = (!met).then(|| cpu.run_inline(self.meet(Unfinished(self), broken, deadline)));
        async move {
            match rest {
                None => Ok(()),
                Some(rest) => rest.await,
            }
        }
    }

    /// The episode after this one.
    #[inline]
    fn next(&self) -> u32 {
        (self.episode.get() + 1) & VALUE_MASK
    }

    /// Arrives. Have all others come to the central barrier, or do they within a blink? Whoever comes last finds them there.
    // Always: two callers, of which one is hot.
    #[inline(always)]
    fn arrive(&self, next: u32) -> Option<Waited> {
        let (central, cpu, episode) = (&self.central, self.end.cpu(), self.episode.get());
        self.end.chooser().observe(cpu, self.roster, self.rank);
        cpu.store(self.arrived, next);
        if self.group.kind != Algorithm::Central {
            return None;
        }
        let waited = if central.arrive(cpu, next) {
            self.account().last();
            Waited::first_look(false)
        } else {
            let released = || central.released(cpu, episode);
            let ((), waited) = self.end.chooser().phases().try_wait(cpu, self.account().sample(), released)?;
            self.account().waited(waited);
            waited
        };
        self.episode.set(next);
        Some(waited)
    }

    /// The same under a policy that chooses anew for every wait; apart, so that the others need not ask.
    #[cold]
    #[inline(never)]
    fn arrive_and_learn(&self, next: u32) -> bool {
        let (chooser, cpu) = (self.end.chooser(), self.end.cpu());
        chooser.arrive(cpu);
        let waited = self.arrive(next);
        if let Some(waited) = waited {
            chooser.learn(waited);
            chooser.leave(cpu);
        }
        waited.is_some()
    }

    /// The part of the episode in which others are waited for.
    async fn meet(&self, unfinished: Unfinished<'_, 'g, C>, broken: bool, deadline: Nanos) -> Result<(), Error> {
        let (group, cpu, episode) = (self.group, self.end.cpu(), self.episode.get());
        if broken {
            return Err(group.explain(cpu, Error::from(Cause::Poisoned { by: None })));
        }
        let why = WaitContext::new(group.kind.name(), self.rank).until(deadline);
        let result = if let Algorithm::Central = group.kind {
            let released = move || self.central.released(cpu, episode);
            let awaited = Awaited { roster: self.roster, rank: self.rank, whom: WaitFor::Behind };
            let met = self.end.chooser().wait_slow(cpu, self.central.epoch(), why, awaited, released).await;
            met.map(|((), waited)| waited)
        } else {
            self.end.begin(why, self.account().sample());
            cpu.run_inline(group.kind.over(&self.end)).await.map(|()| self.end.waited())
        };
        match result {
            Ok(waited) => {
                core::mem::forget(unfinished);
                // If every message was there already, this member came last, or no sooner than it mattered.
                let last = group.kind != Algorithm::Central && waited.outcome == Outcome::FirstLook;
                if last {
                    self.account().last()
                } else {
                    self.account().waited(waited)
                }
                self.end.chooser().leave(cpu);
                self.episode.set(self.next());
                Ok(())
            }
            Err(error) => {
                self.account().failed();
                Err(group.explain(cpu, error))
            }
        }
    }

    /// Computes for `span` on the member's own processor.
    pub async fn delay(&self, span: Nanos) {
        self.end.delay(span).await;
    }

    /// The time on the member's clock.
    pub fn now(&self) -> Nanos {
        self.end.now()
    }

    /// What this member's waits have come to. A clone can be read while it waits.
    #[inline]
    pub fn account(&self) -> &Arc<Account> {
        self.end.chooser().account()
    }

    /// Its own number.
    pub fn rank(&self) -> Rank {
        self.rank
    }
}

impl<C: Cpu> Drop for BarrierMember<'_, C> {
    fn drop(&mut self) {
        self.group.poison(self.end.cpu(), self.rank);
    }
}
