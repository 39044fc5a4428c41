//! Ctrl-C keeps what was measured and leaves no process behind.
use crate::{foregather, run, scratch, stderr};
use rustix::process::{Pid, Signal, kill_process};
use std::io::BufRead;
use std::process::{Child, Stdio};
use std::time::Duration;

#[test]
fn partial_results_are_kept_and_nobody_is_left() {
    let kept = scratch("partial.json");
    let _ = std::fs::remove_file(&kept);
    // A marker in the environment finds this run's processes, whatever their parent is by then.
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

/// The row that was under way is no result; the one before it is.
#[test]
fn a_validation_that_is_interrupted_keeps_its_finished_rows() {
    let kept = scratch("partial-validation.json");
    let _ = std::fs::remove_file(&kept);
    let marker = format!("FOREGATHER_TEST_MARKER=validate-{}", std::process::id());
    let (name, value) = marker.split_once('=').unwrap();
    let args = ["measure", "barriers", "--validate", "--rows", "V2;V5", "--ms", "2", "--repetitions", "30"];
    let mut command = foregather(&args);
    command.arg("--output").arg(&kept).env(name, value).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // The second row has hogs.
    wait_until(|| children_of(child.id()).any(|arguments| arguments.ends_with(b"__hog\0")));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&kept).unwrap()).unwrap();
    assert_eq!(document["interrupted"], true);
    let rows: Vec<_> = document["measurements"].as_array().unwrap().iter().map(|m| m["labels"]["row"].as_str()).collect();
    assert!(rows.len() == 11 && rows.iter().all(|row| *row == Some("V2")), "{rows:?}");
    wait_until(|| processes_with(&marker) == 0);
}

#[test]
fn a_comparison_that_is_interrupted_keeps_its_complete_pairs() {
    let [kept, count] = ["partial-compared.json", "partial-compared.txt"].map(scratch);
    for file in [&kept, &count] {
        let _ = std::fs::remove_file(file);
    }
    let script = format!("echo run >> {}", count.display());
    let mut command = foregather(&["exec", "--library", &crate::exec::harmless(), "--compare", "1000", "--output"]);
    command.arg(&kept).args(["--", "sh", "-c", &script]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // A pair to warm up, five pairs, and one run more: a run is counted before it has ended.
    wait_until(|| std::fs::read_to_string(&count).is_ok_and(|runs| runs.lines().count() >= 13));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&kept).unwrap()).unwrap();
    let pairs = document["measurements"][1]["summary"]["n"].as_u64().unwrap();
    assert!((5..1_000).contains(&pairs) && said.contains(&format!(", {pairs} pairs): ")), "{pairs}: {said}");
    assert_eq!(document["interrupted"], true);
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

/// How many processes have this variable.
fn processes_with(marker: &str) -> usize {
    processes_with_all(&[marker]).len()
}

/// The processes that have all of these variables.
fn processes_with_all(markers: &[&str]) -> Vec<i32> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let others = pids.filter(|&pid: &i32| pid as u32 != std::process::id());
    let has_all = |pid: &i32| {
        let variables = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        markers.iter().all(|marker| variables.split(|&byte| byte == 0).any(|variable| variable == marker.as_bytes()))
    };
    others.filter(has_all).collect()
}

/// What its children load may not take Ctrl-C away.
#[test]
fn a_tour_that_is_interrupted_keeps_its_page() {
    let page = scratch("interrupted.html");
    let _ = std::fs::remove_file(&page);
    let child = foregather(&["demo", "--output"]).arg(&page).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The first cells of barriers, when those of regions have numbers.
    let met = |arguments: Vec<u8>| arguments.windows(6).any(|part| part == b"__cell");
    wait_until(|| children_of(child.id()).any(met));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(std::fs::read_to_string(&page).unwrap().contains("</html>"), "a page of what was measured");
    let said = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.starts_with("A parallel region of 2 threads beside one busy program: "), "{said}");
    assert!(!said.contains("A product") && stderr(&output).ends_with("foregather: interrupted; the results are partial\n"));
}

/// Before anything was measured, too.
#[test]
fn a_tour_that_has_just_begun_ends_with_a_page() {
    let page = scratch("begun.html");
    let _ = std::fs::remove_file(&page);
    let mut child = foregather(&["demo", "--output"]).arg(&page).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut announced = String::new();
    said.read_line(&mut announced).unwrap();
    assert!(announced.starts_with("This takes about "), "{announced}");
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("begun.html") && std::fs::read_to_string(&page).unwrap().contains("</html>"), "{said}");
}

/// What an earlier run has kept is as good as it was.
#[test]
fn costs_of_an_interrupted_run_are_not_kept() {
    let kept = scratch("interrupted-machine.json");
    std::fs::write(&kept, "of an earlier run").unwrap();
    let mut command = foregather(&["measure", "waits"]);
    command.env("FOREGATHER_MACHINE", &kept).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // The prices have been measured by then.
    wait_until(|| slaves_of(child.id()) > 0);
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("costs are not kept: the run was interrupted"), "{said}");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "of an earlier run");
}

fn slaves_of(parent: u32) -> usize {
    children_of(parent).filter(|arguments| arguments.windows(9).any(|part| part == b"ping-pong")).count()
}

/// The command lines of a process's children.
fn children_of(parent: u32) -> impl Iterator<Item = Vec<u8>> {
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    let pids: Vec<String> = children.split_whitespace().map(str::to_owned).collect();
    pids.into_iter().map(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default())
}

/// A rank has no partial results: it ends as any program does, wherever in a run it is, and its launcher says
/// so.
#[test]
fn a_rank_that_is_asked_to_stop_ends_at_once() {
    let greeting = run(&["run", "-n", "2", "--fabric", "ofi:tcp", "--", env!("CARGO_BIN_EXE_foregather"), "app", "sor"]);
    let cluster = greeting.status.success() || std::env::var_os("FOREGATHER_REQUIRE_PARTS").is_some();
    for fabric in ["shm", "ofi:tcp"].into_iter().take(if cluster { 2 } else { 1 }) {
        let (name, value) = ("FOREGATHER_TEST_MARKER", format!("rank-{fabric}-{}", std::process::id()));
        let app = ["app", "tsp", "--class", "ulysses22", "--repeat", "1000"];
        let mut command =
            foregather(&[&["run", "-n", "2", "--fabric", fabric, "--", env!("CARGO_BIN_EXE_foregather")][..], &app].concat());
        let child = command.env(name, &value).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        // Far into its runs.
        std::thread::sleep(Duration::from_secs(3));
        let marker = format!("{name}={value}");
        let rank = *processes_with_all(&[&marker, "FOREGATHER_RANK=1"]).first().expect("rank 1 runs");
        kill_process(Pid::from_raw(rank).unwrap(), Signal::TERM).unwrap();
        let asked = std::time::Instant::now();
        wait_until(|| processes_with_all(&[&marker, "FOREGATHER_RANK=1"]).is_empty());
        // A second, and as much again for a machine that is busy.
        assert!(asked.elapsed() < Duration::from_secs(2), "{fabric}: {:?}", asked.elapsed());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(143), "{fabric}: {}", stderr(&output));
        assert!(stderr(&output).contains("rank 1 was killed by signal 15"), "{fabric}: {}", stderr(&output));
        assert_eq!(processes_with(&marker), 0);
    }
}
