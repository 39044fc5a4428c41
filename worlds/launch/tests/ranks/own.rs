//! Under `foregather run`: how jobs end, whether they succeed or fail, and that nothing is left behind.
use crate::{command, count, end, program, text};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output};
use std::time::Duration;

pub(crate) fn launcher(size: u32, words: &[String], variables: &[(&str, &str)]) -> Command {
    let mut command = command(&program("launcher"));
    command.env("TEST_SIZE", size.to_string()).env("TEST_PROGRAM", words.join("\n")).envs(variables.iter().copied());
    command
}

pub(crate) fn run(size: u32, name: &str, variables: &[(&str, &str)]) -> Output {
    end(launcher(size, &program(name), variables))
}

pub(crate) fn shell(script: &str) -> Vec<String> {
    ["sh", "-c", script].map(str::to_owned).to_vec()
}

/// Returns how many running processes have this text in their variables.
pub(crate) fn processes_with(marker: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| fs::read(entry.path().join("environ")).is_ok_and(|text| String::from_utf8_lossy(&text).contains(marker)))
        .count()
}

pub(crate) fn wait_until(mut done: impl FnMut() -> bool) {
    for _ in 0..3_000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it did not come about within half a minute");
}

#[test]
fn ranks_find_each_other() {
    for size in [1, 2, 8] {
        let output = run(size, "greets", &[]);
        let text = text(&output);
        assert_eq!(output.status.code(), Some(0), "{text}");
        let sum = size * (size + 1) / 2;
        assert_eq!(count(&text, &format!("of {size}, {size} here: sum {sum}\n")), size as usize, "{text}");
        assert!(text.contains(&format!("[{}] ", size - 1)), "{text}");
    }
}

#[test]
fn the_survivors_of_a_loss_say_who_it_was() {
    for (end, code, said) in [
        ("exit", 7, "rank 1 exited with code 7"),
        ("kill", 137, "rank 1 was killed by signal 9"),
        // The rank is unresponsive until the others kill it: it must not wake up and continue.
        ("stop", 137, "rank 1 was stopped by a signal"),
        ("drop", 9, "rank 1 exited with code 9"),
    ] {
        let output = run(4, "one_fails", &[("TEST_END", end), ("FOREGATHER_PEER_TIMEOUT", "3s")]);
        let text = text(&output);
        assert_eq!(count(&text, "lost Some(1)"), 3, "{end}: {text}");
        if end != "drop" {
            assert_eq!(output.status.code(), Some(code), "{end}: {text}");
            assert!(text.contains(said), "{end}: {text}");
        }
    }
}

/// Returns the fabrics to test; libfabric is not installed everywhere.
pub(crate) fn fabrics() -> Vec<(&'static str, &'static str)> {
    let mut fabrics = vec![("", "shm"), ("shm", "shm")];
    match foregather_ofi::Provider::open("tcp", None) {
        Ok(_) => fabrics.push(("ofi:tcp", "ofi")),
        Err(error) => {
            assert!(std::env::var("FOREGATHER_REQUIRE_PARTS").is_err(), "{error}");
            eprintln!("skipped: {error}");
        }
    }
    fabrics
}

#[test]
fn ranks_send_by_the_fabric_that_was_asked_for() {
    for (asked, used) in fabrics() {
        let output = run(3, "sends", &[("FOREGATHER_FABRIC", asked)]);
        let text = text(&output);
        assert_eq!((output.status.code(), count(&text, &format!("sent by {used}"))), (Some(0), 3), "{text}");
    }
    let output = run(2, "sends", &[("FOREGATHER_FABRIC", "pigeons")]);
    assert!(text(&output).contains("`pigeons`") && output.status.code() == Some(1), "{}", text(&output));
}

/// The frame on the first lane is sent although its sender only waits on the second.
#[test]
fn a_lane_makes_progress_while_its_thread_waits_on_another() {
    for (asked, used) in fabrics() {
        let output = run(2, "crosses", &[("FOREGATHER_FABRIC", asked)]);
        let text = text(&output);
        assert_eq!((output.status.code(), count(&text, &format!("crossed by {used}"))), (Some(0), 2), "{text}");
    }
}

