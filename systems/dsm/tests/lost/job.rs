//! A job that loses a rank, seen from outside.
use crate::programs::{SIZE, State, program};
use foregather_machine::{Rank, SplitMix};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the other ranks may take to detect it on a machine under background load: the test checks a
/// limit, not a speed. The peer timeout has its default.
const BUSY: Duration = Duration::from_secs(20);

/// Sends that signal to one of the ranks when all are in that state: each of the others must name it.
pub(crate) fn lose_one(fabric: &str, state: State, signal: Signal, seed: u64) -> Result<(), String> {
    // One job at a time: several would slow each other down.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut random = SplitMix(seed);
    let victim = random.below(u64::from(SIZE)) as Rank;
    let mut launcher = start(fabric, state, victim)?;
    let errors = launcher.0.stderr.take().ok_or("no pipe")?;
    let complaints = std::thread::spawn(move || {
        let mut text = String::new();
        BufReader::new(errors).read_to_string(&mut text).map(|_| text)
    });
    let mut output = BufReader::new(launcher.0.stdout.take().ok_or("no pipe")?);
    let processes = match all_ready(&mut output) {
        Ok(processes) => processes,
        Err(error) => return Err(format!("{error}{:?}", complaints.join())),
    };
    std::thread::sleep(Duration::from_micros(random.below(20_000)));
    let (process, since) = (Pid::from_raw(processes[&victim]).ok_or("no process")?, Instant::now());
    kill_process(process, signal).map_err(|error| error.to_string())?;
    let mut said = String::new();
    output.read_to_string(&mut said).map_err(|error| error.to_string())?;
    said += &complaints.join().map_err(|_| "nobody listened")?.map_err(|error| error.to_string())?;
    let (code, took) = (launcher.0.wait().map_err(|error| error.to_string())?.code(), since.elapsed());
    let wrong = |what: String| Err(format!("rank {victim} was lost: {what} after {took:?}\n{said}"));
    for rank in (0..SIZE).filter(|&rank| rank != victim) {
        let gone = format!("the process of rank {victim} has died or stopped responding");
        // Both prefixes are of messages about the rank itself.
        let own = [format!("rank {rank} ended: "), format!("rank {rank} cannot ")];
        if !said.lines().any(|line| own.iter().any(|own| line.contains(own)) && line.contains(&gone)) {
            return wrong(format!("rank {rank} did not say so"));
        }
    }
    match code {
        Some(137) if took < BUSY => Ok(()),
        _ => wrong(format!("the job ended with {code:?}")),
    }
}

struct Launcher(Child);

impl Drop for Launcher {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(fabric: &str, state: State, victim: Rank) -> Result<Launcher, String> {
    let words = program("launcher");
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars() {
        if ["FOREGATHER_", "PMI_", "PMIX_", "OMPI_", "SLURM_"].iter().any(|of| name.starts_with(of)) {
            command.env_remove(name);
        }
    }
    command.env("FOREGATHER_FABRIC", fabric).env("TEST_STATE", format!("{state:?}")).env("TEST_VICTIM", victim.to_string());
    command.spawn().map(Launcher).map_err(|error| error.to_string())
}

/// Reads until every rank has reported its state and its PID.
fn all_ready(output: &mut impl BufRead) -> Result<BTreeMap<Rank, i32>, String> {
    let (mut processes, mut line, mut all) = (BTreeMap::new(), String::new(), String::new());
    while processes.len() < SIZE as usize {
        line.clear();
        if output.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
            return Err(format!("it ended before all were ready:\n{all}"));
        }
        all += &line;
        if let ["ready", rank, process] = line.split_whitespace().collect::<Vec<_>>()[..]
            && let (Ok(rank), Ok(process)) = (rank.parse(), process.parse())
        {
            processes.insert(rank, process);
        }
    }
    Ok(processes)
}
