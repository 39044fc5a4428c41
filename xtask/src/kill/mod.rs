//! `cargo xtask kill`: jobs whose ranks or launcher are killed, stopped or asked to end, at random moments.
//! All survivors must name the right rank in time, the job must end with the right code, and nothing may be
//! left behind.
mod job;

use crate::ChoreError;
use job::{RoundProcesses, see_through};
use rustix::process::Signal;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use std::{fmt, fs, thread};

pub(crate) const HELP: &str = "\
cargo xtask kill [--rounds N] [--fabric shm|ofi:tcp|mpi] [--mpiexec WORDS] [--seed S] [--round I] [--at-once N] [--folder FOLDER]

Starts N jobs (100) of 2 to 8 ranks, and in each does one thing to a rank or to the launcher: SIGKILL, SIGSTOP, SIGSTOP and SIGCONT, SIGTERM, SIGSEGV; ranks
stand alone or behind a shell, a program like `time`, or `timeout`. Checked: no hang, no process and no shared memory left, the lost
rank named by every other one within 2 s (a stopped one within the peer timeout and half a second), nobody lost by a short stop, and the right exit code.
With `--fabric mpi` WORDS (`mpiexec`) start the ranks, and most of such launchers end a job that has lost a rank: it must end in time with a failure,
no rank may name another one, and nothing may be left; FOREGATHER_MPI is passed on. FOLDER (target/release) holds `foregather` and `examples/survivors`. The same seed takes the same decisions; --round I runs that one alone.

Exit codes: 0 all is well, 1 a round went wrong, 2 wrong usage.";

struct KillOptions {
    rounds: u64,
    fabric: String,
    seed: u64,
    only: Option<u64>,
    mpiexec: String,
    at_once: usize,
    folder: PathBuf,
}

pub(crate) fn run(arguments: &[&str]) -> Result<bool, ChoreError> {
    let wrong = rounds(&options(arguments).map_err(ChoreError::Usage)?);
    wrong.iter().for_each(|line| println!("{line}"));
    Ok(wrong.is_empty())
}

