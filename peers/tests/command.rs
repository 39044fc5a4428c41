//! The program as its callers use it: what it prints and how it exits.
use foregather_bench::blas::{BlasCell, BlasResult, Routine};
use foregather_bench::openmp::{Construct, OpenMpCell};
use foregather_bench::teams::TeamCell;
use foregather_bench::{BarrierCell, Cell, CellResult, Work, WorkDistribution};
use foregather_host::affinity;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const NAMES: [&str; 12] = [
    "rust-std",
    "hurdles",
    "pthread",
    "gomp",
    "gomp-active",
    "gomp-passive",
    "omp",
    "omp-active",
    "omp-passive",
    "iomp",
    "iomp-active",
    "iomp-passive",
];

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foregather-peers"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What it prints. It ends by itself: cells have a limit of their own.
fn output(mut command: Command) -> Output {
    command.output().unwrap()
}

/// Its one line, if it succeeded.
fn answer(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    let text = std::str::from_utf8(&output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(text).unwrap()
}

/// Asserts that it exits with `code`, says something that contains `said`, and prints no result.
fn refused(command: Command, code: i32, said: &str) {
    let output = output(command);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(said), "no `{said}` in: {stderr}");
    assert!(output.stdout.is_empty());
}

fn peers() -> Vec<Value> {
    list("list")
}

fn list(verb: &str) -> Vec<Value> {
    answer(&output(command(&[verb]))).as_array().unwrap().clone()
}

/// The names of the peers that this machine has.
fn here(verb: &str) -> Vec<String> {
    let here = list(verb).into_iter().filter(|peer| peer["available"] == true);
    here.map(|peer| peer["name"].as_str().unwrap().to_owned()).collect()
}

/// Asserts that a list has these names, and says of each that it is here or how to get it.
fn describes(peers: &[Value], names: &[&str]) {
    assert_eq!(peers.iter().map(|peer| peer["name"].as_str().unwrap()).collect::<Vec<_>>(), names);
    for peer in peers {
        let (available, remedy) = (peer["available"].as_bool().unwrap(), &peer["remedy"]);
        assert_eq!(remedy.is_null(), available, "{peer}");
        assert!(
            available || ["install", "LD_LIBRARY_PATH", "--features"].iter().any(|how| remedy.as_str().unwrap().contains(how)),
            "{peer}"
        );
        assert!(peer["env"].is_object() && peer["what"].is_string(), "{peer}");
        assert!(peer["version"].is_string() || peer["version"].is_null(), "{peer}");
    }
}

fn cell(waiter: &str, threads: u32) -> BarrierCell {
    BarrierCell {
        waiter: waiter.into(),
        threads,
        teams: 1,
        grain_ns: 500,
        shape: WorkDistribution::Uniform,
        pins: affinity::allowed(),
        fork_join: false,
        span_ns: 5_000_000,
        settle_ns: 0,
        iterations_per_us: Work::iterations_per_us(),
    }
}

fn team_cell(runner: &str, threads: u32) -> TeamCell {
    let iterations_per_us = Work::iterations_per_us();
    TeamCell { runner: runner.into(), threads, body_ns: 500, span_ns: 5_000_000, settle_ns: 0, iterations_per_us }
}

fn openmp_cell(runtime: &str, construct: Construct) -> OpenMpCell {
    OpenMpCell {
        runtime: runtime.into(),
        construct,
        threads: 2,
        teams: 1,
        body_ns: 0,
        span_ns: 1_000_000,
        settle_ns: 0,
        iterations_per_us: Work::iterations_per_us(),
    }
}

fn blas_cell(runner: &str, routine: Routine) -> BlasCell {
    BlasCell { runner: runner.into(), routine, n: 40, threads: 2, gap_ns: 0, span_ns: 1_000_000 }
}

#[test]
fn the_list_names_all_and_says_how_to_get_what_is_missing() {
    let peers = peers();
    describes(&peers, &NAMES);
    for always in ["rust-std", "hurdles", "pthread"] {
        assert!(peers.iter().any(|peer| peer["name"] == always && peer["available"] == true), "{always}");
    }
}

