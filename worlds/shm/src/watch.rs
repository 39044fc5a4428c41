//! Checks whether other processes have exited. Waits have to poll, because an exit causes no wake-up.
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use foregather_host::clock;
use foregather_machine::{Cause, Error, Nanos, Rank, WaitContext};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{PidfdFlags, getppid, pidfd_open};

/// The minimum interval between two system calls that check the peers; a check in between only reads the
/// clock.
pub(crate) const LOOK_INTERVAL: Nanos = Nanos::from_ms(1);

/// Some processes, and when a wait last checked them.
#[derive(Debug)]
pub(crate) struct Peers {
    /// Process descriptors become readable when the process has exited.
    peers: Box<[(Rank, OwnedFd)]>,
    last_look: AtomicU64,
}

impl Peers {
    pub(crate) fn new(peers: impl IntoIterator<Item = (Rank, OwnedFd)>) -> Self {
        Self { peers: peers.into_iter().collect(), last_look: AtomicU64::new(0) }
    }

    /// Opens the process that started this one.
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
        // If it had exited before, the descriptor could belong to a later process with the same PID.
        if getppid() == Some(parent) { Ok(Self::new([(rank, pidfd)])) } else { Err(lost()) }
    }

    /// Returns an error for a peer that has exited, at most once per interval: a caller that knows that the
    /// peer left normally can continue to wait.
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

/// Returns the index of the first process that has exited, with one system call for all of them.
pub(crate) fn ended<'d>(processes: impl Iterator<Item = &'d OwnedFd>) -> Option<usize> {
    let mut watched: Vec<_> = processes.map(|pidfd| PollFd::new(pidfd, PollFlags::IN)).collect();
    // An interrupted check is repeated by the next one.
    let ready = poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0);
    let ended = || watched.iter().position(|pidfd| !pidfd.revents().is_empty());
    if ready { ended() } else { None }
}
