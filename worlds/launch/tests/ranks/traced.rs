//! A killed rank that a debugger or profiler traces, completely or one thread of it: only the tracer can reap
//! it.
use crate::own::{launcher, shell, wait_until};
use crate::trouble::{end_of, process_of};
use crate::{command, program, text};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::read_to_string;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command};
use std::time::Instant;

/// Starts a tracer of a process or of one of its threads. `None` if this process may not trace another one.
fn trace(thread: i32, variables: &[(&str, &str)]) -> Option<Child> {
    let mut tracer = command(&program("tracer"));
    tracer.env("TEST_TRACED", thread.to_string()).envs(variables.iter().copied());
    let mut tracer = tracer.spawn().unwrap();
    let mut said = BufReader::new(tracer.stdout.take().unwrap()).lines().map(Result::unwrap);
    if said.find(|line| line.ends_with("traces") || line.ends_with("may not")).unwrap().ends_with("not") {
        end_now(tracer);
        assert!(std::env::var("FOREGATHER_REQUIRE_PARTS").is_err(), "this process may not trace another one");
        eprintln!("skipped: this process may not trace another one");
        return None;
    }
    Some(tracer)
}

fn end_now(mut process: Child) {
    process.kill().unwrap();
    process.wait().unwrap();
}

/// Starts three sleeping ranks, of which the last is traced and killed, and its tracer.
fn with_a_traced_rank(marker: &str, mut launcher: Command) -> Option<(Child, Child)> {
    let job = launcher.spawn().unwrap();
    wait_until(|| crate::own::processes_with(marker) >= 5);
    let rank = process_of(2, marker);
    let Some(tracer) = trace(rank.as_raw_nonzero().get(), &[]) else {
        end_now(job);
        return None;
    };
    kill_process(rank, Signal::KILL).unwrap();
    Some((job, tracer))
}

fn processor_ticks(process: u32) -> u64 {
    let stat = read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn a_rank_that_nobody_reaps_ends_the_job_at_once_and_gives_its_code() {
    let marker = format!("TEST_MARKER=traced-{}", std::process::id());
    let variables = [marker.split_once('=').unwrap(), ("FOREGATHER_PEER_TIMEOUT", "500ms")];
    let traced = with_a_traced_rank(&marker, launcher(3, &shell("exec sleep 1000"), &variables));
    let Some((job, tracer)) = traced else { return };
    let since = Instant::now();
    let output = end_of(job);
    let (text, took) = (text(&output), since.elapsed());
    end_now(tracer);
    assert_eq!(output.status.code(), Some(137), "{text}");
    assert!(text.contains("rank 2 was killed by signal 9 (SIGKILL)") && took.as_secs() < 15, "{took:?}: {text}");
}

/// One thread of a rank delays its exit, like an idle-class thread on a busy machine. Meanwhile another rank
/// fails because of the first one.
#[test]
fn a_killed_rank_is_blamed_although_its_last_thread_ends_later_than_the_others() {
    let marker = format!("TEST_MARKER=lingers-{}", std::process::id());
    let go = std::env::temp_dir().join(format!("foregather-lingers-{}", std::process::id()));
    let rank_0 = format!("while [ ! -e {} ]; do sleep 0.05; done; exit 1", go.display());
    let words = format!("if [ $FOREGATHER_RANK = 0 ]; then {rank_0}; fi; exec {}", program("has_two_threads").join(" "));
    let variables = [marker.split_once('=').unwrap(), ("FOREGATHER_PEER_TIMEOUT", "500ms")];
    let mut job = launcher(2, &shell(&words), &variables).spawn().unwrap();
    let rank = rank_with_two_threads(1, &marker);
    let Some(tracer) = trace(second_thread(rank).unwrap(), &[]) else { return end_now(job) };
    kill_process(rank, Signal::KILL).unwrap();
    std::fs::write(&go, "").unwrap();
    let mut said = BufReader::new(job.stderr.take().unwrap()).lines().map(Result::unwrap);
    let blamed = said.find(|line| line.contains("foregather: rank "));
    end_now(tracer);
    let output = end_of(job);
    std::fs::remove_file(go).unwrap();
    assert_eq!(blamed.as_deref(), Some("foregather: rank 1 was killed by signal 9 (SIGKILL)"));
    assert_eq!(output.status.code(), Some(137), "{}", text(&output));
}

/// The connection of a killed rank closes with its last thread.
#[test]
fn a_killed_rank_is_known_before_its_last_thread_ends() {
    for victim in [0, 2] {
        let marker = format!("TEST_MARKER=held-{victim}-{}", std::process::id());
        let variables = [marker.split_once('=').unwrap(), ("FOREGATHER_PEER_TIMEOUT", "60s")];
        let mut job = launcher(4, &program("waits_with_two_threads"), &variables).spawn().unwrap();
        let all: Vec<_> = (0..4).map(|rank| rank_with_two_threads(rank, &marker)).collect();
        let rank = all[victim];
        let Some(tracer) = trace(second_thread(rank).unwrap(), &[("TEST_EXIT", "1")]) else { return end_now(job) };
        let (since, expected) = (Instant::now(), format!("lost Some({victim})"));
        kill_process(rank, Signal::KILL).unwrap();
        let said = BufReader::new(job.stdout.take().unwrap()).lines().map(Result::unwrap);
        let knew = said.filter(|line| line.contains(&expected)).take(3).count();
        let took = since.elapsed();
        end_now(tracer);
        let output = end_of(job);
        assert!(knew == 3 && took.as_secs() < 15, "{knew} knew of rank {victim} within {took:?}");
        assert_eq!(output.status.code(), Some(137), "{}", text(&output));
    }
}

/// Returns the process of that rank of a job, after it has started its second thread.
fn rank_with_two_threads(rank: u32, marker: &str) -> Pid {
    let mut found = None;
    wait_until(|| {
        found = (crate::own::processes_with(marker) >= 4).then(|| process_of(rank, marker));
        found.is_some_and(|rank| second_thread(rank).is_some())
    });
    found.unwrap()
}

/// Returns a thread of that process other than its first one.
fn second_thread(process: Pid) -> Option<i32> {
    let process = process.as_raw_nonzero().get();
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten();
    let named =
        |thread: &i32| read_to_string(format!("/proc/{process}/task/{thread}/comm")).is_ok_and(|name| name.trim() == "lingers");
    threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok()).find(named)
}

