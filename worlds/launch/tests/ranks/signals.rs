//! The launcher's own signals: which of them reach the ranks, and how the job ends.
use crate::own::{launcher, processes_with, send, shell, wait_until};
use crate::text;
use crate::trouble::end_of;
use rustix::process::Signal;
use std::fs::read_to_string;
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdout};
use std::time::{Duration, Instant};

/// Two ranks that print which signals they get: SIGUSR1 and SIGUSR2, and SIGINT or SIGTERM, after which they
/// exit.
const SCRIPT: &str = "trap 'echo got USR1' USR1; trap 'echo got USR2' USR2; trap 'echo got INT; exit 0' INT; \
                      trap 'echo got TERM; exit 0' TERM; echo up; while :; do sleep 0.02; done";

struct Job {
    launcher: Child,
    said: Lines<BufReader<ChildStdout>>,
    marker: String,
}

fn job(test: &str, script: &str, variables: &[(&str, &str)]) -> Job {
    let marker = format!("TEST_MARKER={test}-{}", std::process::id());
    let marked = [marker.split_once('=').unwrap()];
    let mut command = launcher(2, &shell(script), &[&marked[..], variables].concat());
    // SAFETY: resetting a signal to its default needs no handler.
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGHUP, libc::SIGQUIT, libc::SIGTSTP] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
    let mut launcher = command.spawn().unwrap();
    let said = BufReader::new(launcher.stdout.take().unwrap()).lines();
    let mut job = Job { launcher, said, marker };
    job.hears("up");
    job
}

impl Job {
    /// Checks that both ranks print that.
    fn hears(&mut self, what: &str) {
        assert_eq!(self.said.by_ref().map_while(Result::ok).filter(|line| line.ends_with(what)).take(2).count(), 2, "{what}");
    }

    fn ends(self) -> Option<i32> {
        let output = end_of(self.launcher);
        let status = output.status;
        assert_eq!(status.signal(), None, "{}", text(&output));
        wait_until(|| processes_with(&self.marker) == 0);
        status.code()
    }
}

fn states(marker: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let marked =
        all.filter(|path| std::fs::read(path.join("environ")).is_ok_and(|text| String::from_utf8_lossy(&text).contains(marker)));
    let stat = marked.filter_map(|path| read_to_string(path.join("stat")).ok());
    stat.filter(|stat| !stat.contains("(job guardian)"))
        .filter_map(|stat| Some(stat.rsplit_once(") ")?.1.split(' ').next()?.to_owned()))
        .collect()
}

#[test]
fn the_users_signals_reach_the_ranks_and_the_job_goes_on() {
    let mut job = job("usr", SCRIPT, &[]);
    for (signal, heard) in [(Signal::USR1, "got USR1"), (Signal::USR2, "got USR2"), (Signal::USR1, "got USR1")] {
        send(&job.launcher, signal);
        job.hears(heard);
    }
    send(&job.launcher, Signal::TERM);
    job.hears("got TERM");
    assert_eq!(job.ends(), Some(130));
}

#[test]
fn a_request_to_end_gives_ranks_time_and_is_the_exit_code() {
    for (signal, heard, code) in [
        (Signal::HUP, "got TERM", 129),
        (Signal::INT, "got INT", 130),
        (Signal::QUIT, "got TERM", 131),
        (Signal::TERM, "got TERM", 130),
    ] {
        let mut job = job(&format!("end-{code}-{heard}"), SCRIPT, &[]);
        send(&job.launcher, signal);
        // A terminal that closes sends it twice.
        if signal == Signal::HUP {
            send(&job.launcher, signal);
        }
        job.hears(heard);
        assert_eq!(job.ends(), Some(code), "{signal:?}");
    }
}

#[test]
fn a_rank_that_ignores_an_interrupt_is_asked_to_end_and_then_killed() {
    for (ignored, least, heard) in [("INT", 1, true), ("INT TERM", 2, false)] {
        let said = if heard { "trap 'echo got TERM; exit 0' TERM;" } else { "" };
        let mut job = job("deaf", &format!("trap '' {ignored}; {said} echo up; while :; do sleep 0.02; done"), &[]);
        let since = Instant::now();
        send(&job.launcher, Signal::INT);
        if heard {
            job.hears("got TERM");
        }
        assert_eq!(job.ends(), Some(130));
        assert!(since.elapsed() >= Duration::from_secs(least), "{:?}", since.elapsed());
    }
}

#[test]
fn a_stop_of_the_launcher_stops_the_ranks_until_it_is_continued() {
    let mut job = job("stop", SCRIPT, &[]);
    send(&job.launcher, Signal::TSTP);
    wait_until(|| !states(&job.marker).is_empty() && states(&job.marker).iter().all(|state| state == "T" || state == "Z"));
    send(&job.launcher, Signal::CONT);
    wait_until(|| states(&job.marker).iter().all(|state| state != "T"));
    send(&job.launcher, Signal::USR1);
    job.hears("got USR1");
    send(&job.launcher, Signal::TERM);
    assert_eq!(job.ends(), Some(130));
}

/// The remote shell passes its arguments to a shell on this host, like ssh.
#[test]
fn signals_reach_ranks_of_other_hosts() {
    let folder = std::env::temp_dir().join(format!("foregather-signals-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let rsh = folder.join("rsh");
    std::fs::write(&rsh, "#!/bin/sh\nshift\nexec \"$@\"\n").unwrap();
    std::fs::set_permissions(&rsh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let hosts = "a address=127.0.0.1\nb address=127.0.0.1\n";
    let mut job = job("remote", SCRIPT, &[("TEST_HOSTS", hosts), ("TEST_RSH", rsh.to_str().unwrap())]);
    send(&job.launcher, Signal::USR1);
    job.hears("got USR1");
    send(&job.launcher, Signal::USR2);
    job.hears("got USR2");
    send(&job.launcher, Signal::TERM);
    assert_eq!(job.ends(), Some(130));
    std::fs::remove_dir_all(folder).unwrap();
}
