//! What can be asked for. Help, completions and the man page derive from here.
use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How results are printed on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns, for people.
    Table,
    /// The whole document, by its schema.
    Json,
    /// Rows, for spreadsheets.
    Csv,
}

/// Makes parallel programs wait well: measures this machine, simulates others, reproduces the papers.
#[derive(Debug, Parser)]
#[command(name = "foregather", version, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 well, 1 a check failed, 2 usage or bad input, 3 this machine cannot, 130 interrupted.")]
pub struct Cli {
    /// How to print results; standard error has progress and warnings.
    #[arg(long, global = true, value_enum, default_value = "table")]
    pub format: Format,
    /// No progress on standard error.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// A tour of less than a minute on this machine, with a report to open in a browser.
    #[command(after_help = "Example: foregather demo --output /tmp/tour.html")]
    Demo {
        /// Where the page goes; its data goes beside it, ending in .results.json.
        #[arg(short, long, default_value = "foregather-report.html")]
        output: PathBuf,
    },
    /// What this machine has, what it lacks, and how to get that.
    #[command(after_help = "Example: foregather doctor --format json")]
    Doctor,
    /// Measures this machine.
    #[command(subcommand)]
    Measure(Measure),
    /// Simulates machines one does not have, by a plan: processors that threads share, schedulers, waiting policies.
    #[command(after_help = "Example: foregather simulate fig3\n\
                            Example: foregather simulate my-plan.toml --dry-run\n\
                            Example: foregather simulate fig5 --set job.app.threads=8 --format csv --output fig5.json\n\n\
                            plans/README.md in the sources lists every key of a plan.")]
    Simulate(Simulate),
    /// Tries the claims of a paper on this machine and says which hold.
    #[command(after_help = "Example: foregather reproduce guignon2000 --format json")]
    Reproduce(Reproduce),
    /// Makes one self-contained HTML page of result files.
    #[command(after_help = "Example: foregather report waits.json barriers.json -o report.html")]
    Report {
        /// Files that `--output` of the other verbs wrote.
        #[arg(required = true)]
        results: Vec<PathBuf>,
        /// Where the page goes.
        #[arg(short, long, default_value = "foregather-report.html")]
        output: PathBuf,
        /// Each figure too, as a file of its own (SVG) in this folder.
        #[arg(long)]
        figures: Option<PathBuf>,
    },
    /// The ratios of two result files, each with its uncertainty.
    #[command(after_help = "Example: foregather compare before.json after.json --check")]
    Compare {
        /// The yardstick.
        before: PathBuf,
        /// What is held against it.
        after: PathBuf,
        /// End with 1 if anything became slower.
        #[arg(long)]
        check: bool,
    },
    /// Starts a program as the ranks of a job, which find each other and end together.
    #[command(after_help = "Example: foregather run -n 4 -- ./my-program its arguments\n\
                            Example: foregather run --hosts hosts.txt --fabric ofi:tcp -- ./my-program\n\n\
                            A file of hosts has a line each: name [slots=N] [address=A]. The program needs no launcher of ours: it\n\
                            runs as well under mpiexec, mpirun, srun and prterun.\n\
                            It ends as the first rank that failed: with its code, or 128 and the number of the signal that killed it.")]
    Run(Run),
    /// Runs one of five programs on shared memory that its ranks do not have, proves its result, and says where the time went.
    #[command(after_help = "Example: foregather app sor --hosts 1,2\n\
                            Example: foregather app tsp --unit 4096 --explain sharing\n\
                            Example: foregather app lu --class paper --hosts 1,2 --repeat 5 --output lu.json && foregather report lu.json\n\
                            Example: foregather run --hosts hosts.txt -- foregather app water\n\n\
                            Classes: small and paper; is: S, W and A of the NAS; tsp: burma14, ulysses16, gr17, gr21, ulysses22.\n\
                            Started by a launcher (foregather run, mpirun, srun ...) it is one of that job's ranks, and rank 0 prints.")]
    App(App),
    /// Prints a completion script for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Prints the manual page.
    Man,
}

