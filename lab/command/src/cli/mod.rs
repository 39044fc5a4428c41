//! What a user can ask for, and how that ends. Help, completions and the man page derive from here.
//!
//! [`Cli`] is the command line, verb by verb. The experiments of `measure` have their options themselves.
mod simulate;

use clap::{Arg, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use foregather_machine::Nanos;
use foregather_measure::options::{Measure, fabric};
use serde::{Deserialize, Serialize};
pub use simulate::{JobOptions, Simulate, TraceOptions};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How results are printed on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns for a terminal.
    Table,
    /// The whole document; results.schema.json in the sources describes it.
    Json,
    /// Rows, for spreadsheets.
    Csv,
}

/// Keeps parallel programs fast on shared machines: measures this machine, simulates others, reproduces five
/// papers.
#[derive(Debug, Parser)]
#[command(name = "foregather", version, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 success, 1 a check failed, 2 bad usage or input, 3 not possible on this machine, 130 interrupted."
)]
pub struct Cli {
    /// Output format of results; progress and warnings go to standard error.
    #[arg(long, global = true, value_enum, default_value = "table")]
    pub format: Format,
    /// Writes no progress to standard error.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

impl Cli {
    /// The whole command line: the verbs that print no results do not offer a format.
    pub fn whole_command() -> Command {
        let hidden = || Arg::new("format").long("format").value_parser(clap::value_parser!(Format)).hide(true);
        ["run", "hang", "completions", "man"]
            .into_iter()
            .fold(Self::command(), |all, verb| all.mut_subcommand(verb, |verb| verb.arg(hidden())))
    }

