//! The experiments of `measure`, and their options.
use clap::{Args, Subcommand, ValueEnum};

/// The experiments that measure this machine.
#[derive(Debug, Subcommand)]
pub enum Measure {
    /// What waiting costs: prices of the kernel's verbs, and the ping-pong of Guignon 2000. Keeps the
    /// machine's costs.
    #[command(after_help = "Example: foregather measure waits --format json --output waits.json\n\n\
                            The costs are kept in the file that FOREGATHER_MACHINE names, or as foregather/machine.json under \
                            XDG_CACHE_HOME or ~/.cache, unless others had the machine meanwhile or the run was interrupted; policies \
                            named by multiples of a switch use them.")]
    Waits(Waits),
    /// Barriers under load: grain x threads x hogs x placement, every policy, every peer that is installed.
    #[command(after_help = "Example: foregather measure barriers --quick\n\
                            Example: foregather measure barriers --rows '2t pinned' --waiters central/spin,hurdles --repetitions 15\n\
                            Example: foregather measure barriers --full --output matrix.json && foregather report matrix.json\n\
                            Example: foregather measure barriers --draw --rows 12 --waiters central/adaptive,central/block\n\
                            Example: foregather measure barriers --ablation --output ablation.json\n\
                            Example: foregather measure barriers --predict --rows '2t' --waiters central/adaptive,central/block\n\
                            Example: foregather measure barriers --validate --check")]
    Barriers(Barriers),
    /// What every barrier costs and how unevenly its members leave it, plain and harmonized; beside it what a
    /// simulated network with this machine's LogGP parameters, which are measured too, predicts.
    #[command(after_help = "Example: foregather measure skew --quick\n\
                            Example: foregather measure skew --threads 4 --output skew.json && foregather report skew.json")]
    Skew(Skew),
    /// What disturbs busy processors: the times of a loop that ought to take the same time again and again
    /// (Seidel & Davis 1992, figures 3-9 and 3-10).
    #[command(after_help = "Example: foregather measure noise --seconds 5\n\
                            Example: foregather measure noise --output noise.json && foregather report noise.json --figures .")]
    Noise(NoiseOptions),
    /// What a shift around a ring of threads costs, alone and behind a synchronisation, for messages of
    /// several lengths: from which length on does it pay here to synchronise first (Seidel & Davis 1992,
    /// Table III)?
    #[command(after_help = "Example: foregather measure shift --quick\n\
                            Example: foregather measure shift --threads 2 --format json --output shift.json")]
    Shift(Shift),
    /// What messages that come now and then cost the reader of a queue: how late it has them, and how much of
    /// a processor it burns meanwhile, by this project's queue and by others. Python's queues need `python3`
    /// with `pyzmq` and this project's wheel (FOREGATHER_PYTHON names another interpreter), and that of vLLM
    /// its file
    /// `shm_broadcast.py` (FOREGATHER_VLLM_QUEUE).
    #[command(after_help = "Example: foregather measure broadcast --quick\n\
                            Example: foregather measure broadcast --queues foregather,futex --output broadcast.json")]
    Broadcast(BroadcastOptions),
    /// What messages cost between two ranks on a processor each: half a round trip and a stream, by every way
    /// and size, beside the bare fabric and a copy in memory; and round trips beside computing hogs, by every
    /// policy.
    #[command(after_help = "Example: foregather measure messages --quick\n\
                            Example: foregather measure messages --only sizes --sizes 8,65536 --world thread\n\
                            Example: foregather measure messages --output messages.json && foregather report messages.json\n\n\
                            Ways of messages: chosen, buffered, direct. Yardsticks: frames, in-place, read-alone, read-helped, memcpy.\n\
                            Buffers are the same from round to round. `cargo xtask peers messages` in the sources runs MPI beside it.")]
    Messages(Messages),
    /// What shared memory costs between two ranks on a processor each: faults by size, back end and policy,
    /// what they are made of, and faults while the owner computes; and a loop over memory that is seen
    /// through many views.
    #[command(after_help = "Example: foregather measure dsm --quick\n\
                            Example: foregather measure dsm --only faults --sizes 148,4096 --backend userfaultfd\n\
                            Example: foregather measure dsm --output dsm.json && foregather report dsm.json\n\n\
                            Rank 1 owns and manages what rank 0 touches. Back ends: userfaultfd, mprotect, userfaultfd-thread.")]
    Dsm(Dsm),
    /// What a fork and a join cost: empty, and with bodies of 1 and 20 us, for teams of 2, 4 and 8, beside up
    /// to two hogs; beside our team Rust's scoped threads, rayon, and every OpenMP runtime that is installed.
    #[command(after_help = "Example: foregather measure teams --quick\n\
                            Example: foregather measure teams --threads 2 --runners team,serial,gomp --format json\n\
                            Example: foregather measure teams --output teams.json && foregather report teams.json")]
    Teams(Teams),
    /// What constructs of OpenMP cost: a region, a barrier, a single, a dynamic loop of 64 chunks, a critical
    /// section, four programs of tasks; for teams of 2, 4 and 8, beside up to two hogs; by this project's
    /// runtime and every other one that is installed.
    #[command(
        name = "openmp",
        after_help = "Example: foregather measure openmp --quick\n\
                            Example: foregather measure openmp --threads 2 --runners foregather,gomp --format json\n\
                            Example: foregather measure openmp --output openmp.json && foregather report openmp.json"
    )]
    OpenMp(OpenMp),
    /// How much slower than the best way to wait ours is, in rows that no policy was tuned to: drawn
    /// constructs of OpenMP, or drawn barriers, by ours, by ours again (whose regret is the noise), by our
    /// `block` and `spin`, and by other runtimes; each cell in processes of its own.
    #[command(after_help = "Example: foregather measure regret --draw 7 --rows 60 --state regret.jsonl\n\
                            Example: foregather measure regret --draw 7 --rows 60 --barriers --starts 15 --output regret.json\n\
                            Example: foregather measure regret --draw 7 --ablation --state ablation.jsonl\n\
                            Example: foregather measure regret --wrong-costs --rows 8 --starts 4 --ms 2000 --settle 1000\n\n\
                            The best column is chosen by every other start, and the regret computed by the others. A class of rows is \
                            met if the geometric mean of its regrets is at most 1.10 times the noise floor's (1.03 on an idle machine \
                            whose processors the threads fit), no row's 95 % interval lies wholly above 1.5, nor above 1.15 against \
                            our block, and processor time is at most 1.2 times the best columns'. With --state a run that was \
                            interrupted goes on where it ended, if the options and the programs are still the same.")]
    Regret(Regret),
    /// How long a whole program takes whose threads meet often, by this project's OpenMP runtime, by its
    /// `block` and `spin`, and by other runtimes, in turn, beside busy processes.
    #[command(after_help = "Example: foregather measure programs hgb --python venv/bin/python\n\
                            Example: foregather measure programs hgb --threads 4 --hogs 0,1 --repetitions 3 --format json\n\n\
                            hgb is scikit-learn's HistGradientBoostingClassifier, in a Python that has scikit-learn.")]
    Programs(Programs),
    /// How long a process that has used this project's OpenMP runtime takes to end, by exit, `_exit`, abort
    /// and SIGKILL, beside up to four hogs, with kept costs and without; against the same runtime without
    /// scouts.
    #[command(after_help = "Example: foregather measure ends --runs 50\n\
                            Example: foregather measure ends --hogs 0,2 --runs 10 --format json\n\n\
                            Met if the median is at most one tick later than without scouts, and the worst at most three. Needs the \
                            peers' program and `cargo xtask drop-in libgomp`.")]
    Ends(Ends),
    /// What calls of a BLAS cost alone and shared: vectors, a matrix and a vector, products, LU, over the
    /// size; alone on the machine and beside hogs, back to back and after pauses; and every other BLAS that
    /// is installed, each in a process of its own.
    #[command(after_help = "Example: foregather measure blas --quick\n\
                            Example: foregather measure blas --crossovers\n\
                            Example: foregather measure blas --only collapse --runners foregather,openblas --format json\n\
                            Example: foregather measure blas --output blas.json && foregather report blas.json\n\n\
                            Crossovers are kept beside the machine's costs (see `foregather measure waits --help`).")]
    Blas(Blas),
}

