//! An eventfd in semaphore mode: a read takes one, and blocks while there is none.
use super::Semaphore;
use crate::os::{inherited, refused};
use foregather_machine::{Error, WaitContext};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::io::{Errno, read, write};

const REMEDY: &str = "the descriptor is no eventfd, or its counter is full";

/// The descriptor, with the number that its creator gave it.
pub(super) struct Eventfd {
    fd: OwnedFd,
    number: RawFd,
}

impl Eventfd {
    pub(super) fn new() -> Result<Self, Error> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::SEMAPHORE)
            .map_err(refused("making an eventfd", "raise the limit on open files (`ulimit -n`)"))?;
        let number = fd.as_raw_fd();
        Ok(Self { fd, number })
    }

    pub(super) fn attach(number: RawFd) -> Result<Self, Error> {
        Ok(Self { fd: inherited(number)?, number })
    }
}

impl Semaphore for Eventfd {
    fn post(&self) -> Result<(), Error> {
        write(&self.fd, &1u64.to_ne_bytes()).map(|_| ()).map_err(refused("posting an eventfd", REMEDY))
    }

    fn wait(&self, _: &WaitContext) -> Result<(), Error> {
        loop {
            match read(&self.fd, &mut [0u8; 8]) {
                Err(Errno::INTR) => {}
                end => return end.map(|_| ()).map_err(refused("waiting on an eventfd", REMEDY)),
            }
        }
    }

    fn name(&self) -> String {
        format!("eventfd:{}", self.number)
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.fd.as_fd()]
    }
}