    /// What this process was asked for; ends it if that cannot be understood.
    pub fn of_this_process() -> Self {
        let mut command = Self::whole_command();
        let asked = Self::from_arg_matches(&command.get_matches_mut());
        asked.unwrap_or_else(|error| error.format(&mut command).exit())
    }
}

/// What the program does, verb by verb.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// A tour of about 15 s on this machine, with a report to open in a browser.
    #[command(after_help = "Example: foregather demo --output /tmp/tour.html\n\
                            Example: foregather demo --turns 21")]
    Demo {
        /// Number of interleaved runs of each runtime (default: 7).
        #[arg(long, value_parser = clap::value_parser!(u32).range(2..=1_000))]
        turns: Option<u32>,
        /// Output file of the page; the data is saved next to it as *.results.json.
        #[arg(short, long, default_value = "foregather-report.html")]
        output: PathBuf,
    },
    /// Reports what this machine supports, what is missing, and how to install it.
    #[command(after_help = "Example: foregather doctor --format json")]
    Doctor {
        /// Also lists the libraries that the benchmarks compare with, and which are missing.
        #[arg(long)]
        peers: bool,
    },
    /// Measures this machine.
    Measure {
        /// The experiment to run.
        #[command(subcommand)]
        what: Measure,
        /// Also writes the results to this file.
        #[arg(short, long, global = true)]
        output: Option<PathBuf>,
    },
    /// Simulates machines that you do not have, from a plan file or from flags: shared processors,
    /// schedulers, waiting policies.
    #[command(after_help = "Example: foregather simulate --threads 10 --cpus 4,8 --compute 50us --hogs 1\n\
                            Example: foregather simulate --threads 10 --new my-plan.toml && foregather simulate my-plan.toml\n\
                            Example: foregather simulate fig3\n\
                            Example: foregather simulate my-plan.toml --dry-run\n\
                            Example: foregather simulate trace.goal --network loggp:infiniband-tukey --explain\n\
                            Example: foregather simulate fig5 --set job.app.threads=8 --format csv --output fig5.json\n\n\
                            plans/README.md in the sources lists every key of a plan.")]
    Simulate(Box<Simulate>),
    /// Tests the claims of a paper on this machine and reports a verdict for each.
    #[command(after_help = "Example: foregather reproduce guignon2000 --format json")]
    Reproduce(Reproduce),
    /// Makes one self-contained HTML page from result files.
    #[command(after_help = "Example: foregather report waits.json barriers.json -o report.html")]
    Report {
        /// Files that `--output` of the other verbs wrote.
        #[arg(required = true)]
        results: Vec<PathBuf>,
        /// Output file of the page.
        #[arg(short, long, default_value = "foregather-report.html")]
        output: PathBuf,
        /// Also writes each figure to this folder as an SVG file.
        #[arg(long)]
        figures: Option<PathBuf>,
    },
    /// Compares two result files: ratios with confidence intervals.
    #[command(after_help = "Example: foregather compare before.json after.json --check")]
    Compare {
        /// Baseline results.
        before: PathBuf,
        /// New results.
        after: PathBuf,
        /// Exits with status 1 if anything became slower.
        #[arg(long)]
        check: bool,
    },
    /// Runs one program unchanged on Foregather's OpenMP runtime and barriers (`run` starts the
    /// ranks of a job, `app` five programs of this project).
    #[command(after_help = "Example: foregather exec -- python3 train.py\n\
                            Example: foregather exec --compare 5 --output fit.json -- python3 train.py && foregather report fit.json\n\
                            Example: foregather exec --auto -- python3 train.py\n\n\
                            The libraries are loaded before the program's own, so they also replace libgomp and the runtimes in Python wheels. \
                            If the program needs an OpenMP symbol that this runtime lacks, it keeps its own runtime, and a message says so.\n\
                            With FOREGATHER=off the program runs unchanged. The exit code and signals are the program's; 127 if it is not \
                            found, 126 if it cannot be started.")]
    Exec(Exec),
    /// Watches one unmodified program, new or already running, and reports why its threads wait and what
    /// would help.
    #[command(after_help = "Example: foregather advise -- python3 train.py\n\
                            Example: foregather advise --check --repeatable -- ./solve input.dat\n\
                            Example: foregather advise --pid 4711 --for 10s\n\
                            Example: foregather advise --save seen.json -- ./solve && foregather advise --from seen.json --on 64 --quota 8\n\
                            Example: python -m foregather.advise train.py\n\n\
                            Needs no privileges beyond running as the same user. The advice goes to standard error; output and exit code are \
                            the program's (128 + N if signal N killed it). Ctrl-C prints the observations so far.")]
    Advise(Advise),
    /// Shows live which processes wait for processors and for each other, or what the threads of one process
    /// do and wait for.
    #[command(after_help = "Example: foregather top\n\
                            Example: foregather top 4711 --every 500ms\n\
                            Example: foregather top --once --format json\n\n\
                            Keys: arrows select, Enter shows the threads of a process, Esc goes back, s sorts by the next column, q exits. \
                            It needs no privileges; without them it cannot read what other users' processes wait for.")]
    Top(Top),
    /// Watches a job and reports who waits for whom and why it hangs: MPI, ranks of `run`, OpenMP regions,
    /// mutexes, Python's barriers and queues.
    #[command(after_help = "Example: foregather hang -- mpiexec -n 4 ./solve input.dat\n\
                            Example: foregather hang --job $(pgrep -o mpiexec)\n\
                            Example: kill -USR1 $(pgrep -of 'foregather hang')\n\n\
                            Prints a table of ranks, processes or threads and a sentence to standard error when the job makes no progress \
                            for 10 s, and on SIGUSR1. `deadlock` and `dead` appear only if some of them cannot make progress whatever the \
                            others do. Output and exit code are the program's. --job watches for 10 s (or --after) and exits with 1 if the job hangs.")]
    Hang(Hang),
    /// Starts a program as the ranks of a job; the ranks connect to each other and exit together.
    #[command(after_help = "Example: foregather run -n 4 -- ./my-program its arguments\n\
                            Example: foregather run --hosts hosts.txt --fabric ofi:tcp -- ./my-program\n\
                            Example: foregather run -n 4 --record my.goal -- ./my-program && foregather simulate my.goal\n\n\
                            The hosts file has one line per host: name [slots=N] [address=A], or name:N. The program needs no launcher of \
                            ours: it also runs under mpiexec, mpirun, srun and prterun.\n\
                            `run` exits with the code of the first rank that failed, or with 128 + N if signal N killed it. \
                            Ctrl-C sends SIGINT to the ranks, then SIGTERM, then SIGKILL; SIGUSR1 and SIGUSR2 are passed on.")]
    Run(RunOptions),
    /// Runs one of five programs on distributed shared memory, checks its result, and reports where the time
    /// went.
    #[command(after_help = "Example: foregather app sor --ranks 1,2\n\
                            Example: foregather app tsp --unit 4096 --explain sharing\n\
                            Example: foregather app lu --class paper --ranks 1,2 --repeat 5 --output lu.json && foregather report lu.json\n\
                            Example: foregather run --hosts hosts.txt -- foregather app water\n\n\
                            Classes: small and paper; is: S, W and A of the NAS; tsp: burma14, ulysses16, gr17, gr21, ulysses22.\n\
                            Started by a launcher (foregather run, mpirun, srun ...) it is one of that job's ranks, and rank 0 prints.")]
    App(AppOptions),
    /// Prints a completion script for a shell.
    Completions {
        /// The shell that the script is for.
        shell: clap_complete::Shell,
    },
    /// Prints the manual page, as `man` reads it.
    #[command(after_help = "To read it: foregather man | man -l -")]
    Man {
        /// Writes the pages of all verbs into this folder instead, such as `~/.local/share/man/man1`.
        #[arg(long, value_name = "DIR")]
        directory: Option<PathBuf>,
    },
}

