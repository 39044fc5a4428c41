//! `hang`: a job is watched, keeps its output and its exit code, and is looked at while it runs.
use super::{foregather, stderr};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn the_programs_output_and_exit_code_are_its_own() {
    let hang = |script: &str| foregather(&["hang", "--no-preload", "--", "sh", "-c", script]).output().unwrap();
    let said = hang("echo own; exit 7");
    assert_eq!((said.status.code(), &said.stdout[..], &*stderr(&said)), (Some(7), &b"own\n"[..], ""));
    assert_eq!(hang("kill -TERM $$").status.code(), Some(128 + 15), "as shells show it");
}

#[test]
fn a_running_job_is_looked_at_by_proc_alone() {
    // A launcher of its own: the processes of other tests do not belong to the job.
    let script = "PMI_RANK=3 sleep 1000 & echo $!; wait";
    let mut launcher = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut process = String::new();
    BufReader::new(launcher.stdout.take().unwrap()).read_line(&mut process).unwrap();
    let process = process.trim();
    let said = foregather(&["hang", "--after", "300ms", "--job", process]).output().unwrap();
    kill_process(Pid::from_raw(process.parse().unwrap()).unwrap(), Signal::TERM).unwrap();
    launcher.wait().unwrap();
    let text = stderr(&said);
    let row = text.lines().find(|line| line.split_whitespace().nth(1) == Some(process)).unwrap_or_default();
    assert!(said.status.success() && text.contains("not seen: calls of MPI"), "{text}");
    assert!(row.split_whitespace().next() == Some("3") && row.contains("sleep"), "{text}");
}

#[test]
fn a_user_gets_the_table_on_request_and_when_the_job_is_stopped() {
    let mut watching = foregather(&["hang", "--no-preload", "--", "sleep", "1000"]).stderr(Stdio::piped()).spawn().unwrap();
    let watcher = Pid::from_raw(watching.id() as i32).unwrap();
    let children = format!("/proc/{0}/task/{0}/children", watching.id());
    let deadline = Instant::now() + Duration::from_secs(30);
    // The handler is there before the child is.
    while std::fs::read_to_string(&children).is_ok_and(|text| text.is_empty()) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(watcher, Signal::USR1).unwrap();
    std::thread::sleep(Duration::from_millis(1_000));
    kill_process(watcher, Signal::TERM).unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut watching.stderr.take().unwrap(), &mut text).unwrap();
    let code = watching.wait().unwrap().code();
    assert!(text.contains("foregather hang: on request") && text.contains("foregather hang: interrupted"), "{text}");
    assert_eq!(code, Some(130), "{text}");
}

/// Ranks of `run`, of which rank 1 sleeps and never joins.
const LATE: &str = "[ $FOREGATHER_RANK = 1 ] && { echo $$; exec sleep 1000; }; exec \"$0\" app sor --ranks 3";

fn late_job() -> [&'static str; 7] {
    ["run", "-n", "3", "--", "sh", "-c", LATE]
}

#[test]
fn a_rank_that_never_joins_is_named_and_is_no_alarm() {
    let command = env!("CARGO_BIN_EXE_foregather");
    let words = [&["hang", "--no-preload", "--after", "500ms", "--", command][..], &late_job(), &[command]].concat();
    let mut watching = foregather(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    let mut lines = BufReader::new(watching.stderr.take().unwrap()).lines();
    let is_whole = |text: &str| text.contains("ranks 0 and 2") && text.contains("(exchange of rank addresses)");
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline && !is_whole(&text) {
        let Some(Ok(line)) = lines.next() else { break };
        text += &format!("{} ", line.trim());
    }
    kill_process(Pid::from_raw(watching.id() as i32).unwrap(), Signal::TERM).unwrap();
    let code = watching.wait().unwrap().code();
    assert!(is_whole(&text) && text.contains("not known to be hung: rank 1 (process "), "{text}");
    assert!(text.contains(") sleeps in ") && !text.contains("dead"), "{text}");
    assert_eq!(code, Some(130), "{text}");
}

#[test]
fn a_rank_leads_to_the_whole_job() {
    let command = env!("CARGO_BIN_EXE_foregather");
    let words = [&late_job()[..], &[command]].concat();
    let mut job = foregather(&words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(job.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let rank = first.trim().rsplit(' ').next().unwrap().to_owned();
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut text = String::new();
    let is_whole = |text: &str| text.contains("ranks 0 and 2 wait (exchange of rank addresses)");
    while Instant::now() < deadline && !is_whole(&text) {
        let said = foregather(&["hang", "--after", "500ms", "--job", &rank]).output().unwrap();
        assert!(said.status.success(), "no alarm: {}", stderr(&said));
        text = stderr(&said).split_whitespace().collect::<Vec<_>>().join(" ");
    }
    kill_process(Pid::from_raw(job.id() as i32).unwrap(), Signal::TERM).unwrap();
    job.wait().unwrap();
    assert!(is_whole(&text) && text.contains(&format!("rank 1 (process {rank}) sleeps")), "{text}");
}

#[test]
fn what_cannot_be_watched_is_said() {
    let end = |arguments: &[&str]| {
        let said = foregather(&[&["hang"], arguments].concat()).output().unwrap();
        (said.status.code(), stderr(&said))
    };
    let (code, said) = end(&["--", "no-such-program"]);
    assert!(code == Some(127) && said.contains("no such program in PATH"), "{code:?}: {said}");
    let (code, said) = end(&["--job", "4194303"]);
    assert!(code == Some(2) && said.contains("process 4194303 is not running here"), "{code:?}: {said}");
    for wrong in [&["--after", "10ms", "--", "true"][..], &["--job", "1", "--", "true"], &["--format", "json", "--", "true"], &[]]
    {
        assert_eq!(end(wrong).0, Some(2), "{wrong:?}");
    }
}