#[test]
fn the_lists_of_teams_and_of_blas_say_how_to_get_what_is_missing() {
    let others = ["rayon-broadcast", "rayon-join", "rayon-install", "fork-union", "openblas", "pthread"];
    let teams: Vec<_> = others.iter().chain(&NAMES[3..]).copied().collect();
    describes(&list("list-teams"), &teams);
    assert_eq!(here("list-teams")[..3], teams[..3], "rayon is built in");
    describes(&list("list-blas"), &["drop-in", "openblas", "openblas-wheel", "blis", "mkl", "libxsmm", "blasfeo"]);
}

#[test]
fn every_team_that_is_here_runs_regions() {
    for runner in here("list-teams") {
        for threads in [1, 3] {
            let cell = team_cell(&runner, threads);
            let result: CellResult = serde_json::from_value(answer(&output(command(&["team-cell", &cell.to_arg()])))).unwrap();
            assert!(result.episodes > 0 && result.wall_ns >= cell.span_ns && result.cpu_ns > 0, "{runner}: {result:?}");
        }
    }
}

/// Every runtime that is here runs the construct. With threads that sleep: valgrind runs one at a time.
fn runtimes_run(construct: Construct) {
    for runtime in here("list-openmp").into_iter().filter(|name| name.ends_with("-passive") || name == "foregather") {
        let cell = openmp_cell(&runtime, construct).to_arg();
        let result: CellResult = serde_json::from_value(answer(&output(command(&["openmp-cell", &cell])))).unwrap();
        assert!(result.episodes > 0 && result.cpu_ns > 0, "{runtime}: {result:?}");
    }
}

/// Every BLAS that is here runs the routine.
fn blas_run(routine: Routine) {
    for runner in here("list-blas") {
        let output = output(command(&["blas-cell", &blas_cell(&runner, routine).to_arg()]));
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        if routine == Routine::Lu && !output.status.success() && stderr.contains("dgetrf_") {
            continue; // Some BLAS have no LAPACK.
        }
        let result: BlasResult = serde_json::from_value(answer(&output)).unwrap();
        assert!(result.pairs > 0 && result.alone.p50_ns > 0.0 && result.ratio_low <= result.ratio, "{runner}: {result:?}");
    }
}

/// A test for each of all constructs or routines, so that valgrind can run some of them.
macro_rules! each {
    ($run:ident $all:ident: $($name:ident $variant:ident)*) => {
        mod $run {
            use super::*;

            $(#[test]
            fn $name() {
                super::$run($all::$variant);
            })*

            #[test]
            fn none_is_left_out() {
                assert_eq!($all::ALL, [$($all::$variant),*]);
            }
        }
    };
}

each! { runtimes_run Construct:
    region Region barrier Barrier single Single static_loop Static dynamic_loop Dynamic reduction Reduction critical Critical
    task_wait TaskWait task_tree TaskTree task_chain TaskChain task_stencil TaskStencil ordered Ordered nested Nested
}

each! { blas_run Routine:
    daxpy Daxpy ddot Ddot dgemv Dgemv dgemm Dgemm dsymv Dsymv dsymm Dsymm dsyrk Dsyrk dtrmm Dtrmm dtrsm Dtrsm lu Lu
}

#[test]
fn who_is_missing_runs_nothing_and_says_how_to_be_had() {
    let missing = |verb| list(verb).into_iter().filter(|peer| peer["available"] == false);
    for peer in missing("list-teams") {
        let cell = team_cell(peer["name"].as_str().unwrap(), 2).to_arg();
        refused(command(&["team-cell", &cell]), 3, peer["remedy"].as_str().unwrap());
    }
    for peer in missing("list-blas") {
        let cell = blas_cell(peer["name"].as_str().unwrap(), Routine::Dgemm).to_arg();
        refused(command(&["blas-cell", &cell]), 3, peer["remedy"].as_str().unwrap());
    }
}