/// The others get an error about an unresponsive rank, and exit, long before its core dump is written.
#[test]
fn a_rank_that_dumps_its_core_is_blamed_although_others_end_before() {
    if read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default().starts_with('|') {
        return eprintln!("skipped: another program takes core dumps here");
    }
    let folder = std::env::temp_dir().join(format!("foregather-core-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let words = format!("cd {} && ulimit -c unlimited && exec {}", folder.display(), program("crashes").join(" "));
    let output = crate::end(launcher(3, &shell(&words), &[("FOREGATHER_PEER_TIMEOUT", "500ms")]));
    let cores = std::fs::read_dir(&folder).unwrap().flatten();
    let bytes: u64 = cores.map(|core| core.metadata().unwrap().len()).sum();
    std::fs::remove_dir_all(folder).unwrap();
    let text = text(&output);
    if bytes == 0 {
        return eprintln!("skipped: no core dumps here");
    }
    assert_eq!(output.status.code(), Some(134), "{text}");
    assert!(text.contains("rank 1 was killed by signal 6 (SIGABRT)"), "{text}");
    assert!(bytes > crate::programs::LARGE as u64, "it was cut short at {bytes} bytes: {text}");
}

/// A system that hides processes: the status is known when the tracer has exited.
#[test]
fn an_end_of_unknown_status_ends_the_others_and_is_named_once_it_is_reaped() {
    let hides = "mount -t tmpfs none /proc";
    if !Command::new("unshare").args(["-m", "sh", "-c", hides]).status().is_ok_and(|status| status.success()) {
        return eprintln!("skipped: no mount namespaces here");
    }
    let marker = format!("TEST_MARKER=hidden-{}", std::process::id());
    let variables = [marker.split_once('=').unwrap(), ("FOREGATHER_PEER_TIMEOUT", "500ms")];
    let plain = launcher(3, &shell("exec sleep 1000"), &variables);
    let mut hidden = command(&["unshare", "-m", "sh", "-c"].map(str::to_owned));
    hidden.arg(format!("{hides}; exec \"$0\" \"$@\"")).arg(plain.get_program()).args(plain.get_args());
    hidden.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let Some((job, tracer)) = with_a_traced_rank(&marker, hidden) else { return };
    // The survivors are killed; the launcher stays, and so does the dead rank, which has no variables any
    // more.
    wait_until(|| crate::own::processes_with(&marker) <= 2);
    let before = processor_ticks(job.id());
    std::thread::sleep(std::time::Duration::from_secs(1));
    let spent = processor_ticks(job.id()) - before;
    end_now(tracer);
    let output = end_of(job);
    let text = text(&output);
    assert_eq!(output.status.code(), Some(137), "{text}");
    assert!(text.contains("has ended, and another process holds its exit status"), "{text}");
    assert!(text.contains("rank 2 was killed by signal 9 (SIGKILL)") && spent < 20, "{spent} ticks in a second: {text}");
}