/// Options of `run`.
#[derive(Args, Clone, Debug)]
pub struct Run {
    /// How many ranks; as many as the hosts have slots if not given.
    #[arg(short = 'n', long = "ranks", value_parser = clap::value_parser!(u32).range(1..=4_096))]
    pub ranks: Option<u32>,
    /// What they send messages by: `shm` (on one host), `ofi` or `ofi:PROVIDER` (libfabric). Chosen if not given.
    #[arg(long, value_parser = fabric)]
    pub fabric: Option<String>,
    /// Where they go.
    #[arg(long)]
    pub hosts: Option<PathBuf>,
    /// The command that gets to another host; it is given the host's name and `sh`.
    #[arg(long, default_value = "ssh")]
    pub rsh: String,
    /// Their output as it is, without the rank before each line.
    #[arg(long)]
    pub no_prefix: bool,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub program: Vec<String>,
}

fn fabric(text: &str) -> Result<String, String> {
    let provider = text.strip_prefix("ofi:").is_some_and(|provider| !provider.is_empty());
    if provider || ["shm", "ofi"].contains(&text) {
        Ok(text.to_owned())
    } else {
        Err("write shm, ofi or ofi:PROVIDER".to_owned())
    }
}

/// Options of `app`; ranks are told them as they are.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
pub struct App {
    /// Which program.
    #[arg(value_enum)]
    pub name: AppName,
    /// On how many ranks: one number or several, separated by commas, whose times are compared. 2 if not given.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64))]
    pub hosts: Vec<u32>,
    /// Threads of each rank.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: u32,
    /// Which input: see below.
    #[arg(long, default_value = "small")]
    pub class: String,
    /// What ranks are, and what they send messages by: `shm`, `ofi` or `ofi:PROVIDER` for processes (`shm` if not given), `threads`
    /// for threads of one process.
    #[arg(long, value_parser = app_fabric)]
    pub fabric: Option<String>,
    /// How pages are protected; the better way that this machine has, if not given.
    #[arg(long, value_parser = ["userfaultfd", "userfaultfd-thread", "mprotect"])]
    pub backend: Option<String>,
    /// How servers and threads wait; the policy that adapts, if not given.
    #[arg(long)]
    pub policy: Option<String>,
    /// water: so many molecules are shared as one (the paper's chunking level).
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u32).range(1..=512))]
    pub chunk: Option<u32>,
    /// tsp: so many bytes of the pool of tours are shared as one; 148 are a tour.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(4..=65_536))]
    pub unit: Option<u32>,
    /// tsp: no copy of a new minimum for everybody.
    #[arg(long)]
    pub no_push: bool,
    /// lu: no block is asked for ahead.
    #[arg(long)]
    pub no_prefetch: bool,
    /// How often each is run, in turns.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub repeat: u32,
    /// Seconds that one run may take before it is ended.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub within: u64,
    /// Reports what was found in the journals of all threads.
    #[arg(long, value_enum)]
    pub explain: Option<Explain>,
    /// What all threads did as a trace, to this file: Perfetto (ui.perfetto.dev) opens it.
    #[arg(long)]
    pub trace: Option<PathBuf>,
    /// The results too, to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

/// The programs of `app`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum AppName {
    /// Integer sort of the NAS.
    Is,
    /// Red-black relaxation of a grid.
    Sor,
    /// Molecules of water.
    Water,
    /// Factorisation of a matrix in blocks.
    Lu,
    /// A shortest tour through cities.
    Tsp,
}

impl AppName {
    /// As on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Is => "is",
            Self::Sor => "sor",
            Self::Water => "water",
            Self::Lu => "lu",
            Self::Tsp => "tsp",
        }
    }
}

/// What journals tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Explain {
    /// Which allocations are shared falsely, and the grain that would cure it.
    Sharing,
    /// Accesses that nothing puts into an order.
    Races,
    /// Which allocations are asked for most, and where requests compete.
    Contention,
}

fn app_fabric(text: &str) -> Result<String, String> {
    if text == "threads" {
        Ok(text.to_owned())
    } else {
        fabric(text).map_err(|_| "write threads, shm, ofi or ofi:PROVIDER".to_owned())
    }
}

