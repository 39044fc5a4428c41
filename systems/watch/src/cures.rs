//! Cures by rule: settings of the runtimes that a program has mapped, put before its command.
use crate::Observation;
use foregather_machine::CpuId;
use serde::Serialize;

/// Whether a cure may change the last digits of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Rounding {
    /// It changes how threads wait or where they run, and no result.
    #[serde(rename = "same bits")]
    SameBits,
    /// Another number of threads, BLAS or runtime adds up in another order.
    #[serde(rename = "may change rounding")]
    MayChange,
}

impl Rounding {
    /// As it is printed.
    pub fn label(self) -> &'static str {
        match self {
            Self::SameBits => "same bits",
            Self::MayChange => "may change rounding",
        }
    }
}

/// What mends a cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// A command to paste; `None` if no setting helps.
    pub command: Option<String>,
    /// What to do, in words.
    pub step: String,
    /// What it may do to results.
    pub rounding: Rounding,
}

/// The variable for the number of threads of a region.
const OPENMP_SIZE: &str = "OMP_NUM_THREADS";
/// Runtimes and their variables for the number of threads.
const SIZES: [(&str, &str); 8] = [
    ("libgomp", OPENMP_SIZE),
    ("libomp", OPENMP_SIZE),
    ("libiomp5", OPENMP_SIZE),
    ("foregather", OPENMP_SIZE),
    ("OpenBLAS", "OPENBLAS_NUM_THREADS"),
    ("MKL", "MKL_NUM_THREADS"),
    ("BLIS", "BLIS_NUM_THREADS"),
    ("foregather (BLAS)", "FOREGATHER_THREADS"),
];
/// Runtimes with regions, and what lets their idle threads sleep.
const SLEEPS: [(&str, &str); 3] =
    [("libgomp", "OMP_WAIT_POLICY=passive"), ("libomp", "KMP_BLOCKTIME=0"), ("libiomp5", "KMP_BLOCKTIME=0")];
/// Variables that bind threads.
const BINDINGS: [&str; 4] = ["GOMP_CPU_AFFINITY", "OMP_PLACES", "OMP_PROC_BIND", "KMP_AFFINITY"];

/// No setting helps: a step in words alone.
pub(crate) fn step(step: impl Into<String>) -> Remedy {
    Remedy { command: None, step: step.into(), rounding: Rounding::SameBits }
}

/// As many threads as that in each runtime of the program.
pub(crate) fn threads(seen: &Observation, count: u32) -> Remedy {
    let plural = if count == 1 { "thread" } else { "threads" };
    sized(seen, |_| count, format!("start no more than {count} {plural}"))
}

/// One thread in each region. A BLAS keeps its own.
pub(crate) fn one_thread_a_region(seen: &Observation, words: &str) -> Remedy {
    let command = before(seen, &openmp_size(seen, 1));
    Remedy { command, step: words.to_owned(), rounding: Rounding::MayChange }
}

/// That many threads in the first runtime, and one in all others.
pub(crate) fn one_pool(seen: &Observation, count: u32) -> Remedy {
    let words = format!("give one pool {count} threads and the other pools 1");
    sized(seen, |is_first| if is_first { count } else { 1 }, words)
}

fn sized(seen: &Observation, count: impl Fn(bool) -> u32, words: String) -> Remedy {
    let mut set: Vec<(&str, u32)> = Vec::new();
    for (runtime, variable) in SIZES {
        // A mapped OpenMP runtime says nothing about threads that the program itself creates.
        let is_in_use = seen.uses(runtime) && !(variable == OPENMP_SIZE && seen.has_no_regions());
        if is_in_use && !set.iter().any(|(known, _)| *known == variable) {
            let is_first = set.is_empty();
            set.push((variable, count(is_first)));
        }
    }
    let setting = |(variable, count): &(&str, u32)| match *variable {
        OPENMP_SIZE => openmp_size(seen, *count),
        variable => format!("{variable}={count}"),
    };
    let settings: Vec<String> = set.iter().map(setting).collect();
    Remedy { command: before(seen, &settings.join(" ")), step: words, rounding: Rounding::MayChange }
}

/// The settings for no more than that many threads in a region, also where the program gives their number.
pub fn openmp_size(seen: &Observation, count: u32) -> String {
    let usual = format!("{OPENMP_SIZE}={count}");
    if seen.sizes_regions() { format!("{usual} OMP_THREAD_LIMIT={count}") } else { usual }
}

/// Threads that wait asleep. A step alone if the program has no runtime with such a setting.
pub(crate) fn sleeping(seen: &Observation) -> Remedy {
    let mut settings: Vec<&str> = Vec::new();
    for (runtime, setting) in SLEEPS {
        if seen.uses(runtime) && !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    let command = before(seen, &settings.join(" "));
    Remedy { command, step: "let waiting threads sleep instead of spinning".to_owned(), rounding: Rounding::SameBits }
}

/// Threads that spin for this part of the time of all threads take processors from those that work.
const SPINS: f64 = 0.08;

/// Threads that wait asleep, if spins take processors and a setting ends them.
pub(crate) fn without_spins(seen: &Observation) -> Option<Remedy> {
    let spent = seen.spent();
    let spins = (spent.spun + spent.idle_spun).0 as f64 > spent.total().0 as f64 * SPINS;
    Some(sleeping(seen)).filter(|remedy| spins && remedy.command.is_some())
}

/// Workers of one pool that sleep without work: a setting of that runtime, if it has one.
pub(crate) fn sleeping_pool(seen: &Observation, runtime: Option<&str>, pool: &str) -> Remedy {
    // Its servers yield between calls.
    let blas = ("OpenBLAS", "OPENBLAS_THREAD_TIMEOUT=4");
    let setting = SLEEPS.iter().chain([&blas]).find(|(known, _)| Some(*known) == runtime).map_or("", |(_, setting)| setting);
    let step = format!("let idle threads of {pool} sleep, for example at a condition variable");
    Remedy { command: before(seen, setting), step, rounding: Rounding::SameBits }
}

/// Threads that may run on all of these processors.
pub(crate) fn unbound(seen: &Observation, usable: &[CpuId]) -> Remedy {
    let bound: Vec<&str> = BINDINGS.into_iter().filter(|name| seen.has_setting(name)).collect();
    let list: Vec<String> = usable.iter().map(CpuId::to_string).collect();
    let prefix = if bound.is_empty() {
        format!("taskset -c {}", list.join(","))
    } else {
        format!("env {}", bound.iter().map(|name| format!("-u {name}")).collect::<Vec<_>>().join(" "))
    };
    let words = "let threads run on all processors; if the program binds them itself, change that";
    Remedy { command: before(seen, &prefix), step: words.to_owned(), rounding: Rounding::SameBits }
}

/// The command with words before it, if there are any.
pub fn before(seen: &Observation, words: &str) -> Option<String> {
    (!words.is_empty()).then(|| format!("{words} {}", seen.command.as_deref().unwrap_or("COMMAND")))
}
