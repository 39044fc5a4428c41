//! `advise`: why the threads of a program wait, and how to fix that.
//!
//! [`watcher`] looks at the program until it exits; `systems/watch` judges what it saw; [`text`] prints the
//! screen, [`paste`] its commands, and [`document`] the same as JSON. [`recorded`] keeps what was seen in a
//! file. [`teams`] and [`predicted`] simulate the program under other settings, and [`check`] tries the
//! cures. [`samples`] and [`symbols`] name the functions that threads executed.
mod check;
mod document;
mod paste;
mod predicted;
mod recorded;
mod samples;
pub(crate) mod symbols;
mod teams;
mod text;
mod watcher;

use crate::cli::{Advise, Cli, Exec, Format};
use crate::exec;
use crate::finish::tell;
use anyhow::{Result, bail};
use check::CheckedCure;
use document::RuntimeAccount;
use foregather_host::child::Child;
use foregather_host::watched::lines::LineFile;
use foregather_host::watched::page::{SamplingState, Withdrawal};
use foregather_host::watched::{page, path_of, program, task};
use foregather_host::{clock, interrupt};
use foregather_machine::{Nanos, shown};
use foregather_results::output;
use foregather_watch::causes::{self, NamedCause, WaitCause};
use foregather_watch::{Observation, PythonLines, Remedy, SampleTally, SampledFunction, layers};
use predicted::{Predictions, SeenMachine};
use std::ffi::OsString;
use std::io::{Write, stderr};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;
use watcher::Watcher;

/// The variable that names the file to which this project's runtime appends what it counted.
const ACCOUNTS: &str = "FOREGATHER_STATS";
/// The preload library.
const LIBRARY: &str = "libforegather_watch.so";

/// What is printed: an observation, judged.
pub(super) struct JudgedObservation {
    pub(super) seen: Observation,
    pub(super) causes: Vec<NamedCause>,
    /// What this project's runtime counted, a process each.
    runtime: Vec<RuntimeAccount>,
    /// What could not be seen, and why.
    pub(super) not_seen: Vec<String>,
    /// The machine; `None` unless it is needed.
    machine: Option<SeenMachine>,
    predictions: Predictions,
}

impl JudgedObservation {
    /// Judges what was seen, and predicts what cures would do if there is something to mend.
    fn new(
        options: &Advise,
        seen: Observation,
        runtime: Vec<RuntimeAccount>,
        not_seen: Vec<String>,
        machine: Option<SeenMachine>,
    ) -> Self {
        let causes = causes::judge(&seen);
        let is_wanted = options.predict || options.on.is_some() || options.quota.is_some();
        let wants = (is_wanted || !causes.is_empty()) && seen.has_records();
        let machine = machine.or_else(|| (wants || options.save.is_some()).then(SeenMachine::here));
        let predictions = match &machine {
            Some(machine) if wants => {
                let spins = causes.first().is_some_and(|found| found.cause == WaitCause::IdleSpin);
                predicted::predict(options, &seen, machine, spins)
            }
            _ => Predictions::default(),
        };
        Self { seen, causes, runtime, not_seen, machine, predictions }
    }

    /// The remedies by rule. Those that set a way in which the program is simulated are left out if no way is
    /// predicted to help.
    fn by_rule(&self) -> impl Iterator<Item = &Remedy> {
        let is_refuted = |remedy: &Remedy| {
            let command = remedy.command.as_deref().unwrap_or_default();
            self.predictions.refutes() && (command.starts_with("OMP_") || command.starts_with("KMP_"))
        };
        self.causes.iter().map(|cause| &cause.remedy).filter(move |remedy| !is_refuted(remedy))
    }
}

/// Watches a program and prints the advice.
///
/// # Errors
/// The program's own exit code; without a program, or if it cannot be watched.
pub(crate) fn run(cli: &Cli, options: &Advise) -> Result<()> {
    refuse_csv(cli)?;
    check::allowed(options)?;
    interrupt::install()?;
    if let Some(file) = &options.from {
        let advice = recorded::load(file, options)?;
        show(cli, options, &advice);
        return write(cli, options, &advice, &[]);
    }
    match options.pid {
        Some(process) => attach(cli, options, process),
        None => launch(cli, options, &[], command_line(&options.program)),
    }
}

/// Watches a program that loads these libraries, too, and prints the same page.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_with(cli: &Cli, libraries: &[PathBuf], options: &Exec) -> Result<()> {
    refuse_csv(cli)?;
    interrupt::install()?;
    let line = if libraries.is_empty() { String::new() } else { "foregather exec -- ".to_owned() };
    let (program, output) = (options.program.clone(), options.output.clone());
    let line = line + &command_line(&program);
    let options = Advise { output, program, ..Advise::default() };
    launch(cli, &options, libraries, line)
}

