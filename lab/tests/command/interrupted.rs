//! Ctrl-C keeps what was measured and leaves no process behind.
use crate::{foregather, scratch, stderr};
use std::process::{Command, Stdio};
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
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&kept).unwrap()).unwrap();
    assert_eq!(document["interrupted"], true);
    wait_until(|| processes_with(&marker) == 0);
}

/// Waits for something that comes soon, and fails if it never does.
fn wait_until(come: impl Fn() -> bool) {
    for _ in 0..1_000 {
        if come() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
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
