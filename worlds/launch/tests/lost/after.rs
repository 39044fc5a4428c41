//! The state before these tests, and that nothing has been added: no process, no shared memory with a name.
use crate::job::marker;
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

pub(crate) struct Before(BTreeSet<String>);

impl Before {
    pub(crate) fn look() -> Self {
        Self(named())
    }

    /// Other programs may be making and removing things at the same time: what vanishes soon was theirs.
    pub(crate) fn nothing_is_left(&self) {
        let (mut processes, mut memory) = (0, BTreeSet::new());
        for _ in 0..1_000 {
            processes = ours();
            memory = named().difference(&self.0).cloned().collect();
            if processes == 0 && memory.is_empty() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{processes} processes are left, and in /dev/shm {memory:?}");
    }
}

fn named() -> BTreeSet<String> {
    let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Processes that these tests have started, and that still run.
fn ours() -> usize {
    let (name, value) = marker();
    let marker = format!("{name}={value}");
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| fs::read(entry.path().join("environ")).is_ok_and(|text| String::from_utf8_lossy(&text).contains(&marker)))
        .count()
}