pub(crate) fn refuse_csv(cli: &Cli) -> Result<()> {
    if cli.format == Format::Csv {
        bail!("--format csv is about rows of results: use table or json");
    }
    Ok(())
}

/// Refuses a process that is not running here, or is another user's.
///
/// # Errors
/// What is to be done about that.
pub(crate) fn refuse_foreign(process: u32, verb: &str) -> Result<()> {
    let Some(facts) = program::read(process).filter(|_| program::is_running(process)) else {
        bail!("process {process} is not running here: name one of this pid namespace, and see that /proc is mounted");
    };
    if program::user(process) != program::user(std::process::id()) {
        bail!("process {process} ({}) belongs to another user: run {verb} as that user", shown(&facts.name));
    }
    Ok(())
}

fn attach(cli: &Cli, options: &Advise, process: u32) -> Result<()> {
    refuse_foreign(process, "advise")?;
    let mut watcher = Watcher::new(process, None, None);
    watcher.not_seen.extend(without_records("a program that was already running"));
    let deadline = options.span.map_or(Nanos::MAX, |span| clock::now() + span);
    while program::is_running(process) && clock::now() < deadline && !interrupt::requested() {
        watcher.look();
        let pause = watcher.pause().min(deadline - clock::now());
        std::thread::sleep(Duration::from_nanos(pause.0));
    }
    let advice = judged(options, watcher, Vec::new());
    show(cli, options, &advice);
    write(cli, options, &advice, &[])
}

/// A program that was watched.
struct WatchedProgram {
    advice: JudgedObservation,
    child: Child,
    /// How it exited; `None` if it still runs.
    ended: Option<ExitStatus>,
}

/// What `exec --auto` learns from a run.
pub(crate) struct LearntCures {
    pub(crate) exit_code: u8,
    /// Settings before the command, and whether the program runs on this project's runtime: the best first.
    pub(crate) cures: Vec<(String, bool)>,
}

/// Watches a program until it exits, and prints nothing.
///
/// # Errors
/// As [`run`].
pub(crate) fn watch_for_cures(options: &Exec) -> Result<LearntCures> {
    interrupt::install()?;
    let line = command_line(&options.program);
    let options = Advise { program: options.program.clone(), ..Advise::default() };
    let WatchedProgram { advice, mut child, ended } = watch(&options, &[], line.clone())?;
    let status = match ended {
        Some(status) => status,
        None => wait(&mut child)?,
    };
    let variants = advice.predictions.advice().into_iter().map(|variant| (variant.settings.clone(), variant.own_runtime));
    let remedies = advice.by_rule().filter_map(|remedy| remedy.command.as_deref());
    let by_rule = remedies.filter_map(|command| Some((command.strip_suffix(&line)?.trim().to_owned(), false)));
    Ok(LearntCures { exit_code: exec::exit_code(status), cures: variants.chain(by_rule).collect() })
}

fn launch(cli: &Cli, options: &Advise, libraries: &[PathBuf], line: String) -> Result<()> {
    let WatchedProgram { advice, mut child, ended } = watch(options, libraries, line)?;
    show(cli, options, &advice);
    if !options.check.check {
        write(cli, options, &advice, &[])?;
    }
    let status = match ended {
        Some(status) => status,
        None => wait(&mut child)?,
    };
    if options.check.check {
        let checked = check::run(cli, options, &advice)?;
        write(cli, options, &advice, &checked)?;
    }
    exec::ended(exec::exit_code(status))
}

/// Starts a program and looks at it until it exits, or for as long as the options say.
fn watch(options: &Advise, libraries: &[PathBuf], line: String) -> Result<WatchedProgram> {
    let (path, mut command) = exec::command_of(&options.program)?;
    let mut not_seen = None;
    let mut recording = None;
    let mut all = Vec::new();
    match recorder(options, &path) {
        Ok(library) => {
            let (page, descriptor) = page::WatchPage::create()?;
            if options.sample {
                page.ask_for_samples();
            }
            command.env(page::VARIABLE, path_of(&descriptor));
            all.push(library);
            recording = Some((page, descriptor));
        }
        Err(why) => not_seen = without_records(&why),
    }
    // It records what the libraries after it do.
    all.extend_from_slice(libraries);
    exec::preload(&mut command, &all);
    let accounts = LineFile::create()?;
    if std::env::var_os(ACCOUNTS).is_none() {
        command.env(ACCOUNTS, accounts.path());
    }
    let began = clock::now();
    let mut child = Child::spawn(command, &[])?;
    let page: Option<(page::WatchPage, OwnedFd)> = recording;
    let mut watcher = Watcher::new(child.id(), page.as_ref().map(|(page, _)| *page), Some(line));
    watcher.not_seen.extend(not_seen);
    let deadline = options.span.map_or(Nanos::MAX, |span| clock::now() + span);
    let mut ended = None;
    while ended.is_none() && clock::now() < deadline && !interrupt::requested() {
        watcher.look();
        ended = child.wait_until(deadline.min(clock::now() + watcher.pause()))?;
    }
    watcher.ran_for = ended.map(|_| clock::now() - began);
    let advice = judged(options, watcher, document::runtime_accounts(&accounts.read()));
    Ok(WatchedProgram { advice, child, ended })
}

