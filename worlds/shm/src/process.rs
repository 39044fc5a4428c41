//! A process's processor: like a thread's, but its waits detect that a peer's process has died.
use crate::seats::{Seated, Seats};
use crate::watch::Peers;
use core::ops::Range;
use foregather_host::{failure_detector::FailureDetector, run_state::RunState, usage};
use foregather_machine::{CpuId, Error, Nanos, Rank, ThreadId, WaitContext};
use foregather_thread::{Guard, Scope, Thread};
use rustix::fd::OwnedFd;
use std::sync::Arc;

/// The maximum time to sleep. The death of a peer causes no wake-up, and the process that was about to wake
/// this one may have been killed between changing the word and the wake-up.
const SLEEP: Nanos = Nanos::from_ms(50);

/// The processor of a thread that shares words with other processes.
///
/// # The death of a peer
/// If a process that it watches has exited, waits that are not satisfied yet fail with
/// [`Cause::PeerLost`](foregather_machine::Cause::PeerLost) within 50 ms. A group or a team then ends for its
/// other members as well, with the lost rank as the cause, even if they watch no process. So one watcher is
/// enough, but the others learn of the death only when the watcher waits. If every process watches all
/// others, each detects it on its own. A stopped process has not died; use a timeout for that case.
///
/// # Forks
/// A forked process that has not called exec has copies of its parent's handles, but no ranks of its own. It
/// must neither use nor drop them, because both would act for its parent. It can call exec or `_exit`, or
/// forget the handles. To use the segment, pass it the segment's descriptor, and let it attach and join on
/// its own.
pub type Process = Thread<Watch>;

/// The processes that a [`Process`] watches.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    peers: Option<Arc<Peers>>,
    seated: Option<Arc<Seated>>,
    failure_detector: Option<Arc<FailureDetector>>,
}

impl Watch {
    /// Watches no process: other processes must end the waits if a peer dies.
    pub fn none() -> Self {
        Self::default()
    }

    /// Watches the process of `rank`: after it has exited, waits fail. Process descriptors come from
    /// `pidfd_open` or from spawning a child.
    pub fn of(rank: Rank, pidfd: OwnedFd) -> Self {
        Self::all([(rank, pidfd)])
    }

    /// Watches several processes, with one system call per millisecond for all of them.
    pub fn all(peers: impl IntoIterator<Item = (Rank, OwnedFd)>) -> Self {
        Self { peers: Some(Arc::new(Peers::new(peers))), ..Self::none() }
    }

    /// Watches the process that started this one.
    ///
    /// # Errors
    /// If it has already exited, or the system does not support process descriptors.
    pub fn parent(rank: Rank) -> Result<Self, Error> {
        Ok(Self { peers: Some(Arc::new(Peers::parent(rank)?)), ..Self::none() })
    }

    /// Watches the processes in the slots of `ranks`, from the moment they join.
    pub fn seats(seats: &Seats, ranks: Range<Rank>) -> Self {
        Self { seated: Some(Seated::new(seats, ranks)), ..Self::none() }
    }

    /// Learns of lost ranks from `failure_detector`, which another thread of this process updates. In a job,
    /// that thread also detects unresponsive ranks.
    pub fn by(failure_detector: Arc<FailureDetector>) -> Self {
        Self { failure_detector: Some(failure_detector), ..Self::none() }
    }

    /// Returns the processor of this thread, which watches them.
    pub fn process(self) -> Process {
        Thread::guarded(Scope::Shared, self)
    }
}

/// Each process decides where its own threads run. A thread of another process is never pulled, because
/// restoring its affinity mask could undo a change that its own process has made meanwhile.
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
