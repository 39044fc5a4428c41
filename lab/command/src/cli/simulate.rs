//! The options of `simulate`: a plan, or a job that is described here.
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// Options of `simulate`.
#[derive(Args, Clone, Debug)]
pub struct Simulate {
    /// A plan file, the name of a built-in plan, a trace in GOAL format, or a workload of rt-app (a file that
    /// ends in .json). Without one, the flags under "A job without a plan" describe the job.
    pub plan: Option<OsString>,
    /// Writes the job given by --threads etc. to a new plan file with comments, without simulating it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plan", "list", "set", "full", "dry_run", "trace", "output"])]
    pub new: Option<PathBuf>,
    /// Prints the built-in plans.
    #[arg(long)]
    pub list: bool,
    /// Applies the plan's `full` section: finer grids, more seeds.
    #[arg(long)]
    pub full: bool,
    /// Changes one key of the plan, as in `job.app.threads=8` or `sweep.load=[48,56]`; for a trace, a value
    /// of its network, as in `latency=5us`; for a workload, its machine, as in `machine.cpus=4`.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Prints the runs and their estimated time, without simulating.
    #[arg(long)]
    pub dry_run: bool,
    /// Runs the plan even if it takes more than ten minutes.
    #[arg(long)]
    pub yes: bool,
    /// Number to add to every seed of the plan.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1 << 32))]
    pub seed: u64,
    /// For a network plan, explains failed trials (of at most three points): which node waited for which
    /// port, which node held it, and why. For a trace, reports which rank delayed which.
    #[arg(long)]
    pub explain: bool,
    /// Writes a timeline of the first run for Perfetto (ui.perfetto.dev) to this file.
    #[arg(long)]
    pub trace: Option<PathBuf>,
    /// Ignores the events and keys of an rt-app workload that are not simulated, and names them.
    #[arg(long)]
    pub ignore: bool,
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
    /// The network: loggops:loggopsim (the rules and values of LogGOPSim; the default), loggp:loggopsim,
    /// loggp:infiniband-tukey or loggp:ipsc860.
    #[arg(long, value_name = "NAME")]
    pub network: Option<String>,
    /// A file of recorded system noise: one line per interruption, with start and duration in nanoseconds.
    /// The seed selects the offset in the file at which each rank starts.
    #[arg(long, value_name = "FILE")]
    pub noise: Option<PathBuf>,
    /// Simulates K times as many ranks as the trace has. Its ranks are repeated around a ring, and each
    /// exchanges messages with ranks at the same distance as before; the number of messages per rank stays
    /// the same.
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub repeat_ranks: Option<u32>,
    /// Converts a trace in text form to a new binary file, without simulating it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["network", "noise", "repeat_ranks"])]
    pub convert: Option<PathBuf>,
}

impl TraceOptions {
    /// The option of them that is given, if one is.
    pub fn given(&self) -> Option<&'static str> {
        let names = [
            ("network", self.network.is_some()),
            ("noise", self.noise.is_some()),
            ("repeat-ranks", self.repeat_ranks.is_some()),
            ("convert", self.convert.is_some()),
        ];
        names.into_iter().find_map(|(name, given)| given.then_some(name))
    }
}

/// A job without a plan. Each option takes several values, separated by commas, which are then compared.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "A job without a plan")]
pub struct JobOptions {
    /// Number of threads that alternately compute and wait for each other at a barrier.
    #[arg(long, value_name = "N,...", value_delimiter = ',', allow_negative_numbers = true)]
    pub threads: Vec<String>,
    /// Number of processors (default: those of this machine).
    #[arg(long, value_name = "N,...", value_delimiter = ',', allow_negative_numbers = true)]
    pub cpus: Vec<String>,
    /// Time that each thread computes before a barrier, such as 50us or 2ms (default: 50us).
    #[arg(long, value_name = "TIME,...", value_delimiter = ',', allow_negative_numbers = true)]
    pub compute: Vec<String>,
    /// Number of busy processes ("hogs") that compete for processors (default: 0).
    #[arg(long, value_name = "N,...", value_delimiter = ',', allow_negative_numbers = true)]
    pub hogs: Vec<String>,
    /// Waiting policy: adaptive, block, spin, yield, two-phase:20us ... (default: compares five policies).
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub policy: Vec<String>,
    /// The scheduler, as a plan's `preset`: eevdf (today's Linux, the default), linux-2.4.16, linux-2.2,
    /// round-robin ...
    #[arg(long, visible_alias = "preset", value_name = "NAME,...", value_delimiter = ',')]
    pub scheduler: Vec<String>,
    /// CPU quota of the job in processors, such as 1.5 (default: none).
    #[arg(long, value_name = "CPUS,...", value_delimiter = ',', allow_negative_numbers = true)]
    pub quota: Vec<String>,
    /// Number of barriers (default: 400).
    #[arg(long, value_name = "N,...", value_delimiter = ',', allow_negative_numbers = true)]
    pub barriers: Vec<String>,
    /// Number of random seeds per simulation (default: 3).
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
