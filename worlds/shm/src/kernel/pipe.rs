//! A pipe: a post writes a byte, and a wait reads one and blocks while there is none.
//!
//! Every process has both ends open, so the death of a process does not show as the end of the file.
use super::Semaphore;
use crate::os::{inherited, refused};
use foregather_machine::{Cause, Error, WaitContext};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::io::{Errno, read, write};
use rustix::pipe::{PipeFlags, pipe_with};

const REMEDY: &str = "the descriptors are no pipe";

/// Both ends, with the numbers that the creator gave them.
pub(super) struct Pipe {
    reader: OwnedFd,
    writer: OwnedFd,
    numbers: (RawFd, RawFd),
}

impl Pipe {
    pub(super) fn new() -> Result<Self, Error> {
        let (reader, writer) =
            pipe_with(PipeFlags::CLOEXEC).map_err(refused("making a pipe", "raise the limit on open files (`ulimit -n`)"))?;
        let numbers = (reader.as_raw_fd(), writer.as_raw_fd());
        Ok(Self { reader, writer, numbers })
    }

    pub(super) fn attach(reader: RawFd, writer: RawFd) -> Result<Self, Error> {
        Ok(Self { reader: inherited(reader)?, writer: inherited(writer)?, numbers: (reader, writer) })
    }
}

impl Semaphore for Pipe {
    fn post(&self) -> Result<(), Error> {
        write(&self.writer, &[1]).map(|_| ()).map_err(refused("posting to a pipe", REMEDY))
    }

    fn wait(&self, _: &WaitContext) -> Result<(), Error> {
        loop {
            match read(&self.reader, &mut [0u8; 1]) {
                Err(Errno::INTR) => {}
                Ok(0) => return Err(Error::from(Cause::Os { what: "waiting on a pipe", errno: libc::EPIPE, remedy: REMEDY })),
                end => return end.map(|_| ()).map_err(refused("waiting on a pipe", REMEDY)),
            }
        }
    }

    fn name(&self) -> String {
        format!("pipe:{}:{}", self.numbers.0, self.numbers.1)
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.reader.as_fd(), self.writer.as_fd()]
    }
}
