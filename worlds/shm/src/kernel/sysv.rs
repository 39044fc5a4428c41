//! System V semaphores: a set in the kernel, identified by a number.
//!
//! The kernel keeps a set until it is removed. Its creator removes it when it drops the semaphore, and all
//! threads that still wait then get an error. If the creator is killed, the set remains (`ipcs -s` lists it,
//! `ipcrm -s` removes it): for semaphores the kernel has no removal at last use, as it has for memory.
use super::Semaphore;
use crate::os::{last, last_errno, timespec};
use core::ptr::null;
use foregather_host::clock;
use foregather_machine::{Cause, Error, Nanos, WaitContext};

const REMOVED: &str = "its creator has removed it, or raise the limits in /proc/sys/kernel/sem";

/// A set with one semaphore.
pub(super) struct Sysv {
    id: i32,
    mine: bool,
}

impl Sysv {
    pub(super) fn new() -> Result<Self, Error> {
        const REMEDY: &str = "raise the limits in /proc/sys/kernel/sem, or remove forgotten sets (`ipcs -s`, `ipcrm -s`)";
        // SAFETY: the call takes numbers only.
        let id = unsafe { libc::semget(libc::IPC_PRIVATE, 1, libc::IPC_CREAT | 0o600) };
        // On Linux a new set is all 0, although POSIX does not guarantee it.
        if id < 0 { Err(last("creating a System V semaphore", REMEDY)) } else { Ok(Self { id, mine: true }) }
    }

    pub(super) fn attach(id: i32) -> Self {
        Self { id, mine: false }
    }

    /// Adds to the semaphore, or takes from it and blocks while the count is too low. Returns the error
    /// number.
    fn operate(&self, by: i16, timeout: Option<Nanos>) -> Result<(), i32> {
        let mut operation = libc::sembuf { sem_num: 0, sem_op: by, sem_flg: 0 };
        let timeout = timeout.map(timespec);
        let timeout = timeout.as_ref().map_or(null(), core::ptr::from_ref);
        // SAFETY: one operation and a time or null, both of which outlive the call; the C library's wrapper
        // of this system call is not in the `libc` crate.
        let refused = unsafe { libc::syscall(libc::SYS_semtimedop, self.id, &raw mut operation, 1usize, timeout) } != 0;
        if refused { Err(last_errno()) } else { Ok(()) }
    }
}

impl Semaphore for Sysv {
    fn post(&self) -> Result<(), Error> {
        self.operate(1, None)
            .map_err(|errno| Error::from(Cause::Os { what: "posting a System V semaphore", errno, remedy: REMOVED }))
    }

    fn wait(&self, why: &WaitContext) -> Result<(), Error> {
        loop {
            let timeout = (why.deadline < Nanos::MAX).then(|| why.deadline - clock::now());
            match self.operate(-1, timeout) {
                Ok(()) => return Ok(()),
                Err(libc::EINTR) => {}
                Err(libc::EAGAIN) => return Err(Error::timed_out(why, clock::now())),
                Err(errno) => {
                    return Err(Error::from(Cause::Os { what: "waiting on a System V semaphore", errno, remedy: REMOVED }));
                }
            }
        }
    }

    fn name(&self) -> String {
        format!("sysv:{}", self.id)
    }
}

impl Drop for Sysv {
    fn drop(&mut self) {
        if self.mine {
            // SAFETY: the call takes numbers only.
            unsafe { libc::semctl(self.id, 0, libc::IPC_RMID) };
        }
    }
}