/// Options of `reproduce`.
#[derive(Args, Clone, Debug)]
pub struct Reproduce {
    /// The paper's short name; all papers without it.
    pub paper: Option<String>,
    /// Only the claims of one experiment.
    pub figure: Option<String>,
    /// The results too, to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// With the finer grids and more seeds of the plans: five minutes on two processors for all of Tsafrir & Feitelson 2002.
    #[arg(long)]
    pub full: bool,
    /// End with 1 if a claim does not hold here.
    #[arg(long)]
    pub check: bool,
}

/// Options of `simulate`.
#[derive(Args, Clone, Debug)]
pub struct Simulate {
    /// The plan: a file, or the name of a plan that comes with the program.
    #[arg(required_unless_present = "list")]
    pub plan: Option<String>,
    /// Prints the plans that come with the program.
    #[arg(long)]
    pub list: bool,
    /// With what the plan's `full` section changes: finer grids, more seeds.
    #[arg(long)]
    pub full: bool,
    /// Changes one key of the plan, as in `job.app.threads=8` or `sweep.load=[48,56]`.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Prints what would be run, and how long that might take.
    #[arg(long)]
    pub dry_run: bool,
    /// Runs it even if it takes more than ten minutes.
    #[arg(long)]
    pub yes: bool,
    /// Added to every seed of the plan.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1 << 32))]
    pub seed: u64,
    /// Of a plan about a network, says why a trial failed: who waited for which port, who held it, and what had come between;
    /// for the first failure of three points at most.
    #[arg(long)]
    pub explain: bool,
    /// The first run as a trace, to this file: Perfetto (ui.perfetto.dev) opens it.
    #[arg(long)]
    pub trace: Option<PathBuf>,
    /// The results too, to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum Measure {
    /// What waiting costs: prices of the kernel's verbs, and the ping-pong of Guignon 2000. Keeps the machine's costs.
    #[command(after_help = "Example: foregather measure waits --format json --output waits.json\n\n\
                            The costs are kept in the file that FOREGATHER_MACHINE names, or as foregather/machine.json under\n\
                            XDG_CACHE_HOME or ~/.cache; policies named by multiples of a switch use them.")]
    Waits(Waits),
    /// Barriers under load: grain x threads x hogs x placement, every policy, every peer that is installed.
    #[command(after_help = "Example: foregather measure barriers --quick\n\
                            Example: foregather measure barriers --rows '2t pinned' --waiters central/spin,hurdles --repetitions 15\n\
                            Example: foregather measure barriers --full --output matrix.json && foregather report matrix.json\n\
                            Example: foregather measure barriers --ablation --output ablation.json\n\
                            Example: foregather measure barriers --predict --rows '2t' --waiters central/adaptive,central/block\n\
                            Example: foregather measure barriers --validate --check")]
    Barriers(Barriers),
    /// What every barrier costs and how unevenly its members leave it, plain and harmonized; beside it what a simulated network
    /// with this machine's LogGP parameters, which are measured too, predicts.
    #[command(after_help = "Example: foregather measure skew --quick\n\
                            Example: foregather measure skew --threads 4 --output skew.json && foregather report skew.json")]
    Skew(Skew),
    /// What disturbs busy processors: a loop that ought to take the same time again and again (Seidel & Davis 1992, figures 3-9
    /// and 3-10).
    #[command(after_help = "Example: foregather measure noise --seconds 5\n\
                            Example: foregather measure noise --output noise.json && foregather report noise.json --figures .")]
    Noise(Noise),
    /// What a shift around a ring of threads costs, alone and behind a synchronisation, for messages of several lengths: from
    /// which length on does it pay here to synchronise first (Seidel & Davis 1992, Table III)?
    #[command(after_help = "Example: foregather measure shift --quick\n\
                            Example: foregather measure shift --threads 2 --format json --output shift.json")]
    Shift(Shift),
    /// What messages cost between two ranks on a processor each: half a round trip and a stream, by every way and size, beside
    /// the bare fabric and a copy in memory; and round trips beside computing hogs, by every policy.
    #[command(after_help = "Example: foregather measure messages --quick\n\
                            Example: foregather measure messages --only sizes --sizes 8,65536 --world thread\n\
                            Example: foregather measure messages --output messages.json && foregather report messages.json\n\n\
                            Ways of messages: chosen, buffered, direct. Yardsticks: frames, in-place, read-alone, read-helped, memcpy.\n\
                            Buffers are the same from round to round. `cargo xtask peers messages` in the sources runs MPI beside it.")]
    Messages(Messages),
    /// What shared memory costs between two ranks on a processor each: faults by size, back end and policy, what they are made of,
    /// and the same while the owner computes; and a loop over memory that is seen through many views.
    #[command(after_help = "Example: foregather measure dsm --quick\n\
                            Example: foregather measure dsm --only faults --sizes 148,4096 --backend userfaultfd\n\
                            Example: foregather measure dsm --output dsm.json && foregather report dsm.json\n\n\
                            Rank 1 owns and manages what rank 0 touches. Back ends: userfaultfd, mprotect, userfaultfd-thread.")]
    Dsm(Dsm),
    /// What a fork and a join cost: empty, and with bodies of 1 and 20 us, for teams of 2, 4 and 8, beside up to two hogs; beside our
    /// team Rust's scoped threads, rayon, and every OpenMP runtime that is installed.
    #[command(after_help = "Example: foregather measure teams --quick\n\
                            Example: foregather measure teams --threads 2 --runners team,serial,gomp --format json\n\
                            Example: foregather measure teams --output teams.json && foregather report teams.json")]
    Teams(Teams),
}

