//! How the processes of a job join a fabric, and find out whether they may read each other's memory.
use super::attached::Attached;
use super::pieces::{CopyDirection, Errno, RemoteRange, transfer};
use super::shm_fabric::ShmFabric;
use crate::os::refused;
use core::sync::atomic::{AtomicU64, Ordering::*};
use foregather_host::clock;
use foregather_machine::{Cause, Cpu, Error, Nanos, Rank, WaitContext, block_on};
use foregather_thread::{Scope, Word};
use foregather_wait::Policy;
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::sync::OnceLock;

/// A rank's result of trying to read the memory of the others.
const UNKNOWN: u32 = 0;
const FINE: u32 = 1;
const UNWANTED: u32 = 2;
const STRANGERS: u32 = 3;
/// Values from here on contain the system's error number.
const REFUSED: u32 = 4;

/// Returns a number of this process that other processes read to verify that they read the right process.
fn proof() -> &'static AtomicU64 {
    static PROOF: AtomicU64 = AtomicU64::new(0);
    static MADE: OnceLock<()> = OnceLock::new();
    MADE.get_or_init(|| PROOF.store(clock::cycles() ^ u64::from(std::process::id()) << 32 | 1, Relaxed));
    &PROOF
}

/// Lets the descendants of this process's parent read its memory. With Yama's `ptrace_scope` 1, processes may
/// otherwise read only their own descendants; the ranks of a job have one launcher.
fn allow_siblings() {
    if let Some(parent) = rustix::process::getppid() {
        // SAFETY: the call takes only numbers. It fails if there is no Yama, and then nothing needs to be
        // allowed.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, parent.as_raw_nonzero().get() as libc::c_ulong, 0, 0, 0) };
    }
}

impl ShmFabric {
    /// Registers this process as `rank`. A process can be several ranks.
    ///
    /// # Errors
    /// [`Cause::Rank`] if there is no such rank, or if it has already joined.
    pub fn join(&self, rank: Rank) -> Result<(), Error> {
        let size = self.shape().ranks;
        let taken = || Error::from(Cause::Rank { rank, size });
        if rank >= size {
            return Err(taken());
        }
        let member = self.member(rank);
        let me = std::process::id() as i32;
        member.pid.compare_exchange(0, me, AcqRel, Relaxed).map_err(|_| taken())?;
        if self.shape().direct {
            allow_siblings();
        }
        member.proof_at.store(core::ptr::from_ref(proof()).expose_provenance(), Relaxed);
        member.proof.store(proof().load(Relaxed), Relaxed);
        self.come().fetch_add(1, Scope::Shared);
        Ok(())
    }

    /// Waits until all ranks have joined and have found out whether they may read each other's memory.
    ///
    /// # Errors
    /// If they have not by `until`, or a wait of `cpu` fails; if the system does not support process
    /// descriptors.
    pub fn meet<C: Cpu<Word = Word>>(&self, cpu: &C, until: Nanos) -> Result<(), Error> {
        let _turn = self.meeting.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if self.attached.get().is_some() {
            return Ok(());
        }
        let size = self.shape().ranks;
        let me = std::process::id() as i32;
        let pid = |rank| self.member(rank).pid.load(Acquire);
        let ours: Vec<_> = (0..size).filter(|&rank| pid(rank) == me).collect();
        let why = WaitContext::new("joining the job", ours.first().copied().unwrap_or(0)).until(until);
        self.until_come(cpu, size, |rank| pid(rank) == 0, why)?;
        let pids: Vec<_> = (0..size).map(pid).collect();
        let pidfds = pids.iter().map(|&pid| if pid == me { Ok(None) } else { open(pid).map(Some) }).collect::<Result<_, _>>()?;
        let verdict = if self.shape().direct { self.verdict(&pids) } else { UNWANTED };
        for rank in (0..size).filter(|&rank| pids[rank as usize] == me) {
            self.member(rank).verdict.store(verdict, Release);
            self.come().fetch_add(1, Scope::Shared);
        }
        let verdict = |rank| self.member(rank).verdict.load(Acquire);
        self.until_come(cpu, 2 * size, |rank| verdict(rank) == UNKNOWN, why)?;
        let refusal = (0..size).find_map(|rank| in_words(rank, verdict(rank)));
        // No other thread sets it, because this thread holds the lock.
        let _ = self.attached.set(Attached { me, pids, pidfds, refusal });
        Ok(())
    }

    /// Registers a rank for a process that does not take part.
    #[cfg(test)]
    pub(crate) fn pose_as(&self, rank: Rank, pid: i32) {
        let member = self.member(rank);
        member.pid.store(pid, Relaxed);
        member.verdict.store(FINE, Relaxed);
        self.come().fetch_add(2, Scope::Shared);
    }