fn options(arguments: &[&str]) -> Result<KillOptions, String> {
    let folder = PathBuf::from("target/release");
    let mpiexec = "mpiexec".to_owned();
    let mut options = KillOptions { rounds: 100, fabric: "shm".to_owned(), seed: 1, only: None, mpiexec, at_once: 2, folder };
    let mut words = arguments.iter();
    while let Some(&option) = words.next() {
        let value = *words.next().ok_or_else(|| format!("{option} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{option} needs a number, and got `{value}`"));
        match option {
            "--rounds" => options.rounds = number()?,
            "--seed" => options.seed = number()?,
            "--round" => options.only = Some(number()?),
            "--at-once" => options.at_once = number()?.clamp(1, 64) as usize,
            "--fabric" if ["shm", "ofi:tcp", "mpi"].contains(&value) => value.clone_into(&mut options.fabric),
            "--mpiexec" => value.clone_into(&mut options.mpiexec),
            "--folder" => options.folder = PathBuf::from(value),
            _ => return Err(format!("`{option} {value}` is no option")),
        }
    }
    options.folder = fs::canonicalize(&options.folder).map_err(|error| format!("{}: {error}", options.folder.display()))?;
    let parts = ["examples/survivors", "foregather"];
    for part in &parts[..if options.is_over_mpi() { 1 } else { 2 }] {
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
                    let marked = RoundProcesses::new(options.seed, number);
                    let mut came = see_through(&round, &marked, options);
                    if let (Err(error), Err(left)) = (&came, marked.nothing_is_left()) {
                        came = Err(format!("{error}; {left}"));
                    }
                    match came {
                        Ok(ms) => {
                            let mut times = times.lock().unwrap();
                            let (rounds, all) = times.entry(round.kind(options.is_over_mpi())).or_default();
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
    let by_mpi = named_memory().difference(&memory).filter(|name| is_of_mpi(name)).count();
    if by_mpi > 0 {
        println!("  MPI itself left {by_mpi} files in /dev/shm");
    }
    wrong.extend(left_memory(&memory));
    wrong
}

fn named_memory() -> BTreeSet<String> {
    let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// MPI libraries name their memory and remove it at the end of a job, or not if a rank or the launcher was
/// killed.
fn is_of_mpi(name: &str) -> bool {
    ["mpich_shm_", "vader_segment."].iter().any(|prefix| name.starts_with(prefix))
}

/// Others may be making and removing things at the same time: what vanishes soon was theirs.
fn left_memory(before: &BTreeSet<String>) -> Option<String> {
    for _ in 0..1_000 {
        if named_memory().difference(before).all(|name| is_of_mpi(name)) {
            return None;
        }
        thread::sleep(Duration::from_millis(10));
    }
    Some(format!("left in /dev/shm: {:?}", named_memory().difference(before)))
}

/// What happens, and to which process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blow {
    /// A rank gets a signal that ends it.
    Rank(Signal),
    /// A rank is stopped for good.
    Stop,
    /// A rank is stopped for less than half of the time after which it is lost.
    ShortStop,
    /// The launcher is killed.
    KillLauncher,
    /// The launcher is asked to stop.
    TermLauncher,
    /// It is asked again at once.
    TermLauncherTwice,
    /// The launcher itself is stopped for a while.
    StopLauncher,
}

/// Killing is what happens most.
const BLOWS: [Blow; 12] = [
    Blow::Rank(Signal::KILL),
    Blow::Rank(Signal::KILL),
    Blow::Rank(Signal::KILL),
    Blow::Rank(Signal::TERM),
    Blow::Rank(Signal::SEGV),
    Blow::Stop,
    Blow::ShortStop,
    Blow::KillLauncher,
    Blow::KillLauncher,
    Blow::TermLauncher,
    Blow::TermLauncherTwice,
    Blow::StopLauncher,
];

/// What stands between launcher and rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrapper {
    Alone,
    Shell,
    /// As `time` and `perf record` do: it waits for its child.
    Timer,
    Timeout,
}

impl Wrapper {
    /// The command line before the program's.
    pub(super) fn words(self) -> &'static [&'static str] {
        match self {
            Self::Alone => &[],
            Self::Shell => &["sh", "-c", "\"$@\"; exit $?", "sh"],
            Self::Timer => &["sh", "-c", "\"$@\" & wait $!; exit $?", "sh"],
            Self::Timeout => &["timeout", "300"],
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Round {
    pub(super) size: u32,
    pub(super) wrapper: Wrapper,
    /// In the middle of what the ranks are.
    pub(super) state: u32,
    pub(super) victim: u32,
    pub(super) blow: Blow,
    /// Does it come while the job starts? Otherwise once all ranks are there.
    pub(super) at_start: bool,
    /// From the start, or from when all are there.
    pub(super) after_us: u64,
    /// How long a short stop lasts.
    pub(super) pause_us: u64,
}

impl KillOptions {
    /// Whether a launcher of MPI starts the ranks.
    fn is_over_mpi(&self) -> bool {
        self.fabric == "mpi"
    }
}

impl Round {
    pub(super) fn of(seed: u64, number: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) ^ number);
        let size = 2 + random.below(7) as u32;
        let wrapper = [Wrapper::Alone, Wrapper::Shell, Wrapper::Timer, Wrapper::Timeout][random.below(4) as usize];
        let (state, victim) = (random.below(1 << 16) as u32, random.below(u64::from(size)) as u32);
        let blow = BLOWS[random.below(BLOWS.len() as u64) as usize];
        let at_start = random.below(4) == 0;
        let after_us = random.below(if at_start { 800_000 } else { 300_000 });
        // Short of half of it by what a busy machine takes to deliver signals.
        let pause_us = random.below(job::PEER_TIMEOUT.as_micros() as u64 * 2 / 5);
        Self { size, wrapper, state, victim, blow, at_start, after_us, pause_us }
    }

    /// What its times are listed under.
    pub(super) fn kind(&self, over_mpi: bool) -> String {
        let when = if self.at_start { ", at the start" } else { "" };
        let named = if over_mpi { "ends the job" } else { "is named" };
        match self.blow {
            Blow::Rank(signal) => format!("{} of a rank {named}{when}", name(signal)),
            Blow::Stop => format!("SIGSTOP of a rank {named}{when}"),
            Blow::KillLauncher => format!("all have gone after the launcher{when}"),
            Blow::ShortStop | Blow::StopLauncher => format!("a short stop is let be{when}"),
            Blow::TermLauncher | Blow::TermLauncherTwice => format!("the launcher ends when asked{when}"),
        }
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = if self.at_start { "the start" } else { "all are there" };
        write!(f, "{} ranks, {:?}, state {}, ", self.size, self.wrapper, self.state)?;
        write!(f, "{:?} (rank {}) {} ms after {when}", self.blow, self.victim, self.after_us / 1_000)
    }
}

fn name(signal: Signal) -> String {
    let names = [(Signal::KILL, "SIGKILL"), (Signal::TERM, "SIGTERM"), (Signal::SEGV, "SIGSEGV")];
    names.iter().find(|(of, _)| *of == signal).map_or_else(|| format!("{signal:?}"), |(_, name)| (*name).to_owned())
}

/// A splitmix generator: this room may not use the library's.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
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
            (&["--folder", "/proc"], "has no `examples/survivors`"),
        ] {
            let wrong = options(words).err().unwrap();
            assert!(wrong.contains(said), "{wrong}");
        }
    }

    #[test]
    fn a_seed_decides_everything_and_rounds_differ() {
        assert_eq!(Round::of(7, 3), Round::of(7, 3));
        let rounds: Vec<_> = (0..400).map(|number| Round::of(7, number)).collect();
        for blow in BLOWS {
            assert!(rounds.iter().any(|round| round.blow == blow && round.at_start), "{blow:?}");
        }
        assert!(rounds.iter().all(|round| (2..=8).contains(&round.size) && round.victim < round.size));
        assert!(rounds.iter().any(|round| round.wrapper == Wrapper::Timeout && round.size == 8));
    }
}
