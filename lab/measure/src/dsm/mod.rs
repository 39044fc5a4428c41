//! What shared memory costs here: faults between two ranks on a processor each, and accessors that ask by a call instead, with what they are
//! made of beside them, with the owner waiting and with it computing; and what many views cost.
//!
//! Each cell is measured for a moment in processes of its own. All cells have their turn, again and again, in alternating order.
//! [`output`](mod@output): measurements. [`tables`](mod@tables): for people. [`published`](mod@published): what others have measured elsewhere.

pub mod output;
pub mod published;
pub mod tables;

use super::children;
use crate::{Measured, machine_file};
use anyhow::{Context, Result, bail};
use foregather_bench::dsm::{DsmBenchmark, Figures, Plan, Timed, VERB};
use foregather_cli::{Dsm, DsmPart};
use foregather_dsm::views::Backend;
use foregather_host::{affinity, child::Child, interrupt};
use foregather_machine::{Costs, Nanos};
use foregather_results::progress::Progress;
use foregather_wait::Policy;
use std::process::{Command, Stdio};

/// Bytes of minipages, if none are asked for: a tour of TSP, a molecule of WATER, a page.
const SIZES: [usize; 3] = [148, 672, 4 << 10];
/// The size of those that are touched while the owner computes.
const COMPUTING_SIZE: usize = 148;
/// How servers and threads wait, if nothing is said; and while the owner computes.
const POLICIES: &str = "adaptive!give-way";
const COMPUTING_POLICIES: &str = "adaptive!give-way,adaptive,two-phase:50us,block";
/// Bytes of what is traversed, and through how many views: powers of two, and what the five programs have.
const VIEWED: [usize; 4] = [256 << 10, 1 << 20, 4 << 20, 16 << 20];
const VIEWS: [u32; 10] = [1, 2, 4, 6, 8, 16, 27, 32, 64, 128];
const QUICK_VIEWED: [usize; 1] = [1 << 20];
const QUICK_VIEWS: [u32; 3] = [1, 27, 128];
/// Turns of all cells.
const TURNS: u32 = 20;
const QUICK_TURNS: u32 = 1;
/// Before each touch while the owner computes: longer than anybody waits awake.
const PAUSE: Nanos = Nanos::from_us(300);
/// How often all units are touched in a turn, requests are sent, pages go through all states, loops run.
const ROUNDS: u32 = 4;
const COMPUTING_ROUNDS: u32 = 2;
const REQUESTS: u32 = 500;
const STATES: u32 = 2;
const LOOPS: u32 = 2;
/// No turn of a cell takes longer: one lasts some tenths of a second, even on a machine that is busy otherwise.
const BOUND: Nanos = Nanos::from_ms(60_000);

/// What is measured in processes of its own, and all that it gave.
pub(super) struct DsmCell {
    pub(super) task: DsmBenchmark,
    pub(super) timed: Vec<Timed>,
    /// Why it has no more turns.
    failed: bool,
}

impl DsmCell {
    fn new(task: DsmBenchmark) -> Self {
        Self { task, timed: vec![], failed: false }
    }

    fn take(&mut self, timed: Vec<Timed>) {
        for new in timed {
            match self.timed.iter_mut().find(|known| (known.what, known.bytes) == (new.what, new.bytes)) {
                None => self.timed.push(new),
                Some(known) => {
                    known.ns.extend(new.ns);
                    known.cpu_ns = [known.cpu_ns[0] + new.cpu_ns[0], known.cpu_ns[1] + new.cpu_ns[1]];
                }
            }
        }
    }
}

/// Runs what the options ask for.
///
/// # Errors
/// If a back end or policy is unknown, or nothing at all can be measured.
pub fn run(options: &Dsm, quiet: bool) -> Result<Measured> {
    let cpus = affinity::allowed();
    let mut found = Measured::default();
    let backends = backends(options, &mut found.notes)?;
    let mut cells: Vec<DsmCell> = tasks(options, &backends)?.into_iter().map(DsmCell::new).collect();
    if cpus.len() < 2 {
        found
            .notes
            .push("both ranks share a processor, since this process may use only one: each fault takes two switches".into());
    }
    machine_file::load_or_measure()?;
    let cpus = [cpus[0], cpus[1 % cpus.len()]];
    let turns = options.turns.unwrap_or(if options.quick { QUICK_TURNS } else { TURNS });
    let mut progress = Progress::new("shared memory", turns as usize * cells.len(), quiet);
    let mut trouble = None;
    'turns: for turn in 0..turns {
        for i in 0..cells.len() {
            let at = if turn % 2 == 0 { i } else { cells.len() - 1 - i };
            let cell = &mut cells[at];
            if interrupt::requested() {
                break 'turns;
            }
            let name = output::name_of(&cell.task);
            progress.step(&name);
            if cell.failed {
                continue;
            }
            match run_plan(&Plan { cpus, task: cell.task.clone() }, &options.fabric) {
                Ok(answer) => {
                    cell.take(answer.timed);
                    answer.notes.into_iter().for_each(|note| found.note(note));
                }
                Err(_) if interrupt::requested() => {}
                Err(error) => {
                    cell.failed = true;
                    found.note(format!("{name}: {error:#}"));
                    trouble = trouble.or(Some(error));
                }
            }
        }
    }
    found.measurements = output::measurements(&options.fabric, &cells);
    match trouble {
        Some(error) if found.measurements.is_empty() => Err(error),
        _ => Ok(found),
    }
}

