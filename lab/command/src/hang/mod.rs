//! `hang`: which call each rank of a job is in, for which rank it waits, and why that does not end.
//!
//! [`looker`] looks at the job and dates what it sees; `systems/watch` judges it; [`text`] prints the table
//! and the sentence. [`place`] names the code that a rank executes outside MPI. [`waits`] has the waits of
//! programs that do not call MPI.
mod looker;
mod place;
mod text;
mod waits;

use crate::cli::Hang;
use crate::{advise, exec};
use anyhow::Result;
use foregather_host::child::Child;
use foregather_host::clock;
use foregather_host::interrupt::{self, RepeatedRequest};
use foregather_host::run_state;
use foregather_host::signals;
use foregather_host::watched::calls::{self, CallPage};
use foregather_host::watched::page::{self, WatchPage};
use foregather_host::watched::{path_of, program};
use foregather_machine::Nanos;
use foregather_results::failure::Failure;
use foregather_watch::hang::STILL;
use looker::HangLooker;
use std::io::{Write, stderr};
use std::time::Duration;

/// The preload libraries: that of MPI, and that of threads.
const MPI: (&str, &str) = ("libforegather_mpi.so", "mpi");
const THREADS: (&str, &str) = ("libforegather_watch.so", "watch");
/// Beginnings of names of MPI launchers. Their ranks have the library of threads only on request.
const LAUNCHERS: [&str; 5] = ["mpi", "orterun", "prterun", "prun", "srun"];
/// After how long ranks of `foregather run` say on standard error what they wait for.
const WATCHDOG: &str = "FOREGATHER_WATCHDOG";
/// There are this number of looks before something counts as still, but they are not closer or farther apart.
const LOOKS: u64 = 20;
const SHORTEST: Nanos = Nanos::from_ms(10);
const LONGEST: Nanos = Nanos::from_ms(250);
/// So long a program gets to end after it was asked to.
const PATIENCE: Nanos = Nanos::from_ms(3_000);

/// Watches a job, and prints the table when it stands still or when it is asked to.
///
/// # Errors
/// The program's own exit code; without a program, or if it cannot be watched.
pub(crate) fn run(options: &Hang) -> Result<()> {
    interrupt::install()?;
    let still = options.after.unwrap_or(STILL);
    match options.job {
        Some(process) => attach(process, still),
        None => launch(options, still),
    }
}

fn attach(process: u32, still: Nanos) -> Result<()> {
    advise::refuse_foreign(process, "hang")?;
    let mut looker = HangLooker::new(launcher_of(process), still);
    let deadline = clock::now() + still + pause(still) + pause(still);
    while program::is_running(process) && clock::now() < deadline && !interrupt::requested() {
        looker.look();
        std::thread::sleep(Duration::from_nanos(pause(still).0));
    }
    let seen = looker.report();
    print(&text::of(&seen));
    match seen.verdict.filter(|verdict| verdict.is_alarm()) {
        Some(_) => Err(Failure::Check(format!("the job of process {process} hangs")).into()),
        None => Ok(()),
    }
}

/// The launcher that has given a process its rank; the process itself if it has none.
fn launcher_of(rank: u32) -> u32 {
    let mut process = rank;
    while program::rank(process).is_some() {
        match run_state::parent(process).filter(|parent| *parent > 1) {
            Some(parent) => process = parent,
            None => break,
        }
    }
    process
}

fn launch(options: &Hang, still: Nanos) -> Result<()> {
    let (path, mut command) = exec::command_of(&options.program)?;
    let (calls, calls_file) = CallPage::create()?;
    let (threads, threads_file) = WatchPage::create()?;
    let mut libraries = Vec::new();
    let mut not_seen = Vec::new();
    let named = options.library.as_deref();
    let is_launcher =
        LAUNCHERS.iter().any(|launcher| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(launcher)));
    let with_threads = options.threads || !options.no_preload && !is_launcher;
    let wanted = [(MPI, named, !options.no_preload), (THREADS, None, with_threads)];
    for ((library, chore), named, _) in wanted.into_iter().filter(|(.., is_wanted)| *is_wanted) {
        match exec::library(&path, library, chore, named) {
            Ok(found) => libraries.push(found),
            Err(why) => not_seen.push(format!("what {library} records ({why})")),
        }
    }
    exec::preload(&mut command, &libraries);
    command.env(calls::VARIABLE, path_of(&calls_file)).env(page::VARIABLE, path_of(&threads_file));
    if std::env::var_os(WATCHDOG).is_none() {
        command.env(WATCHDOG, format!("{}ms", still.0 / 1_000_000));
    }
    let asked = RepeatedRequest::catch()?;
    let mut child = Child::spawn(command, &[])?;
    let mut looker = HangLooker::of_pages(child.id(), still, calls, threads, not_seen);
    let mut ended = None;
    while ended.is_none() && !interrupt::requested() {
        looker.look();
        if let Some(seen) = looker.news(asked.take()) {
            print(&text::of(&seen));
            if options.stop && seen.verdict.is_some_and(|verdict| verdict.is_alarm()) {
                stop(&child);
                return Err(Failure::Program(1).into());
            }
        }
        ended = child.wait_until(clock::now() + pause(still))?;
    }
    match ended {
        Some(status) => exec::ended(exec::exit_code(status)),
        None => {
            if let Some(seen) = looker.last_word() {
                print(&text::of(&seen));
            }
            stop(&child);
            Err(Failure::Program(130).into())
        }
    }
}

fn pause(still: Nanos) -> Nanos {
    Nanos(still.0 / LOOKS).max(SHORTEST).min(LONGEST)
}

/// Ends a program: a launcher ends its ranks if it is asked to.
fn stop(child: &Child) {
    signals::ask_to_end(child.pidfd());
    let deadline = clock::now() + PATIENCE;
    while child.alive() && clock::now() < deadline {
        std::thread::sleep(Duration::from_nanos(SHORTEST.0));
    }
}

/// Prints to standard error: standard output is the program's.
fn print(text: &str) {
    // The program may have closed what this process shares with it.
    let _ = stderr().write_all(text.as_bytes());
}
