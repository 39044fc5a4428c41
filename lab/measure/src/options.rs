//! The experiments of `measure`, and their options.
use clap::{Args, Subcommand, ValueEnum};

/// The experiments that measure this machine.
#[derive(Debug, Subcommand)]
pub enum Measure {
    /// Measures the cost of waiting: system calls, and the ping-pong of Guignon 2000. Saves this machine's
    /// cost model.
    #[command(after_help = "Example: foregather measure waits --format json --output waits.json\n\n\
                            The costs are saved in the file that FOREGATHER_MACHINE names, or as foregather/machine.json under \
                            XDG_CACHE_HOME or ~/.cache. They are not saved if other processes used the CPU during calibration or the run \
                            was interrupted. Policies with bounds in multiples of a context switch use them.")]
    Waits(WaitsOptions),
    /// Measures barriers under load, for each combination of grain, threads, hogs (busy processes) and
    /// placement, with every policy and every installed library.
    #[command(after_help = "Example: foregather measure barriers --quick\n\
                            Example: foregather measure barriers --rows '2t pinned' --waiters central/spin,hurdles --repetitions 15\n\
                            Example: foregather measure barriers --full --output matrix.json && foregather report matrix.json\n\
                            Example: foregather measure barriers --draw --rows 12 --waiters central/adaptive,central/block\n\
                            Example: foregather measure barriers --ablation --output ablation.json\n\
                            Example: foregather measure barriers --predict --rows '2t' --waiters central/adaptive,central/block\n\
                            Example: foregather measure barriers --validate --check")]
    Barriers(BarriersOptions),
    /// Measures the cost and exit skew of every barrier, plain and harmonized, and compares them with a
    /// simulated network that uses this machine's measured LogGP parameters.
    #[command(after_help = "Example: foregather measure skew --quick\n\
                            Example: foregather measure skew --threads 4 --output skew.json && foregather report skew.json")]
    Skew(SkewOptions),
    /// Measures system noise: durations of a loop of constant work (Seidel & Davis 1992, figures 3-9 and
    /// 3-10).
    #[command(after_help = "Example: foregather measure noise --seconds 5\n\
                            Example: foregather measure noise --output noise.json && foregather report noise.json --figures .")]
    Noise(NoiseOptions),
    /// Measures a shift around a ring of threads, with and without a synchronisation first, to find the
    /// message length from which synchronising pays (Seidel & Davis 1992, Table III).
    #[command(after_help = "Example: foregather measure shift --quick\n\
                            Example: foregather measure shift --threads 2 --format json --output shift.json")]
    Shift(ShiftOptions),
    /// Measures what occasional messages cost the reader of a queue, in delay and CPU time, with this
    /// project's queue and others. Python's queues need `python3` with `pyzmq` and this project's wheel
    /// (FOREGATHER_PYTHON names another interpreter), and vLLM's queue needs its file `shm_broadcast.py`
    /// (FOREGATHER_VLLM_QUEUE).
    #[command(after_help = "Example: foregather measure broadcast --quick\n\
                            Example: foregather measure broadcast --queues foregather,futex --output broadcast.json")]
    Broadcast(BroadcastOptions),
    /// Measures messages between two ranks on separate processors: half round trip and throughput for every
    /// method and size, compared with the bare fabric and memcpy; and round trips under load for every
    /// policy.
    #[command(after_help = "Example: foregather measure messages --quick\n\
                            Example: foregather measure messages --only sizes --sizes 8,65536 --world thread\n\
                            Example: foregather measure messages --output messages.json && foregather report messages.json\n\n\
                            Methods (--ways): chosen, buffered, direct. References: frames, in-place, read-alone, read-helped, memcpy.\n\
                            Every round uses the same buffers. `cargo xtask peers messages` in the sources compares with MPI.")]
    Messages(Messages),
    /// Measures shared memory between two ranks on separate processors: page faults by size, back end and
    /// policy, the parts of a fault, and faults while the owner computes; and a loop over memory that is
    /// mapped in many views.
    #[command(after_help = "Example: foregather measure dsm --quick\n\
                            Example: foregather measure dsm --only faults --sizes 148,4096 --backend userfaultfd\n\
                            Example: foregather measure dsm --output dsm.json && foregather report dsm.json\n\n\
                            Rank 1 owns and manages what rank 0 touches. Back ends: userfaultfd, mprotect, userfaultfd-thread.")]
    Dsm(Dsm),
    /// Measures fork and join, empty and with bodies of 1 and 20 us, for teams of 2, 4 and 8 with up to two
    /// hogs, compared with Rust's scoped threads, rayon and every installed OpenMP runtime.
    #[command(after_help = "Example: foregather measure teams --quick\n\
                            Example: foregather measure teams --threads 2 --runners team,serial,gomp --format json\n\
                            Example: foregather measure teams --predict\n\
                            Example: foregather measure teams --output teams.json && foregather report teams.json")]
    Teams(Teams),
    /// Measures OpenMP constructs: a region, a barrier, a single, a dynamic loop of 64 chunks, a critical
    /// section and four task programs, for teams of 2, 4 and 8 with up to two hogs, with this project's
    /// runtime and every other installed one.
    #[command(
        name = "openmp",
        after_help = "Example: foregather measure openmp --quick\n\
                            Example: foregather measure openmp --threads 2 --runners foregather,gomp --format json\n\
                            Example: foregather measure openmp --output openmp.json && foregather report openmp.json"
    )]
    OpenMp(OpenMp),
    /// Measures how much slower the adaptive policy is than the best alternative, on random cases that no
    /// policy was tuned for: OpenMP constructs or barriers. Alternatives are the adaptive policy again (its
    /// regret is the noise), our `block` and `spin`, and other runtimes. Each cell has its own processes.
    #[command(after_help = "Example: foregather measure regret --draw 7 --rows 60 --state regret.jsonl\n\
                            Example: foregather measure regret --draw 7 --rows 60 --barriers --starts 15 --output regret.json\n\
                            Example: foregather measure regret --draw 7 --ablation --state ablation.jsonl\n\
                            Example: foregather measure regret --wrong-costs --rows 8 --starts 4 --ms 2000 --settle 1000\n\n\
                            Regret is time divided by that of the best column. Every other process chooses the best column, and the \
                            rest give the regret. A class of rows passes (`met`) if the geometric mean of its regrets is at most \
                            1.10 times that of the noise floor (1.03 on an idle machine with a processor for each thread), no row's \
                            95 % interval is completely above 1.5, or above 1.15 against our block, and CPU time is at most 1.2 times \
                            that of the best columns. With --state an interrupted run continues where it stopped, if the options and \
                            the programs are still the same.")]
    Regret(Regret),
    /// Measures the run time of a whole program that synchronises often, with this project's OpenMP runtime
    /// (default, `block`, `spin`) and with other runtimes, in random order, under load.
    #[command(after_help = "Example: foregather measure programs hgb --python venv/bin/python\n\
                            Example: foregather measure programs hgb --threads 4 --hogs 0,1 --repetitions 3 --format json\n\n\
                            hgb is scikit-learn's HistGradientBoostingClassifier, in a Python that has scikit-learn.")]
    Programs(ProgramsOptions),
    /// Measures how long a process takes to exit after using this project's OpenMP runtime (exit, `_exit`,
    /// abort, SIGKILL), with up to four hogs, with and without saved costs, compared with the same runtime
    /// without scouts (idle-class probe threads).
    #[command(after_help = "Example: foregather measure ends --runs 50\n\
                            Example: foregather measure ends --hogs 0,2 --runs 10 --format json\n\n\
                            Passes (`met`) if the median is at most one scheduler tick later than without scouts, and the maximum at \
                            most three. Needs the peers' program and `cargo xtask drop-in libgomp`.")]
    Ends(EndsOptions),
    /// Judges the simulated scheduler by this machine's kernel: records the kernel's decisions about random
    /// workloads, and reports how many of them the simulated rules make from the same queues. Needs root (or
    /// CAP_PERFMON and a readable tracefs).
    #[command(after_help = "Example: foregather measure scheduler --draws 20 --ms 300\n\
                            Example: foregather measure scheduler --draw 7 --check --output scheduler.json\n\n\
                            Workloads are two to six threads that compute, sleep and wake each other, half of them with nice values; every \
                            other one is pinned to one processor, the rest may use two. The bars are 90 % of the next threads on one \
                            processor, also with the moments at which the present thread goes on, and 75 % of the processors of woken \
                            threads on two.")]
    Scheduler(SchedulerJudge),
    /// Measures BLAS calls, single-threaded and parallel, by size, on an idle machine and with hogs, back to
    /// back and after pauses: vectors, a matrix and a vector, products, LU. Compares with every other
    /// installed BLAS, each in its own process.
    #[command(after_help = "Example: foregather measure blas --quick\n\
                            Example: foregather measure blas --crossovers\n\
                            Example: foregather measure blas --only collapse --runners foregather,openblas --format json\n\
                            Example: foregather measure blas --output blas.json && foregather report blas.json\n\n\
                            Crossovers are saved next to the machine's costs (see `foregather measure waits --help`).")]
    Blas(BlasOptions),
}

