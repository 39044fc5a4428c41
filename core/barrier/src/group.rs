//! A group of members that synchronise repeatedly with any of the barrier algorithms.
use crate::harmonize::{NOTES, Notes, Slack};
use crate::membership::{Gone, Membership};
use crate::{Algorithm, Central, SignalMatrix, Signaller};
use core::cell::Cell;
use core::future::Future;
use foregather_machine::{Cause, Clock, Cpu, Error, Nanos, Rank, SharedLines, VALUE_MASK, WaitContext, reached};
use foregather_wait::{Account, Outcome, Policy, Wait, WaitFor, Waiter};
use std::sync::Arc;

/// The name of the primitive in errors.
const WHAT: &str = "barrier";

/// The state that all members of a barrier share. If it is in a shared-memory segment, several processes can
/// use it; each process creates its own `Group` over the same words. A clone is another handle of the same
/// group.
pub struct Group<C: Cpu>(pub(crate) Arc<GroupWords<C>>);

/// The words of a group.
pub(crate) struct GroupWords<C: Cpu> {
    pub(crate) algorithm: Algorithm,
    size: u32,
    /// The central barrier's lines, followed by one that records which member broke the group.
    head: SharedLines<C::Word>,
    signals: SignalMatrix<C>,
    /// The arrival times of the members, for [`BarrierMember::harmonize`].
    pub(crate) notes: Notes<C>,
}

/// The handle of one member. Dropping it while other members still need it poisons the group.
pub struct BarrierMember<C: Cpu> {
    pub(crate) group: Arc<GroupWords<C>>,
    pub(crate) end: Signaller<C>,
    /// The number of the current episode, or of the next one between two episodes, from 0.
    pub(crate) meeting: Cell<u64>,
    /// Whether the member has arrived in that episode at the central barrier and has not been released yet.
    pub(crate) pending: Cell<bool>,
    /// Whether the member has arrived last and has not released the others yet (`working.rs`).
    pub(crate) holds: Cell<bool>,
    /// Whether an episode has failed. Then this member has arrived in it and can never arrive again.
    pub(crate) broken: Cell<bool>,
    pub(crate) slack: Slack,
}

/// The number of lines before the notes.
const HEAD: usize = CULPRIT + 1;
/// The index of the line that records which member broke the group.
const CULPRIT: usize = 2;

impl<C: Cpu> Clone for Group<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C: Cpu> Group<C> {
    /// Creates a group of `size` members that synchronise with `algorithm`.
    ///
    /// # Errors
    /// [`Cause::Size`] if the algorithm does not support that many members.
    pub fn new(algorithm: Algorithm, size: u32) -> Result<Self, Error> {
        algorithm.takes(size)?;
        Self::over(SharedLines::own(Self::lines(algorithm, size)), algorithm, size)
    }

    /// Returns the number of cache lines that a group of `size` members needs.
    pub fn lines(algorithm: Algorithm, size: u32) -> usize {
        HEAD + NOTES * size as usize + SignalMatrix::<C>::lines(size, algorithm.slots(size))
    }

    /// Creates a group over existing lines, which may be in a shared-memory segment. They must be all zeros
    /// or already in use by the same group. All processes must pass the same algorithm and size.
    ///
    /// # Errors
    /// [`Cause::Size`] if the algorithm does not support that many members; [`Cause::Setting`] if the number
    /// of lines is not [`Group::lines`].
    pub fn over(lines: SharedLines<C::Word>, algorithm: Algorithm, size: u32) -> Result<Self, Error> {
        algorithm.takes(size)?;
        if lines.len() != Self::lines(algorithm, size) {
            return Err(Error::from(Cause::Setting { what: "the lines of a group", needs: "as many as `Group::lines` says" }));
        }
        let (head, rest) = lines.split(HEAD);
        let (notes, signals) = rest.split(NOTES * size as usize);
        let signals = SignalMatrix::over(signals, size, algorithm.slots(size));
        Ok(Self(Arc::new(GroupWords { algorithm, size, head, signals, notes: Notes::over(notes) })))
    }