impl Verb {
    /// The files that the verb reads, as far as the command line names them.
    pub fn inputs(&self) -> Vec<PathBuf> {
        match self {
            Self::Report { results, .. } => results.clone(),
            Self::Compare { before, after, .. } => vec![before.clone(), after.clone()],
            Self::Simulate(simulate) => simulate.plan.iter().map(PathBuf::from).collect(),
            Self::Exec(exec) => exec.library.iter().cloned().chain(exec.program.first().map(PathBuf::from)).collect(),
            Self::Advise(advise) => {
                let files = advise.library.iter().chain(&advise.from).cloned();
                files.chain(advise.program.first().map(PathBuf::from)).collect()
            }
            Self::Hang(hang) => hang.library.iter().cloned().chain(hang.program.first().map(PathBuf::from)).collect(),
            Self::Run(run) => run.hosts.iter().cloned().collect(),
            Self::Demo { .. }
            | Self::Doctor { .. }
            | Self::Measure { .. }
            | Self::Reproduce(_)
            | Self::Top(_)
            | Self::App(_)
            | Self::Completions { .. }
            | Self::Man { .. } => vec![],
        }
    }

    /// The files that the verb writes in the end, so that their places can be tried first. Ranks of an
    /// [app](AppOptions) that print nothing write none of its files, so `app` tries its own.
    pub fn outputs(&self) -> Vec<PathBuf> {
        match self {
            Self::Demo { output, .. } => vec![output.clone(), demo_results(output)],
            Self::Report { output, .. } => vec![output.clone()],
            Self::Measure { output, .. } => output.iter().cloned().collect(),
            Self::Simulate(simulate) => [&simulate.output, &simulate.trace].into_iter().flatten().cloned().collect(),
            Self::Exec(exec) => exec.output.iter().cloned().collect(),
            Self::Advise(advise) => [&advise.output, &advise.save].into_iter().flatten().cloned().collect(),
            Self::Reproduce(reproduce) => [&reproduce.output, &reproduce.record].into_iter().flatten().cloned().collect(),
            Self::Doctor { .. }
            | Self::Compare { .. }
            | Self::Run(_)
            | Self::Hang(_)
            | Self::Top(_)
            | Self::App(_)
            | Self::Completions { .. }
            | Self::Man { .. } => {
                vec![]
            }
        }
    }
}

/// The file for the data of a tour, beside its page.
pub fn demo_results(page: &Path) -> PathBuf {
    page.with_extension("results.json")
}