/// A part of `measure blas`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BlasPart {
    /// Each routine by size, back to back, without hogs.
    Sizes,
    /// Each routine after pauses, and the CPU time of idle waiting.
    Gaps,
    /// A product of order 256 with hogs.
    Collapse,
}

/// Options of `measure blas`.
#[derive(Args, Clone, Debug, Default)]
pub struct BlasOptions {
    /// Fewer sizes and shorter cells, in a minute for each BLAS.
    #[arg(long)]
    pub quick: bool,
    /// Only prints the size above which each routine runs in parallel on this machine; measures it if
    /// unknown.
    #[arg(long)]
    pub crossovers: bool,
    /// Only one part.
    #[arg(long, value_enum)]
    pub only: Option<BlasPart>,
    /// Only these routines, separated by commas: daxpy, ddot, dgemv, dgemm, dsymv, dsymm, dsyrk, dtrmm,
    /// dtrsm, lu.
    #[arg(long)]
    pub routines: Option<String>,
    /// Lengths of vectors and orders of matrices, separated by commas, for the part `sizes`.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub sizes: Vec<u32>,
    /// Threads of parallel calls (default: the number of processors, at most four).
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: Option<u32>,
    /// Only these runners, separated by commas.
    #[arg(long)]
    pub runners: Option<String>,
    /// Milliseconds for the pairs of one cell; longer if thirty pairs need it.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub ms: Option<u64>,
    /// Seed for the random order.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Options of `measure dsm`.
#[derive(Args, Clone, Debug)]
pub struct Dsm {
    /// One repetition, and fewer views.
    #[arg(long)]
    pub quick: bool,
    /// How ranks send messages: `shm`, `ofi` (libfabric's tcp) or `ofi:PROVIDER`.
    #[arg(long, value_parser = fabric, default_value = "shm")]
    pub fabric: String,
    /// Only one part.
    #[arg(long, value_enum)]
    pub only: Option<DsmPart>,
    /// Bytes of minipages, separated by commas.
    #[arg(long, alias = "size", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(4..=64 << 10))]
    pub sizes: Vec<u32>,
    /// How pages are protected, separated by commas (default: the two back ends that need no privileges).
    #[arg(long, alias = "backends", value_delimiter = ',')]
    pub backend: Vec<String>,
    /// Waiting policies of the memory servers and of threads, separated by commas.
    #[arg(long, alias = "policies")]
    pub policy: Option<String>,
    /// Number of repetitions of each cell, in alternating order.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub turns: Option<u32>,
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

/// Which teams, under which load, with which runners, how often and how long.
#[derive(Args, Clone, Debug, Default)]
pub struct TeamMatrix {
    /// Fewer rows and shorter cells, in twenty seconds.
    #[arg(long)]
    pub quick: bool,
    /// Sizes of the teams, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: Vec<u32>,
    /// Numbers of busy processes, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..=64))]
    pub hogs: Vec<u32>,
    /// Only these runners, separated by commas.
    #[arg(long)]
    pub runners: Option<String>,
    /// Number of repetitions of each cell, each in a different order.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub repetitions: Option<u32>,
    /// Milliseconds for one cell.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub ms: Option<u64>,
    /// Seed for the random order.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Options of `measure teams`.
#[derive(Args, Clone, Debug, Default)]
pub struct Teams {
    /// The rows.
    #[command(flatten)]
    pub matrix: TeamMatrix,
    /// Microseconds that each member computes, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub bodies: Vec<u32>,
    /// Instead predicts twelve random situations, drawn from a seed (default: from the clock), by the models
    /// of each runtime that `foregather advise` uses, then measures them.
    #[arg(long, value_name = "SEED", conflicts_with_all = ["bodies", "threads", "hogs", "quick"])]
    pub predict: Option<Option<u64>>,
}

/// Options of `measure openmp`.
#[derive(Args, Clone, Debug, Default)]
pub struct OpenMp {
    /// The rows: as those of `measure teams`.
    #[command(flatten)]
    pub matrix: TeamMatrix,
    /// Only these constructs, separated by commas: region, barrier, single, static, dynamic, reduction,
    /// critical, task-wait, task-tree, task-chain, task-stencil, ordered, nested.
    #[arg(long)]
    pub constructs: Option<String>,
}

/// Options of `measure regret`.
#[derive(Args, Clone, Debug)]
pub struct Regret {
    /// Random rows from this seed (default: a seed from the clock).
    #[arg(long, value_name = "SEED")]
    pub draw: Option<u64>,
    /// Number of random rows.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub rows: u32,
    /// Barriers instead of OpenMP constructs.
    #[arg(long)]
    pub barriers: bool,
    /// Compares with our policy under wrong costs (each 20 times too high or too low) instead of with other
    /// policies.
    #[arg(long)]
    pub wrong_costs: bool,
    /// Compares with our policy with one mechanism disabled at a time, instead of with other policies.
    #[arg(long, conflicts_with = "wrong_costs")]
    pub ablation: bool,
    /// Another build of our OpenMP runtime, or with --barriers of this command, as a column `old`.
    #[arg(long, value_name = "FILE")]
    pub old: Option<std::path::PathBuf>,
    /// Adds a column: our policy with this environment variable, such as `--setting
    /// FOREGATHER_PLACEMENT=off` (repeatable).
    #[arg(long = "setting", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<(String, String)>,
    /// Only these columns, separated by commas.
    #[arg(long)]
    pub columns: Option<String>,
    /// Number of processes per cell.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub starts: u32,
    /// Milliseconds that one process measures.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub ms: u64,
    /// Milliseconds that it runs before it measures.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    pub settle: u64,
    /// A file to which each result is appended, and from which an interrupted run continues.
    #[arg(long, value_name = "FILE", requires = "draw")]
    pub state: Option<std::path::PathBuf>,
}

/// Options of `measure scheduler`.
#[derive(Args, Clone, Debug)]
pub struct SchedulerJudge {
    /// Random workloads from this seed (default: a seed from the clock).
    #[arg(long, value_name = "SEED")]
    pub draw: Option<u64>,
    /// Number of random workloads.
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub draws: u32,
    /// Milliseconds for one workload.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(50..=60_000))]
    pub ms: u64,
    /// Only workloads on this number of processors (default: one and two in turn).
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=2))]
    pub processors: Option<u32>,
    /// Exits with status 1 if a share is below its bar.
    #[arg(long)]
    pub check: bool,
}