/// Options of `measure dsm`.
#[derive(Args, Clone, Debug)]
pub struct Dsm {
    /// One turn, and fewer views.
    #[arg(long)]
    pub quick: bool,
    /// What carries messages: `shm`, `ofi` (libfabric's tcp) or `ofi:PROVIDER`.
    #[arg(long, value_parser = fabric, default_value = "shm")]
    pub fabric: String,
    /// Only one part.
    #[arg(long, value_enum)]
    pub only: Option<DsmPart>,
    /// Bytes of minipages, separated by commas.
    #[arg(long, alias = "size", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(4..=64 << 10))]
    pub sizes: Vec<u32>,
    /// How pages are protected, separated by commas; the two that need no rights if not given.
    #[arg(long, alias = "backends", value_delimiter = ',')]
    pub backend: Vec<String>,
    /// How servers and threads wait, separated by commas.
    #[arg(long, alias = "policies")]
    pub policy: Option<String>,
    /// How often each cell has its turn, in alternating order.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub turns: Option<u32>,
    /// The results too, to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

/// A part of `measure dsm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DsmPart {
    /// Faults whose owner waits, and their parts.
    Faults,
    /// Faults whose owner computes on the processor that its server needs.
    Computing,
    /// One loop through many views.
    Views,
}

/// Options of `measure teams`.
#[derive(Args, Clone, Debug, Default)]
pub struct Teams {
    /// Fewer rows and shorter cells, in twenty seconds.
    #[arg(long)]
    pub quick: bool,
    /// Members of the teams, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: Vec<u32>,
    /// Only these runners, separated by commas.
    #[arg(long)]
    pub runners: Option<String>,
    /// How often each cell is measured, in another order each time.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub repetitions: Option<u32>,
    /// Milliseconds for one cell.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub ms: Option<u64>,
    /// Decides the orders.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The results too, to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

/// Options of `measure messages`.
#[derive(Args, Clone, Debug)]
pub struct Messages {
    /// Fewer sizes and shorter cells, in five seconds at most.
    #[arg(long)]
    pub quick: bool,
    /// What the two ranks are.
    #[arg(long, value_enum, default_value = "process")]
    pub world: RankWorld,
    /// What processes send messages by: `shm`, `ofi` (libfabric's tcp) or `ofi:PROVIDER`.
    #[arg(long, value_parser = fabric, default_value = "shm")]
    pub fabric: String,
    /// Only sizes alone, or only policies beside hogs.
    #[arg(long, value_enum)]
    pub only: Option<MessagePart>,
    /// Bytes of messages, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64 << 20))]
    pub sizes: Vec<u32>,
    /// Only these ways, separated by commas.
    #[arg(long)]
    pub ways: Option<String>,
    /// How often each way is measured, in alternating order.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub batches: Option<u32>,
    /// Computing processes on each rank's processor; they are measured without them, too.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=16))]
    pub hogs: u32,
    /// As threads within the ranks' own processes.
    #[arg(long)]
    pub hogs_within: bool,
    /// Only these policies, separated by commas.
    #[arg(long)]
    pub policies: Option<String>,
    /// Milliseconds for one cell beside hogs, of which there are three for each policy.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub ms: Option<u64>,
    /// The results too, to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

/// What ranks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RankWorld {
    /// Processes that share memory.
    Process,
    /// Threads of one process.
    Thread,
}

/// A part of `measure messages`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MessagePart {
    /// Every way and size, with nothing else on the processors.
    Sizes,
    /// Every policy, with hogs and without.
    Hogs,
}

