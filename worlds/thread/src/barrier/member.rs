//! Members of a barrier that own their place, with ranks.
use super::deadline_of;
use crate::{Thread, own};
use core::time::Duration;
use foregather_barrier::{Algorithm, BarrierMember, Group, Punctual};
use foregather_host::{clock, forks};
use foregather_machine::{Cause, Error, Missing, Nanos, Participant, WaitError, block_on};
use foregather_wait::Account;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One member of a central barrier between threads, which knows the names of the others' threads. Dropped, it
/// has left, and members that still need it get an error.
pub struct NamedMember {
    inner: BarrierMember<Thread>,
    names: Arc<Names>,
    /// The thread that last said that the member is here: the place of its mark.
    mark: usize,
    /// The number of forks at which it was made: in a child of a fork the other threads do not exist.
    forks: u32,
}

/// Names of the threads that have waited, by rank.
struct Names(Mutex<Vec<Option<String>>>);

/// Members of a new barrier of that size. Those that are never taken have left when the iterator is dropped.
pub fn members(size: u32) -> impl ExactSizeIterator<Item = NamedMember> + Send {
    let names = Arc::new(Names(Mutex::new(vec![None; size as usize])));
    let forks = forks::generation();
    let group = Group::new(Algorithm::Central, size).expect("a central barrier takes any size");
    let member = |rank| {
        let inner = group.join(Thread::current(), rank).expect("each rank joins once");
        NamedMember { inner, names: Arc::clone(&names), mark: 0, forks }
    };
    // All at once, so that none is missing when the first waits.
    (0..size).map(member).collect::<Vec<_>>().into_iter()
}

impl NamedMember {
    /// Its number, below the size of the barrier.
    #[must_use]
    #[inline]
    pub fn rank(&self) -> u32 {
        self.inner.rank()
    }

    /// Waits until all members have arrived.
    ///
    /// # Errors
    /// [`WaitError::Left`] if a member has gone away.
    #[inline]
    pub fn wait(&mut self) -> Result<(), WaitError> {
        self.arrive()?;
        block_on(self.inner.wait()).map_err(|error| self.explain(Nanos::ZERO, &error))
    }

    /// [`NamedMember::wait`] for `span` at most. When the time is over the member has arrived all the same:
    /// its next wait goes on with this episode.
    ///
    /// # Errors
    /// [`WaitError::TimedOut`] with ranks and names of the members that have not arrived; as
    /// [`NamedMember::wait`].
    pub fn wait_timeout(&mut self, span: Duration) -> Result<(), WaitError> {
        self.arrive()?;
        let (began, deadline) = deadline_of(span);
        block_on(self.inner.wait_for(deadline - began)).map_err(|error| self.explain(began, &error))
    }

    /// [`BarrierMember::harmonize`], or [`BarrierMember::harmonize_adapted`] without a slack.
    ///
    /// # Errors
    /// As [`NamedMember::wait`]; [`Cause::Setting`] for a slack above half a second, without having arrived.
    pub fn harmonize(&mut self, slack: Option<Duration>) -> Result<Punctual, Error> {
        self.arrive()?;
        let left = match slack {
            None => block_on(self.inner.harmonize_adapted()),
            Some(slack) => block_on(self.inner.harmonize(Nanos(u64::try_from(slack.as_nanos()).unwrap_or(u64::MAX)))),
        };
        left.map_err(|error| match error.cause() {
            Cause::Setting { .. } => error,
            _ => self.explain(Nanos::ZERO, &error).into(),
        })
    }

    /// The record of its waits.
    #[must_use]
    pub fn account(&self) -> &Arc<Account> {
        self.inner.account()
    }

    #[inline]
    fn arrive(&mut self) -> Result<(), WaitError> {
        let mark = own::mark();
        if self.mark != mark {
            self.enroll(mark);
        }
        if self.forks == forks::generation_now() { Ok(()) } else { Err(WaitError::Left(Box::new(Participant::parent()))) }
    }

    /// Notes that the member is on another thread than before.
    #[cold]
    #[inline(never)]
    fn enroll(&mut self, mark: usize) {
        self.mark = mark;
        self.inner.enroll(Thread::current());
        self.names.lock()[self.inner.rank() as usize] = own::name();
    }

    #[cold]
    fn explain(&self, began: Nanos, error: &Error) -> WaitError {
        let names = self.names.lock();
        let who = |rank: u32| Participant { name: names[rank as usize].clone(), ..Participant::rank(rank) };
        match *error.cause() {
            Cause::TimedOut { .. } => {
                let who: Vec<_> = self.inner.missing().into_iter().map(who).collect();
                let waited = Duration::from_nanos((clock::now() - began).0);
                WaitError::TimedOut(Box::new(Missing { waited, count: who.len(), who }))
            }
            Cause::PeerLost { rank, .. } => WaitError::Lost(Box::new(who(rank))),
            Cause::Poisoned { by } => WaitError::Left(Box::new(by.map_or_else(Participant::default, who))),
            _ => WaitError::Left(Box::default()),
        }
    }
}

foregather_machine::debug_by! { [] NamedMember, "NamedMember", |this| rank: this.rank() }

impl Names {
    fn lock(&self) -> MutexGuard<'_, Vec<Option<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
