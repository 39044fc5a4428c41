//! A process's processor: like a thread's, but its waits notice that a peer's process has died.
use crate::running::running;
use crate::watch::Watch;
use core::future::Future;
use foregather_host::{failure_detector::FailureDetector, usage};
use foregather_machine::{Affinity, Clock, Costs, Cpu, CpuId, Error, Nanos, Placement, Rank, ThreadId, WaitContext};
use foregather_thread::{Thread, Word};
use rustix::fd::OwnedFd;
use std::sync::Arc;

/// The longest sleep. Nobody is woken for a peer's death, and whoever was to wake this one may have been killed between its
/// change of the word and its wake.
const SLEEP: Nanos = Nanos::from_ms(50);

/// The processor of a thread that shares words with other processes.
///
/// # The death of a peer
/// Once a process that it watches has ended, waits that are not satisfied yet fail with
/// [`Cause::PeerLost`](foregather_machine::Cause::PeerLost), at the latest after 50 ms. A group or a team then ends for its other
/// members, too, with the lost rank for the culprit, whether they watch anybody or not. So one watcher is enough, but the others
/// learn of it only when the watcher waits; if all watch all, each learns by itself. A process that is stopped has not died:
/// bound the wait.
///
/// # Forks
/// A process that is forked without an exec has copies of its parent's handles, but no ranks of its own: it must neither use nor
/// drop them, since both would go for its parent's doing. Let it exec, leave by `_exit`, or forget the handles. Give each process
/// the descriptor of the segment, and let it attach and join for itself.
#[derive(Clone, Debug)]
pub struct Process {
    thread: Thread,
    watch: Option<Arc<Watch>>,
    failure_detector: Option<Arc<FailureDetector>>,
}

impl Process {
    /// Watches nobody: others must end its waits if a peer dies.
    pub fn alone() -> Self {
        Self { thread: Thread::shared(), watch: None, failure_detector: None }
    }

    /// Watches the process of `rank`: once that has ended, waits fail. Process descriptors come from `pidfd_open`, or with a child.
    pub fn watching(rank: Rank, pidfd: OwnedFd) -> Self {
        Self::watching_all([(rank, pidfd)])
    }

    /// Watches several processes, by one call of the kernel a millisecond for all of them.
    pub fn watching_all(peers: impl IntoIterator<Item = (Rank, OwnedFd)>) -> Self {
        Self { watch: Some(Arc::new(Watch::over(peers))), ..Self::alone() }
    }

    /// Watches the process that started this one.
    ///
    /// # Errors
    /// If it has ended already, or the system knows no process descriptors.
    pub fn watching_parent(rank: Rank) -> Result<Self, Error> {
        Ok(Self { watch: Some(Arc::new(Watch::parent(rank)?)), ..Self::alone() })
    }

    /// Learns of lost ranks from `vigil`, which another thread of this process keeps: the way in a job, where that thread also finds
    /// out who stands still.
    pub fn vigilant(vigil: Arc<FailureDetector>) -> Self {
        Self { failure_detector: Some(vigil), ..Self::alone() }
    }

    /// The same, but spinning without the pause instruction: a hot loop, for comparison.
    #[must_use]
    pub fn without_pauses(self) -> Self {
        Self { thread: self.thread.without_pauses(), ..self }
    }
}

impl Clock for Process {
    #[inline]
    fn now(&self) -> Nanos {
        self.thread.now()
    }
    fn delay(&self, span: Nanos) -> impl Future<Output = ()> {
        self.thread.delay(span)
    }
}

/// Where this thread runs and where it may is its own affair, as between threads. Nobody fetches a thread of another process:
/// to give that its mask back could undo what its own process has set meanwhile.
impl Placement for Process {
    #[inline]
    fn place(&self) -> Option<CpuId> {
        self.thread.place()
    }
    fn identity(&self) -> Option<ThreadId> {
        self.thread.identity()
    }
    fn running(&self, thread: ThreadId) -> Option<bool> {
        let known = usage::advances(|| usage::thread_cpu_of(thread));
        known.or_else(|| running(thread, self.place()?))
    }
    fn affinity(&self) -> Option<Affinity> {
        self.thread.affinity()
    }
    fn allows(&self, cpu: CpuId) -> bool {
        self.thread.allows(cpu)
    }
    fn idle(&self, cpu: CpuId) -> Option<bool> {
        self.thread.idle(cpu)
    }
    fn move_to(&self, cpu: CpuId) -> impl Future<Output = bool> {
        self.thread.move_to(cpu)
    }
    fn preemptions(&self) -> Option<u64> {
        self.thread.preemptions()
    }
    fn costs(&self) -> Costs {
        self.thread.costs()
    }
}

impl Cpu for Process {
    type Word = Word;

    #[inline]
    fn load(&self, word: &Word) -> u32 {
        self.thread.load(word)
    }
    #[inline]
    fn store(&self, word: &Word, value: u32) {
        self.thread.store(word, value);
    }
    #[inline]
    fn publish(&self, word: &Word, value: u32) {
        self.thread.publish(word, value);
    }
    #[inline]
    fn fetch_add(&self, word: &Word, n: u32) -> u32 {
        self.thread.fetch_add(word, n)
    }
    #[inline]
    fn compare_exchange(&self, word: &Word, expected: u32, new: u32) -> bool {
        self.thread.compare_exchange(word, expected, new)
    }
    fn poison(&self, word: &Word) {
        self.thread.poison(word);
    }

    #[inline]
    fn spin_briefly<T>(&self, probe: impl FnMut() -> Option<T>) -> Option<T> {
        self.thread.spin_briefly(probe)
    }
    #[inline]
    fn spin_for<T>(
        &self,
        on: &Word,
        budget: Nanos,
        probe: impl FnMut() -> Option<T>,
    ) -> impl Future<Output = (Option<T>, Nanos)> {
        self.thread.spin_for(on, budget, probe)
    }
    #[inline]
    fn run_inline<F: Future>(&self, wait: F) -> impl Future<Output = F::Output> {
        self.thread.run_inline(wait)
    }
    #[inline]
    fn yield_now(&self) -> impl Future<Output = ()> {
        self.thread.yield_now()
    }
    #[inline]
    fn prepare_park(&self, on: &Word) -> u32 {
        self.thread.prepare_park(on)
    }
    #[inline]
    fn park(&self, on: &Word, armed: u32, until: Nanos) -> impl Future<Output = ()> {
        self.thread.park(on, armed, until.min(self.now() + SLEEP))
    }

    #[inline]
    fn max_spin(&self) -> Nanos {
        self.thread.max_spin()
    }
    #[inline]
    fn check(&self, on: &Word, why: &WaitContext) -> Result<(), Error> {
        self.thread.check(on, why)?;
        self.failure_detector.as_ref().map_or(Ok(()), |vigil| vigil.check(why))?;
        self.watch.as_ref().map_or(Ok(()), |watch| watch.check(why))
    }
}
