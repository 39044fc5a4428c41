//! `cargo xtask kill`: jobs whose ranks or launcher are killed, stopped or asked to end, at random moments. All survivors must name the right
//! rank in time, the job must end with the right code, and nothing may be left behind.
mod job;
mod round;

use job::{Marked, see_through};
use round::Round;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use std::{fs, thread};

pub(crate) const HELP: &str = "\
cargo xtask kill [--rounds N] [--fabric shm|ofi:tcp] [--seed S] [--round I] [--at-once N] [--folder FOLDER]

Starts N jobs (100) of 2 to 8 ranks, and in each does one thing to a rank or to the launcher: SIGKILL, SIGSTOP, SIGSTOP and SIGCONT, SIGTERM, SIGSEGV; ranks
stand alone or behind a shell, a program like `time`, or `timeout`. Checked: no hang, no process and no shared memory left, the lost
rank named by every other one within 2 s (a stopped one within the peer timeout and half a second), nobody lost by a short stop, and the right exit code.
FOLDER (target/release) holds `foregather` and `examples/survivors`. The same seed takes the same decisions; --round I runs that one alone.

Exit codes: 0 all is well, 1 a round went wrong, 2 wrong usage.";

struct KillOptions {
    rounds: u64,
    fabric: String,
    seed: u64,
    only: Option<u64>,
    at_once: usize,
    folder: PathBuf,
}

pub(crate) fn run(arguments: &[&str]) -> ExitCode {
    let options = match options(arguments) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("xtask: {wrong}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    let wrong = rounds(&options);
    for line in &wrong {
        println!("{line}");
    }
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn options(arguments: &[&str]) -> Result<KillOptions, String> {
    let folder = PathBuf::from("target/release");
    let mut options = KillOptions { rounds: 100, fabric: "shm".to_owned(), seed: 1, only: None, at_once: 2, folder };
    let mut words = arguments.iter();
    while let Some(&option) = words.next() {
        let value = *words.next().ok_or_else(|| format!("{option} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{option} needs a number, and got `{value}`"));
        match option {
            "--rounds" => options.rounds = number()?,
            "--seed" => options.seed = number()?,
            "--round" => options.only = Some(number()?),
            "--at-once" => options.at_once = number()?.clamp(1, 64) as usize,
            "--fabric" if ["shm", "ofi:tcp"].contains(&value) => value.clone_into(&mut options.fabric),
            "--folder" => options.folder = PathBuf::from(value),
            _ => return Err(format!("`{option} {value}` is no option")),
        }
    }
    options.folder = fs::canonicalize(&options.folder).map_err(|error| format!("{}: {error}", options.folder.display()))?;
    for part in ["foregather", "examples/survivors"] {
        if !options.folder.join(part).exists() {
            let folder = options.folder.display();
            let build = "cargo build --release; cargo build --release -p foregather-launch --example survivors";
            return Err(format!("{folder} has no `{part}`: {build}"));
        }
    }
    Ok(options)
}

/// What is wrong with any round, a line each; prints the counts.
fn rounds(options: &KillOptions) -> Vec<String> {
    let memory = named_memory();
    let numbers: Vec<u64> = options.only.map_or_else(|| (0..options.rounds).collect(), |one| vec![one]);
    let (next, wrong, times) = (AtomicU64::new(0), Mutex::new(Vec::new()), Mutex::new(BTreeMap::<_, (u64, Vec<u64>)>::new()));
    thread::scope(|threads| {
        for _ in 0..options.at_once {
            threads.spawn(|| {
                while let Some(&number) = numbers.get(next.fetch_add(1, Relaxed) as usize) {
                    let round = Round::of(options.seed, number);
                    let marked = Marked::new(options.seed, number);
                    let mut came = see_through(&round, &marked, options);
                    if let (Err(error), Err(left)) = (&came, marked.nothing_is_left()) {
                        came = Err(format!("{error}; {left}"));
                    }
                    match came {
                        Ok(ms) => {
                            let mut times = times.lock().unwrap();
                            let (rounds, all) = times.entry(round.kind()).or_default();
                            *rounds += 1;
                            all.extend(ms);
                        }
                        Err(error) => {
                            let fabric = &options.fabric;
                            let again = format!("cargo xtask kill --fabric {fabric} --seed {} --round {number}", options.seed);
                            wrong.lock().unwrap().push(format!("{round}: {error}\n    again: {again}"));
                        }
                    }
                }
            });
        }
    });
    let (mut wrong, times) = (wrong.into_inner().unwrap(), times.into_inner().unwrap());
    println!("{} rounds over {}, seed {}: {} went wrong", numbers.len(), options.fabric, options.seed, wrong.len());
    for (kind, (rounds, mut ms)) in times {
        ms.sort_unstable();
        let at = |percent: usize| ms.get((ms.len() * percent / 100).min(ms.len().saturating_sub(1))).copied().unwrap_or_default();
        let (p50, p99, max) = (at(50), at(99), at(100));
        println!("  {kind:<45} {rounds:>4} rounds, {:>5} times: p50 {p50:>4} ms, p99 {p99:>4} ms, max {max:>4} ms", ms.len());
    }
    wrong.extend(left_memory(&memory));
    wrong
}

fn named_memory() -> BTreeSet<String> {
    let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Others may be making and removing things at the same time: what vanishes soon was theirs.
fn left_memory(before: &BTreeSet<String>) -> Option<String> {
    for _ in 0..1_000 {
        if named_memory().is_subset(before) {
            return None;
        }
        thread::sleep(Duration::from_millis(10));
    }
    Some(format!("left in /dev/shm: {:?}", named_memory().difference(before)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_nonsense_is_refused() {
        for (words, said) in [
            (&["--rounds"][..], "needs a value"),
            (&["--rounds", "many"], "needs a number"),
            (&["--fabric", "pigeons"], "is no option"),
            (&["--folder", "/no/such"], "No such file"),
            (&["--folder", "/tmp"], "has no `foregather`"),
        ] {
            let wrong = options(words).err().unwrap();
            assert!(wrong.contains(said), "{wrong}");
        }
    }
}
