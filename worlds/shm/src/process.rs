//! A process's processor: like a thread's, but its waits notice that a peer's process has died.
use crate::seats::{Seated, Seats};
use crate::watch::Peers;
use core::ops::Range;
use foregather_host::{failure_detector::FailureDetector, run_state::RunState, usage};
use foregather_machine::{CpuId, Error, Nanos, Rank, ThreadId, WaitContext};
use foregather_thread::{Guard, Scope, Thread};
use rustix::fd::OwnedFd;
use std::sync::Arc;

/// The longest sleep. No wake-up comes for a peer's death, and the process that was to wake this one may have
/// been killed between its change of the word and its wake.
const SLEEP: Nanos = Nanos::from_ms(50);

/// The processor of a thread that shares words with other processes.
///
/// # The death of a peer
/// Once a process that it watches has ended, waits that are not satisfied yet fail with
/// [`Cause::PeerLost`](foregather_machine::Cause::PeerLost), at the latest after 50 ms. A group or a team
/// then ends for its other members, too, with the lost rank as the culprit, whether they watch other
/// processes or not. So one watcher is enough, but the others learn of it only when the watcher waits; if all
/// watch all, each learns by itself. A process that is stopped has not died: bound the wait.
///
/// # Forks
/// A process that is forked without an exec has copies of its parent's handles, but no ranks of its own: it
/// must neither use nor drop them, since both would count as its parent's. Let it exec, leave by `_exit`, or
/// forget the handles. Give each process the descriptor of the segment, and let it attach and join for
/// itself.
pub type Process = Thread<Watch>;

/// The processes that a [`Process`] watches.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    peers: Option<Arc<Peers>>,
    seated: Option<Arc<Seated>>,
    failure_detector: Option<Arc<FailureDetector>>,
}

impl Watch {
    /// Watches no process: others must end the waits if a peer dies.
    pub fn none() -> Self {
        Self::default()
    }

    /// Watches the process of `rank`: once that has ended, waits fail. Process descriptors come from
    /// `pidfd_open`, or with a child.
    pub fn of(rank: Rank, pidfd: OwnedFd) -> Self {
        Self::all([(rank, pidfd)])
    }

    /// Watches several processes, by one call of the kernel a millisecond for all of them.
    pub fn all(peers: impl IntoIterator<Item = (Rank, OwnedFd)>) -> Self {
        Self { peers: Some(Arc::new(Peers::new(peers))), ..Self::none() }
    }

    /// Watches the process that started this one.
    ///
    /// # Errors
    /// If it has ended already, or the system knows no process descriptors.
    pub fn parent(rank: Rank) -> Result<Self, Error> {
        Ok(Self { peers: Some(Arc::new(Peers::parent(rank)?)), ..Self::none() })
    }

    /// Watches the processes in the seats of `ranks`, as they come.
    pub fn seats(seats: &Seats, ranks: Range<Rank>) -> Self {
        Self { seated: Some(Seated::new(seats, ranks)), ..Self::none() }
    }

    /// Learns of lost ranks from `failure_detector`, which another thread of this process keeps. In a job
    /// that thread also finds out which ranks stand still.
    pub fn by(failure_detector: Arc<FailureDetector>) -> Self {
        Self { failure_detector: Some(failure_detector), ..Self::none() }
    }

    /// The processor of this thread, watching them.
    pub fn process(self) -> Process {
        Thread::guarded(Scope::Shared, self)
    }
}

/// Each process decides where its threads run, as between threads. A thread of another process is never
/// fetched: giving its mask back could undo what its own process has set meanwhile.
impl Guard for Watch {
    fn check(&self, context: &WaitContext) -> Result<(), Error> {
        self.failure_detector.as_ref().map_or(Ok(()), |failure_detector| failure_detector.check(context))?;
        self.seated.as_ref().map_or(Ok(()), |seated| seated.check(context))?;
        self.peers.as_ref().map_or(Ok(()), |peers| peers.check(context))
    }

    fn longest_sleep(&self) -> Nanos {
        SLEEP
    }

    fn running(&self, thread: ThreadId, here: CpuId) -> Option<bool> {
        let known = usage::advances(|| usage::thread_cpu_of(thread));
        known.or_else(|| RunState::of(thread).map(|state| state.is_runnable && state.cpu != here))
    }
}
