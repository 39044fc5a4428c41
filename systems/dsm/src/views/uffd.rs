//! userfaultfd: the descriptor and its few ioctls, from linux/userfaultfd.h.
//!
//! It needs minor faults and write protection of shared memory (Linux 5.14 and 5.19), and pages that are
//! opened write-protected (6.4). The ioctls are direct system calls, so they do not change `errno`.
use super::protect::PageRange;
use foregather_machine::{Cause, Error};
use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Setter, Updater, ioctl, opcode};
use rustix::mm::UserfaultfdFlags;

/// `UFFD_USER_MODE_ONLY`: faults inside system calls are not served. Every user may request that.
const USER_MODE_ONLY: u32 = 1;
const API: u64 = 0xAA;
/// `USERFAULTFD_IOC_NEW` of the device.
const NEW: libc::c_ulong = 0xAA00;
/// PAGEFAULT_FLAG_WP, THREAD_ID, MINOR_SHMEM, EXACT_ADDRESS, WP_HUGETLBFS_SHMEM.
const FEATURES: u64 = 1 | 1 << 8 | 1 << 10 | 1 << 11 | 1 << 12;
const FEATURE_SIGBUS: u64 = 1 << 7;
/// `UFFDIO_REGISTER_MODE_WP` and `_MINOR`.
const REGISTER: u64 = 1 << 1 | 1 << 2;
/// `UFFDIO_CONTINUE_MODE_WP`.
const CONTINUE_WP: u64 = 1 << 1;
/// `UFFDIO_WRITEPROTECT_MODE_WP`.
const WRITEPROTECT_WP: u64 = 1;
const EVENT_PAGEFAULT: u8 = 0x12;
const FLAG_WRITE: u64 = 1;
const FLAG_WP: u64 = 1 << 1;

#[repr(C)]
struct UffdioApi {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Range {
    start: u64,
    bytes: u64,
}

#[repr(C)]
struct UffdioRegister {
    range: Range,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct Continue {
    range: Range,
    mode: u64,
    mapped: i64,
}

#[repr(C)]
struct WriteProtect {
    range: Range,
    mode: u64,
}

const IOC_API: Opcode = opcode::read_write::<UffdioApi>(0xAA, 0x3F);
const IOC_REGISTER: Opcode = opcode::read_write::<UffdioRegister>(0xAA, 0);
const IOC_WAKE: Opcode = opcode::read::<Range>(0xAA, 2);
const IOC_WRITEPROTECT: Opcode = opcode::read_write::<WriteProtect>(0xAA, 6);
const IOC_CONTINUE: Opcode = opcode::read_write::<Continue>(0xAA, 7);

/// A fault in which a thread waits, read from the descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UffdMessage {
    pub(super) address: usize,
    pub(super) write: bool,
    /// Whether the page is present but write-protected.
    pub(super) present: bool,
    pub(super) thread: u32,
}

#[derive(Debug)]
pub(super) struct Uffd {
    fd: OwnedFd,
}

impl Uffd {
    /// Creates a descriptor. Faulting threads either get SIGBUS, or wait while another thread reads the
    /// descriptor.
    pub(super) fn new(sigbus: bool) -> Result<Self, Error> {
        let fd = open(sigbus)?;
        let features = if sigbus { FEATURES | FEATURE_SIGBUS } else { FEATURES };
        let mut api = UffdioApi { api: API, features, ioctls: 0 };
        // SAFETY: the struct is what this ioctl reads and writes.
        unsafe { ioctl(&fd, Updater::<IOC_API, _>::new(&mut api)) }
            .map_err(|errno| refused("asking userfaultfd for minor faults of shared memory (UFFDIO_API)", errno))?;
        Ok(Self { fd })
    }

    /// Registers pages: no thread can access them before [`Uffd::proceed`].
    pub(super) fn register(&self, at: PageRange) -> Result<(), Error> {
        let mut register = UffdioRegister { range: range(at), mode: REGISTER, ioctls: 0 };
        // SAFETY: the struct is what this ioctl reads and writes; the pages are a space's own views.
        unsafe { ioctl(&self.fd, Updater::<IOC_REGISTER, _>::new(&mut register)) }
            .map_err(|errno| refused("registering views with userfaultfd (UFFDIO_REGISTER)", errno))
    }

    /// Adds closed pages to the page table with their contents in the memory file, write-protected or not.
    pub(super) fn proceed(&self, at: PageRange, write_protected: bool) -> Result<(), Errno> {
        let Range { mut start, mut bytes } = range(at);
        loop {
            let mode = if write_protected { CONTINUE_WP } else { 0 };
            let mut request = Continue { range: Range { start, bytes }, mode, mapped: 0 };
            // SAFETY: the struct is what this ioctl reads and writes; the pages are a space's own view.
            let done = unsafe { ioctl(&self.fd, Updater::<IOC_CONTINUE, _>::new(&mut request)) };
            if done != Err(Errno::AGAIN) {
                return done;
            }
            // The mappings of the process were changing; `mapped` says how far the call got.
            let progress = u64::try_from(request.mapped).unwrap_or(0).min(bytes);
            (start, bytes) = (start + progress, bytes - progress);
            if bytes == 0 {
                return Ok(());
            }
        }
    }

