//! The work of peers beside ours, in the same run: a speed means something only next to another one.
//!
//! [`simgrid`], [`goal`]: other simulators. [`rt_app`]: workloads of threads. [`messages`]: libraries that
//! send messages. [`contrast`]: BLAS libraries, teams and OpenMP runtimes, by `foregather measure`.
//! [`openmp_suite`]: GCC's own tests of OpenMP. [`blas_random`]: random calls of our BLAS and of the
//! reference. [`openmp_random`]: random OpenMP programs. [`trial`]: one run with a library or without it.
//! [`exit_delay`]: the time to exit under load. [`support`]: what they share.
#![forbid(unsafe_code)]

mod blas_random;
mod bound;
mod contrast;
mod exit_delay;
mod goal;
mod messages;
mod openmp_random;
mod openmp_suite;
mod rt_app;
mod simgrid;
mod support;
mod trial;

use simgrid::SimGridPlan;
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask peers simgrid [--nodes N,N..] [--skew-us S] [--rounds R] [--ours COMMAND] [--output FILE]

Runs a butterfly barrier of N nodes that begin within S us of each other, in alternation: SimGrid's (peers/simgrid), ours
without contention as SimGrid's (free), and ours with the ports and interrupts of the iPSC/860 (ports), which SimGrid has not.
Prints medians of R rounds and ratios to SimGrid, whose time leaves out its set-up. Defaults: 1024,16384 nodes, 100 us,
3 rounds. COMMAND is given N, S and `free` or `ports`, and prints a line of JSON.

cargo xtask peers goal [--ranks N,N..] [--sizes B,B..] [--files FILE,FILE..] [--rounds R] [--ours FILE]
    [--output FILE]

Runs Schedgen's patterns of N ranks and B bytes with LogGOPSim and with `foregather simulate`, for three values of S: how many times of
the last rank's end are equal, and how far those by the rules of LogGP's authors are away. With FILES (binary, or text ending in .goal)
runs these instead, in turn, and prints wall times of R rounds. schedgen, txt2bin and LogGOPSim must be in PATH. Defaults: 4, 8, 13, 16,
32, 64 ranks, 1, 1001, 70000 bytes, 3 rounds; ours is a release build of the command. Exit code 1 if a time differs.

cargo xtask peers rt-app [--examples NAME,NAME..] [--folder DIR] [--seconds S] [--ours FILE] [--output FILE]

Runs examples of rt-app for S seconds (6) by rt-app itself and by `foregather simulate` on two simulated processors, and compares how
often threads left their processors. Defaults: six examples of Debian's package. Run it on an idle machine of two processors: rt-app
takes what others leave. Exit code 1 if a count is more than 1.5 times the other. This contest, simgrid and goal write their comparisons
to FILE, and `foregather report FILE` makes a table of them.

cargo xtask peers messages [--sizes B,B..] [--rounds R] [--batches K] [--cpus A,B] [--who NAME,NAME..]

Sends messages of B bytes between two pinned processes, in alternation: by `foregather measure messages`, Open MPI and MPICH
(peers/c/mpi_messages.c), UCX (ucx_perftest) and libfabric (fi_pingpong, shm), as far as they are installed. Prints the median and
the least of half a round trip and of a message of a stream, and ratios ours/peer: below 1 ours is faster. Defaults: 8, 64, 512,
4096, 65536, 1048576, 4194304 bytes, 3 rounds of 11 batches of about 5 ms, processors 0,1. Names: openmpi, mpich, ucx, libfabric.

cargo xtask peers blas [--sizes N,N..] [--routines NAME,NAME..] [--runners NAME,NAME..] [--ms MS] [--rounds R]

