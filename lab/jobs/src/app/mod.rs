//! `app`: a program on shared memory, its result proved, on ranks that are started here or by a launcher.
//!
//! - [`run`](fn@run): who starts whom. Processes of its own are a job of `foregather run`; each run is one, so that none finds warm what
//!   another one left.
//! - [`program`]: the five, their classes and variants. [`ranks`]: what a rank does, and the answer of all.
//! - [`output`](mod@output): measurements and tables. [`explain`]: what journals tell.
pub mod explain;
pub mod output;
pub mod program;
pub mod ranks;

use anyhow::{Context, Result, anyhow, bail};
use foregather_cli::App as Options;
use foregather_cli::failure::Failure;
use foregather_dsm::views::Backend;
use foregather_host::{child::Child, interrupt};
use foregather_launch::{Job, Launcher, detect};
use foregather_machine::{Costs, Nanos};
use foregather_measure::children;
use foregather_results::Measurement;
use foregather_results::progress::Progress;
use foregather_wait::Policy;
use ranks::RankResults;
use std::process::{Command, Stdio};

/// The hidden verb of a rank that this program starts; behind it how many ranks are threads of it (0: it is one of a job), and options.
pub const VERB: &str = "__app";
/// How many ranks if nobody says.
const RANKS: u32 = 2;

/// What came of it.
#[derive(Debug, Default)]
pub struct AppReport {
    /// Runs, each with its ranks.
    pub measurements: Vec<Measurement>,
    /// What was proved, and how.
    pub notes: Vec<String>,
    /// What journals told, if anybody asked.
    pub explained: Vec<String>,
    /// What is wrong with the results.
    pub wrong: Vec<String>,
}

/// Is this process a rank of a launcher's job? Then a request to stop is to end it as it ends any program: there are no partial results of
/// one rank, and the launcher waits for its end.
///
/// # Errors
/// If the variables of a launcher make no sense.
pub fn is_rank() -> Result<bool> {
    Ok(detect()?.launcher != Launcher::Alone)
}

/// Runs what the options ask for. `None`: this process is a rank of a launcher's job, and not the one that tells.
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
    if !options.hosts.is_empty() && options.hosts != [job.size()] {
        bail!("--hosts says how many ranks to start, and a launcher has started {}: leave it out", job.size());
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
        Policy::parse(policy, &Costs::TYPICAL).context("--policy")?;
    }
    if let Some(backend) = options.backend.as_deref().and_then(Backend::by_name) {
        backend.available()?;
    }
    if (options.explain.is_some() || options.trace.is_some()) && (options.hosts.len() > 1 || options.repeat > 1) {
        bail!("--explain and --trace are about one run: give one number of --hosts, and leave out --repeat");
    }
    Ok(())
}

/// Starts all runs, one after the other.
fn start(options: &Options, quiet: bool) -> Result<AppReport> {
    let hosts = if options.hosts.is_empty() { vec![RANKS] } else { options.hosts.clone() };
    let mut answers = Vec::new();
    let mut progress = Progress::new(options.name.name(), options.repeat as usize * hosts.len(), quiet);
    for _ in 0..options.repeat {
        for &ranks in &hosts {
            progress.step(&format!("{ranks} ranks"));
            match one(options, ranks) {
                Ok(answer) => answers.push(answer),
                // What there is is kept.
                Err(_) if interrupt::requested() && !answers.is_empty() => return Ok(output::found(options, answers)),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(output::found(options, answers))
}

/// One run, in processes of its own.
fn one(options: &Options, ranks: u32) -> Result<RankResults> {
    let (myself, told) = (children::myself(), serde_json::to_string(options)?);
    let mut command = Command::new(&myself);
    if options.fabric.as_deref() == Some("threads") {
        command.args([VERB, &ranks.to_string(), &told]);
    } else {
        let fabric = options.fabric.as_deref().unwrap_or("shm");
        command.args(["run", "--no-prefix", "--ranks", &ranks.to_string(), "--fabric", fabric, "--"]);
        command.arg(&myself).args([VERB, "0", &told]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = Child::spawn(command, &[]).context("cannot start the ranks")?;
    let output = child.output_within(Nanos::from_ms(1_000 * options.within))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !output.status.success() {
        let why = format!("{ranks} ranks of {} failed ({}): {}", options.name.name(), output.status, said(&output.stderr));
        return Err(Failure::Machine(why).into());
    }
    let line = said(&output.stdout);
    serde_json::from_str(&line).with_context(|| format!("the ranks answered `{line:.200}`"))
}

/// The whole of a process that [`run`](fn@run) starts, or of a rank of its job: prints the answer's line, if it is the one to do so.
///
/// # Errors
/// If the arguments are not its own, or the ranks fail.
pub fn rank_main(args: &[String]) -> Result<()> {
    let [ranks, options] = args else { bail!("a number of ranks and options are missing") };
    let ranks: u32 = ranks.parse().map_err(|_| anyhow!("`{ranks}` is no number of ranks"))?;
    let options: Options = serde_json::from_str(options).context("the options of a rank")?;
    let answer = if ranks > 0 {
        Some(ranks::here(&options, ranks)?)
    } else {
        let job = Job::join()?;
        let answer = ranks::of_job(&options, &job)?;
        job.leave()?;
        answer
    };
    if let Some(answer) = answer {
        println!("{}", serde_json::to_string(&answer)?);
    }
    Ok(())
}