/// Options of `measure ends`.
#[derive(Args, Clone, Debug)]
pub struct EndsOptions {
    /// Number of processes per cell.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub runs: u32,
    /// Numbers of busy processes, separated by commas (default: 0 to 4).
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..=64))]
    pub hogs: Vec<u32>,
    /// Threads of the regions that a process runs before it exits.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: u32,
    /// Seed for the random order.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// A program that is measured as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgramName {
    /// Histogram gradient boosting of scikit-learn: 5,000 points, 60 rounds.
    Hgb,
}

/// Options of `measure programs`.
#[derive(Args, Clone, Debug)]
pub struct ProgramsOptions {
    /// Which program.
    #[arg(value_enum)]
    pub program: ProgramName,
    /// The Python that has its packages.
    #[arg(long, value_name = "FILE", default_value = "python3")]
    pub python: std::path::PathBuf,
    /// Numbers of threads, separated by commas (default: 2, 3, 4 and 8).
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: Vec<u32>,
    /// Numbers of busy processes, separated by commas (default: 0, 1 and 2).
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..=64))]
    pub hogs: Vec<u32>,
    /// Number of repetitions of each cell, each in a different order.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub repetitions: u32,
    /// Time limit of a run in seconds; a run that exceeds it counts as this long.
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub limit: u32,
    /// Our OpenMP runtime (default: the one next to this command).
    #[arg(long, value_name = "FILE")]
    pub library: Option<std::path::PathBuf>,
    /// Another build of it, as a column `old`.
    #[arg(long, value_name = "FILE")]
    pub old: Option<std::path::PathBuf>,
    /// Only these columns, separated by commas.
    #[arg(long, value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
    /// Seed for the random order.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let named = text.split_once('=').filter(|(name, _)| !name.is_empty());
    named.map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or_else(|| "write NAME=VALUE".to_owned())
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
    /// How processes send messages: `shm`, `ofi` (libfabric's tcp), `ofi:PROVIDER`, or `mpi`, whose ranks the
    /// first `mpiexec` of the search path starts.
    #[arg(long, value_parser = fabric_or_mpi, default_value = "shm")]
    pub fabric: String,
    /// Only one part.
    #[arg(long, value_enum)]
    pub only: Option<MessageExperiment>,
    /// Bytes of messages, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64 << 20))]
    pub sizes: Vec<u32>,
    /// Only these methods, separated by commas.
    #[arg(long = "ways", value_name = "WAYS")]
    pub transports: Option<String>,
    /// Number of repetitions of each method, in alternating order.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub batches: Option<u32>,
    /// Number of busy processes on each rank's processor; round trips are also measured without them.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=16))]
    pub hogs: u32,
    /// The hogs are threads within the ranks' own processes.
    #[arg(long)]
    pub hogs_within: bool,
    /// Only these policies, separated by commas.
    #[arg(long)]
    pub policies: Option<String>,
    /// Milliseconds for one cell with hogs; each policy has three cells.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub ms: Option<u64>,
}

