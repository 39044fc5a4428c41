//! A process's processor: like a thread's, but its waits notice that a peer's process has died.
use core::future::Future;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use foregather_host::clock;
use foregather_machine::{Cause, Clock, Cpu, CpuId, Error, Nanos, Rank, Why};
use foregather_thread::{Thread, Word};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{PidfdFlags, getppid, pidfd_open};
use std::sync::Arc;

/// How long nobody asks the kernel whether a peer lives: a check costs a look at the clock otherwise.
const LOOK_INTERVAL: Nanos = Nanos::from_ms(1);
/// The longest sleep, so that a peer's death is noticed.
const SLEEP: Nanos = Nanos::from_ms(50);

/// The processor of a thread that shares words with other processes.
#[derive(Clone, Debug)]
pub struct Process {
    thread: Thread,
    peer: Option<Arc<Peer>>,
}

#[derive(Debug)]
struct Peer {
    rank: Rank,
    /// Readable once the process has ended.
    pidfd: OwnedFd,
    last_look: AtomicU64,
}

impl Process {
    /// Watches nobody: others must end its waits if a peer dies.
    pub fn alone() -> Self {
        Self { thread: Thread::shared(), peer: None }
    }

    /// Watches the process of `rank`: once that has ended, waits fail.
    pub fn watching(rank: Rank, pidfd: OwnedFd) -> Self {
        Self { peer: Some(Arc::new(Peer { rank, pidfd, last_look: AtomicU64::new(0) })), ..Self::alone() }
    }

    /// Watches the process that started this one.
    ///
    /// # Errors
    /// If it has ended already, or the system knows no process descriptors.
    pub fn watching_parent(rank: Rank) -> Result<Self, Error> {
        let parent = getppid().ok_or_else(|| Error::from(Cause::PeerLost { rank }))?;
        let pidfd = pidfd_open(parent, PidfdFlags::empty()).map_err(|errno| match errno {
            rustix::io::Errno::SRCH => Error::from(Cause::PeerLost { rank }),
            errno => {
                let remedy = "use Linux 5.3 or newer and allow pidfd_open in the container's seccomp filter";
                Error::from(Cause::Os { what: "opening a process descriptor", errno: errno.raw_os_error(), remedy })
            }
        })?;
        // Had it ended before, the descriptor could be that of a later process with its number.
        if getppid() == Some(parent) { Ok(Self::watching(rank, pidfd)) } else { Err(Error::from(Cause::PeerLost { rank })) }
    }

    /// The same, but spinning without the pause instruction: a hot loop, for comparison.
    #[must_use]
    pub fn without_pauses(self) -> Self {
        Self { thread: self.thread.without_pauses(), ..self }
    }
}

impl Peer {
    fn check(&self) -> Result<(), Error> {
        let now = clock::now();
        if now - Nanos(self.last_look.load(Relaxed)) < LOOK_INTERVAL {
            return Ok(());
        }
        let mut watched = [PollFd::new(&self.pidfd, PollFlags::IN)];
        // An interrupted look is repeated by the next check.
        if poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0) {
            return Err(Error::from(Cause::PeerLost { rank: self.rank }));
        }
        self.last_look.store(now.0, Relaxed);
        Ok(())
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

impl Cpu for Process {
    type Word = Word;

    #[inline]
    fn load(&self, word: &Word) -> u32 {
        self.thread.load(word)
    }
    #[inline]
    fn note(&self, word: &Word, value: u32) {
        self.thread.note(word, value);
    }
    #[inline]
    fn store(&self, word: &Word, value: u32) {
        self.thread.store(word, value);
    }
    #[inline]
    fn add(&self, word: &Word, n: u32) -> u32 {
        self.thread.add(word, n)
    }
    fn poison(&self, word: &Word) {
        self.thread.poison(word);
    }

    #[inline]
    fn blink<T>(&self, probe: impl FnMut() -> Option<T>) -> Option<T> {
        self.thread.blink(probe)
    }
    #[inline]
    fn spin<T>(&self, on: &Word, budget: Nanos, probe: impl FnMut() -> Option<T>) -> impl Future<Output = (Option<T>, Nanos)> {
        self.thread.spin(on, budget, probe)
    }
    #[inline]
    fn at_once<F: Future>(&self, wait: F) -> impl Future<Output = F::Output> {
        self.thread.at_once(wait)
    }
    #[inline]
    fn yield_now(&self) -> impl Future<Output = ()> {
        self.thread.yield_now()
    }
    #[inline]
    fn arm(&self, on: &Word) -> u32 {
        self.thread.arm(on)
    }
    #[inline]
    fn park(&self, on: &Word, armed: u32, until: Nanos) -> impl Future<Output = ()> {
        let until = if self.peer.is_some() { until.min(self.now() + SLEEP) } else { until };
        self.thread.park(on, armed, until)
    }

    fn place(&self) -> Option<CpuId> {
        self.thread.place()
    }
    #[inline]
    fn patience(&self) -> Nanos {
        self.thread.patience()
    }
    #[inline]
    fn check(&self, on: &Word, why: &Why) -> Result<(), Error> {
        self.thread.check(on, why)?;
        self.peer.as_ref().map_or(Ok(()), |peer| peer.check())
    }
}