#[test]
fn whoever_waits_for_a_frame_learns_of_a_loss() {
    for (asked, _) in fabrics() {
        let output = run(3, "sends", &[("FOREGATHER_FABRIC", asked), ("TEST_END", "stop"), ("FOREGATHER_PEER_TIMEOUT", "3s")]);
        let text = text(&output);
        assert_eq!((output.status.code(), count(&text, "no ring: lost Some(1)")), (Some(137), 2), "{text}");
    }
}

#[test]
fn ranks_that_disagree_about_the_fabric_are_told() {
    let words = program("sends");
    let script = format!("[ $FOREGATHER_RANK = 1 ] && export FOREGATHER_FABRIC=ofi:tcp; exec {}", words.join(" "));
    let output = end(launcher(2, &shell(&script), &[]));
    let text = text(&output);
    assert!(text.contains("chose another fabric") && !text.contains("sent by"), "{text}");
}

#[test]
fn whoever_computes_in_silence_is_lost_for_nobody() {
    let output = run(12, "computes", &[("FOREGATHER_PEER_TIMEOUT", "1s")]);
    let text = text(&output);
    assert_eq!((output.status.code(), count(&text, "was let be")), (Some(0), 12), "{text}");
}

#[test]
fn a_long_wait_is_told_of() {
    let output = run(3, "is_late", &[("FOREGATHER_WATCHDOG", "500ms")]);
    let text = text(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert_eq!(count(&text, "has been waiting for"), 2, "{text}");
    assert!(text.contains("s: exchange of rank addresses"), "{text}");
    assert_eq!(count(&self::text(&run(3, "is_late", &[("FOREGATHER_WATCHDOG", "0")])), "has been waiting"), 0);
}

#[test]
fn a_rank_without_the_secret_stays_outside() {
    let words = program("greets");
    let script = format!("[ $FOREGATHER_RANK = 1 ] && FOREGATHER_SECRET=guessed; exec {}", words.join(" "));
    let output = end(launcher(2, &shell(&script), &[("FOREGATHER_JOIN_TIMEOUT", "3s")]));
    let text = text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("no rank: refused: it does not know the job's secret"), "{text}");
    assert!(text.contains("127.0.0.1") && !text.contains("sum"), "{text}");
}

#[test]
fn the_first_that_fails_decides_the_code_and_all_others_end() {
    let marker = format!("TEST_MARKER=code-{}", std::process::id());
    let (name, value) = marker.split_once('=').unwrap();
    // A rank that ignores SIGTERM, with a child of its own.
    let deaf = "trap '' TERM; [ $FOREGATHER_RANK = 2 ] && exit 5; sleep 1000 & while :; do wait; done";
    let output = end(launcher(3, &shell(deaf), &[(name, value), ("FOREGATHER_PEER_TIMEOUT", "500ms")]));
    assert_eq!(output.status.code(), Some(5), "{}", text(&output));
    assert!(text(&output).contains("rank 2 exited with code 5"), "{}", text(&output));
    wait_until(|| processes_with(&marker) == 0);
}

/// Starts a job whose ranks have children, and returns when all have started.
pub(crate) fn families(marker: &str, words: &[String]) -> Child {
    let (name, value) = marker.split_once('=').unwrap();
    let mut child = launcher(3, words, &[(name, value)]).spawn().unwrap();
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map_while(Result::ok);
    assert_eq!(lines.filter(|line| line.contains("has a child")).take(3).count(), 3);
    child
}

pub(crate) fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
}

#[test]
fn an_interrupted_job_leaves_nothing_behind() {
    let marker = format!("TEST_MARKER=interrupt-{}", std::process::id());
    let child = families(&marker, &program("has_a_child"));
    // The launcher and its guardian, its ranks, their children.
    assert_eq!(processes_with(&marker), 8);
    send(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output));
    wait_until(|| processes_with(&marker) == 0);
}

#[test]
fn a_failed_job_leaves_nothing_behind() {
    let marker = format!("TEST_MARKER=failed-{}", std::process::id());
    let (name, value) = marker.split_once('=').unwrap();
    let output = run(3, "has_a_child", &[(name, value), ("TEST_END", "exit"), ("FOREGATHER_PEER_TIMEOUT", "500ms")]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    wait_until(|| processes_with(&marker) == 0);
}