    /// Returns the number of members.
    pub fn size(&self) -> u32 {
        self.0.size
    }

    /// Returns the handle of `rank`, which waits with the adaptive policy and the costs that its world
    /// reports.
    ///
    /// # Errors
    /// As [`Group::member`].
    pub fn join(&self, cpu: C, rank: Rank) -> Result<BarrierMember<C>, Error> {
        let policy = Policy::adaptive(&cpu.costs());
        self.member(cpu, rank, policy)
    }

    /// Returns the handle of `rank`, which waits with `policy`.
    ///
    /// # Errors
    /// [`Cause::Rank`] if there is no such rank or its handle was already created.
    pub fn member(&self, cpu: C, rank: Rank, policy: Policy) -> Result<BarrierMember<C>, Error> {
        self.member_by(cpu, rank, Waiter::new(policy, rank))
    }

    /// Returns the handle of `rank`, which waits with `waiter`: for a [`Strategy`](foregather_wait::Strategy)
    /// of your own.
    ///
    /// # Errors
    /// As [`Group::member`].
    pub fn member_by(&self, cpu: C, rank: Rank, waiter: Waiter) -> Result<BarrierMember<C>, Error> {
        let group = Arc::clone(&self.0);
        group.membership().claim(&cpu, rank)?;
        let end = group.signals.signaller(cpu, rank, waiter);
        let (meeting, pending, holds, broken) = (Cell::new(0), Cell::new(false), Cell::new(false), Cell::new(false));
        Ok(BarrierMember { group, end, meeting, pending, holds, broken, slack: Slack::new() })
    }
}

impl<C: Cpu> GroupWords<C> {
    fn membership(&self) -> Membership<'_, C> {
        Membership::new(self.signals.roster(), &self.head[CULPRIT][0])
    }

    #[inline]
    pub(crate) fn central(&self) -> Central<'_, C> {
        Central::over(&self.head, self.size)
    }

    /// Returns the word on which members sleep if they run tasks at a barrier, because the condition they
    /// check may change before the episode ends.
    #[inline]
    pub(crate) fn bell(&self) -> &C::Word {
        &self.head[CULPRIT][1]
    }

    /// Records how `rank` left, and poisons the words that other members still need from it.
    #[cold]
    fn poison(&self, cpu: &C, rank: Rank, gone: Gone) {
        self.membership().blame(cpu, rank, gone);
        self.spread(cpu, rank);
    }

    /// Poisons the words that other members need from `rank`. The culprit must already be recorded.
    #[cold]
    fn spread(&self, cpu: &C, rank: Rank) {
        match self.algorithm {
            Algorithm::Central => {
                cpu.poison(self.central().epoch());
                cpu.poison(self.bell());
            }
            algorithm => self.signals.poison_targets(cpu, algorithm, rank),
        }
    }

    /// Adds the culprit or the missing member to an error.
    #[cold]
    pub(crate) fn explain(&self, cpu: &C, rank: Rank, error: Error) -> Error {
        let members = self.membership();
        let poison = |lost| self.poison(cpu, lost, Gone::Lost);
        members.explain(cpu, WHAT, error, || members.missing(cpu, rank), poison)
    }
}

/// Poisons the group on drop, unless the episode succeeds. An episode with some signals sent or taken cannot
/// be repaired.
struct Unfinished<'a, C: Cpu>(&'a BarrierMember<C>);

impl<C: Cpu> Drop for Unfinished<'_, C> {
    fn drop(&mut self) {
        let BarrierMember { group, end, broken, .. } = self.0;
        broken.set(true);
        group.membership().blame_in_meeting(end.cpu(), self.0.rank());
        group.spread(end.cpu(), self.0.rank());
    }
}