/// Options of `measure waits`.
#[derive(Args, Clone, Debug)]
pub struct Waits {
    /// A few seconds in all.
    #[arg(long)]
    pub quick: bool,
    /// Round trips per method and circumstance; those with idling before each take a tenth.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub runs: u32,
    /// The results too, to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

/// Options of `measure skew`.
#[derive(Args, Clone, Debug)]
pub struct Skew {
    /// Two policies and fewer episodes, in ten seconds at most.
    #[arg(long)]
    pub quick: bool,
    /// Members of the team, each pinned.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1_024))]
    pub threads: u32,
    /// How often each series is measured, in another order each time.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub repetitions: Option<u32>,
    /// Decides the orders, and when members come.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The results too, to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

/// Options of `measure shift`.
#[derive(Args, Clone, Debug)]
pub struct Shift {
    /// Fewer rounds, in five seconds at most.
    #[arg(long)]
    pub quick: bool,
    /// Members of the team, each pinned: a power of two. Teams of 2 and of 4 if not given.
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=256))]
    pub threads: Option<u32>,
    /// How often each series is measured, in another order each time.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub repetitions: Option<u32>,
    /// Decides the orders, and when members come.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The results too, to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

/// Options of `measure noise`.
#[derive(Args, Clone, Debug)]
pub struct Noise {
    /// For how long every processor is watched, all at once.
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    pub seconds: f64,
    /// The results too, to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "write a number of seconds".to_owned())?;
    if (0.01..=60.0).contains(&seconds) { Ok(seconds) } else { Err("from 0.01 to 60 can be watched".to_owned()) }
}

/// Options of `measure barriers`.
#[derive(Args, Clone, Debug, Default)]
pub struct Barriers {
    /// Eight rows and the main waiters, in 20 seconds.
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// Also five and six threads, uneven work, fork-join episodes and processor quotas; central barriers, and adaptive ones of
    /// other kinds; seven repetitions. Half an hour.
    #[arg(long)]
    pub full: bool,
    /// The adaptive waiter, and again with each rule of its decision table off in turn, in rows where some rule is known to
    /// matter. Ten minutes.
    #[arg(long, conflicts_with_all = ["quick", "full", "waiters"])]
    pub ablation: bool,
    /// Holds the simulator of processors against this machine: eight rows, V1 to V8, measured and simulated, in a minute.
    #[arg(long, conflicts_with_all = ["quick", "full", "ablation", "waiters"])]
    pub validate: bool,
    /// End with 1 if fewer than six of the eight are within a factor of 1.5.
    #[arg(long, requires = "validate")]
    pub check: bool,
    /// After that, simulates the teams of the same rows with this machine's prices, and says by which factor the simulator is
    /// off: of the waiters named, or of the adaptive one and a few fixed ones.
    #[arg(long, conflicts_with_all = ["ablation", "validate"])]
    pub predict: bool,
    /// Only rows whose name contains one of these, separated by semicolons: `2t pinned;4t, 1 us`; with --validate `V3;V4`.
    #[arg(long)]
    pub rows: Option<String>,
    /// Only these waiters, separated by commas.
    #[arg(long)]
    pub waiters: Option<String>,
    /// How often each cell is measured, in another order each time.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub repetitions: Option<u32>,
    /// Milliseconds for one cell; with --validate those beside hogs or under a quota take three times as long.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub ms: Option<u64>,
    /// Decides the orders.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The results too, to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}
