//! The operating system's error numbers in words: their names, their meanings, and remedies for some of them.
use core::fmt;

/// A number that a system call gave, printed with its name and its meaning: `EMFILE (Too many open files)`.
pub(crate) struct Errno(pub(crate) i32);

/// Linux's names of the errors, the same on all processors that this library runs on.
const NAMES: [(i32, &str); 46] = [
    (1, "EPERM"),
    (2, "ENOENT"),
    (3, "ESRCH"),
    (4, "EINTR"),
    (5, "EIO"),
    (6, "ENXIO"),
    (7, "E2BIG"),
    (8, "ENOEXEC"),
    (9, "EBADF"),
    (10, "ECHILD"),
    (11, "EAGAIN"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (14, "EFAULT"),
    (16, "EBUSY"),
    (17, "EEXIST"),
    (18, "EXDEV"),
    (19, "ENODEV"),
    (20, "ENOTDIR"),
    (21, "EISDIR"),
    (22, "EINVAL"),
    (23, "ENFILE"),
    (24, "EMFILE"),
    (25, "ENOTTY"),
    (27, "EFBIG"),
    (28, "ENOSPC"),
    (30, "EROFS"),
    (32, "EPIPE"),
    (33, "EDOM"),
    (34, "ERANGE"),
    (36, "ENAMETOOLONG"),
    (38, "ENOSYS"),
    (43, "EIDRM"),
    (61, "ENODATA"),
    (71, "EPROTO"),
    (75, "EOVERFLOW"),
    (90, "EMSGSIZE"),
    (95, "EOPNOTSUPP"),
    (98, "EADDRINUSE"),
    (99, "EADDRNOTAVAIL"),
    (101, "ENETUNREACH"),
    (103, "ECONNABORTED"),
    (104, "ECONNRESET"),
    (110, "ETIMEDOUT"),
    (111, "ECONNREFUSED"),
    (113, "EHOSTUNREACH"),
];

impl Errno {
    /// The remedy, where the number alone says it, whatever was attempted.
    pub(crate) fn remedy(&self) -> Option<&'static str> {
        match self.0 {
            23 => Some("the whole machine has too many open files: close some, or raise the sysctl fs.file-max"),
            24 => Some("raise the limit of open files (ulimit -n)"),
            27 => Some("raise the limit of file sizes (ulimit -f), which counts for shared memory, too"),
            _ => None,
        }
    }

    /// A remedy to suggest where the attempt itself suggests none.
    pub(crate) fn advice(&self) -> Option<&'static str> {
        match self.0 {
            1 | 13 => Some("this user, or the container's seccomp filter, may not do that"),
            11 => Some("a limit of threads or processes is reached: raise it (ulimit -u, or the container's limit of pids)"),
            12 => {
                Some("there is not enough memory: share or start less, or raise the limits (ulimit -v, the container's memory)")
            }
            28 => Some("free some space where that is written, or choose another place"),
            38 => Some("this kernel, or the container's seccomp filter, does not have that call"),
            _ => None,
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The meaning ends with the number again: `Too many open files (os error 24)`.
        let meaning = std::io::Error::from_raw_os_error(self.0).to_string();
        let meaning = meaning.split(" (os error").next().unwrap_or_default();
        match NAMES.iter().find(|(number, _)| *number == self.0) {
            Some((_, name)) => write!(f, "{name} ({meaning})"),
            // libfabric has numbers of its own.
            None if meaning.starts_with("Unknown") => write!(f, "error {}", self.0),
            None => write!(f, "error {} ({meaning})", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_its_name_and_its_meaning() {
        assert_eq!(Errno(24).to_string(), "EMFILE (Too many open files)");
        assert_eq!(Errno(1).to_string(), "EPERM (Operation not permitted)");
        assert_eq!(Errno(9_999).to_string(), "error 9999");
        assert!(Errno(15).to_string().starts_with("error 15 ("), "one without an entry");
        assert!(NAMES.is_sorted_by_key(|(number, _)| *number));
        for (number, name) in NAMES {
            assert!(!Errno(number).to_string().contains("nknown"), "{name}");
        }
    }
}