Small calls of one thread, by `foregather measure blas`: ours, OpenBLAS, BLIS, MKL, LIBXSMM (of Debian's libxsmm-dev) and BLASFEO
(libblasfeo.so in LD_LIBRARY_PATH), as far as they are installed. Prints medians of R rounds and ratios ours/who: below 1 ours is
faster. Defaults: orders 2 to 64, levels 1 to 3, cells of 10 ms, 3 rounds.

cargo xtask peers blas-random [--calls N] [--seconds S] [--seed SEED] [--from NUMBER] [--ours FILE] [--call TEXT]

Calls every routine of our BLAS (FILE, else `cargo xtask drop-in blas`) and of the reference (Debian: libblas3) with the same random
arguments, through Fortran's and C's names, legal and illegal, and compares results, reports of illegal arguments and all bytes beside
the operands. Results may differ by 4 n roundings of the same routine on absolute values, and where nothing rounds, not at all. Where
NaN or infinities meet and the standard leaves the answer open, differences are counted and listed with the answers of OpenBLAS
(libopenblas0-pthread) and MKL (in LD_LIBRARY_PATH), one of which has to be ours. Prints a line for each class of routines; a call whose
result differs is made as small as it goes and printed as TEXT, which `--call` repeats. Stops after N calls (100000) or S seconds. Exit
code 1 if a result differs. Needs cc.

cargo xtask peers teams [--threads N,N..] [--runners NAME,NAME..] [--ms MS] [--rounds R]

Fork and join, by `foregather measure teams`: ours, Rust's threads, rayon, fork_union, and every OpenMP runtime that is installed.
Defaults: 2, 4 and 8 members, cells of 200 ms, 3 rounds. fork_union needs a compiler of C++ (Debian: g++).

cargo xtask peers openmp [--threads N,N..] [--runners NAME,NAME..] [--ms MS] [--rounds R]

Constructs of OpenMP with a microsecond of work, alone and beside hogs, by `foregather measure openmp`: ours (of `cargo xtask drop-in
libgomp`), and every runtime that is installed. Defaults: 2, 4 and 8 members, cells of 100 ms, 3 rounds.

cargo xtask peers exit-delay --library FILE [--runs N] [--hogs N,N..]

A program with four OpenMP threads ends by exit, _exit, abort and SIGKILL, beside N busy processes (0, 1, 2 and 4): microseconds from its
last instruction to the end of its parent's wait, with FILE (of `cargo xtask drop-in libgomp`) preloaded as it is and without scouts, and
on libgomp; 50 runs each, in turn. Needs cc.

cargo xtask peers openmp-suite --sources DIR --library|--watch FILE [--cases N] [--limit S] [--folders NAME,NAME..] [--only TEXT]

GCC's own tests of its OpenMP runtime, as they are and with FILE preloaded; DIR is libgomp/testsuite of GCC's sources (Debian:
gcc-12-source). Of the cases whose names contain TEXT, runs N, evenly spread, else all, S seconds each at most (10).
--library: FILE is a runtime (of `cargo xtask drop-in libgomp`). Runs the cases of which it has all symbols; exit code 1 if one passes as
it is and not with FILE, or with FILE takes ten times as long. The loader must say that the program's OpenMP symbols are those of FILE.
--watch: FILE is the preload layer of `foregather advise` (of `cargo xtask drop-in watch`), with a page to record into. Exit code 1 if a
case exits otherwise with it, takes ten times as long, or prints something else and prints the same each time as it is.

cargo xtask peers openmp-random --library|--watch FILE [--bodies N] [--seed S] [--compilers gcc|clang] [--languages NAME,NAME..] [--jobs J]
    [--keep DIR] [--only TEXT]

Random OpenMP programs in C, C++ and Fortran, compiled by gcc, g++ and gfortran, run as they are and with FILE preloaded, a runtime or the
preload layer as above: both must print the same and exit the same way, with FILE within 10 s or 20 times as long. With --watch, clang
and clang++ may compile them for LLVM's runtime. A program has up to 50 bodies; those with exits, forks or plugins have one. Runs programs
until N bodies are reached (1000); S defaults to the clock and is printed, and the program number K of S is the first one of S + K. A
program that differs is shrunk and saved in DIR (openmp-random in the temporary directory) with the command that repeats it. TEXT keeps
bodies whose text contains it, as `taskloop` or `in_child(`. Prints how many bodies call each entry of FILE, and the programs that say
nothing because a compiler or their runtime itself fails. Exit code 1 if a program differs.";

/// Why there is no table.
#[derive(Debug)]
enum PeerError {
    /// It was asked for in a way that is not known.
    Usage(String),
    /// Software that this machine lacks, and how to get it.
    Missing(String),
    /// What went wrong.
    Failed(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for PeerError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let end = match &words[..] {
        ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        ["messages", options @ ..] => messages::hold(options),
        ["goal", options @ ..] => goal::hold(options),
        ["rt-app", options @ ..] => rt_app::hold(options),
        ["openmp-random", options @ ..] => openmp_random::hold(options),
        ["blas-random", options @ ..] => blas_random::hold(options),
        ["exit-delay", options @ ..] => exit_delay::hold(options),
        ["openmp-suite", options @ ..] => openmp_suite::hold(options),
        words @ ["simgrid", ..] => SimGridPlan::parse(words).and_then(|plan| simgrid::hold(&plan)),
        [name, options @ ..] => contrast::hold(name, options),
        [] => contrast::hold("", &[]),
    };
    let (words, code) = match end {
        Ok(()) => return ExitCode::SUCCESS,
        Err(PeerError::Usage(what)) => (format!("{what}\n\n{HELP}"), 2),
        Err(PeerError::Missing(what)) => (what, 3),
        Err(PeerError::Failed(error)) => (format!("{error:#}"), 1),
    };
    eprintln!("xtask peers: {words}");
    ExitCode::from(code)
}
