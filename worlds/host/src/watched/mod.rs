//! What can be seen of other programs from outside, by `/proc` and control groups alone: no right is needed
//! but that of the same user.
//!
//! [`task`]: threads, as they run, wait for a processor, or sleep. [`program`]: what a process is, and which
//! runtimes and settings it has. [`surroundings`]: quotas, the hypervisor, and other programs. [`page`]: what
//! the preload library records, in memory that both processes map.
pub mod page;
pub mod program;
pub mod surroundings;
pub mod task;

use std::fs;

/// The numbers of all processes that can be seen.
pub(crate) fn processes() -> Vec<u32> {
    numbers("/proc")
}

/// The names in a folder that are numbers.
fn numbers(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
