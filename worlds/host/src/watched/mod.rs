//! What can be seen of other programs from outside, by `/proc` and control groups alone: no right is needed
//! but that of the same user.
//!
//! [`task`]: threads, as they run, wait for a processor, or sleep. [`program`]: what a process is, and which
//! runtimes and settings it has. [`surroundings`]: quotas, the hypervisor, and other programs. [`page`]: what
//! the preload library records, in memory that both processes map. [`code`]: which file the code at an
//! address comes from. [`switches`]: which threads get a processor, where the kernel shows it.
//! [`decisions`]: what its scheduler decides, for root. [`lines`]: a
//! file in memory to which processes append lines. [`calls`]: in which calls of MPI ranks are, in such memory
//! as the page's. [`pointer`](mod@pointer): where the code of a thread is at this moment. [`waits`]: the long
//! waits of processes that use this library.
pub mod calls;
pub mod code;
pub mod decisions;
pub mod lines;
pub mod page;
mod perf;
pub mod pointer;
pub mod program;
mod shared;
pub mod surroundings;
pub mod switches;
pub mod task;
pub mod waits;

use foregather_machine::{Cause, Error};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs;

/// Creates an empty file in memory.
fn memory_file(name: &str) -> Result<OwnedFd, Error> {
    memfd_create(name, MemfdFlags::CLOEXEC).map_err(|errno| not_created(errno.raw_os_error()))
}

fn not_created(errno: i32) -> Error {
    let remedy = "allow memfd_create in the container's seccomp filter, or watch by --pid";
    Cause::Os { what: "creating a file in memory", errno, remedy }.into()
}

/// The path by which other processes of this user open a file of this process.
pub fn path_of(descriptor: &OwnedFd) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), descriptor.as_raw_fd())
}

/// The numbers of all processes that can be seen.
pub fn processes() -> Vec<u32> {
    numbers("/proc")
}

/// The names in a folder that are numbers.
fn numbers(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
