//! Records the state before these tests, and checks that nothing was added: no process, and no named shared
//! memory.
use crate::job::marker;
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

pub(crate) struct Before(BTreeSet<String>);

impl Before {
    pub(crate) fn look() -> Self {
        Self(named())
    }

    /// Checks that nothing is left. Other programs may create and remove things meanwhile: what disappears
    /// soon belonged to them.
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

/// Returns the number of processes that these tests have started and that are still running.
fn ours() -> usize {
    let (name, value) = marker();
    let marker = format!("{name}={value}");
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| fs::read(entry.path().join("environ")).is_ok_and(|text| String::from_utf8_lossy(&text).contains(&marker)))
        .count()
}