    /// Returns why large messages are copied twice, or `None` if they are not: the system does not let ranks
    /// read each other's memory, or the setting forbids it. Known after all have joined, and the same for
    /// all.
    pub fn direct_refused(&self) -> Option<String> {
        self.attached.get()?.refusal.clone()
    }

    /// Waits until the word that counts arrivals reaches `count`. `missing` names the ranks that have not
    /// arrived.
    fn until_come<C: Cpu<Word = Word>>(
        &self,
        cpu: &C,
        count: u32,
        missing: impl Fn(Rank) -> bool,
        why: WaitContext,
    ) -> Result<(), Error> {
        let come = || (cpu.load(self.come()) >= count).then_some(());
        let met = block_on(Policy::Block.wait(cpu, self.come(), why, come));
        met.map(drop).map_err(|error| match *error.cause() {
            Cause::TimedOut { what, rank, peer: None, waited_ns } => {
                let peer = (0..self.shape().ranks).find(|&rank| missing(rank));
                Cause::TimedOut { what, rank, peer, waited_ns }.into()
            }
            _ => error,
        })
    }

    /// Returns the result of trying to read the memory of all processes.
    fn verdict(&self, pids: &[i32]) -> u32 {
        let reads = (0..).zip(pids).map(|(rank, &pid)| self.reads(rank, pid));
        reads.fold(FINE, |sofar, one| if sofar == FINE { one } else { sofar })
    }

    fn reads(&self, rank: Rank, pid: i32) -> u32 {
        let member = self.member(rank);
        let mut found = 0_u64;
        let piece = |at| [RemoteRange { at, bytes: size_of::<u64>() }];
        let (here, there) = (piece((&raw mut found).expose_provenance()), piece(member.proof_at.load(Acquire)));
        // SAFETY: `found` is a local of 8 bytes that this call alone borrows; it is read only afterwards.
        match unsafe { transfer(CopyDirection::Read, pid, &here, &there, 0..size_of::<u64>()) } {
            Ok(()) if found == member.proof.load(Relaxed) => FINE,
            Ok(()) | Err(Errno(libc::ESRCH | libc::EFAULT)) => STRANGERS,
            Err(Errno(errno)) => REFUSED.saturating_add_signed(errno.max(0)),
        }
    }
}

fn open(pid: i32) -> Result<OwnedFd, Error> {
    let strange =
        || Error::from(Cause::Refused { why: "its process number is none; do all ranks run in one pid namespace?".to_owned() });
    let pid = Pid::from_raw(pid).filter(|pid| pid.as_raw_nonzero().get() > 0).ok_or_else(strange)?;
    const REMEDY: &str =
        "use Linux 5.3 or newer, allow pidfd_open in the container's seccomp filter, and run all ranks in one pid namespace";
    pidfd_open(pid, PidfdFlags::empty()).map_err(refused("opening a process descriptor of a rank", REMEDY))
}

fn in_words(rank: Rank, verdict: u32) -> Option<String> {
    const REMEDY: &str = "allow process_vm_readv in the container's seccomp filter, give it CAP_SYS_PTRACE, or set \
                          kernel.yama.ptrace_scope to 0";
    match verdict {
        FINE => None,
        UNWANTED => Some("nobody wanted memory to be read directly".to_owned()),
        STRANGERS => Some(format!("rank {rank} sees other processes under the ranks' numbers: run all in one pid namespace")),
        refused => {
            let errno = refused.saturating_sub(REFUSED);
            Some(format!("the system does not let rank {rank} read its peers' memory (error {errno}): {REMEDY}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verdict_is_explained() {
        assert_eq!(in_words(3, FINE), None);
        let words = |verdict| in_words(3, verdict).unwrap();
        assert!(words(UNWANTED).contains("wanted") && words(STRANGERS).contains("pid namespace"));
        let refused = words(REFUSED + libc::EPERM as u32);
        assert!(refused.contains("rank 3") && refused.contains("error 1") && refused.contains("ptrace_scope"), "{refused}");
    }

    #[test]
    fn a_wrong_process_or_place_is_noticed() {
        if crate::fabric::pieces::are_refused() {
            return;
        }
        let exchange = ShmFabric::new(super::super::SegmentSpec::new(1, 1)).unwrap();
        exchange.join(0).unwrap();
        let me = std::process::id() as i32;
        assert_eq!((exchange.reads(0, me), exchange.reads(0, i32::MAX)), (FINE, STRANGERS));
        exchange.member(0).proof.fetch_xor(2, Relaxed);
        assert_eq!(exchange.reads(0, me), STRANGERS);
        exchange.member(0).proof_at.store(8, Relaxed);
        assert_eq!(exchange.reads(0, me), STRANGERS);
    }
}
