//! `cargo xtask ci`: the steps of `.ci/steps.toml`, or the checks of a room.
mod run;
mod table;

use crate::ChoreError;
use crate::build::root;
use anyhow::Context;
use run::{CiLimits, EndedStep, Outcome, StepHost};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, num, thread};
use table::{CiStep, StepTable};

pub(crate) const HELP: &str = "\
cargo xtask ci NAME ...          runs these steps, and those that must pass before them
cargo xtask ci core/wait ...     runs the checks of these rooms
cargo xtask ci                   installs what steps need, and runs them all
cargo xtask ci --list            lists the steps

The table is `.ci/steps.toml`, with time limits and needs. At most one step runs per processor. Steps that build in target/ take turns, and
steps that measure run alone, after all others. The output of a step is printed when the step ends, that of a failed one after all others;
it is kept in target/ci/NAME.log.
A step is not run where something that it needs is missing. With FOREGATHER_REQUIRE_PARTS=1 that is a failure, unless the step is optional.

Exit codes: 0 all steps passed, 1 a step failed, 2 wrong usage.";

pub(crate) fn run(words: &[&str]) -> Result<bool, ChoreError> {
    let root = root()?;
    if env::var_os("CARGO_PKG_NAME").is_some() {
        return without_cargo(root, words);
    }
    let table = StepTable::parse(&fs::read_to_string(root.join(".ci/steps.toml")).context("cannot read .ci/steps.toml")?)?;
    let steps = match words {
        ["--list"] => {
            print!("{}", table.listing());
            return Ok(true);
        }
        names => table.select(names).map_err(ChoreError::Usage)?,
    };
    let logs = root.join("target/ci");
    fs::create_dir_all(&logs)?;
    // `cargo run` would wait for a step that builds.
    let own = logs.join("xtask");
    fs::remove_file(&own).ok();
    fs::copy(env::current_exe()?, &own)?;
    let site = Here { root, logs, own, table };
    let limits = CiLimits {
        at_once: thread::available_parallelism().map_or(1, num::NonZero::get),
        within: Duration::from_secs(site.table.within),
        requires_parts: env::var("FOREGATHER_REQUIRE_PARTS").is_ok_and(|value| value == "1"),
    };
    let ended = run::all(&steps, limits, &site);
    for EndedStep { step, .. } in ended.iter().filter(|ended| matches!(ended.outcome, Outcome::Failed(_))) {
        site.print_output(step);
    }
    print!("\n{}", run::summary(&ended));
    Ok(!ended.iter().any(|ended| ended.outcome.is_failure()))
}

/// Runs the script for these words without the variables that `cargo run` has set for this program, which
/// would change what steps build and load.
fn without_cargo(root: &Path, words: &[&str]) -> Result<bool, ChoreError> {
    const SET: [&str; 5] = ["CARGO", "LD_LIBRARY_PATH", "RUST_RECURSION_COUNT", "PYO3_NO_PYTHON", "PROPTEST_RNG_SEED"];
    let is_set = |name: &String| {
        ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|first| name.starts_with(first)) || SET.contains(&name.as_str())
    };
    let is_room = words.first().is_some_and(|word| root.join(word).join("Cargo.toml").is_file());
    let mut command = Command::new(root.join(if is_room { ".ci/room" } else { ".ci/run" }));
    for name in env::vars().map(|(name, _)| name).filter(is_set) {
        command.env_remove(name);
    }
    Ok(command.args(words).status().context("cannot start the script")?.success())
}

/// This machine.
struct Here {
    root: &'static Path,
    logs: PathBuf,
    /// A copy of this program, which no step replaces.
    own: PathBuf,
    table: StepTable,
}

impl Here {
    fn log(&self, step: &CiStep) -> PathBuf {
        self.logs.join(format!("{}.log", step.name))
    }

    fn print_output(&self, step: &CiStep) {
        let output = fs::read(self.log(step)).unwrap_or_default();
        println!("\n== {}: {}\n{}", step.name, step.about, String::from_utf8_lossy(&output));
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.root).stdin(Stdio::null()).env("XTASK", &self.own);
        command
    }
}

impl StepHost for Here {
    fn missing(&self, step: &CiStep) -> Option<String> {
        let is_met = |need: &String| {
            let mut test = self.command("bash");
            test.args(["-c", &self.table.test_of(need)]).stdout(Stdio::null()).stderr(Stdio::null());
            test.status().is_ok_and(|status| status.success())
        };
        let missing: Vec<String> = step.needs.iter().filter(|need| !is_met(need)).map(|need| self.table.remedy(need)).collect();
        (!missing.is_empty()).then(|| format!("missing: {}", missing.join(", ")))
    }

    /// Runs a command with its output in a file. `timeout` ends it together with its process group.
    fn execute(&self, step: &CiStep) -> Result<(), String> {
        let log = fs::File::create(self.log(step)).map_err(|error| format!("cannot write its log: {error}"))?;
        let errors = log.try_clone().map_err(|error| format!("cannot write its log: {error}"))?;
        let mut command = self.command("setpriv");
        // It ends with this program: an interrupt at the terminal does not reach it.
        command.args(["--pdeathsig", "TERM", "timeout", "-k", "5", &step.seconds.to_string()]);
        command.args(["bash", "-euo", "pipefail", "-c", &step.run]);
        let status = command.stdout(log).stderr(errors).status().map_err(|error| format!("cannot start `setpriv`: {error}"))?;
        match status.code() {
            Some(0) => Ok(()),
            Some(124 | 137) => Err(format!("not finished within {} s", step.seconds)),
            _ => Err(status.to_string()),
        }
    }

    fn report(&self, step: &CiStep, ended: Option<&Outcome>) {
        match ended {
            None => println!("-- {} begins; its output: {}", step.name, self.log(step).display()),
            Some(Outcome::Passed) => self.print_output(step),
            Some(Outcome::Failed(why)) => println!("-- {} failed: {why}", step.name),
            Some(Outcome::NotRun(why, _)) => println!("-- {} is not run here, {why}", step.name),
        }
    }
}