impl<C: Cpu> BarrierMember<C> {
    /// Arrives immediately and returns a future that completes when all members have arrived. If a wait at
    /// the central barrier is dropped, its arrival still counts, and the next wait continues with it; with
    /// null messages, dropping the future poisons the group.
    ///
    /// # Errors
    /// [`Cause::Poisoned`] if a member was dropped or lost. Every further wait of this member also fails.
    #[inline]
    pub fn wait(&mut self) -> impl Future<Output = Result<(), Error>> {
        self.wait_for(Nanos::MAX)
    }

    /// Waits like [`BarrierMember::wait`], for at most `span`. It reads the clock only if it does not find
    /// the others at once.
    ///
    /// # Errors
    /// [`Cause::TimedOut`], which names a member that has not arrived. At the central barrier, the
    /// arrival still counts, and the next wait continues with it. With null messages, the group is poisoned.
    #[inline]
    pub fn wait_for(&mut self, span: Nanos) -> impl Future<Output = Result<(), Error>> {
        let this = &*self;
        let first = if this.broken.get() { None } else { this.arrive(span) };
        let slow = match first {
            Some(Wait::Now(())) => None,
            Some(Wait::Slow(wait)) => Some(Some(wait)),
            None => Some(None),
        };
        let rest = slow.map(|wait| this.meet_slowly(wait, this.deadline(span)));
        async move {
            match rest {
                None => Ok(()),
                Some(rest) => rest.await,
            }
        }
    }

    /// Arrives, unless the member already has, and begins to wait at the central barrier. Returns `None` if
    /// the algorithm uses null messages.
    #[inline(always)]
    fn arrive(&self, span: Nanos) -> Option<Wait<(), impl Future<Output = Result<(), Error>>>> {
        let (group, cpu, waiter, meeting) = (&*self.group, self.end.cpu(), self.end.waiter(), self.meeting.get());
        let central = group.central();
        if !self.pending.get() {
            self.announce();
            if group.algorithm != Algorithm::Central {
                return None;
            }
            if central.arrive_in(cpu, meeting) {
                waiter.came_last();
                self.release();
                return Some(Wait::Now(()));
            }
            self.pending.set(true);
        } else if self.holds.get() {
            self.release();
            return Some(Wait::Now(()));
        } else {
            reached("barrier:3");
        }
        let why = move || self.why(self.deadline(span));
        let (epoch, timed) = (central.epoch(), self.account().sample());
        let wait = waiter.wait(cpu, epoch, timed, why, move || central.released(cpu, meeting));
        if let Wait::Now(()) = wait {
            self.leave();
        }
        Some(wait)
    }

    /// Returns when a wait ends that may last for `span` from now on.
    fn deadline(&self, span: Nanos) -> Nanos {
        if span == Nanos::MAX { Nanos::MAX } else { self.end.now() + span }
    }

    /// Publishes the processor of this member and its arrival in the next episode.
    #[inline(always)]
    pub(crate) fn announce(&self) {
        let (cpu, waiter, roster, rank) = (self.end.cpu(), self.end.waiter(), self.group.signals.roster(), self.rank());
        waiter.arrive(cpu);
        waiter.publish_cpu(cpu, roster, rank);
        cpu.store(roster.arrived(rank), self.meeting.get().wrapping_add(1) as u32 & VALUE_MASK);
    }

    /// Returns the context of a wait at the central barrier, and the awaited members.
    pub(crate) fn why(&self, deadline: Nanos) -> (WaitContext, WaitFor<'_, C>) {
        (WaitContext::new(WHAT, self.rank()).until(deadline), WaitFor::All(self.group.signals.roster()))
    }

    /// Releases the other members, as the last member to arrive at the central barrier, and ends the episode
    /// for this member.
    #[inline]
    pub(crate) fn release(&self) {
        self.holds.set(false);
        self.group.central().release(self.end.cpu());
        self.leave();
    }

    /// Ends the episode for this member.
    #[inline]
    pub(crate) fn leave(&self) {
        self.pending.set(false);
        self.meeting.set(self.meeting.get().wrapping_add(1));
        self.end.waiter().leave(self.end.cpu());
    }

