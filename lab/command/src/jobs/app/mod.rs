//! `app`: a program on shared memory, its result proved, on ranks that are started here or by a launcher.
//!
//! - [`run`](fn@run): which process starts which. Processes of its own are a job of `foregather run`; each
//!   run is one, so that none finds warm what another one left.
//! - [`program`]: the five, their classes and variants. [`ranks`]: what a rank does, and the answer of all.
//! - [`output`](mod@output): measurements and tables.
pub mod output;
pub mod program;
pub mod ranks;

use crate::cli::AppOptions as Options;
use anyhow::{Context, Result, anyhow, bail};
use foregather_bench::Cell;
use foregather_dsm::views::Backend;
use foregather_host::interrupt;
use foregather_launch::{Job, Launcher, detect};
use foregather_machine::{Costs, Nanos};
use foregather_measure::cells::{CellProgram, Within};
use foregather_measure::matrix::{BackgroundOfRow, CellLoop, TurnOrder};
use foregather_results::failure::Failure;
use foregather_results::{Measurement, misspelt_policy};
use foregather_wait::Policy;
use ranks::RankResults;
use serde::{Deserialize, Serialize};

/// How many ranks if nothing is said.
const RANKS: u32 = 2;

/// Runs, and what is said of them.
#[derive(Debug, Default)]
pub struct AppReport {
    /// Runs, each with its ranks.
    pub measurements: Vec<Measurement>,
    /// What was proved, and how.
    pub notes: Vec<String>,
    /// What journals told, if it was asked for.
    pub explained: Vec<String>,
    /// What is wrong with the results.
    pub wrong: Vec<String>,
}

/// Returns whether this process is a rank of a launcher's job. A request to stop then ends it like any
/// program: one rank has no partial results, and the launcher waits for its exit.
///
/// # Errors
/// If the variables of a launcher are invalid.
pub fn is_rank() -> Result<bool> {
    Ok(detect()?.launcher != Launcher::Alone)
}

/// Runs what the options ask for. `None`: this process is a rank of a launcher's job, and not the one that
/// tells.
///
/// # Errors
/// If options make no sense together, or ranks fail; what is wrong with a result is no error here.
pub fn run(options: &Options, quiet: bool) -> Result<Option<AppReport>> {
    check(options)?;
    let job = Job::join()?;
    // Of a launcher's ranks only the first one writes, and others may be on hosts without that folder.
    if job.rank() == 0 {
        foregather_results::output::try_places(&options.outputs())?;
    }
    if job.launcher() == Launcher::Alone {
        job.leave()?;
        return start(options, quiet).map(Some);
    }
    if !options.ranks.is_empty() && options.ranks != [job.size()] {
        bail!("--ranks says how many ranks to start, and a launcher has started {}: leave it out", job.size());
    }
    if options.fabric.is_some() {
        bail!("--fabric is the launcher's affair here: `foregather run --fabric`, or FOREGATHER_FABRIC for all ranks");
    }
    let mut answers = Vec::new();
    for _ in 0..options.repeat {
        answers.extend(ranks::of_job(options, &job)?);
    }
    job.leave()?;
    Ok((!answers.is_empty()).then(|| output::found(options, answers)))
}

fn check(options: &Options) -> Result<()> {
    program::of_options(options)?;
    if let Some(policy) = &options.policy {
        Policy::parse(policy, &Costs::TYPICAL)
            .map_err(|error| anyhow!(misspelt_policy(policy).unwrap_or_else(|| error.to_string())))
            .context("--policy")?;
    }
    if let Some(backend) = options.backend.as_deref().and_then(Backend::by_name) {
        backend.available()?;
    }
    if (options.explain.is_some() || options.trace.is_some()) && (options.ranks.len() > 1 || options.repeat > 1) {
        bail!("--explain and --trace are about one run: give one number of --ranks, and leave out --repeat");
    }
    Ok(())
}

/// Starts all runs, one after the other. After an interrupt there are fewer.
fn start(options: &Options, quiet: bool) -> Result<AppReport> {
    let ranks = if options.ranks.is_empty() { vec![RANKS] } else { options.ranks.clone() };
    let matrix = CellLoop::new(options.name.name(), ranks.len(), options.repeat, TurnOrder::Alternating, quiet);
    let name = |ranks: &u32| format!("{ranks} ranks");
    let runs = matrix.all_or_none().row(BackgroundOfRow::default(), &ranks, name, |&ranks, _| one(options, ranks))?;
    let answers: Vec<RankResults> = runs.into_iter().flat_map(|runs| runs.results).collect();
    if answers.is_empty() { Err(Failure::Interrupted.into()) } else { Ok(output::found(options, answers)) }
}

/// One run, in processes of its own.
fn one(options: &Options, ranks: u32) -> Result<Option<RankResults>> {
    let threads = options.fabric.as_deref() == Some("threads");
    let cell = AppCell { threads: if threads { ranks } else { 0 }, options: options.clone() };
    let job = (!threads).then(|| (ranks, options.fabric.as_deref().unwrap_or("shm")));
    CellProgram::default().run_to_end(&cell, Within { job, ..Within::default() }).map_err(|error| {
        if interrupt::requested() {
            return error;
        }
        Failure::Machine(format!("{ranks} ranks of {}: {error:#}", options.name.name())).into()
    })
}

/// What a process that [`run`](fn@run) starts is asked for.
#[derive(Serialize, Deserialize)]
pub struct AppCell {
    /// How many ranks are threads of the process; 0: it is a rank of a job.
    threads: u32,
    options: Options,
}

impl Cell for AppCell {
    const VERB: &'static str = "app-cell";
    type Answer = RankResults;

    fn at_most(&self) -> Nanos {
        Nanos::from_ms(1_000 * self.options.within)
    }

    fn run(&self) -> Result<Option<RankResults>, String> {
        let of_job = || {
            let job = Job::join()?;
            let answer = ranks::of_job(&self.options, &job)?;
            job.leave()?;
            Ok(answer)
        };
        let answer = if self.threads > 0 { ranks::here(&self.options, self.threads).map(Some) } else { of_job() };
        answer.map_err(|error| format!("{error:#}"))
    }
}
