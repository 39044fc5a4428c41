//! A rank's published data in a fabric, and what a process knows about the others after all have joined.
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
    /// The address and value of the proof in its memory.
    pub(super) proof_at: AtomicUsize,
    pub(super) proof: AtomicU64,
}

/// What a process knows about the others after all have joined.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(super) me: i32,
    pub(super) pids: Vec<i32>,
    /// Descriptors of the other processes.
    pub(super) pidfds: Vec<Option<OwnedFd>>,
    /// Why ranks do not read each other's memory; `None` if they do.
    pub(crate) refusal: Option<String>,
}

impl Attached {
    /// Returns whether that rank is this process.
    pub(crate) fn is_here(&self, rank: Rank) -> bool {
        self.pid(rank) == self.me
    }

    /// Returns whether both sides may take part in a copy between this process and `rank`. A helper writes to
    /// the addresses in the getter's list in shared memory. Inside one process it does so only if no other
    /// process can have written that list.
    #[inline]
    pub(crate) fn may_help(&self, rank: Rank) -> bool {
        !self.is_here(rank) || self.pidfds.iter().all(Option::is_none)
    }

    /// Returns the PID that `rank` published when all joined.
    #[inline]
    pub(crate) fn pid(&self, rank: Rank) -> i32 {
        self.pids[rank as usize]
    }

    /// Kills the process of `rank`, unless it is this one, and waits until it has exited, so that it writes
    /// nothing afterwards. A stopped process could otherwise resume later.
    #[cold]
    pub(crate) fn kill(&self, rank: Rank) {
        if let Some(pidfd) = &self.pidfds[rank as usize] {
            // Fails only if the process has exited already.
            let _ = pidfd_send_signal(pidfd, Signal::KILL);
            while poll(&mut [PollFd::new(pidfd, PollFlags::IN)], None).is_err_and(|errno| errno == rustix::io::Errno::INTR) {}
        }
    }
}
