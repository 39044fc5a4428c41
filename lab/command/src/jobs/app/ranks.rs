//! What a rank does: it runs the program, and rank 0 proves what came of it and looks through the journals.
use super::program;
use crate::cli::{AppOptions as Options, Explain};
use anyhow::{Result, anyhow};
use foregather_bench::apps::{AppResult, ThreadResult};
use foregather_bench::programs::{Program, Proof};
use foregather_dsm::journal::{Journal, contention, races, sharing, trace};
use foregather_dsm::memory::{Settings, lanes};
use foregather_dsm::views::Backend;
use foregather_host::{clock, usage};
use foregather_launch::{Job, Lanes};
use foregather_machine::{Costs, Fabric, Nanos, Placement};
use foregather_results::output;
use foregather_thread::Thread;
use foregather_wait::Policy;
use serde::{Deserialize, Serialize};

/// Events for which a thread's journal has room.
const JOURNAL: usize = 1 << 20;

/// One run on all ranks, as rank 0 tells of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct RankResults {
    /// How many ranks there were.
    pub ranks: u32,
    /// What they were joined by: `threads`, `shm`, `ofi:tcp` ...
    pub fabric: String,
    /// How pages were protected at rank 0.
    pub backend: String,
    /// What was proved, or what is wrong.
    pub proof: Result<String, String>,
    /// What each thread's time went into, by their numbers.
    pub threads: Vec<ThreadResult<()>>,
    /// What managers saw.
    pub traffic: ManagerCounts,
    /// Processor time of all ranks together, servers and what is cold included.
    pub cpu_ns: u64,
    /// How long the whole run took at rank 0, with what is cold.
    pub wall_ns: u64,
    /// What journals told.
    pub explained: String,
}

/// How often managers did what, all minipages together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManagerCounts {
    /// Copies given to read.
    pub reads: u64,
    /// Copies given to write, upgrades included.
    pub writes: u64,
    /// Of those, to ranks that had a copy already.
    pub upgrades: u64,
    /// Copies given to ranks that did not ask.
    pub pushed: u64,
    /// Copies closed for another rank's sake.
    pub invalidated: u64,
    /// Requests that had to queue behind another rank's.
    pub competing: u64,
}

impl ManagerCounts {
    fn of(outcome: &AppResult<()>) -> Self {
        outcome.traffic.iter().fold(Self::default(), |sum, (_, counts)| Self {
            reads: sum.reads + u64::from(counts.reads),
            writes: sum.writes + u64::from(counts.writes),
            upgrades: sum.upgrades + u64::from(counts.upgrades),
            pushed: sum.pushed + u64::from(counts.pushed),
            invalidated: sum.invalidated + u64::from(counts.invalidated),
            competing: sum.competing + u64::from(counts.competing),
        })
    }
}

/// All ranks as threads of this process.
///
/// # Errors
/// If the program cannot be run.
pub fn here(options: &Options, ranks: u32) -> Result<RankResults> {
    let program = program::of_options(options)?;
    let settings = settings(&program, options, &Thread::current().costs())?;
    let spent = Spent::begin();
    let ran = program.here(ranks, settings)?;
    answer(ran, options, spent.end(ranks, "threads".to_owned()))
}

/// This process's part, as a rank of a job. The answer at rank 0, nothing at others.
///
/// # Errors
/// If the program cannot be run, or a rank is lost.
pub fn of_job(options: &Options, job: &Job) -> Result<Option<RankResults>> {
    let program = program::of_options(options)?;
    let lanes = job.lanes(lanes(options.threads))?;
    let spent = Spent::begin();
    let (costs, fabric) = match &lanes {
        Lanes::Shm(lanes) => (lanes.first().map(|lane| lane.cpu().costs()), "shm".to_owned()),
        Lanes::Ofi(lanes) => (lanes.first().map(|lane| lane.cpu().costs()), provider()),
        Lanes::Mpi(lanes) => (lanes.first().map(|lane| lane.cpu().costs()), "mpi".to_owned()),
    };
    let settings = settings(&program, options, &costs.unwrap_or(Costs::TYPICAL))?;
    let ran = program.on(lanes, settings)?;
    let own = spent.end(job.size(), fabric);
    let cards = job.exchange(&own.cpu.0.to_le_bytes())?;
    let Some(ran) = ran else { return Ok(None) };
    let told = |card: Vec<u8>| card.try_into().map(u64::from_le_bytes).map_err(|_| anyhow!("a rank's card is garbled"));
    let cpu = cards.into_iter().map(told).sum::<Result<u64>>()?;
    answer(ran, options, Spending { cpu: Nanos(cpu), ..own }).map(Some)
}

/// As the job's variable has it, which stands for tcp if it says no more.
fn provider() -> String {
    let said = std::env::var("FOREGATHER_FABRIC").unwrap_or_default();
    if said.starts_with("ofi:") { said } else { "ofi:tcp".to_owned() }
}

fn settings(program: &Program, options: &Options, costs: &Costs) -> Result<Settings> {
    let policy = options.policy.as_ref().map(|name| Policy::parse(name, costs)).transpose()?;
    let backend = options.backend.as_deref().and_then(Backend::by_name);
    let journal = if options.explain.is_some() || options.trace.is_some() { JOURNAL } else { 0 };
    Ok(Settings { threads: options.threads, backend, policy, journal, ..program.settings() })
}

/// What a run costs, from its beginning on.
struct Spent {
    cpu: Nanos,
    began: Nanos,
}

/// And at its end.
struct Spending {
    ranks: u32,
    fabric: String,
    cpu: Nanos,
    wall: Nanos,
}

impl Spent {
    fn begin() -> Self {
        Self { cpu: usage::process_cpu(), began: clock::now() }
    }

    fn end(self, ranks: u32, fabric: String) -> Spending {
        Spending { ranks, fabric, cpu: usage::process_cpu() - self.cpu, wall: clock::now() - self.began }
    }
}

/// The report that was asked for, or nothing; writes the trace if that was.
fn explain(options: &Options, outcome: &AppResult<()>) -> Result<String> {
    if options.explain.is_none() && options.trace.is_none() {
        return Ok(String::new());
    }
    let journals: Vec<Journal> = outcome.threads.iter().filter_map(|played| played.journal.clone()).collect();
    if let Some(path) = &options.trace {
        output::write(path, &trace::trace(&journals, &outcome.sites))?;
    }
    Ok(match options.explain {
        None => String::new(),
        Some(Explain::Sharing) => sharing::find(&journals, &outcome.sites).to_string(),
        Some(Explain::Races) => races::find(&journals, &outcome.sites).to_string(),
        Some(Explain::Contention) => contention::by_site(&outcome.traffic, &outcome.sites).to_string(),
    })
}

fn answer((mut outcome, prove): (AppResult<()>, Proof<'_>), options: &Options, spending: Spending) -> Result<RankResults> {
    let proof = prove();
    let explained = explain(options, &outcome)?;
    outcome.threads.iter_mut().for_each(|played| played.journal = None);
    let backend = options.backend.as_deref().and_then(Backend::by_name).unwrap_or_else(|| Backend::chosen().0);
    let Spending { ranks, fabric, cpu, wall } = spending;
    let traffic = ManagerCounts::of(&outcome);
    let (cpu_ns, wall_ns, backend) = (cpu.0, wall.0, backend.name().to_owned());
    Ok(RankResults { ranks, fabric, backend, proof, threads: outcome.threads, traffic, cpu_ns, wall_ns, explained })
}
