//! The pass of a rank: a descriptor that a rank of `foregather run` inherits and its own children do not,
//! since it closes on exec once the rank has joined. So a child that inherits the rank's variables does not
//! take itself for the rank.
//!
//! A shell script or another wrapper between launcher and rank hands it on. A wrapper that closes all
//! descriptors leaves its program alone.
use crate::own;
use foregather_machine::{Cause, Error};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::fs::read_link;
use std::io::{PipeReader, pipe};

/// The launcher's gift to its ranks: one end of a pipe through which nothing goes.
pub(crate) struct Pass {
    end: PipeReader,
    text: String,
}

impl Pass {
    pub(crate) fn new() -> Result<Self, Error> {
        let failed = |error: std::io::Error| {
            let errno = error.raw_os_error().unwrap_or(0);
            Error::from(Cause::Os { what: "making a rank's pass", errno, remedy: "raise the limit of open files (ulimit -n)" })
        };
        let (end, _) = pipe().map_err(failed)?;
        let number = end.as_raw_fd();
        Ok(Self { end, text: format!("{number} {}", name_of(number).map_err(failed)?) })
    }

    /// The value of its variable: the descriptor's number, and the kernel's name for it, which no other
    /// descriptor has.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The descriptor.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }
}

fn name_of(fd: RawFd) -> std::io::Result<String> {
    read_link(format!("/proc/self/fd/{fd}")).map(|name| name.to_string_lossy().into_owned())
}

/// Does this process have the descriptor of that pass?
pub(crate) fn is_here(text: &str) -> bool {
    number_of(text).is_some()
}

fn number_of(text: &str) -> Option<RawFd> {
    let (number, name) = text.split_once(' ')?;
    let number = number.parse().ok()?;
    name_of(number).is_ok_and(|found| found == name).then_some(number)
}

/// Keeps this process's children from inheriting it from now on.
pub(crate) fn keep() {
    if let Some(number) = std::env::var(own::PASS).ok().and_then(|text| number_of(&text)) {
        // SAFETY: the descriptor is open, since its name was just read, and it is the pass, which no part of
        // the process closes.
        let pass = unsafe { BorrowedFd::borrow_raw(number) };
        let _ = rustix::io::fcntl_setfd(pass, rustix::io::FdFlags::CLOEXEC);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_is_here_while_its_descriptor_is_open_under_its_name() {
        let pass = Pass::new().unwrap();
        let text = pass.text().to_owned();
        assert!(is_here(&text));
        for wrong in ["", "3", "x pipe:[1]", "0 pipe:[1]", "-1 ", "99999 pipe:[1]"] {
            assert!(!is_here(wrong), "{wrong}");
        }
        drop(pass);
        assert!(!is_here(&text));
    }
}