/// Waits until the program exits, after the advice is printed. A second Ctrl-C ends this process.
pub(crate) fn wait(child: &mut Child) -> Result<ExitStatus> {
    loop {
        if let Some(status) = child.wait_until(Nanos::MAX)? {
            return Ok(status);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The preload library for a program, or why there is none.
fn recorder(options: &Advise, program: &Path) -> Result<PathBuf, String> {
    if options.no_preload {
        return Err("--no-preload".to_owned());
    }
    if let Some(language) = exec::program::own_threads(program) {
        return Err(format!("{language} starts and parks its threads itself"));
    }
    exec::library(program, LIBRARY, "watch", options.library.as_deref())
}

/// The line about causes of which `/proc` knows nothing.
fn without_records(why: &str) -> Option<String> {
    let blind: Vec<&str> = layers::blind_without_preload().map(WaitCause::name).collect();
    Some(format!("{} (/proc alone does not show them; no preload library: {why})", blind.join(", ")))
}

/// The command as a user would type it again.
fn command_line(program: &[OsString]) -> String {
    let quoted = |word: &OsString| {
        let word = word.to_string_lossy();
        let is_plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c));
        if is_plain { word.into_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
    };
    program.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn judged(options: &Advise, watcher: Watcher, runtime: Vec<RuntimeAccount>) -> JudgedObservation {
    let sampling = watcher.sampling_state();
    let (mut seen, mut not_seen) = watcher.finish();
    if let Some(path) = &options.python_lines {
        let lines = PythonLines::parse(&std::fs::read(path).unwrap_or_default());
        if lines.looks == 0 {
            not_seen.push("lines of Python: the interpreter exited early, or was started with -E, -I or -S".to_owned());
        }
        seen.python = Some(lines);
    }
    if let Some(samples) = &seen.samples {
        not_seen.extend(unsampled(samples, sampling));
    }
    let without = seen.creations.map_or(0, |creations| creations.without_slot);
    if without > 0 {
        not_seen.push(format!("what {without} threads did: the page of records has no more room"));
    }
    JudgedObservation::new(options, seen, runtime, not_seen, None)
}

/// Prints the screen, unless JSON is wanted.
fn show(cli: &Cli, options: &Advise, advice: &JudgedObservation) {
    if cli.format != Format::Json {
        print(&text::screen(advice));
        if options.predict || options.on.is_some() || options.quota.is_some() {
            print(&text::predictions(advice));
        }
    }
}

/// Writes the document and the recording to where they are wanted.
fn write(cli: &Cli, options: &Advise, advice: &JudgedObservation, checked: &[CheckedCure]) -> Result<()> {
    let document = serde_json::to_string_pretty(&document::of(advice, checked))? + "\n";
    if let Some(path) = &options.save {
        recorded::save(path, advice, options.with_arguments)?;
    }
    if let Some(path) = &options.output {
        output::write(path, &document)?;
    }
    if cli.format == Format::Json {
        print(&document);
    }
    Ok(())
}

/// Prints to standard error: standard output is the program's.
fn print(text: &str) {
    // The program may have closed what this process shares with it.
    if let Err(error) = stderr().write_all(text.as_bytes()) {
        tell("warning", &format!("the advice cannot be printed: {error}"));
    }
}

/// What hindered samples.
fn unsampled(samples: &SampleTally<SampledFunction>, state: SamplingState) -> Vec<String> {
    let because = state.withdrawal.map(|withdrawal| match withdrawal {
        Withdrawal::SignalTaken => "the program uses the signal that the samples need",
        Withdrawal::SignalAwaited => "the program waits for the signal that the samples need",
        Withdrawal::UserChanged => "the program changed its user or group",
        Withdrawal::Refused => "the system refused a timer of processor time",
    });
    let mut found = Vec::new();
    match because {
        Some(because) => found.push(format!("functions, from some moment on: {because}")),
        None if samples.count == 0 => found.push("functions: no thread used enough processor time for a sample".to_owned()),
        None => {}
    }
    if state.untimed > 0 {
        found.push(format!("functions of {} threads: there is room for 64 timers", state.untimed));
    }
    if samples.lost > 0 {
        found.push(format!("{} samples: there were too many at once", samples.lost));
    }
    found
}

/// Returns whether system calls of a process are hidden from this user.
fn hides_calls(process: u32) -> bool {
    !task::shows_calls(process)
}