/// What the two ranks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RankWorld {
    /// Processes that share memory.
    Process,
    /// Threads of one process.
    Thread,
}

/// A part of `measure messages`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MessageExperiment {
    /// Every method and size, with nothing else on the processors.
    Sizes,
    /// Every policy, with hogs and without.
    Hogs,
}

/// Options of `measure waits`.
#[derive(Args, Clone, Debug)]
pub struct WaitsOptions {
    /// Takes a few seconds in all.
    #[arg(long)]
    pub quick: bool,
    /// Round trips per method and condition; a tenth of that if threads idle before each.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub runs: u32,
}

/// Options of `measure skew`.
#[derive(Args, Clone, Debug)]
pub struct SkewOptions {
    /// Two policies and fewer episodes, in ten seconds at most.
    #[arg(long)]
    pub quick: bool,
    /// Members of the team, each pinned.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1_024))]
    pub threads: u32,
    /// Number of repetitions of each series, each in a different order.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub repetitions: Option<u32>,
    /// Seed for the random order and for the times at which members arrive.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Options of `measure shift`.
#[derive(Args, Clone, Debug)]
pub struct ShiftOptions {
    /// Fewer rounds, in five seconds at most.
    #[arg(long)]
    pub quick: bool,
    /// Members of the team, each pinned: a power of two (default: teams of 2 and 4).
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=256))]
    pub threads: Option<u32>,
    /// Number of repetitions of each series, each in a different order.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub repetitions: Option<u32>,
    /// Seed for the random order and for the times at which members arrive.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Options of `measure broadcast`.
