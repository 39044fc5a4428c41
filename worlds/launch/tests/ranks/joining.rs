//! The first second of a job: ranks that die, signals that arrive while a network library is loaded,
//! unverified peers, and pauses.
use crate::own::{fabrics, launcher, run, shell};
use crate::{command, count, end, program, text};
use foregather_machine::SplitMix;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// Returns that program for all ranks except those that the script handles.
fn after(script: &str, name: &str) -> Vec<String> {
    shell(&format!("{script}; exec {}", program(name).join(" ")))
}

#[test]
fn a_rank_that_dies_before_it_has_joined_is_named_by_the_others() {
    for (its_end, said) in [("kill -9 $$", "was killed by signal 9 (SIGKILL)"), ("exit 0", "exited with code 0")] {
        let since = Instant::now();
        let output = end(launcher(4, &after(&format!("[ $FOREGATHER_RANK = 1 ] && {its_end}"), "greets"), &[]));
        let (text, took) = (text(&output), since.elapsed());
        assert_eq!(count(&text, &format!("refused: rank 1 {said} before it joined")), 3, "{text}");
        assert_ne!(output.status.code(), Some(0), "{text}");
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
}

#[test]
fn a_long_wait_for_ranks_names_them() {
    let late = after("case $FOREGATHER_RANK in 1|3) sleep 2.5;; esac", "greets");
    let output = end(launcher(4, &late, &[("FOREGATHER_WATCHDOG", "1s")]));
    let text = text(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert_eq!(count(&text, "s: ranks 1, 3 have not arrived yet"), 2, "{text}");
}

/// Starts rank 0 of a job of two, which waits for the other, and returns the port on which it listens.
fn lonely(name: &str) -> (Command, u16) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut rank = command(&program(name));
    let variables = [("RANK", "0"), ("SIZE", "2"), ("JOB", "a job"), ("SECRET", "between us"), ("JOIN_TIMEOUT", "6s")];
    rank.envs(variables.map(|(name, value)| (format!("FOREGATHER_{name}"), value)));
    rank.env("FOREGATHER_ROOT", format!("127.0.0.1:{port}"));
    (rank, port)
}

#[test]
fn a_hub_without_descriptors_says_so_and_rests() {
    let (mut rank, port) = lonely("has_few_descriptors");
    let mut rank = rank.spawn().unwrap();
    let mut said = BufReader::new(rank.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("took ") {
        assert!(said.read_line(&mut text).unwrap() > 0, "{text}");
    }
    let unverified: Vec<_> = (0..40).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    said.read_to_string(&mut text).unwrap();
    rank.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    rank.wait().unwrap();
    drop(unverified);
    assert_eq!(count(&text, "cannot let more connections in"), 1, "{text}");
    assert!(count(&text, "ulimit -n") == 2 && text.contains("did not arrive within"), "{text}");
    let spent_ms: u64 = text.lines().find_map(|line| line.strip_prefix("spent ")?.parse().ok()).expect("it says so");
    assert!(spent_ms < 600, "{spent_ms} ms of processor time in 6 s");
}

#[test]
fn without_a_loopback_a_rank_says_so_at_once() {
    let (mut rank, _) = lonely("greets");
    rank.env("FOREGATHER_RANK", "1");
    let mut apart = command(&["unshare", "-rn"].map(str::to_owned));
    apart.args([rank.get_program()]).args(rank.get_args());
    apart.envs(rank.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if !Command::new("unshare").args(["-rn", "true"]).status().is_ok_and(|status| status.success()) {
        return eprintln!("skipped: no network namespaces here");
    }
    let since = Instant::now();
    let text = text(&end(apart));
    assert!(text.contains("bring lo up") && since.elapsed() < Duration::from_secs(4), "{:?}: {text}", since.elapsed());
}

#[test]
fn a_pause_shorter_than_half_of_the_timeout_loses_no_rank() {
    for (asked, _) in fabrics() {
        for (timeout, rank, pause_s) in [("2s", "1", "0.8"), ("2s", "0", "0.8"), ("off", "1", "3")] {
            let variables = [("FOREGATHER_FABRIC", asked), ("FOREGATHER_PEER_TIMEOUT", timeout)];
            let output = run(3, "stands_still", &[&variables[..], &[("TEST_RANK", rank), ("TEST_PAUSE", pause_s)]].concat());
            let text = text(&output);
            assert_eq!((output.status.code(), count(&text, "went on")), (Some(0), 3), "{asked}, {timeout}: {text}");
        }
    }
}

/// Sends that signal to a rank some milliseconds after it has joined; returns the launcher's exit code.
fn ended_by(signal: Signal, after_ms: u64) -> (Option<i32>, String) {
    let mut launcher = launcher(2, &program("opens"), &[("FOREGATHER_FABRIC", "ofi:tcp")]).spawn().unwrap();
    let mut said = BufReader::new(launcher.stdout.take().unwrap());
    let (mut line, mut text) = (String::new(), String::new());
    let rank = loop {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended too soon");
        if let Some((_, number)) = line.trim().split_once("joined 1 ") {
            break pidfd_open(Pid::from_raw(number.parse().unwrap()).unwrap(), PidfdFlags::empty()).unwrap();
        }
    };
    std::thread::sleep(Duration::from_millis(after_ms));
    pidfd_send_signal(&rank, signal).unwrap();
    // The standard library's handler ignores a first SIGSEGV, and replaces itself with the default action.
    for _ in 0..if signal == Signal::SEGV { 20 } else { 0 } {
        std::thread::sleep(Duration::from_millis(300));
        let _ = pidfd_send_signal(&rank, signal);
    }
    said.read_to_string(&mut text).unwrap();
    launcher.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    let status = launcher.wait().unwrap();
    (status.code().or_else(|| status.signal().map(|signal| -signal)), text)
}

#[test]
fn a_signal_ends_a_rank_as_it_should_while_libfabric_loads() {
    if fabrics().len() < 3 {
        return;
    }
    let rounds = std::env::var("FOREGATHER_SOAK").map_or(12, |rounds| rounds.parse().unwrap());
    std::thread::scope(|threads| {
        for part in 0..3 {
            threads.spawn(move || {
                for round in (part..rounds).step_by(3) {
                    let after_ms = SplitMix(round).below(1_000);
                    let (code, text) = ended_by(Signal::TERM, after_ms);
                    assert_eq!(code, Some(143), "round {round}, after {after_ms} ms: {text}");
                }
                let (code, text) = ended_by(Signal::SEGV, 50 + 100 * part);
                assert_eq!(code, Some(139), "{text}");
            });
        }
    });
}
