//! Cells in processes of their own: by which program, and in which circumstances a process is started. All
//! processes end with this one.
use anyhow::{Context, Result, bail};
use foregather_bench::{Cell, own_verb};
use foregather_host::cgroup::QuotaGroup;
use foregather_host::child::Child;
use foregather_machine::Nanos;
use std::ffi::OsString;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// This program.
pub fn myself() -> PathBuf {
    // The link works even if the file was replaced meanwhile.
    PathBuf::from("/proc/self/exe").canonicalize().unwrap_or_else(|_| "/proc/self/exe".into())
}

/// The program whose arguments these are, started by this one after it has changed how it is scheduled: to a
/// nice value, or to `round-robin`, the lowest priority of that real-time class.
pub(super) fn under(scheduling: &str, words: &mut Vec<OsString>) {
    behind(&["__under", scheduling], words);
}

/// Puts this program with these arguments before a command.
fn behind(prefix: &[&str], words: &mut Vec<OsString>) {
    words.splice(0..0, std::iter::once(myself().into()).chain(prefix.iter().map(Into::into)));
}

/// Where the first of these libraries is that can be loaded: tried in a child, so that nothing which the
/// library does is done here.
pub fn library(files: &[&str]) -> Option<String> {
    let mut command = Command::new(myself());
    command.arg("__library").args(files).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let output = Child::spawn(command, &[]).ok()?.output_within(Nanos::from_ms(10_000)).ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A program that runs cells.
#[derive(Clone, Debug, Default)]
pub struct CellProgram {
    executable: Executable,
    /// What its environment must have.
    env: Vec<(String, String)>,
}

/// Which one.
#[derive(Clone, Debug, Default)]
enum Executable {
    /// This one.
    #[default]
    This,
    /// Another build of this one.
    Build(PathBuf),
    /// The peers' program.
    Peers(PathBuf),
}

/// In which circumstances a cell runs.
#[derive(Clone, Copy, Default)]
pub struct Within<'a> {
    /// In this control group.
    pub quota: Option<&'a QuotaGroup>,
    /// In the real-time class of turns.
    pub realtime: bool,
    /// As the ranks of a job: how many, and over which fabric.
    pub job: Option<(u32, &'a str)>,
}

impl CellProgram {
    /// The same program, with a further variable in its environment.
    #[must_use]
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The peers' program, with this in its environment.
    pub(super) fn of_peers(path: PathBuf, env: Vec<(String, String)>) -> Self {
        Self { executable: Executable::Peers(path), env }
    }

    /// Another build of this program.
    pub(super) fn of_build(path: PathBuf) -> Self {
        Self { executable: Executable::Build(path), env: vec![] }
    }

    /// Runs a cell that has to end.
    ///
    /// # Errors
    /// Those of [`CellProgram::run`], and if it was not done in its time.
    pub fn run_to_end<C: Cell>(&self, cell: &C, within: Within<'_>) -> Result<Option<C::Answer>> {
        let answer = self.run(cell, within)?;
        answer.map(Some).with_context(|| format!("it did not end within {}, and was killed", cell.at_most()))
    }

    /// Runs a cell. `None` if it was not done in its time: it has collapsed, and was killed.
    ///
    /// # Errors
    /// If its process cannot be started, or fails.
    pub fn run<C: Cell>(&self, cell: &C, within: Within<'_>) -> Result<Option<C::Answer>> {
        self.start(cell, within)?.end()
    }

    /// Starts a cell, so that another one can run beside it.
    pub(super) fn start<C: Cell>(&self, cell: &C, within: Within<'_>) -> Result<RunningCell<C>> {
        let (program, verb) = match &self.executable {
            Executable::This => (myself(), own_verb::<C>()),
            Executable::Build(path) => (path.clone(), own_verb::<C>()),
            Executable::Peers(path) => (path.clone(), C::VERB.to_owned()),
        };
        let mut words: Vec<OsString> = vec![program.into(), verb.into(), cell.to_arg().into()];
        if let Some((ranks, fabric)) = within.job {
            behind(&["run", "--no-prefix", "-n", &ranks.to_string(), "--fabric", fabric, "--"], &mut words);
        }
        if within.realtime {
            under("round-robin", &mut words);
        }
        if within.quota.is_some() {
            behind(&["__held"], &mut words);
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).envs(self.env.iter().cloned().chain(cell.env()));
        command.stdin(if within.quota.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Child::spawn(command, &[]).context("cannot start a cell")?;
        if let Some(group) = within.quota {
            group.enter(child.id())?;
            drop(child.streams().stdin.take());
        }
        Ok(RunningCell { child, at_most: cell.at_most(), answer: PhantomData })
    }
}

/// A cell that was started. It ends with this.
pub(super) struct RunningCell<C> {
    child: Child,
    at_most: Nanos,
    answer: PhantomData<C>,
}

impl<C: Cell> RunningCell<C> {
    /// Its answer; `None` if it was not done in its time from now on.
    pub(super) fn end(self) -> Result<Option<C::Answer>> {
        let Some(output) = self.output()? else { return Ok(None) };
        if !output.status.success() {
            bail!("a cell failed ({}): {}", output.status, said(&output.stderr));
        }
        answer::<C>(&output).map(Some)
    }

    /// The same of a cell that ends its process itself, by a signal or otherwise.
    pub(super) fn end_in_any_way(self) -> Result<Option<C::Answer>> {
        let Some(output) = self.output()? else { return Ok(None) };
        let complaint = || format!("{}; {}", output.status, said(&output.stderr));
        answer::<C>(&output).with_context(complaint).map(Some)
    }

    fn output(self) -> Result<Option<Output>> {
        match self.child.output_within(self.at_most) {
            Ok(output) => Ok(Some(output)),
            Err(_) if !foregather_host::interrupt::requested() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

fn answer<C: Cell>(output: &Output) -> Result<C::Answer> {
    let line = said(&output.stdout);
    serde_json::from_str(&line).with_context(|| format!("a cell answered `{line:.200}`"))
}
