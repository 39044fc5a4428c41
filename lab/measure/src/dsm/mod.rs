//! What shared memory costs here: faults between two ranks on a processor each, and accessors that ask by a
//! call instead, with what they are made of beside them, with the owner waiting and with it computing; and
//! what many views cost.
//!
//! Each cell is measured for a moment in processes of its own. All cells have their turn, again and again, in
//! alternating order. [`output`](mod@output): measurements and tables, and what others have measured
//! elsewhere.

pub mod output;

use crate::cells::{CellProgram, Within};
use crate::matrix::{BackgroundOfRow, CellLoop, TurnOrder};
use crate::options::{Dsm, DsmPart};
use crate::{Experiment, Measured, machine_file};
use anyhow::{Context, Result, bail};
use foregather_bench::dsm::{DsmBenchmark, DsmCell};
use foregather_dsm::views::Backend;
use foregather_host::affinity;
use foregather_machine::{Costs, Nanos};
use foregather_results::Results;
use foregather_wait::Policy;

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
/// Before each touch while the owner computes: longer than any policy waits awake.
const PAUSE: Nanos = Nanos::from_us(300);
/// How often all units are touched in a turn, requests are sent, pages go through all states, loops run.
const ROUNDS: u32 = 4;
const COMPUTING_ROUNDS: u32 = 2;
const REQUESTS: u32 = 500;
const STATES: u32 = 2;
const LOOPS: u32 = 2;

impl Experiment for Dsm {
    fn measure(&self, quiet: bool) -> Result<Measured> {
        let cpus = affinity::allowed();
        let mut notes = vec![];
        let backends = backends(self, &mut notes)?;
        let tasks = tasks(self, &backends)?;
        if cpus.len() < 2 {
            notes.push("both ranks share a processor, since this process may use only one: each fault takes two switches".into());
        }
        machine_file::load_or_measure()?;
        let cpus = [cpus[0], cpus[1 % cpus.len()]];
        let turns = self.turns.unwrap_or(if self.quick { QUICK_TURNS } else { TURNS });
        let cells: Vec<DsmCell> = tasks.into_iter().map(|task| DsmCell { cpus, task }).collect();
        let mut matrix = CellLoop::new("shared memory", cells.len(), turns, TurnOrder::Alternating, quiet);
        matrix.found.notes = notes;
        let runs = matrix.row(
            BackgroundOfRow::default(),
            &cells,
            |cell| output::name_of(&cell.task),
            |cell, _| {
                let job = cell.is_job().then_some((2, self.fabric.as_str()));
                CellProgram::default().run_to_end(cell, Within { job, ..Within::default() })
            },
        )?;
        let mut found = vec![];
        for (cell, runs) in cells.into_iter().zip(runs) {
            let figures = runs.results.into_iter().reduce(output::together).unwrap_or_default();
            figures.notes.into_iter().for_each(|note| matrix.found.note(note));
            found.push((cell.task, figures.timed));
        }
        matrix.found.measurements = output::measurements(&self.fabric, &found);
        matrix.end()
    }

    fn text(&self, results: &Results) -> String {
        output::text(&results.measurements)
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
