//! The options of `simulate`: a plan, or a job that is described here.
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// Options of `simulate`.
#[derive(Args, Clone, Debug)]
pub struct Simulate {
    /// The plan: a file, or the name of a plan that comes with the program; or a trace in GOAL. Without one,
    /// the job is that of --threads and its companions.
    pub plan: Option<OsString>,
    /// Writes that job as a plan with comments to a new file, and simulates nothing.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plan", "list", "set", "full", "dry_run", "trace", "output"])]
    pub new: Option<PathBuf>,
    /// Prints the plans that come with the program.
    #[arg(long)]
    pub list: bool,
    /// Uses what the plan's `full` section changes: finer grids, more seeds.
    #[arg(long)]
    pub full: bool,
    /// Changes one key of the plan, as in `job.app.threads=8` or `sweep.load=[48,56]`; of a trace, a value of
    /// its network, as in `latency=5us`.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Prints what would be run, and how long that might take.
    #[arg(long)]
    pub dry_run: bool,
    /// Runs the plan even if it takes more than ten minutes.
    #[arg(long)]
    pub yes: bool,
    /// This is added to every seed of the plan.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1 << 32))]
    pub seed: u64,
    /// Of a plan about a network, says why a trial failed: which node waited for which port, which one held
    /// it, and what had come between; for the first failure of three points at most. Of a trace, says which
    /// rank held up which.
    #[arg(long)]
    pub explain: bool,
    /// Writes the first run as a trace to this file: Perfetto (ui.perfetto.dev) opens it.
    #[arg(long)]
    pub trace: Option<PathBuf>,
    /// Also writes the results to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// The job, if there is no plan.
    #[command(flatten)]
    pub job: JobOptions,
    /// How a trace is run.
    #[command(flatten)]
    pub of_trace: TraceOptions,
}

/// How a trace in GOAL is run.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "A trace in GOAL")]
pub struct TraceOptions {
    /// What messages cost: loggops:loggopsim, as LogGOPSim counts, if not given; loggp:loggopsim,
    /// loggp:infiniband-tukey, loggp:ipsc860.
    #[arg(long, value_name = "NAME")]
    pub network: Option<String>,
    /// What the system takes from programs, recorded: a line each of a start and a duration in nanoseconds.
    /// The seed decides where in it each rank begins.
    #[arg(long, value_name = "FILE")]
    pub noise: Option<PathBuf>,
    /// Writes a text's binary form to a new file, and simulates nothing.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["network", "noise"])]
    pub convert: Option<PathBuf>,
}

impl TraceOptions {
    /// The option of them that is given, if one is.
    pub fn given(&self) -> Option<&'static str> {
        let names = [("network", self.network.is_some()), ("noise", self.noise.is_some()), ("convert", self.convert.is_some())];
        names.into_iter().find_map(|(name, given)| given.then_some(name))
    }
}

/// A job without a plan. Each takes several values, separated by commas, which are then compared.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "A job without a plan")]
pub struct JobOptions {
    /// Threads that compute, wait for each other, and compute again.
    #[arg(long, value_name = "N,...", value_delimiter = ',', allow_negative_numbers = true)]
    pub threads: Vec<String>,
    /// Processors; as many as here if not given.
    #[arg(long, value_name = "N,...", value_delimiter = ',', allow_negative_numbers = true)]
    pub cpus: Vec<String>,
    /// How long they compute before they wait, as in 50us or 2ms; 50 us if not given.
    #[arg(long, value_name = "TIME,...", value_delimiter = ',', allow_negative_numbers = true)]
    pub compute: Vec<String>,
    /// Other programs that only compute; none if not given.
    #[arg(long, value_name = "N,...", value_delimiter = ',', allow_negative_numbers = true)]
    pub hogs: Vec<String>,
    /// How they wait: adaptive, block, spin, yield, two-phase:20us ...; five ways are compared if not given.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub policy: Vec<String>,
    /// The scheduler, a plan's `preset`: eevdf, which is Linux today, if not given; linux-2.4.16, linux-2.2,
    /// round-robin ...
    #[arg(long, visible_alias = "preset", value_name = "NAME,...", value_delimiter = ',')]
    pub scheduler: Vec<String>,
    /// Processors' worth of time that a container allows the job, as in 1.5; all of it if not given.
    #[arg(long, value_name = "CPUS,...", value_delimiter = ',', allow_negative_numbers = true)]
    pub quota: Vec<String>,
    /// How often they meet; 400 times if not given.
    #[arg(long, value_name = "N,...", value_delimiter = ',', allow_negative_numbers = true)]
    pub barriers: Vec<String>,
    /// How often each simulation is repeated with other chances; 3 times if not given.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seeds: Option<String>,
}

impl JobOptions {
    /// Each option's name, its values, and the key of a plan that `--set` changes instead; none where a plan
    /// has no such key.
    pub fn answers(&self) -> [(&'static str, &[String], Option<&'static str>); 9] {
        [
            ("threads", &self.threads, Some("job.0.threads")),
            ("cpus", &self.cpus, Some("machine.cpus")),
            ("compute", &self.compute, Some("job.0.compute")),
            ("hogs", &self.hogs, None),
            ("scheduler", &self.scheduler, Some("machine.preset")),
            ("quota", &self.quota, None),
            ("barriers", &self.barriers, Some("job.0.barriers")),
            ("seeds", self.seeds.as_slice(), Some("run.seeds")),
            ("policy", &self.policy, Some("job.0.policy")),
        ]
    }
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