    /// Runs [`BarrierMember::meet`]. It starts when called, not when polled, and is a separate function to
    /// keep the path of the shortest waits short.
    #[cold]
    #[inline(never)]
    fn meet_slowly(
        &self,
        wait: Option<impl Future<Output = Result<(), Error>>>,
        deadline: Nanos,
    ) -> impl Future<Output = Result<(), Error>> {
        self.end.cpu().run_inline(self.meet(wait, deadline))
    }

    /// Waits for the rest of the episode.
    async fn meet(&self, wait: Option<impl Future<Output = Result<(), Error>>>, deadline: Nanos) -> Result<(), Error> {
        let explain = |error| self.group.explain(self.end.cpu(), self.rank(), error);
        match wait {
            Some(wait) => match wait.await.map_err(explain) {
                Ok(()) => self.leave(),
                // After a timeout, the arrival still counts.
                Err(error) if matches!(error.cause(), Cause::TimedOut { .. }) => return Err(error),
                Err(error) => {
                    self.suffers();
                    return Err(error);
                }
            },
            None if self.broken.get() => {
                reached("barrier:10");
                return Err(explain(Cause::Poisoned { by: None }.into()));
            }
            None => {
                let unfinished = Unfinished(self);
                let end = self.exchange_signals(deadline).await.map_err(explain);
                match Error::of(&end) {
                    // This member gives up, so it is the culprit.
                    Some(Cause::TimedOut { .. }) => drop(unfinished),
                    cause => {
                        let fails = cause.is_some();
                        core::mem::forget(unfinished);
                        if fails { self.suffers() } else { self.leave() }
                    }
                }
                end?;
            }
        }
        Ok(())
    }

    /// Marks this member as broken because of another one, which is already recorded as the culprit, and
    /// poisons the words that others need from it.
    #[cold]
    pub(crate) fn suffers(&self) {
        self.broken.set(true);
        self.group.spread(self.end.cpu(), self.rank());
    }

    /// Runs one episode over null messages.
    async fn exchange_signals(&self, deadline: Nanos) -> Result<(), Error> {
        let (algorithm, cpu) = (self.group.algorithm, self.end.cpu());
        self.end.begin(WaitContext::new(WHAT, self.rank()).until(deadline), self.account().sample());
        cpu.run_inline(algorithm.over(&self.end)).await.inspect_err(|_| self.account().failed())?;
        let waited = self.end.waited();
        // If every message was already there, this member arrived last, or so late that it did not have to
        // wait.
        if waited.outcome == Outcome::FirstLook {
            self.account().last();
        } else {
            self.account().waited(waited);
        }
        Ok(())
    }

    /// Rebinds this handle to the calling thread, whose processor is `cpu`. A handle that was sent to another
    /// thread also works without this call, but the other members then keep checking the thread that created
    /// it.
    pub fn enroll(&mut self, cpu: C) {
        self.end.enroll(cpu);
    }

    /// Computes for `span` on the member's processor.
    pub async fn delay(&self, span: Nanos) {
        self.end.delay(span).await;
    }

    /// Returns the time on the member's clock.
    pub fn now(&self) -> Nanos {
        self.end.now()
    }

    /// Returns the outcomes of this member's waits. A clone can be read while it waits.
    #[inline]
    pub fn account(&self) -> &Arc<Account> {
        self.end.waiter().account()
    }

    /// Returns the members that have not arrived in the episode in which this member waits.
    pub fn missing(&self) -> Vec<Rank> {
        self.group.membership().all_missing(self.end.cpu(), self.rank()).collect()
    }

    /// Returns the rank of this member.
    #[inline]
    pub fn rank(&self) -> Rank {
        foregather_machine::Member::rank(&self.end)
    }
}

impl<C: Cpu> Drop for BarrierMember<C> {
    fn drop(&mut self) {
        self.group.poison(self.end.cpu(), self.rank(), Gone::Left);
    }
}
