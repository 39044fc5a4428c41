//! What this program does when it is its own child: cells, hogs and slaves, each in a process of its own.
use foregather_bench::blas::{self, BlasCell};
use foregather_bench::teams::{self, TeamCell};
use foregather_bench::{Cell, CellResult, Stranger, dsm, messages, ours, ping_pong, rust_std};
use foregather_host::dl::Library;
use foregather_host::sched;
use foregather_jobs::app;
use foregather_machine::Costs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// Runs the hidden verb that the command line begins with, if it does.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args().skip(1);
    let verb = args.next()?;
    let rest: Vec<String> = args.collect();
    let end = match verb.as_str() {
        "__cell" => cell(&rest),
        teams::VERB => team_cell(&rest),
        blas::VERB => blas_cell(&rest),
        "__hog" => stranger(&rest),
        "__held" => held(&rest),
        "__under" => under(&rest),
        "__library" => library(&rest),
        "__ping-pong-slave" => ping_pong::slave_main(&rest).map_err(|error| error.to_string()),
        app::VERB => app::rank_main(&rest).map_err(|error| format!("{error:#}")),
        messages::VERB => messages::main(&rest).map_err(|error| error.to_string()),
        messages::PEER_VERB => messages::peer_main(&rest).map_err(|error| error.to_string()),
        dsm::VERB => dsm::main(&rest).map_err(|error| error.to_string()),
        messages::HOG_VERB => messages::hog_main(&rest).map_err(|error| error.to_string()),
        _ => return None,
    };
    let Err(error) = end else { return Some(ExitCode::SUCCESS) };
    eprintln!("foregather: {error}");
    Some(ExitCode::from(3))
}

/// A program beside a team that knows nothing of it: a hog, unless another one is named.
fn stranger(args: &[String]) -> Result<(), String> {
    let named = args.first().map_or(Some(Stranger::Hog), |name| Stranger::parse(name));
    named.ok_or("no stranger is named like that")?.run(foregather_host::affinity::allowed().len(), || false);
    Ok(())
}

/// One cell of the barrier matrix, waited in by one of our own barriers or by Rust's.
fn cell(args: &[String]) -> Result<(), String> {
    let cell = Cell::from_arg(args.first().ok_or("a cell is missing")?)?;
    let result: CellResult = if cell.waiter == rust_std::NAME {
        rust_std::run(&cell)
    } else {
        let (kind, policy) = ours::parse(&cell.waiter, &Costs::TYPICAL)?;
        ours::run(&cell, kind, policy)
    }
    .map_err(|error| error.to_string())?;
    println!("{}", serde_json::to_string(&result).map_err(|error| error.to_string())?);
    Ok(())
}

/// One cell of `measure blas`, by our own BLAS.
fn blas_cell(args: &[String]) -> Result<(), String> {
    let cell = BlasCell::from_arg(args.first().ok_or("a cell is missing")?)?;
    let result = blas::ours::run(&cell)?;
    println!("{}", serde_json::to_string(&result).map_err(|error| error.to_string())?);
    Ok(())
}

/// One cell of `measure teams`, by our own team or by what needs no library.
fn team_cell(args: &[String]) -> Result<(), String> {
    let cell = TeamCell::from_arg(args.first().ok_or("a cell is missing")?)?;
    let result = teams::ours::run(&cell)?;
    println!("{}", serde_json::to_string(&result).map_err(|error| error.to_string())?);
    Ok(())
}

/// Loads the first of these libraries that there is, and says where it was. In a process of its own, since libraries do
/// things when they are loaded: a provider of libfabric, for one, takes over Ctrl-C.
fn library(names: &[String]) -> Result<(), String> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let library = Library::open(&names).map_err(|error| error.to_string())?;
    println!("{}", library.path().display());
    Ok(())
}

/// Waits until standard input ends, then becomes another program: so its parent can put it into a control group first.
fn held(args: &[String]) -> Result<(), String> {
    std::io::stdin().read_to_end(&mut Vec::new()).map_err(|error| error.to_string())?;
    Err(become_another(args))
}

/// Changes how it is scheduled, then becomes another program, which keeps that.
fn under(args: &[String]) -> Result<(), String> {
    let (scheduling, program) = args.split_first().ok_or("a nice value or a class is missing")?;
    match scheduling.as_str() {
        "round-robin" => sched::set_class(sched::SchedClass::RoundRobin, 1),
        nice => sched::set_nice(nice.parse().map_err(|_| format!("`{nice}` is no nice value"))?),
    }
    .map_err(|error| error.to_string())?;
    Err(become_another(program))
}

/// Returns only if there is no such program.
fn become_another(args: &[String]) -> String {
    let Some((program, rest)) = args.split_first() else { return "a program is missing".into() };
    format!("{program}: {}", Command::new(program).args(rest).exec())
}