/// Options of `exec`.
#[derive(Args, Clone, Debug)]
#[group(skip)]
#[command(group = clap::ArgGroup::new("shown").args(["compare", "stats"]))]
pub struct Exec {
    /// Preloads only this library (default: the libraries next to this command).
    #[arg(long)]
    pub library: Option<PathBuf>,
    /// Also preloads this project's BLAS; its rounding may differ from the program's BLAS.
    #[arg(long, conflicts_with = "library")]
    pub blas: bool,
    /// Watches the program as `advise` does, and prints the same page when it exits: where the time of its
    /// threads went. With `--output` or `--format json`, it also includes each process's regions and the
    /// counters of the waiting policy.
    #[arg(long)]
    pub stats: bool,
    /// Learns from run to run: the first run is watched as with `advise`; later runs alternate between a fix
    /// and the unmodified program; once the fix is known to help, it is always used. A line reports what was
    /// applied. Only fixes that leave results bit-identical are used.
    #[arg(long, conflicts_with_all = ["compare", "stats", "library", "blas", "output"])]
    pub auto: bool,
    /// Also allows fixes that may change rounding: other numbers of threads, and this project's runtime.
    #[arg(long, requires = "auto")]
    pub allow_rounding: bool,
    /// Removes the data that `--auto` has saved for this program, and does not run it.
    #[arg(long, conflicts_with_all = ["compare", "stats", "library", "blas", "output"])]
    pub forget: bool,
    /// Runs the program this many times with and without the libraries, in random order, and reports the
    /// speedup. The program has no standard input and must print the same output each time. Ctrl-C keeps the
    /// complete pairs.
    #[arg(long, value_name = "PAIRS", value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub compare: Option<u32>,
    /// Whether the program must print the same output each time.
    #[arg(long, value_name = "on|off", default_value = "on", requires = "compare", action = clap::ArgAction::Set, value_parser = on_or_off)]
    pub same_output: bool,
    /// Name of the program in the comparison (default: its command line).
    #[arg(long, requires = "compare")]
    pub name: Option<String>,
    /// Time limit of a run in seconds; then its process group is killed and the run counts as failed.
    #[arg(long, default_value_t = 600, requires = "compare", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub limit: u32,
    /// Also writes the comparison, or the data of `--stats`, to this file.
    #[arg(short, long, requires = "shown")]
    pub output: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true)]
    pub program: Vec<OsString>,
}

/// Options of `top`.
#[derive(Args, Clone, Debug)]
pub struct Top {
    /// Shows the threads of this process (default: all processes).
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Option<u32>,
    /// Prints one table and exits.
    #[arg(long)]
    pub once: bool,
    /// The interval between two samples, such as 1s or 500ms. It is longer if sampling all threads would take
    /// more than a tenth of one processor.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = span)]
    pub every: Nanos,
}

/// Options of `hang`.
#[derive(Args, Clone, Debug)]
pub struct Hang {
    /// Watches the job of the process with this PID, a launcher or a rank, instead of starting a program.
    #[arg(long, value_name = "PID", conflicts_with_all = ["program", "library", "no_preload", "threads", "stop"], required_unless_present = "program", value_parser = clap::value_parser!(u32).range(1..))]
    pub job: Option<u32>,
    /// Prints the table after this time without progress, such as 1s or 500ms (default: 10s).
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub after: Option<Nanos>,
    /// The preload library that records MPI calls (default: the one next to this command).
    #[arg(long)]
    pub library: Option<PathBuf>,
    /// Records what threads wait for even under an MPI launcher; other programs always have this.
    #[arg(long)]
    pub threads: bool,
    /// Ends the job on `deadlock` or `dead`, and exits with code 1.
    #[arg(long)]
    pub stop: bool,
    /// Only reads /proc; preloads no library.
    #[arg(long, conflicts_with_all = ["library", "threads"])]
    pub no_preload: bool,
    /// The program and its arguments, such as `mpiexec -n 4 ./solve`.
    #[arg(trailing_var_arg = true)]
    pub program: Vec<OsString>,
}

