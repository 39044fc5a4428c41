//! Ctrl-C keeps what was measured and leaves no process behind.
use crate::{foregather, scratch, stderr};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, Stdio};
use std::time::Duration;

#[test]
fn partial_results_are_kept_and_nobody_is_left() {
    let kept = scratch("partial.json");
    let _ = std::fs::remove_file(&kept);
    // A marker in the environment finds this run's processes, whoever their parent is by then.
    let marker = format!("FOREGATHER_TEST_MARKER={}", std::process::id());
    let (name, value) = marker.split_once('=').unwrap();
    let args = [
        "measure",
        "barriers",
        "--rows",
        "2t + 2 hogs",
        "--waiters",
        "central/block,rust-std",
        "--ms",
        "50",
        "--repetitions",
        "500",
    ];
    let mut command = foregather(&args);
    command.arg("--output").arg(&kept).env(name, value).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    wait_until(|| processes_with(&marker) >= 4);
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&kept).unwrap()).unwrap();
    assert_eq!(document["interrupted"], true);
    wait_until(|| processes_with(&marker) == 0);
}

/// Ctrl-C, for that process alone.
fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

/// Waits for something that comes soon, and fails if it never does.
fn wait_until(come: impl Fn() -> bool) {
    for _ in 0..50_000 {
        if come() {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("it never came");
}

/// How many processes have these bytes in their environment.
fn processes_with(marker: &str) -> usize {
    let own = std::process::id().to_string();
    let pids = std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| entry.file_name() != *own);
    let environments = pids.filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
    environments.filter(|environment| environment.split(|&byte| byte == 0).any(|entry| entry == marker.as_bytes())).count()
}

/// The tour looks at every library of the machine first: none of them may take Ctrl-C away.
#[test]
fn a_tour_that_is_interrupted_keeps_its_page() {
    let page = scratch("interrupted.html");
    let _ = std::fs::remove_file(&page);
    let child = foregather(&["demo", "--output"]).arg(&page).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The children of the first round trips: the doctor's are gone by then.
    wait_until(|| slaves_of(child.id()) > 0);
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(std::fs::read_to_string(&page).unwrap().contains("</html>"), "a page of what was measured");
}

fn slaves_of(parent: u32) -> usize {
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    let is_slave = |pid: &&str| {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.windows(9).any(|part| part == b"ping-pong")
    };
    children.split_whitespace().filter(is_slave).count()
}
