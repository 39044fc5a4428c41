//! A rank's published data in a fabric, and a process's knowledge of the others once all have met.
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize};
use foregather_machine::Rank;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Signal, pidfd_send_signal};

/// A rank's published data.
#[repr(C, align(128))]
pub(crate) struct MemberInfo {
    pub(super) pid: AtomicI32,
    pub(super) verdict: AtomicU32,
    /// The address of the proof in its memory, and its value.
    pub(super) proof_at: AtomicUsize,
    pub(super) proof: AtomicU64,
}

/// A process's knowledge once all have met.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(super) me: i32,
    pub(super) pids: Vec<i32>,
    /// Descriptors of the other processes.
    pub(super) pidfds: Vec<Option<OwnedFd>>,
    /// Why no rank reads another one's memory, if so.
    pub(crate) refusal: Option<String>,
}

impl Attached {
    /// Is that rank this process?
    pub(crate) fn is_here(&self, rank: Rank) -> bool {
        self.pid(rank) == self.me
    }

    /// May both sides of a copy between this process and `rank` take part? A helper writes where the getter's
    /// list in the shared memory says. Within a process it does so only if no other process can have written
    /// that list.
    #[inline]
    pub(crate) fn may_help(&self, rank: Rank) -> bool {
        !self.is_here(rank) || self.pidfds.iter().all(Option::is_none)
    }

    /// The process number that `rank` gave when all met.
    #[inline]
    pub(crate) fn pid(&self, rank: Rank) -> i32 {
        self.pids[rank as usize]
    }

    /// Kills the process of `rank`, if it is another one, and waits for its end: it writes nothing
    /// afterwards. A stopped process could otherwise go on with its work later.
    #[cold]
    pub(crate) fn kill(&self, rank: Rank) {
        if let Some(pidfd) = &self.pidfds[rank as usize] {
            // Fails only if the process has ended already.
            let _ = pidfd_send_signal(pidfd, Signal::KILL);
            while poll(&mut [PollFd::new(pidfd, PollFlags::IN)], None).is_err_and(|errno| errno == rustix::io::Errno::INTR) {}
        }
    }
}
