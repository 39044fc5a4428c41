//! Helpers for system calls: refusals as errors, descriptors by number, times.
use foregather_host::forks;
use foregather_machine::{Cause, Error, Nanos};
use rustix::fd::{FromRawFd, OwnedFd, RawFd};

/// Returns a function that converts the error of a rustix call.
pub(crate) fn refused(what: &'static str, remedy: &'static str) -> impl FnOnce(rustix::io::Errno) -> Error {
    move |errno| Error::from(Cause::Os { what, errno: errno.raw_os_error(), remedy })
}

/// Returns the error of the C call that has just failed.
pub(crate) fn last(what: &'static str, remedy: &'static str) -> Error {
    Error::from(Cause::Os { what, errno: last_errno(), remedy })
}

pub(crate) fn last_errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Duplicates a descriptor that a parent left open with this number, so that it has an owner here.
pub(crate) fn inherited(number: RawFd) -> Result<OwnedFd, Error> {
    // SAFETY: the call takes any number; the kernel refuses those that are not open.
    let duplicate = forks::undivided(|| unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) });
    if duplicate < 0 {
        return Err(last("finding an inherited descriptor", "start this program through the lab only, which leaves it open"));
    }
    // SAFETY: the descriptor is new, so it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(duplicate) })
}

pub(crate) fn timespec(time: Nanos) -> libc::timespec {
    libc::timespec { tv_sec: (time.0 / 1_000_000_000) as _, tv_nsec: (time.0 % 1_000_000_000) as _ }
}