/// Options of `advise`.
#[derive(Args, Clone, Debug, Default)]
pub struct Advise {
    /// Watches the process with this PID and its children instead of starting a program.
    #[arg(long, conflicts_with_all = ["program", "library"], required_unless_present_any = ["program", "from"], value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Option<u32>,
    /// Watches for this time, such as 10s or 500ms (default: until the program exits).
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    pub span: Option<Nanos>,
    /// The preload library that records barriers (default: the one next to this command).
    #[arg(long)]
    pub library: Option<PathBuf>,
    /// Only reads /proc; preloads no library.
    #[arg(long, conflicts_with = "library")]
    pub no_preload: bool,
    /// Also samples which functions the threads execute, about 100 times per second of CPU time, with a timer
    /// and a signal for each thread.
    #[arg(long, conflicts_with_all = ["no_preload", "pid"])]
    pub sample: bool,
    /// Reads at the end which Python lines were executed, from a file of `python -m foregather.advise`.
    #[arg(long, hide = true)]
    pub python_lines: Option<PathBuf>,
    /// Also writes the advice to this file, as JSON.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Saves the observations to this file for later analysis with --from. The program's arguments are left
    /// out, and only the environment variables that configure threads are saved.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Includes the program's arguments in the file of --save.
    #[arg(long, requires = "save")]
    pub with_arguments: bool,
    /// Analyses a file written by --save, on this or another machine, instead of running a program.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["program", "pid", "span", "library", "no_preload", "sample", "check", "save"])]
    pub from: Option<PathBuf>,
    /// Prints a table of predicted run times with other numbers of threads and other waiting policies.
    #[arg(long, conflicts_with_all = ["pid", "no_preload"])]
    pub predict: bool,
    /// Predicts for a machine with this many processors.
    #[arg(long, value_name = "PROCESSORS", requires = "from", value_parser = clap::value_parser!(u32).range(1..=1_024))]
    pub on: Option<u32>,
    /// Predicts for a CPU quota of this many processors.
    #[arg(long, value_name = "PROCESSORS", requires = "from", value_parser = processors)]
    pub quota: Option<f64>,
    /// Whether and how fixes are tried.
    #[command(flatten)]
    pub check: CheckOptions,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true)]
    pub program: Vec<OsString>,
}

/// Options of `advise --check`.
#[derive(Args, Clone, Debug, Default)]
pub struct CheckOptions {
    /// Afterwards runs the program without and with the first two fixes, in random order, and reports the
    /// speedups and whether the output is the same. Asks first, unless --repeatable is given.
    #[arg(long, conflicts_with = "pid")]
    pub check: bool,
    /// Confirms that it is safe to run the program several times.
    #[arg(long, requires = "check")]
    pub repeatable: bool,
    /// Number of runs without and with each fix.
    #[arg(long, value_name = "RUNS", requires = "check", default_value_t = 5, value_parser = clap::value_parser!(u32).range(5..=1_000))]
    pub runs: u32,
    /// A file that the program writes, compared like its output. Can be given more than once.
    #[arg(long, value_name = "FILE", requires = "check")]
    pub result: Vec<PathBuf>,
    /// Runs the program each time in a new copy of the working directory.
    #[arg(long, requires = "check")]
    pub in_copy: bool,
}

/// A time of at least 100 ms: `10s`, `500ms`, or a number of seconds.
fn span(text: &str) -> Result<Nanos, String> {
    let (number, unit_ms) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 1.0),
        (None, number) => (number.unwrap_or(text), 1_000.0),
    };
    let milliseconds = number.trim().parse::<f64>().ok().map(|number| number * unit_ms);
    let fits = milliseconds.filter(|milliseconds| (100.0..=86_400_000.0).contains(milliseconds));
    fits.map(|milliseconds| Nanos::from_ms(milliseconds as u64)).ok_or_else(|| "write 100ms to 86400s, such as 10s".to_owned())
}

/// Processors' worth of time: 0.01 to 1024.
fn processors(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.01..=1_024.0).contains(number));
    number.ok_or_else(|| "write 0.01 to 1024, such as 1.5".to_owned())
}

/// Options of `run`.
#[derive(Args, Clone, Debug)]
pub struct RunOptions {
    /// Number of ranks (default: the number of slots of all hosts).
    #[arg(short = 'n', long = "ranks", value_parser = clap::value_parser!(u32).range(1..=4_096))]
    pub ranks: Option<u32>,
    /// How ranks send messages: `shm` (on one host), `ofi` or `ofi:PROVIDER` (libfabric). Default: chosen
    /// automatically.
    #[arg(long, value_parser = fabric)]
    pub fabric: Option<String>,
    /// The hosts file: the hosts on which ranks run.
    #[arg(long)]
    pub hosts: Option<PathBuf>,
    /// The command that starts ranks on other hosts; it is called with the host name and `sh`.
    #[arg(long, default_value = "ssh")]
    pub rsh: String,
    /// Prints the ranks' output without the rank before each line.
    #[arg(long)]
    pub no_prefix: bool,
    /// Records what the ranks compute and send within `foregather::job`, and writes it to this file as a
    /// trace in GOAL format, for `foregather simulate`.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true)]
    pub program: Vec<OsString>,
}