#[test]
fn every_peer_that_is_here_passes_barriers() {
    for peer in peers().iter().filter(|peer| peer["available"] == true) {
        for threads in [1, 3] {
            // Spinning peers take a scheduler's tick for each barrier of more threads than processors.
            let cell = cell(peer["name"].as_str().unwrap(), threads);
            let output = output(command(&["cell", &cell.to_arg()]));
            let result: CellResult = serde_json::from_value(answer(&output)).unwrap();
            assert!(result.episodes > 0 && result.wall_ns >= cell.span_ns && result.cpu_ns > 0, "{peer}: {result:?}");
            assert_eq!((result.ssr, result.outcomes), (None, None));
            assert_eq!(result.exit_skew_p50_ns.is_some(), threads > 1);
        }
    }
}

#[test]
fn the_callers_own_settings_do_not_change_what_a_name_means() {
    let Some(gomp) = peers().into_iter().find(|peer| peer["name"] == "gomp" && peer["available"] == true) else { return };
    let cell = cell(gomp["name"].as_str().unwrap(), 3);
    let mut command = command(&["cell", &cell.to_arg()]);
    // With one thread allowed, the team would be too small.
    command.env("OMP_THREAD_LIMIT", "1");
    answer(&output(command));
}

#[test]
fn wrong_input_is_usage() {
    let with = |change: fn(&mut BarrierCell)| {
        let mut cell = cell("rust-std", 2);
        change(&mut cell);
        command(&["cell", &cell.to_arg()])
    };
    refused(command(&[]), 2, "usage:");
    refused(command(&["lisp"]), 2, "usage:");
    refused(command(&["cell", "{}"]), 2, "not a cell");
    refused(with(|cell| cell.waiter = "central/spin".into()), 2, "hurdles");
    refused(with(|cell| cell.threads = 0), 2, "0 threads");
    refused(with(|cell| cell.pins = vec![9_999]), 2, "9999");
    refused(command(&["team-cell", "{}"]), 2, "not a cell");
    refused(command(&["team-cell", &team_cell("hurdles", 2).to_arg()]), 2, "list-teams");
    refused(command(&["team-cell", &team_cell("rayon-join", 0).to_arg()]), 2, "1 to 1024");
    refused(command(&["blas-cell", "{}"]), 2, "not a cell");
    refused(command(&["blas-cell", &blas_cell("foregather", Routine::Ddot).to_arg()]), 2, "list-blas");
    let none = BlasCell { n: 0, ..blas_cell("openblas", Routine::Ddot) };
    refused(command(&["blas-cell", &none.to_arg()]), 2, "ddot of 0");
    refused(command(&["ping-pong", "--cpus", "0,0", "--rounds", "9"]), 2, "different");
    refused(command(&["ping-pong", "--cpus", "0,1", "--rounds", "many"]), 2, "many");
}

/// A folder of this test's own that is deleted when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("foregather-peers-test-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_yardstick_is_compiled_once_and_plays() {
    let allowed = affinity::allowed();
    let has_compiler = Command::new("cc").arg("--version").output().is_ok_and(|output| output.status.success());
    if allowed.len() < 2 || !has_compiler || !cfg!(target_arch = "x86_64") {
        return;
    }
    let folder = Folder::new("build");
    let cpus = format!("{},{}", allowed[0], allowed[1]);
    let play = || {
        let played = answer(&output(command(&[
            "ping-pong",
            "--cpus",
            &cpus,
            "--rounds",
            "100",
            "--build-dir",
            folder.0.to_str().unwrap(),
        ])));
        assert_eq!(played["unit"], "cycles");
        let values = played["values"].as_array().unwrap();
        assert!(values.len() == 100 && values.iter().all(|value| value.as_u64().unwrap() > 0), "{played}");
    };
    let built = || {
        let entries = std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap());
        entries.map(|entry| (entry.file_name(), entry.metadata().unwrap().modified().unwrap())).collect::<Vec<_>>()
    };
    play();
    let first = built();
    play();
    assert_eq!((first.len(), built()), (1, first), "compiled again, or something left behind");
}

#[test]
fn what_is_missing_is_named_with_its_remedy() {
    let [a, b, ..] = affinity::allowed()[..] else { return };
    let mut command = command(&["ping-pong", "--cpus", &format!("{a},{b}"), "--rounds", "9"]);
    command.env("CC", "/no/such/compiler");
    refused(command, 3, "install a C compiler");
}
