//! The launcher in trouble: its output is not read or cannot be written, it is killed, or ranks have left
//! their process group.
use crate::own::{families, launcher, processes_with, send, shell, wait_until};
use crate::{program, text};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Output};
use std::time::Duration;

/// Returns `NAME=value` for a test, which no other process has.
fn marker(test: &str) -> String {
    format!("TEST_MARKER={test}-{}", std::process::id())
}

/// Starts two ranks that print without end into a pipe that is not read; returns when it is full.
fn unread(marker: &str) -> Child {
    let variable = marker.split_once('=').unwrap();
    let words = shell("while :; do echo 'one line and another one'; done");
    let child = launcher(2, &words, &[variable, ("FOREGATHER_PEER_TIMEOUT", "500ms")]).spawn().unwrap();
    let full = || rustix::io::ioctl_fionread(child.stdout.as_ref().unwrap()).unwrap();
    let mut before = 0;
    wait_until(|| {
        std::thread::sleep(Duration::from_millis(200));
        std::mem::replace(&mut before, full()) == full() && before > 0
    });
    child
}

/// Waits for its exit without reading its output, with a time limit that only a stuck launcher exceeds; then
/// returns its output.
pub(crate) fn end_of(mut child: Child) -> Output {
    let patience = Duration::from_secs(20);
    for _ in 0..patience.as_millis() / 10 {
        if child.try_wait().unwrap().is_some() {
            return child.wait_with_output().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("it was deaf: {}", text(&child.wait_with_output().unwrap()));
}

/// Returns the process of that rank itself, as soon as it exists: a process in `execve` shows no variables
/// for a moment.
pub(crate) fn process_of(rank: u32, marker: &str) -> Pid {
    let mut found = Vec::new();
    wait_until(|| {
        found = processes_of(rank, marker);
        !found.is_empty()
    });
    Pid::from_raw(found[0]).unwrap()
}

fn processes_of(rank: u32, marker: &str) -> Vec<i32> {
    let number = format!("FOREGATHER_RANK={rank}");
    let all = fs::read_dir("/proc").unwrap().flatten();
    let found = all.filter(|entry| {
        let variables = fs::read(entry.path().join("environ")).unwrap_or_default();
        [&number, marker].iter().all(|text| variables.split(|&byte| byte == 0).any(|variable| variable == text.as_bytes()))
    });
    let mut numbers: Vec<i32> = found.map(|entry| entry.file_name().to_str().unwrap().parse().unwrap()).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn a_death_is_seen_while_the_output_is_not_taken() {
    let marker = marker("unread-death");
    let child = unread(&marker);
    kill_process(process_of(1, &marker), Signal::KILL).unwrap();
    let output = end_of(child);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(137), "{said}");
    assert!(said.contains("rank 1 was killed by signal 9") && said.contains("bytes are lost"), "{said}");
    wait_until(|| processes_with(&marker) == 0);
}

#[test]
fn a_request_to_stop_is_heard_while_the_output_is_not_taken() {
    let marker = marker("unread-term");
    let child = unread(&marker);
    send(&child, Signal::TERM);
    assert_eq!(end_of(child).status.code(), Some(130));
    wait_until(|| processes_with(&marker) == 0);
}

#[test]
fn all_output_arrives_however_late_its_reader_begins() {
    // More than pipes and queues can hold.
    let words =
        shell("i=0; while [ $i -lt 40000 ]; do echo \"line $i of this rank, which is not a short one\"; i=$((i+1)); done");
    let mut child = launcher(2, &words, &[]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1_500));
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.filter(|line| line.ends_with("which is not a short one")).count(), 80_000);
    assert_eq!(end_of(child).status.code(), Some(0));
}

#[test]
fn a_full_disk_is_told_of() {
    // The second job has ended before the launcher notices.
    for script in ["echo hello; sleep 1000", "echo hello"] {
        let output = end_of(launcher(2, &shell(script), &[("TEST_STDOUT", "/dev/full")]).spawn().unwrap());
        let said = text(&output);
        assert!(output.status.code() == Some(3) && said.contains("cannot be written: No space left on device"), "{said}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_job_without_a_word() {
    let mut child = launcher(2, &shell("while :; do echo on and on; done"), &[]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("on and on")));
    drop(lines);
    let output = end_of(child);
    assert_eq!((output.status.code(), &text(&output)[..]), (Some(141), ""));
}

#[test]
fn ranks_and_their_children_die_with_a_launcher_that_is_killed() {
    // The ranks themselves, and one started by a shell, where only the shell gets the kernel's signal.
    for words in [program("has_a_child"), shell(&format!("{}; true", program("has_a_child").join(" ")))] {
        let marker = marker(&format!("killed-{}", words.len()));
        let mut child = families(&marker, &words);
        send(&child, Signal::KILL);
        child.wait().unwrap();
        wait_until(|| processes_with(&marker) == 0);
    }
}

#[test]
fn a_second_request_to_stop_leaves_nothing_behind() {
    let marker = marker("twice");
    let words = shell("trap '' TERM; echo 'has a child'; sleep 1000; true");
    let mut child = launcher(3, &words, &[marker.split_once('=').unwrap()]).spawn().unwrap();
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map_while(Result::ok);
    assert_eq!(lines.filter(|line| line.contains("has a child")).take(3).count(), 3);
    send(&child, Signal::TERM);
    std::thread::sleep(Duration::from_millis(100));
    send(&child, Signal::TERM);
    assert_eq!(end_of(child).status.code(), Some(130));
    wait_until(|| processes_with(&marker) == 0);
}

#[test]
fn what_has_left_its_group_ends_with_the_job_and_so_does_a_job_within() {
    let marker = marker("left");
    let apart = "setsid sleep 1000 >/dev/null 2>&1 &";
    let inner = format!("TEST_SIZE=1 TEST_PROGRAM=\"$TEST_INNER\" setsid {} >/dev/null 2>&1 &", program("launcher").join(" "));
    let variables = [marker.split_once('=').unwrap(), ("TEST_INNER", "sh\n-c\nsleep 1000; true")];
    let child = launcher(2, &shell(&format!("{apart} {inner} sleep 2")), &variables).spawn().unwrap();
    assert_eq!(end_of(child).status.code(), Some(0));
    assert_eq!(processes_with(&marker), 0, "they ended before the launcher did");
}
