//! What this program does when it is its own child: cells, hogs and slaves, each in a process of its own.
use crate::jobs::app::AppCell;
use foregather_bench::blas::BlasCell;
use foregather_bench::dsm::DsmCell;
use foregather_bench::messages::{self, MessageCell};
use foregather_bench::queues::QueueCell;
use foregather_bench::schedules::ScheduleCell;
use foregather_bench::teams::TeamCell;
use foregather_bench::{BackgroundLoad, BarrierCell, Cell, answer, disturb, ping_pong};
use foregather_host::dl::Library;
use foregather_host::sched;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// Runs the hidden verb that the command line begins with, if it does.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let verb = args.next()?.into_string().ok()?;
    let verb = verb.strip_prefix("__")?;
    // What this program tells its children is text.
    let rest: Vec<String> = args.map(OsString::into_string).collect::<Result<_, _>>().ok()?;
    let end = match verb {
        BarrierCell::VERB => answer::<BarrierCell>(&rest),
        TeamCell::VERB => answer::<TeamCell>(&rest),
        BlasCell::VERB => answer::<BlasCell>(&rest),
        MessageCell::VERB => answer::<MessageCell>(&rest),
        QueueCell::VERB => answer::<QueueCell>(&rest),
        ScheduleCell::VERB => answer::<ScheduleCell>(&rest),
        DsmCell::VERB => answer::<DsmCell>(&rest),
        AppCell::VERB => answer::<AppCell>(&rest),
        "hog" => background(&rest),
        "held" => held(&rest),
        "under" => under(&rest),
        "library" => library(&rest),
        "ping-pong-slave" => ping_pong::slave_main(&rest).map_err(|error| error.to_string()),
        "messages-peer" => messages::peer_main(&rest).map_err(|error| error.to_string()),
        "messages-hog" => messages::hog_main(&rest).map_err(|error| error.to_string()),
        _ => return None,
    };
    let Err(error) = end else { return Some(ExitCode::SUCCESS) };
    eprintln!("foregather: {error}");
    Some(ExitCode::from(3))
}

/// A program beside a team that knows nothing of it: a hog, unless another one is named.
fn background(args: &[String]) -> Result<(), String> {
    let named = args.first().map_or(Some(BackgroundLoad::Hog), |name| BackgroundLoad::parse(name));
    disturb(named.ok_or("no background load has that name")?, foregather_host::affinity::allowed().len(), || false);
    Ok(())
}

/// Loads the first of these libraries that there is, and says where it was. In a process of its own, since
/// libraries do things when they are loaded: a provider of libfabric, for one, takes over Ctrl-C.
fn library(names: &[String]) -> Result<(), String> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let library = Library::open(&names).map_err(|error| error.to_string())?;
    println!("{}", library.path().display());
    Ok(())
}

/// Waits until standard input ends, then becomes another program: so its parent can put it into a control
/// group first.
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