fn on_or_off(text: &str) -> Result<bool, String> {
    [("on", true), ("off", false)]
        .into_iter()
        .find(|(name, _)| *name == text)
        .map(|(_, on)| on)
        .ok_or_else(|| "write on or off".to_owned())
}

/// Options of `reproduce`.
#[derive(Args, Clone, Debug)]
pub struct Reproduce {
    /// Short name of the paper, such as guignon2000 (default: all papers).
    pub paper: Option<String>,
    /// Only the claims of one experiment.
    pub figure: Option<String>,
    /// Also writes the results to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Uses the finer grids and more seeds of the plans: five minutes on two processors for all of Tsafrir &
    /// Feitelson 2002.
    #[arg(long)]
    pub full: bool,
    /// Runs the programs of Itzkovitz & Schuster 1999 here, writes their journals to this file, and uses them
    /// instead of the shipped ones. If the machine is too noisy, no verdicts are given.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Exits with status 1 if a claim differs unexpectedly, 3 if the machine is too noisy. (Even without this
    /// option the status is 1 if a claim holds that was expected to differ.)
    #[arg(long)]
    pub check: bool,
}

/// Options of `app`; its ranks get them unchanged.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
pub struct AppOptions {
    /// The program to run.
    #[arg(value_enum)]
    pub name: AppName,
    /// Number of ranks: one number, or several separated by commas, whose times are compared (default: 2).
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64))]
    pub ranks: Vec<u32>,
    /// Threads of each rank.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: u32,
    /// The program's input; see Classes below.
    #[arg(long, default_value = "small")]
    pub class: String,
    /// Ranks and transport: `shm` (the default), `ofi` or `ofi:PROVIDER` for processes, `threads` for threads
    /// of one process.
    #[arg(long, value_parser = app_fabric)]
    pub fabric: Option<String>,
    /// How pages are protected (default: the best method available).
    #[arg(long, value_parser = ["userfaultfd", "userfaultfd-thread", "mprotect"])]
    pub backend: Option<String>,
    /// Waiting policy of the memory servers and of threads (default: adaptive).
    #[arg(long)]
    pub policy: Option<String>,
    /// water: number of molecules per sharing unit (the paper's chunking level).
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u32).range(1..=512))]
    pub chunk: Option<u32>,
    /// tsp: size in bytes of a sharing unit of the tour pool; a tour has 148 bytes.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(4..=65_536))]
    pub unit: Option<u32>,
    /// tsp: does not broadcast new minima.
    #[arg(long)]
    pub no_push: bool,
    /// lu: disables prefetching of blocks.
    #[arg(long)]
    pub no_prefetch: bool,
    /// Number of runs with each number of ranks, in alternating order.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub repeat: u32,
    /// Time limit of one run in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub within: u64,
    /// Reports an analysis of the journals of all threads.
    #[arg(long, value_enum)]
    pub explain: Option<Explain>,
    /// Writes a timeline of all threads for Perfetto (ui.perfetto.dev) to this file.
    #[arg(long)]
    pub trace: Option<PathBuf>,
    /// Also writes the results to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

impl AppOptions {
    /// The files that the program writes in the end.
    pub fn outputs(&self) -> Vec<PathBuf> {
        [&self.output, &self.trace].into_iter().flatten().cloned().collect()
    }
}

foregather_machine::named! {
    /// The programs of `app`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
    pub enum AppName {
        /// Integer sort of the NAS.
        Is = "is",
        /// Red-black relaxation of a grid.
        Sor = "sor",
        /// Molecules of water.
        Water = "water",
        /// Factorisation of a matrix in blocks.
        Lu = "lu",
        /// A shortest tour through cities.
        Tsp = "tsp",
    }
}

/// Reports that are made from journals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Explain {
    /// False sharing: which allocations suffer from it, and the granularity that would avoid it.
    Sharing,
    /// Data races: accesses that no synchronisation orders.
    Races,
    /// Contention: which allocations are requested most, and where requests compete.
    Contention,
}

fn app_fabric(text: &str) -> Result<String, String> {
    if text == "threads" {
        Ok(text.to_owned())
    } else {
        fabric(text).map_err(|_| "write threads, shm, ofi or ofi:PROVIDER".to_owned())
    }
}
