//! Have other processes ended? Waits ask, since no wake-up comes for it.
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use foregather_host::clock;
use foregather_machine::{Cause, Error, Nanos, Rank, WaitContext};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{PidfdFlags, getppid, pidfd_open};

/// For how long no thread asks the kernel whether the peers live: otherwise a check costs a look at the
/// clock.
pub(crate) const LOOK_INTERVAL: Nanos = Nanos::from_ms(1);

/// Some processes, and when a wait last asked after them.
#[derive(Debug)]
pub(crate) struct Peers {
    /// Process descriptors are readable once the process has ended.
    peers: Box<[(Rank, OwnedFd)]>,
    last_look: AtomicU64,
}

impl Peers {
    pub(crate) fn new(peers: impl IntoIterator<Item = (Rank, OwnedFd)>) -> Self {
        Self { peers: peers.into_iter().collect(), last_look: AtomicU64::new(0) }
    }

    /// The process that started this one.
    pub(crate) fn parent(rank: Rank) -> Result<Self, Error> {
        let lost = || Error::lost(rank);
        let parent = getppid().ok_or_else(lost)?;
        let pidfd = pidfd_open(parent, PidfdFlags::empty()).map_err(|errno| match errno {
            rustix::io::Errno::SRCH => lost(),
            errno => {
                let remedy = "use Linux 5.3 or newer and allow pidfd_open in the container's seccomp filter";
                Error::from(Cause::Os { what: "opening a process descriptor", errno: errno.raw_os_error(), remedy })
            }
        })?;
        // If it had ended before, the descriptor could be that of a later process with its number.
        if getppid() == Some(parent) { Ok(Self::new([(rank, pidfd)])) } else { Err(lost()) }
    }

    /// Names a peer that has ended, once in an interval: a caller that knows that the peer has left in peace
    /// can wait on.
    pub(crate) fn check(&self, why: &WaitContext) -> Result<(), Error> {
        let now = clock::now();
        if now - Nanos(self.last_look.load(Relaxed)) < LOOK_INTERVAL {
            return Ok(());
        }
        self.last_look.store(now.0, Relaxed);
        let lost = ended(self.peers.iter().map(|(_, pidfd)| pidfd)).map(|at| self.peers[at].0);
        lost.map_or(Ok(()), |rank| Err(Error::peer_lost(rank, now, why)))
    }
}

/// The place of the first process that has ended, by one call of the kernel for all of them.
pub(crate) fn ended<'d>(processes: impl Iterator<Item = &'d OwnedFd>) -> Option<usize> {
    let mut watched: Vec<_> = processes.map(|pidfd| PollFd::new(pidfd, PollFlags::IN)).collect();
    // An interrupted look is repeated by the next check.
    let ready = poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0);
    let ended = || watched.iter().position(|pidfd| !pidfd.revents().is_empty());
    if ready { ended() } else { None }
}
