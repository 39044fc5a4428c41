//! Processes that a measurement needs: cells, and hogs beside them. All are children that end with this process.
use anyhow::{Context, Result, bail};
use foregather_bench::Stranger;
use foregather_host::cgroup::QuotaGroup;
use foregather_host::child::Child;
use foregather_machine::Nanos;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// This program.
pub fn myself() -> PathBuf {
    // The link works even if the file was replaced meanwhile.
    PathBuf::from("/proc/self/exe").canonicalize().unwrap_or_else(|_| "/proc/self/exe".into())
}

/// Processes outside the team that want processors, too; they end when this is dropped.
pub struct Hogs {
    /// Kept for their end.
    _running: Vec<Child>,
}

impl Hogs {
    /// Starts so many of that nice value that compute without end, and gives the kernel a moment to place them.
    ///
    /// # Errors
    /// If a process cannot be started.
    pub fn start(count: u32, nice: i8) -> Result<Self> {
        Self::strange(Stranger::Hog, count, nice)
    }

    /// The same of any strangers.
    ///
    /// # Errors
    /// If a process cannot be started.
    pub fn strange(kind: Stranger, count: u32, nice: i8) -> Result<Self> {
        let start = |_| {
            let mut command = Command::new(myself());
            // Nice 0 is what they have, or what this process is not allowed to give them.
            let nicer = (nice != 0).then(|| under(&nice.to_string()));
            command.args(nicer.iter().flatten()).arg("__hog");
            // What the usual ones do need not be said.
            command
                .args((kind != Stranger::Hog).then(|| kind.to_string()))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            Child::spawn(command, &[])
        };
        let hogs = Self { _running: (0..count).map(start).collect::<Result<_, _>>().context("cannot start a hog")? };
        if count > 0 {
            std::thread::sleep(std::time::Duration::from_millis(30));
        }
        Ok(hogs)
    }
}

/// What this program's arguments begin with if the rest shall run under a nice value, or `round-robin`: the lowest priority
/// of that real-time class.
pub fn under(scheduling: &str) -> [String; 3] {
    ["__under".to_owned(), scheduling.to_owned(), myself().to_string_lossy().into_owned()]
}

/// Where the first of these libraries is that can be loaded: tried in a child, which then has whatever it does.
pub fn library(files: &[&str]) -> Option<String> {
    let mut command = Command::new(myself());
    command.arg("__library").args(files).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let output = Child::spawn(command, &[]).ok()?.output_within(Nanos::from_ms(10_000)).ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// How one cell is run.
pub struct CellCommand<'a> {
    /// The program.
    pub program: &'a Path,
    /// Its arguments.
    pub args: Vec<String>,
    /// What its environment has besides ours.
    pub env: &'a [(String, String)],
}

/// Runs one cell in a child, within a quota group if there is one. `None` if it was not done within `bound`: it has
/// collapsed, and was killed.
///
/// # Errors
/// If the child cannot be started, or fails.
pub fn run_cell<R: DeserializeOwned>(cell: &CellCommand<'_>, group: Option<&QuotaGroup>, bound: Nanos) -> Result<Option<R>> {
    let mut command = if group.is_some() {
        let mut held = Command::new(myself());
        held.arg("__held").arg(cell.program).stdin(Stdio::piped());
        held
    } else {
        let mut direct = Command::new(cell.program);
        direct.stdin(Stdio::null());
        direct
    };
    command.args(&cell.args).envs(cell.env.iter().map(|(k, v)| (k, v))).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Child::spawn(command, &[]).context("cannot start a cell")?;
    if let Some(group) = group {
        group.enter(child.id())?;
        drop(child.streams().stdin.take());
    }
    let output = match child.output_within(bound) {
        Ok(output) => output,
        Err(_) if !foregather_host::interrupt::requested() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !output.status.success() {
        bail!("a cell failed ({}): {}", output.status, said(&output.stderr));
    }
    let line = said(&output.stdout);
    serde_json::from_str(&line).map(Some).with_context(|| format!("a cell answered `{line}`"))
}
