//! A job that loses a rank, seen from outside: when each of the others detected it, and what it printed.
use crate::programs::program;
use crate::survivors::states::{State, now};
use foregather_machine::{Nanos, Rank, SplitMix};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

pub(crate) const KILL: Signal = Signal::KILL;
pub(crate) const STOP: Signal = Signal::STOP;
/// The number of ranks of a job.
const SIZE: u32 = 4;
/// The peer timeouts in milliseconds: the shortest possible one, and the default.
pub(crate) const SHORTEST_MS: u64 = 500;
pub(crate) const USUAL_MS: u64 = 2_000;
/// Extra time under background load: the tests check a limit, not a speed.
const BUSY_MS: u64 = 3_000;

/// Returns a launcher's command without the variables of a launcher that runs these tests.
pub(crate) fn launcher(size: u32, name: &str, variables: &[(&str, &str)]) -> Command {
    let words = program("launcher");
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars() {
        if ["FOREGATHER_", "PMI_", "PMIX_", "OMPI_", "SLURM_"].iter().any(|of| name.starts_with(of)) {
            command.env_remove(name);
        }
    }
    command.env("TEST_SIZE", size.to_string()).env("TEST_PROGRAM", name).envs([marker()]).envs(variables.iter().copied());
    command
}

/// Returns the variable that marks all processes of these tests.
pub(crate) fn marker() -> (&'static str, String) {
    ("TEST_MARKER", format!("lost-{}", std::process::id()))
}

/// A job in which all ranks are in one state.
pub(crate) struct Job {
    launcher: Child,
    /// Its output from then on.
    said: BufReader<std::process::ChildStdout>,
    processes: BTreeMap<Rank, i32>,
    timeout_ms: u64,
}

impl Job {
    pub(crate) fn start(fabric: &str, state: State, timeout_ms: u64) -> Result<Self, String> {
        Self::start_as("state", fabric, state, timeout_ms)
    }

    /// Starts a job of that program of [`crate::programs`], and waits until its ranks are ready.
    pub(crate) fn start_as(program: &str, fabric: &str, state: State, timeout_ms: u64) -> Result<Self, String> {
        let timeout = if timeout_ms == USUAL_MS { String::new() } else { format!("{timeout_ms}ms") };
        let variables = [
            ("FOREGATHER_FABRIC", fabric),
            ("FOREGATHER_PEER_TIMEOUT", &timeout),
            ("FOREGATHER_WATCHDOG", "5s"),
            ("TEST_STATE", &(state as usize).to_string()),
        ];
        let mut launcher = launcher(SIZE, program, &variables).spawn().map_err(|error| error.to_string())?;
        let said = BufReader::new(launcher.stdout.take().ok_or("no pipe")?);
        let mut job = Self { launcher, said, processes: BTreeMap::new(), timeout_ms };
        let mut line = String::new();
        while job.processes.len() < SIZE as usize {
            line.clear();
            if job.said.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
                return Err(format!("it ended before all were ready: {}", job.complaints()));
            }
            if let ["ready", rank, process] = line.split_whitespace().collect::<Vec<_>>()[..] {
                job.processes.insert(number(rank)?, number(process)?);
            }
        }
        Ok(job)
    }

    /// Sends that signal to one of the ranks after a while. Returns after how many milliseconds the last of
    /// the others detected the loss.
    pub(crate) fn lose_one(self, signal: Signal, seed: u64) -> Result<u64, String> {
        self.lose_one_within(20_000, signal, seed)
    }

    /// Like [`Self::lose_one`], after at most that many microseconds. A message of its heartbeat thread also
    /// shows that a rank has detected the loss.
    pub(crate) fn lose_one_within(mut self, within_us: u64, signal: Signal, seed: u64) -> Result<u64, String> {
        let mut random = SplitMix(seed);
        let victim = random.below(u64::from(SIZE)) as Rank;
        sleep(Duration::from_micros(random.below(within_us)));
        let process = Pid::from_raw(self.processes[&victim]).ok_or("no process")?;
        let since = now();
        kill_process(process, signal).map_err(|error| error.to_string())?;
        let mut said = String::new();
        self.said.read_to_string(&mut said).map_err(|error| error.to_string())?;
        let code = self.launcher.wait().map_err(|error| error.to_string())?.code();
        let complaints = self.complaints();
        let told = |what: String| format!("rank {victim} was lost: {what}\n{said}{complaints}");
        let mut knew = BTreeMap::new();
        for line in said.lines() {
            if let ["lost", rank, at, lost, ..] = line.split_whitespace().collect::<Vec<_>>()[..] {
                if number::<Rank>(lost)? != victim {
                    return Err(told(format!("rank {rank} blames {lost}")));
                }
                knew.insert(number::<Rank>(rank)?, Nanos(number(at)?));
            }
        }
        for rank in (0..SIZE).filter(|rank| complaints.contains(&format!("rank {victim} is lost; rank {rank} "))) {
            knew.entry(rank).or_insert(since);
        }
        if knew.len() != SIZE as usize - 1 || knew.contains_key(&victim) {
            return Err(told(format!("only {:?} know of it", knew.keys().collect::<Vec<_>>())));
        }
        // A stopped rank is killed in the end.
        if code != Some(137) {
            return Err(told(format!("the job ended with {code:?}")));
        }
        let last_ms = knew.values().map(|&at| (at - since).0 / 1_000_000).max().unwrap_or(0);
        if last_ms > self.timeout_ms + BUSY_MS { Err(told(format!("the last knew after {last_ms} ms"))) } else { Ok(last_ms) }
    }

    /// Returns the rest of the output of the launcher and the ranks.
    fn complaints(&mut self) -> String {
        let mut text = String::new();
        let _ = self.launcher.stderr.take().map(|mut pipe| pipe.read_to_string(&mut text));
        text
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = self.launcher.kill();
        let _ = self.launcher.wait();
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}