    /// Sets or removes the write protection of readable or writable pages.
    pub(super) fn write_protect(&self, at: PageRange, protected: bool) -> Result<(), Errno> {
        let mode = if protected { WRITEPROTECT_WP } else { 0 };
        loop {
            let mut request = WriteProtect { range: range(at), mode };
            // SAFETY: the struct is what this ioctl reads and writes; the pages are a space's own view.
            let done = unsafe { ioctl(&self.fd, Updater::<IOC_WRITEPROTECT, _>::new(&mut request)) };
            if done != Err(Errno::AGAIN) {
                return done;
            }
        }
    }

    /// Lets threads that wait in a fault of these pages retry.
    pub(super) fn wake(&self, at: PageRange) -> Result<(), Errno> {
        // SAFETY: the struct is what this ioctl reads.
        unsafe { ioctl(&self.fd, Setter::<IOC_WAKE, _>::new(range(at))) }
    }

    /// Returns the next waiting fault, if any.
    pub(super) fn next(&self) -> Result<Option<UffdMessage>, Errno> {
        let mut message = [0; 32];
        match rustix::io::read(&self.fd, &mut message) {
            Ok(32) if message[0] == EVENT_PAGEFAULT => Ok(Some(event(&message))),
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(errno) => Err(errno),
        }
    }
}

impl AsFd for Uffd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Reads the fields of `struct uffd_msg` for a page fault.
fn event(message: &[u8; 32]) -> UffdMessage {
    let word = |at: usize| u64::from_ne_bytes(core::array::from_fn(|byte| message[at + byte]));
    let flags = word(8);
    UffdMessage {
        address: word(16) as usize,
        write: flags & FLAG_WRITE != 0,
        present: flags & FLAG_WP != 0,
        thread: u32::from_ne_bytes(core::array::from_fn(|byte| message[24 + byte])),
    }
}

fn range(at: PageRange) -> Range {
    Range { start: at.start.as_ptr().addr() as u64, bytes: at.bytes as u64 }
}

/// Opens it with the system call or, if that is forbidden, with the device.
fn open(sigbus: bool) -> Result<OwnedFd, Error> {
    let mode = if sigbus { USER_MODE_ONLY } else { 0 };
    let flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::NONBLOCK | UserfaultfdFlags::from_bits_retain(mode);
    // SAFETY: the descriptor is used for a space's own views only.
    let refusal = match unsafe { rustix::mm::userfaultfd(flags) } {
        Ok(fd) => return Ok(fd),
        Err(errno) => errno,
    };
    let device = rustix::fs::open("/dev/userfaultfd", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    let Ok(device) = device else { return Err(unopened(sigbus, refusal)) };
    // SAFETY: this request takes flags by value and returns a new descriptor, or a negative number.
    let fd = unsafe { libc::ioctl(rustix::fd::AsRawFd::as_raw_fd(&device), NEW as _, libc::c_ulong::from(flags.bits())) };
    if fd < 0 {
        return Err(unopened(sigbus, refusal));
    }
    // SAFETY: a fresh descriptor that no other code has.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn unopened(sigbus: bool, errno: Errno) -> Error {
    let remedy = match errno {
        Errno::NOSYS => "this kernel is built without it (CONFIG_USERFAULTFD); use mprotect",
        _ if sigbus => "allow the system call userfaultfd in this container's seccomp filter, or give it /dev/userfaultfd",
        _ => {
            "faults within system calls need CAP_SYS_PTRACE, rights on /dev/userfaultfd, or the sysctl vm.unprivileged_userfaultfd=1"
        }
    };
    Error::from(Cause::Os { what: "opening userfaultfd", errno: errno.raw_os_error(), remedy })
}

fn refused(what: &'static str, errno: Errno) -> Error {
    let remedy = "it needs Linux 6.4 or newer; use mprotect";
    Error::from(Cause::Os { what, errno: errno.raw_os_error(), remedy })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_the_ioctls_are_those_of_the_kernel() {
        let numbers = [IOC_API, IOC_REGISTER, IOC_WAKE, IOC_WRITEPROTECT, IOC_CONTINUE];
        assert_eq!(numbers, [0xC018_AA3F, 0xC020_AA00, 0x8010_AA02, 0xC018_AA06, 0xC020_AA07]);
    }

    #[test]
    fn a_message_is_understood() {
        let mut message = [0; 32];
        message[0] = EVENT_PAGEFAULT;
        message[8] = 3;
        message[16..24].copy_from_slice(&0x7F00_1234_5678_u64.to_ne_bytes());
        message[24..28].copy_from_slice(&77_u32.to_ne_bytes());
        assert_eq!(event(&message), UffdMessage { address: 0x7F00_1234_5678, write: true, present: true, thread: 77 });
        message[8] = 4;
        assert_eq!(event(&message), UffdMessage { address: 0x7F00_1234_5678, write: false, present: false, thread: 77 });
    }
}