/// A part of `measure blas`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BlasPart {
    /// Each routine over the size, back to back, on a machine without hogs.
    Sizes,
    /// Each routine after pauses, and the processor time of idle waiting.
    Gaps,
    /// A product of order 256 beside hogs.
    Collapse,
}

/// Options of `measure blas`.
#[derive(Args, Clone, Debug, Default)]
pub struct Blas {
    /// Fewer sizes and shorter cells, in a minute for each BLAS.
    #[arg(long)]
    pub quick: bool,
    /// Only finds the size from which on each routine is shared here; measures it now where it is not known.
    #[arg(long)]
    pub crossovers: bool,
    /// Only one part.
    #[arg(long, value_enum)]
    pub only: Option<BlasPart>,
    /// Only these routines, separated by commas: daxpy, ddot, dgemv, dgemm, dsymv, dsymm, dsyrk, dtrmm,
    /// dtrsm, lu.
    #[arg(long)]
    pub routines: Option<String>,
    /// Lengths of vectors and orders of matrices, separated by commas, for the part over the size.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub sizes: Vec<u32>,
    /// Threads of the shared side; as many as there are processors, four at most, if not given.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: Option<u32>,
    /// Only these runners, separated by commas.
    #[arg(long)]
    pub runners: Option<String>,
    /// Milliseconds for the pairs of one cell, if thirty pairs need no longer.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub ms: Option<u64>,
    /// The seed of the orders.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Options of `measure dsm`.
#[derive(Args, Clone, Debug)]
pub struct Dsm {
    /// One turn, and fewer views.
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
    /// How pages are protected, separated by commas; the two that need no rights if not given.
    #[arg(long, alias = "backends", value_delimiter = ',')]
    pub backend: Vec<String>,
    /// How servers and threads wait, separated by commas.
    #[arg(long, alias = "policies")]
    pub policy: Option<String>,
    /// How often each cell has its turn, in alternating order.
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

/// Which teams, beside what, by which runners, how often and how long.
#[derive(Args, Clone, Debug, Default)]
pub struct TeamMatrix {
    /// Fewer rows and shorter cells, in twenty seconds.
    #[arg(long)]
    pub quick: bool,
    /// Members of the teams, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: Vec<u32>,
    /// Computing processes beside them, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..=64))]
    pub hogs: Vec<u32>,
    /// Only these runners, separated by commas.
    #[arg(long)]
    pub runners: Option<String>,
    /// How often each cell is measured, in another order each time.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub repetitions: Option<u32>,
    /// Milliseconds for one cell.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub ms: Option<u64>,
    /// The seed of the orders.
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
    /// Rows drawn by this seed, or by one taken from the clock.
    #[arg(long, value_name = "SEED")]
    pub draw: Option<u64>,
    /// How many rows are drawn.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub rows: u32,
    /// Barriers instead of constructs of OpenMP.
    #[arg(long)]
    pub barriers: bool,
    /// Instead of other ways to wait: ours with each kept cost twenty times too dear and twenty times too
    /// cheap.
    #[arg(long)]
    pub wrong_costs: bool,
    /// Instead of other ways to wait: ours without each mechanism that can be switched off.
    #[arg(long, conflicts_with = "wrong_costs")]
    pub ablation: bool,
    /// Another build of our OpenMP runtime, or with --barriers of this command, as a column `old`.
    #[arg(long, value_name = "FILE")]
    pub old: Option<std::path::PathBuf>,
    /// A column of ours with this variable in its environment, as often as it is given:
    /// `--setting FOREGATHER_PLACEMENT=off`.
    #[arg(long = "setting", value_name = "NAME=VALUE", value_parser = setting)]
    pub settings: Vec<(String, String)>,
    /// Only these columns, separated by commas.
    #[arg(long)]
    pub columns: Option<String>,
    /// How many processes of each cell.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub starts: u32,
    /// Milliseconds that one process measures.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub ms: u64,
    /// Milliseconds that it runs before that.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    pub settle: u64,
    /// A file to which each result is added, and from which an interrupted run goes on.
    #[arg(long, value_name = "FILE", requires = "draw")]
    pub state: Option<std::path::PathBuf>,
}

/// Options of `measure ends`.
#[derive(Args, Clone, Debug)]
pub struct Ends {
    /// How many processes of each cell.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub runs: u32,
    /// Computing processes beside them, separated by commas; 0 to 4 if not given.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..=64))]
    pub hogs: Vec<u32>,
    /// Members of the regions that a process runs before its end.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: u32,
    /// The seed of the orders.
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
pub struct Programs {
    /// Which program.
    #[arg(value_enum)]
    pub program: ProgramName,
    /// The Python that has its packages.
    #[arg(long, value_name = "FILE", default_value = "python3")]
    pub python: std::path::PathBuf,
    /// Numbers of threads, separated by commas; 2, 3, 4 and 8 if not given.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: Vec<u32>,
    /// Computing processes beside it, separated by commas; 0, 1 and 2 if not given.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..=64))]
    pub hogs: Vec<u32>,
    /// How often each cell is measured, in another order each time.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub repetitions: u32,
    /// Seconds after which a run is cut off; it counts with them.
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub limit: u32,
    /// Our OpenMP runtime, if it is not beside this command.
    #[arg(long, value_name = "FILE")]
    pub library: Option<std::path::PathBuf>,
    /// Another build of it, as a column `old`.
    #[arg(long, value_name = "FILE")]
    pub old: Option<std::path::PathBuf>,
    /// Only these columns, separated by commas.
    #[arg(long, value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
    /// The seed of the orders.
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
    /// Computing processes on each rank's processor; round trips are measured without them, too.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=16))]
    pub hogs: u32,
    /// The hogs are threads within the ranks' own processes.
    #[arg(long)]
    pub hogs_within: bool,
    /// Only these policies, separated by commas.
    #[arg(long)]
    pub policies: Option<String>,
    /// Milliseconds for one cell beside hogs, of which there are three for each policy.
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
pub enum MessagePart {
    /// Every way and size, with nothing else on the processors.
    Sizes,
    /// Every policy, with hogs and without.
    Hogs,
}

/// Options of `measure waits`.
#[derive(Args, Clone, Debug)]
pub struct Waits {
    /// Takes a few seconds in all.
    #[arg(long)]
    pub quick: bool,
    /// Round trips per method and circumstance; those with idling before each take a tenth.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub runs: u32,
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
    /// The seed of the orders, and of the times at which members come.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
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
    /// The seed of the orders, and of the times at which members come.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Options of `measure broadcast`.
#[derive(Args, Clone, Debug)]
pub struct BroadcastOptions {
    /// Two gaps, and a tenth of a second for each.
    #[arg(long)]
    pub quick: bool,
    /// These queues only: foregather, spin, futex, yield-1s, foregather-python, zmq, multiprocessing, vllm.
    #[arg(long, value_delimiter = ',')]
    pub queues: Option<Vec<String>>,
    /// How often each is measured, in another order each time.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub repetitions: Option<u32>,
    /// The seed of the orders, and of the gaps.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Options of `measure noise`.
#[derive(Args, Clone, Debug)]
pub struct NoiseOptions {
    /// Seconds for which all processors are watched at once.
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    pub seconds: f64,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "write a number of seconds".to_owned())?;
    if (0.01..=60.0).contains(&seconds) { Ok(seconds) } else { Err("from 0.01 to 60 can be watched".to_owned()) }
}

/// Options of `measure barriers`.
#[derive(Args, Clone, Debug, Default)]
pub struct Barriers {
    /// Eight rows and the main waiters, in 20 seconds.
    #[arg(long, conflicts_with_all = ["full", "wide", "draw"])]
    pub quick: bool,
    /// 160 drawn rows beside the fixed ones, in cells of 200 ms: the main policies and all peers. Half an
    /// hour.
    #[arg(long, conflicts_with_all = ["wide", "draw", "rows"])]
    pub full: bool,
    /// Also five and six threads, uneven work, the operations of a graph, crowded teams beside hogs,
    /// fork-join episodes and processor quotas; central barriers, and adaptive ones of other kinds; seven
    /// repetitions. Half an hour.
    #[arg(long, conflicts_with = "draw")]
    pub wide: bool,
    /// Rows drawn by this seed, or by one taken from the clock: teams of 2 to 16 threads, crowded, disturbed
    /// and alone in equal parts. 160 unless --rows says how many.
    #[arg(long, value_name = "SEED")]
    pub draw: Option<Option<u64>>,
    /// The adaptive waiter, and again with each rule of its decision table off in turn, in rows where some
    /// rule is known to matter. Ten minutes.
    #[arg(long, conflicts_with_all = ["quick", "full", "wide", "draw", "waiters"])]
    pub ablation: bool,
    /// Holds the simulator of processors against this machine: eight rows, V1 to V8, measured and simulated,
    /// in a minute.
    #[arg(long, conflicts_with_all = ["quick", "full", "wide", "draw", "ablation", "waiters"])]
    pub validate: bool,
    /// End with 1 if fewer than six of the eight are within a factor of 1.5.
    #[arg(long, requires = "validate")]
    pub check: bool,
    /// Before that, simulates several starts of the teams of the same rows with this machine's prices; then
    /// reports by which factor, and in which share of the starts, the measurements differ: of the waiters
    /// named, or of the adaptive one and a few fixed ones. Every cell is measured 12 times.
    #[arg(long, conflicts_with_all = ["ablation", "validate"])]
    pub predict: bool,
    /// Only rows whose name contains one of these, separated by semicolons: `2t pinned;4t, 1 us`; or any row
    /// by its whole name: `5t + 2 bursts:10 log-normal, 5 us`. With --validate `V3;V4`; with --draw how many.
    #[arg(long)]
    pub rows: Option<String>,
    /// Only these waiters, separated by commas.
    #[arg(long)]
    pub waiters: Option<String>,
    /// How often each cell is measured, in another order each time.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub repetitions: Option<u32>,
    /// Milliseconds for one cell; with --validate those beside hogs or under a quota take three times as
    /// long.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub ms: Option<u64>,
    /// The seed of the orders.
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
