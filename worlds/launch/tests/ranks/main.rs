//! Jobs of real processes, under our own launcher and under others that are installed.
mod foreign;
mod joining;
mod own;
mod programs;
mod signals;
mod traced;
mod trouble;
mod two_hosts;
mod wrappers;

use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Returns the command line of a rank's program of [`programs`], for this executable.
fn program(name: &str) -> Vec<String> {
    let name = format!("programs::{name}");
    let this = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    [&this, "--exact", &name, "--ignored", "--nocapture", "--test-threads=1", "-q"].map(str::to_owned).to_vec()
}

/// Returns a command without the variables of a launcher that runs these tests.
fn command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars() {
        if ["FOREGATHER_", "PMI_", "PMIX_", "OMPI_", "SLURM_STEP", "SLURM_PROCID"].iter().any(|of| name.starts_with(of)) {
            command.env_remove(name);
        }
    }
    command
}

/// How long a job may take before it counts as stuck: much longer than any of them takes on a busy machine.
const STUCK: Duration = Duration::from_secs(120);

/// Waits for the command's exit, and returns its output. A job that hangs is killed, and fails the test.
fn end(mut command: Command) -> Output {
    let child = command.process_group(0).spawn().unwrap();
    let group = Pid::from_raw(child.id() as i32).unwrap();
    let (ended, over) = channel();
    let watch = thread::spawn(move || {
        let stuck = over.recv_timeout(STUCK).is_err();
        if stuck {
            // The launcher's own death ends its ranks.
            let _ = kill_process_group(group, Signal::KILL);
        }
        stuck
    });
    let output = child.wait_with_output().unwrap();
    let _ = ended.send(());
    assert!(!watch.join().unwrap(), "it hung: {}", text(&output));
    output
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Returns whether it is installed. With `FOREGATHER_REQUIRE_PARTS=1` it must be.
fn installed(part: &str, package: &str) -> bool {
    let folders = std::env::var("PATH").unwrap_or_default();
    let found = folders.split(':').chain(["/usr/sbin", "/sbin"]).any(|folder| Path::new(folder).join(part).exists());
    let required = std::env::var("FOREGATHER_REQUIRE_PARTS").is_ok_and(|value| value == "1");
    assert!(found || !required, "{part} is missing: install {package}");
    if !found {
        eprintln!("skipped: {part} is missing; install {package}");
    }
    found
}

/// Returns how many of the lines contain `part`.
fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}
