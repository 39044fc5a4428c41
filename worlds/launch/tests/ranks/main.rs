//! Jobs of real processes: under our own launcher and under those of others that are installed.
mod foreign;
mod own;
mod programs;

use std::process::{Command, Output, Stdio};

/// A rank's program, of [`programs`], as a command line of this very executable.
fn program(name: &str) -> Vec<String> {
    let name = format!("programs::{name}");
    let this = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    [&this, "--exact", &name, "--ignored", "--nocapture", "--test-threads=1", "-q"].map(str::to_owned).to_vec()
}

/// A command that knows nothing of a launcher around these tests.
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

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// How many of the lines contain that.
fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}