/// Those that are asked for, or that this machine has.
fn backends(options: &Dsm, notes: &mut Vec<String>) -> Result<Vec<Backend>> {
    let mut backends = Vec::new();
    for name in &options.backend {
        let Some(backend) = Backend::by_name(name) else {
            bail!("--backend: `{name}` is none: userfaultfd, mprotect or userfaultfd-thread");
        };
        backend.available().with_context(|| format!("--backend {name}"))?;
        backends.push(backend);
    }
    if backends.is_empty() {
        let (chosen, refusal) = Backend::chosen();
        backends.push(chosen);
        match refusal {
            None => backends.push(Backend::Mprotect),
            Some(refusal) => notes.push(format!("no userfaultfd: {refusal}")),
        }
    }
    Ok(backends)
}

/// Policies by their names, all of which there are.
fn policies<'a>(options: &'a Dsm, usual: &'a str) -> Result<Vec<&'a str>> {
    let names: Vec<&str> = options.policy.as_deref().unwrap_or(usual).split(',').map(str::trim).collect();
    names.iter().try_for_each(|name| Policy::parse(name, &Costs::TYPICAL).map(|_| ())).context("--policy")?;
    Ok(names)
}

fn tasks(options: &Dsm, backends: &[Backend]) -> Result<Vec<DsmBenchmark>> {
    let asked: Vec<usize> = options.sizes.iter().map(|&bytes| bytes as usize).collect();
    let sizes = if asked.is_empty() { SIZES.to_vec() } else { asked };
    let part = |part: DsmPart| options.only.is_none_or(|only| only == part);
    let mut tasks = Vec::new();
    let mut faults = |policies: &[&str], sizes: &[usize], computing: bool, asking: bool| {
        for &bytes in sizes {
            for backend in backends {
                for &policy in policies {
                    let (backend, policy) = (backend.name().to_owned(), policy.to_owned());
                    let (pause, rounds) = if computing { (PAUSE, COMPUTING_ROUNDS) } else { (Nanos::ZERO, ROUNDS) };
                    tasks.push(DsmBenchmark::Faults { bytes, backend, policy, computing, asking, pause_ns: pause.0, rounds });
                }
            }
        }
    };
    let (waiting, computing) = (policies(options, POLICIES)?, policies(options, COMPUTING_POLICIES)?);
    if part(DsmPart::Faults) {
        faults(&waiting, &sizes, false, false);
        faults(&waiting, &sizes, false, true);
    }
    if part(DsmPart::Computing) {
        faults(&computing, &[COMPUTING_SIZE], true, false);
    }
    if part(DsmPart::Faults) {
        // A grant has no bytes.
        tasks.push(DsmBenchmark::Fetch { sizes: [vec![0], sizes].concat(), rounds: REQUESTS });
        tasks.extend(backends.iter().map(|backend| DsmBenchmark::AtOnce { backend: backend.name().to_owned(), rounds: STATES }));
    }
    if part(DsmPart::Views) {
        let (viewed, views): (&[usize], &[u32]) = if options.quick { (&QUICK_VIEWED, &QUICK_VIEWS) } else { (&VIEWED, &VIEWS) };
        let backend = backends[0].name();
        let of = |bytes: usize| {
            views.iter().map(move |&views| DsmBenchmark::Views { backend: backend.to_owned(), bytes, views, turns: LOOPS })
        };
        tasks.extend(viewed.iter().flat_map(|&bytes| of(bytes)));
    }
    Ok(tasks)
}

/// Carries a plan out in processes of its own.
fn run_plan(plan: &Plan, fabric: &str) -> Result<Figures> {
    let mut command = Command::new(children::myself());
    if plan.is_job() {
        command.args(["run", "--no-prefix", "-n", "2", "--fabric", fabric, "--"]).arg(children::myself());
    }
    command.arg(VERB).arg(plan.to_arg()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = Child::spawn(command, &[]).context("cannot start a rank")?.output_within(BOUND)?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !output.status.success() {
        bail!("it failed ({}): {}", output.status, said(&output.stderr));
    }
    let line = said(&output.stdout);
    serde_json::from_str(&line).with_context(|| format!("it answered `{line}`"))
}
