//! What a rank says about itself in an exchange, and what a process knows of the others once all have met.
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize};
use foregather_machine::Rank;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Signal, pidfd_send_signal};

/// What a rank says about itself.
#[repr(C, align(128))]
pub(crate) struct MemberInfo {
    pub(super) pid: AtomicI32,
    pub(super) verdict: AtomicU32,
    /// Where in its memory the proof is, and what stands there.
    pub(super) proof_at: AtomicUsize,
    pub(super) proof: AtomicU64,
}

/// What a process knows once all have met.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(super) me: i32,
    pub(super) pids: Vec<i32>,
    /// Of the other processes.
    pub(super) pidfds: Vec<Option<OwnedFd>>,
    /// Why nobody reads another one's memory, if so.
    pub(crate) refusal: Option<String>,
}

impl Attached {
    /// Is that rank this process?
    pub(crate) fn is_here(&self, rank: Rank) -> bool {
        self.pid(rank) == self.me
    }

    /// May both sides of a copy between this process and `rank` take part? A helper writes where the getter's list in the shared memory
    /// says. Within a process that is done only if no other process can have written that list.
    #[inline]
    pub(crate) fn may_help(&self, rank: Rank) -> bool {
        !self.is_here(rank) || self.pidfds.iter().all(Option::is_none)
    }

    /// Its process number, as it said when all met.
    #[inline]
    pub(crate) fn pid(&self, rank: Rank) -> i32 {
        self.pids[rank as usize]
    }

    /// Kills the process of `rank`, if it is another one, and waits for its end: it writes nothing afterwards. One that stands still
    /// would otherwise go on with whatever it was doing, some day.
    #[cold]
    pub(crate) fn kill(&self, rank: Rank) {
        if let Some(pidfd) = &self.pidfds[rank as usize] {
            // Fails only if it has ended already.
            let _ = pidfd_send_signal(pidfd, Signal::KILL);
            while poll(&mut [PollFd::new(pidfd, PollFlags::IN)], None).is_err_and(|errno| errno == rustix::io::Errno::INTR) {}
        }
    }
}
