//! The advice as JSON: `lab/results/schema/advice.schema.json` describes it.
use super::JudgedObservation;
use super::check::{self, CheckedCure};
use super::predicted::Predictions;
use foregather_machine::Nanos;
use foregather_watch::causes::NamedCause;
use foregather_watch::{PythonLines, Rounding, SampleTally, SampledFunction, SampledUse};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(super) struct AdviceDocument<'a> {
    schema: &'static str,
    program: Option<&'a str>,
    runtimes: Vec<&'a str>,
    settings: Vec<String>,
    watched_s: f64,
    threads: usize,
    processors: usize,
    quota: Option<f64>,
    parallelism: f64,
    demand: f64,
    steal_ns: u64,
    pressure_ns: Option<u64>,
    spent_ns: Spent,
    episodes: EpisodeSummary,
    causes: &'a [NamedCause],
    python: Option<&'a PythonLines>,
    samples: Option<CodeSummary<'a>>,
    runtime: &'a [RuntimeAccount],
    has_records: bool,
    not_seen: &'a [String],
    cures: Vec<CureSummary>,
    predictions: &'a Predictions,
    checked: &'a [CheckedCure],
}

/// A command that starts the program otherwise.
#[derive(Serialize)]
struct CureSummary {
    command: String,
    rounding: Rounding,
}

#[derive(Serialize)]
struct Spent {
    work: u64,
    spun: u64,
    idle_spun: u64,
    ready: u64,
    late: u64,
    lock: u64,
    other: u64,
}

#[derive(Serialize)]
struct EpisodeSummary {
    count: u64,
    waited_ns: u64,
    last_thread: Option<u32>,
    last_share: Option<f64>,
    on_time_saves: f64,
}

#[derive(Serialize)]
struct CodeSummary<'a> {
    count: u64,
    lost: u64,
    functions: Vec<FunctionSummary<'a>>,
    late: Vec<LateSummary<'a>>,
}

#[derive(Serialize)]
struct FunctionSummary<'a> {
    function: Option<&'a str>,
    library: &'a str,
    used_for: SampledUse,
    samples: u64,
}

#[derive(Serialize)]
struct LateSummary<'a> {
    thread: u32,
    function: Option<&'a str>,
    library: &'a str,
    share: f64,
}

/// More functions than that are not written.
const FUNCTIONS: usize = 50;

fn function((function, samples): (&SampledFunction, u64)) -> FunctionSummary<'_> {
    FunctionSummary { function: function.name.as_deref(), library: &function.library, used_for: function.used_for(), samples }
}

fn code(samples: &SampleTally<SampledFunction>) -> CodeSummary<'_> {
    let late = samples.late.keys().filter_map(|&thread| {
        let (function, share) = samples.late_in(Some(thread))?;
        Some(LateSummary { thread, function: function.name.as_deref(), library: &function.library, share })
    });
    CodeSummary {
        count: samples.count,
        lost: samples.lost,
        functions: samples.functions().into_iter().take(FUNCTIONS).map(function).collect(),
        late: late.collect(),
    }
}

/// What this project's OpenMP runtime counted in one process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RuntimeAccount {
    process: u32,
    pub(super) regions: u64,
    cpu_ns: u64,
    last: Vec<u64>,
    joins: WaitAccount,
    barriers: WaitAccount,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct WaitAccount {
    last: u64,
    at_once: u64,
    spun: u64,
    yielded: u64,
    slept: u64,
    failed: u64,
    yields: u64,
    moves: u64,
    moves_refused: u64,
    pulls: u64,
    scouts: u64,
    scouts_back: u64,
    waited_ns: u64,
    spun_ns: u64,
    longest_ns: u64,
    rules: BTreeMap<String, u64>,
}

impl RuntimeAccount {
    /// The longest wait of a thread.
    pub(super) fn longest(&self) -> Nanos {
        Nanos(self.joins.longest_ns.max(self.barriers.longest_ns))
    }
}

/// The accounts among lines that processes appended. A line that is none is another program's.
pub(super) fn runtime_accounts(lines: &str) -> Vec<RuntimeAccount> {
    lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

pub(super) fn of<'a>(advice: &'a JudgedObservation, checked: &'a [CheckedCure]) -> AdviceDocument<'a> {
    let seen = &advice.seen;
    let spent = seen.spent();
    let program = seen.programs.first();
    let [work, spun, idle_spun, ready, late, lock, other] =
        [spent.work, spent.spun, spent.idle_spun, spent.ready, spent.late, spent.lock, spent.other].map(|time: Nanos| time.0);
    let last = seen.episodes.most_delaying();
    AdviceDocument {
        schema: "foregather.advice/1",
        program: program.map(|program| program.name.as_str()),
        runtimes: seen.runtimes(),
        settings: seen.settings().into_iter().map(|(name, value)| format!("{name}={value}")).collect(),
        watched_s: seen.elapsed().0 as f64 / 1e9,
        threads: seen.ledger.threads.len(),
        processors: seen.allowed().len(),
        quota: seen.quota,
        parallelism: seen.parallelism(),
        demand: seen.demand(),
        steal_ns: seen.load.steal.0,
        pressure_ns: seen.pressure.map(|pressure| pressure.0),
        spent_ns: Spent { work, spun, idle_spun, ready, late, lock, other },
        episodes: EpisodeSummary {
            count: seen.episodes.count,
            waited_ns: seen.episodes.waited.0,
            last_thread: last.map(|(thread, _)| thread),
            last_share: last.map(|(_, share)| share),
            on_time_saves: seen.per_elapsed(seen.episodes.lead).min(1.0),
        },
        causes: &advice.causes,
        python: seen.python.as_ref(),
        samples: seen.samples.as_ref().map(code),
        runtime: &advice.runtime,
        has_records: seen.has_records(),
        not_seen: &advice.not_seen,
        cures: check::cures(advice).into_iter().map(|(command, rounding)| CureSummary { command, rounding }).collect(),
        predictions: &advice.predictions,
        checked,
    }
}
