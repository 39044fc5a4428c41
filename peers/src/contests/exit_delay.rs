//! Measures how long a program takes to exit under load, from its last instructions until its parent's wait
//! returns.
use super::support::{self, number, numbers, unknown};
use crate::PeerError;
use anyhow::{Context, Result, ensure};
use foregather_host::child::Child;
use foregather_host::clock;
use foregather_machine::{Nanos, SplitMix};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SOURCE: &str = "peers/c/exit_delay.c";
/// The ways to exit, as arguments of the program.
const EXITS: [&str; 4] = ["exit", "_exit", "abort", "kill"];
/// A run that takes longer has failed.
const LIMIT: Nanos = Nanos::from_ms(60_000);

/// A column of the table: the runtime that the program runs with.
struct ExitColumn {
    name: &'static str,
    preload: bool,
    environment: &'static [(&'static str, &'static str)],
}

/// The first one is the baseline.
const COLUMNS: [ExitColumn; 3] = [
    ExitColumn { name: "scouts off", preload: true, environment: &[("FOREGATHER_PLACEMENT", "off")] },
    ExitColumn { name: "as it is", preload: true, environment: &[] },
    ExitColumn { name: "libgomp", preload: false, environment: &[("OMP_WAIT_POLICY", "passive")] },
];

/// Prints a table of exit times for each number of busy processes and each way to exit.
pub(super) fn hold(options: &[&str]) -> Result<(), PeerError> {
    let (mut library, mut runs, mut hogs) = (None, 50, vec![0, 1, 2, 4]);
    for (name, value) in support::options(options)? {
        match name {
            "--library" => library = Some(PathBuf::from(value)),
            "--runs" => runs = number(name, value)?,
            "--hogs" => hogs = numbers(name, value)?,
            _ => return unknown(name),
        }
    }
    if runs == 0 {
        return Err(PeerError::Usage("--runs: `0` measures nothing; give at least 1".to_owned()));
    }
    let library = library.ok_or_else(|| PeerError::Usage("--library FILE is missing".to_owned()))?;
    let library = library.canonicalize().with_context(|| format!("{} cannot be found", library.display()))?;
    let program = std::env::temp_dir().join(format!("foregather-exit-delay-{}", std::process::id()));
    let table = compile(&program).and_then(|()| table(&program, &library, runs, &hogs));
    let _ = std::fs::remove_file(&program);
    table.map(|table| print!("{table}")).map_err(PeerError::Failed)
}

fn compile(program: &Path) -> Result<()> {
    let mut cc = Command::new("cc");
    let status = cc.args(["-O2", "-fopenmp", SOURCE, "-o"]).arg(program).status().context("cc cannot be started")?;
    ensure!(status.success(), "{SOURCE} does not compile");
    Ok(())
}

fn table(program: &Path, library: &Path, runs: u64, hogs: &[u64]) -> Result<String> {
    let mut table = format!("{:>5} {:>6} {:>12} {:>11} {:>8} {:>8}\n", "busy", "way", "column", "median us", "p90", "most");
    for &hogs in hogs {
        let _busy = (0..hogs).map(|_| busy()).collect::<Result<Vec<_>>>()?;
        for exit in EXITS {
            let mut times_us = COLUMNS.map(|_| Vec::new());
            // The columns take turns in random order, so that a change of load affects them all.
            let mut random = SplitMix(1);
            for _ in 0..runs {
                for at in random.shuffled(COLUMNS.len()) {
                    times_us[at].push(time_us(program, exit, library, &COLUMNS[at])?);
                }
            }
            for (column, times_us) in COLUMNS.iter().zip(&mut times_us) {
                times_us.sort_unstable();
                let at = |part: usize| times_us[(times_us.len() - 1) * part / 100];
                let (median, p90, most) = (at(50), at(90), at(100));
                table += &format!("{hogs:>5} {exit:>6} {:>12} {median:>11} {p90:>8} {most:>8}\n", column.name);
            }
        }
    }
    Ok(table)
}

fn busy() -> Result<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
    Child::spawn(command, &[]).context("cannot start a busy process")
}

/// Returns the microseconds from the time that the program prints just before it exits, until the wait for it
/// returns.
fn time_us(program: &Path, exit: &str, library: &Path, column: &ExitColumn) -> Result<u64> {
    let mut command = Command::new(program);
    command.arg(exit).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.envs(column.environment.iter().copied());
    if column.preload {
        command.env("LD_PRELOAD", library);
    }
    let output = Child::spawn(command, &[]).and_then(|child| child.output_within(LIMIT));
    let ended = clock::now();
    let output = output.with_context(|| format!("{exit} by {}", column.name))?;
    let began: u64 = String::from_utf8_lossy(&output.stdout).trim().parse().context("the program wrote no time")?;
    Ok((ended - Nanos(began)).0 / 1_000)
}