#[derive(Args, Clone, Debug)]
pub struct BroadcastOptions {
    /// Two gaps, and a tenth of a second for each.
    #[arg(long)]
    pub quick: bool,
    /// Only these queues, separated by commas: foregather, spin, futex, yield-1s, foregather-python, zmq,
    /// multiprocessing, vllm.
    #[arg(long, value_delimiter = ',')]
    pub queues: Option<Vec<String>>,
    /// Number of repetitions of each queue, each in a different order.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub repetitions: Option<u32>,
    /// Seed for the random order and for the gaps.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Options of `measure noise`.
#[derive(Args, Clone, Debug)]
pub struct NoiseOptions {
    /// Seconds during which all processors are watched at once.
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    pub seconds: f64,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "write a number of seconds".to_owned())?;
    if (0.01..=60.0).contains(&seconds) { Ok(seconds) } else { Err("from 0.01 to 60 can be watched".to_owned()) }
}

/// Options of `measure barriers`.
#[derive(Args, Clone, Debug, Default)]
pub struct BarriersOptions {
    /// Eight rows and the main waiters, in 20 seconds.
    #[arg(long, conflicts_with_all = ["full", "wide", "draw"])]
    pub quick: bool,
    /// Also 160 random rows, in cells of 200 ms: the main policies and all other libraries. Takes half an
    /// hour.
    #[arg(long, conflicts_with_all = ["wide", "draw", "rows"])]
    pub full: bool,
    /// Also five and six threads, uneven work, the operations of a graph, oversubscribed teams with hogs,
    /// fork-join episodes and CPU quotas; central barriers, and adaptive ones of other kinds; seven
    /// repetitions. Takes half an hour.
    #[arg(long, conflicts_with = "draw")]
    pub wide: bool,
    /// Random rows from this seed, or from the clock: teams of 2 to 16 threads; oversubscribed, under load
    /// and on an idle machine in equal parts. 160 rows, unless --rows is given.
    #[arg(long, value_name = "SEED")]
    pub draw: Option<Option<u64>>,
    /// The adaptive waiter, and the same with one rule of its decision table disabled at a time, in rows
    /// where some rule is known to matter. Takes ten minutes.
    #[arg(long, conflicts_with_all = ["quick", "full", "wide", "draw", "waiters"])]
    pub ablation: bool,
    /// Compares the processor simulator with this machine: eight rows, V1 to V8, measured and simulated, in a
    /// minute.
    #[arg(long, conflicts_with_all = ["quick", "full", "wide", "draw", "ablation", "waiters"])]
    pub validate: bool,
    /// Exits with status 1 if fewer than six of the eight are within a factor of 1.5.
    #[arg(long, requires = "validate")]
    pub check: bool,
    /// First simulates several starts of each row with this machine's costs, then reports how far the
    /// measurements differ (factor, and fraction of starts), for the waiters of --waiters, or for the
    /// adaptive one and a few fixed ones. Each cell is measured 12 times.
    #[arg(long, conflicts_with_all = ["ablation", "validate"])]
    pub predict: bool,
    /// Only rows whose name contains one of these, separated by semicolons: `2t pinned;4t, 1 us`; or any row
    /// by its full name: `5t + 2 bursts:10 log-normal, 5 us`. With --validate `V3;V4`; with --draw the number
    /// of rows.
    #[arg(long)]
    pub rows: Option<String>,
    /// Only these waiters, separated by commas.
    #[arg(long)]
    pub waiters: Option<String>,
    /// Number of repetitions of each cell, each in a different order.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub repetitions: Option<u32>,
    /// Milliseconds per cell; with --validate, cells under load or a quota take three times as long.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub ms: Option<u64>,
    /// Seed for the random order.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// A fabric of processes, as users name it.
///
/// # Errors
/// If it is none.
pub fn fabric(text: &str) -> Result<String, String> {
    let provider = text.strip_prefix("ofi:").is_some_and(|provider| !provider.is_empty());
    if provider || ["shm", "ofi"].contains(&text) {
        Ok(text.to_owned())
    } else {
        Err("write shm, ofi or ofi:PROVIDER".to_owned())
    }
}

/// A fabric of processes, or that of the site's MPI, whose own launcher has to start them.
fn fabric_or_mpi(text: &str) -> Result<String, String> {
    if text == "mpi" { Ok(text.to_owned()) } else { fabric(text).map_err(|error| format!("{error}, or mpi")) }
}
