//! The columns: ours twice, our fixed policies, and other runtimes; or ours with one kept cost wrong.
use super::rows::{DrawnRow, EpisodeKind, Groups};
use crate::barriers::waiters;
use crate::cells::{CellProgram, RunningCell, Within};
use crate::options::{BarriersOptions, Regret};
use crate::peers::{RunnerSet, program};
use anyhow::{Context, Error, Result, bail};
use foregather_bench::openmp::OpenMpCell;
use foregather_bench::{BarrierCell, Cell, CellResult};
use foregather_host::costs::{self, KeptCosts};
use foregather_machine::{Costs, Nanos};
use foregather_results::ids::CANDIDATE;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// What ours is called, and ours again.
pub(super) const OURS: &str = "ours";
pub(super) const AGAIN: &str = "ours again";
/// Our policy that always sleeps.
pub(super) const BLOCK: &str = "block";
const RUNTIMES: RunnerSet =
    RunnerSet { own: &[], list: "list-openmp", without: "no runtime of OpenMP can be measured", unknown: "is no OpenMP runtime" };
/// The peers that a row is compared with.
const PEERS: [&str; 7] = ["gomp", "gomp-passive", "omp", "omp-passive", "pthread", "rust-std", "hurdles"];
/// What forbids members of a team to be moved.
const PLACEMENT: (&str, &str) = ("FOREGATHER_PLACEMENT", "off");

/// One column.
#[derive(Clone)]
pub(super) struct Candidate {
    pub(super) name: String,
    program: CellProgram,
    /// The runtime or barrier, by the name that its program knows.
    spec: String,
}

/// All columns that the options ask for, ours first. The folder holds files that they need.
pub(super) fn columns(
    options: &Regret,
    costs: &Costs,
    notes: &mut Vec<String>,
    folder: &ScratchFolder,
) -> Result<Vec<Candidate>> {
    let mut all = if options.barriers { of_barriers(options, costs, notes)? } else { of_constructs(options, notes)? };
    if options.wrong_costs {
        let ours = all.swap_remove(0);
        all = wrong_costs(&ours, costs, folder.path(), options.barriers)?;
    } else if options.ablation {
        all.truncate(2);
        let without = without_each(&all[0], options.barriers, costs)?;
        all.extend(without);
    }
    let ours = all[0].clone();
    all.extend(options.settings.iter().map(|(name, value)| ours.with_setting(name, value)));
    if let Some(wanted) = &options.columns {
        let wanted: Vec<&str> = wanted.split(',').map(str::trim).collect();
        if let Some(name) = wanted.iter().find(|name| all.iter().all(|column| column.name != **name)) {
            let names: Vec<&str> = all.iter().map(|column| column.name.as_str()).collect();
            bail!("--columns: `{name}` is no column; there are {}", names.join(", "));
        }
        all.retain(|column| column.name == OURS || wanted.contains(&column.name.as_str()));
    }
    Ok(all)
}

fn of_constructs(options: &Regret, notes: &mut Vec<String>) -> Result<Vec<Candidate>> {
    let runners = RUNTIMES.runners(None, notes)?;
    let ours =
        runners.iter().find(|runner| runner.name == "foregather").context("build ours by `cargo xtask drop-in libgomp`")?;
    let column = |name: &str, program: CellProgram| Candidate { name: name.to_owned(), program, spec: ours.name.clone() };
    let own = || ours.program.clone();
    let mut all = vec![
        column(OURS, own()),
        column(AGAIN, own()),
        column(BLOCK, own().with("FOREGATHER_WAIT", "block")),
        column("spin", own().with("FOREGATHER_WAIT", "spin")),
    ];
    if let Some(old) = old(options)? {
        all.push(column("old", own().with("FOREGATHER_GOMP", &old.to_string_lossy())));
    }
    let peers = runners.into_iter().filter(|runner| PEERS.contains(&runner.name.as_str()));
    all.extend(peers.map(|runner| Candidate { spec: runner.name.clone(), name: runner.name, program: runner.program }));
    Ok(all)
}

/// The other build, as a whole path.
fn old(options: &Regret) -> Result<Option<PathBuf>> {
    let whole = |old: &PathBuf| old.canonicalize().with_context(|| format!("--old: {} cannot be found", old.display()));
    options.old.as_ref().map(whole).transpose()
}

fn of_barriers(options: &Regret, costs: &Costs, notes: &mut Vec<String>) -> Result<Vec<Candidate>> {
    if program().is_none() {
        notes.push(format!("only one peer is compared: build the others by `{}`", crate::peers::BUILD));
    }
    let (known, missing) = waiters::waiters(&BarriersOptions { draw: Some(None), ..BarriersOptions::default() }, costs);
    notes.extend(missing);
    let column = |name: &str, spec: &str| {
        let waiter = known.iter().find(|waiter| waiter.name == spec).with_context(|| format!("no waiter {spec}"))?;
        Ok::<_, Error>(Candidate { name: name.to_owned(), program: waiter.program.clone(), spec: waiter.spec.clone() })
    };
    let mut all = vec![
        column(OURS, CANDIDATE)?,
        column(AGAIN, CANDIDATE)?,
        column(BLOCK, "central/block")?,
        column("spin", "central/spin")?,
    ];
    if let Some(old) = old(options)? {
        all.push(Candidate { program: CellProgram::of_build(old), ..column("old", CANDIDATE)? });
    }
    all.extend(PEERS.iter().filter_map(|peer| column(peer, peer).ok()));
    Ok(all)
}

/// Ours without each mechanism that can be switched off: each rule of the decision table, and moves.
fn without_each(ours: &Candidate, barriers: bool, costs: &Costs) -> Result<Vec<Candidate>> {
    let without = |rule: &str| {
        let name = format!("without {rule}");
        if !barriers {
            let program = ours.program.clone().with("FOREGATHER_WAIT", &format!("adaptive!{rule}"));
            return Ok(Candidate { name, program, spec: ours.spec.clone() });
        }
        let spec = waiters::own(&format!("{}!{rule}", CANDIDATE), costs).map_err(Error::msg)?.spec;
        Ok(Candidate { name, program: ours.program.clone(), spec })
    };
    let rules = foregather_wait::adaptive::Rules::names().map(without);
    rules.chain([Ok(ours.with_setting(PLACEMENT.0, PLACEMENT.1))]).collect()
}

/// Ours with the costs as they are, again, and with each of them wrong.
fn wrong_costs(ours: &Candidate, right: &Costs, folder: &Path, barriers: bool) -> Result<Vec<Candidate>> {
    let file = |name: &str, costs: Costs| {
        let path = folder.join(format!("{}.json", name.replace([' ', '/'], "-")));
        costs::write_once(&path, costs).with_context(|| format!("cannot write {}", path.display()))?;
        let program = ours.program.clone().with("FOREGATHER_MACHINE", &path.to_string_lossy());
        // A barrier's program is given its costs, which are those that it would use; an OpenMP runtime
        // reads the file.
        let used = Costs { tick: right.tick, ..KeptCosts::once(costs, None).costs };
        let spec = if barriers { waiters::own(CANDIDATE, &used).map_err(Error::msg)?.spec } else { ours.spec.clone() };
        Ok::<_, Error>(Candidate { name: name.to_owned(), program, spec })
    };
    let mut all = vec![file(OURS, *right)?, file(AGAIN, *right)?];
    for (at, name) in Costs::NAMES.into_iter().enumerate() {
        for (sign, times, over) in [("x", 20, 1), ("/", 1, 20)] {
            let mut costs = right.to_array();
            costs[at] = Nanos((costs[at].0 * times / over).max(1));
            all.push(file(&format!("{} {sign} 20", name.trim_end_matches("_ns")), Costs::from_array(costs))?);
        }
    }
    Ok(all)
}

impl Candidate {
    /// Ours with a variable in its environment, which is the column's name.
    fn with_setting(&self, name: &str, value: &str) -> Self {
        Self { name: format!("{name}={value}"), program: self.program.clone().with(name, value), spec: self.spec.clone() }
    }

    /// Runs a cell in a process, or in two at once; `None` if one was not done in its time.
    fn in_processes(&self, cell: &impl Cell<Answer = CellResult>, groups: Groups) -> Result<Option<CellResult>> {
        if groups != Groups::TwoProcesses {
            return self.program.run(cell, Within::default());
        }
        let both = [self.program.start(cell, Within::default())?, self.program.start(cell, Within::default())?];
        let answers = both.map(RunningCell::end).into_iter().collect::<Result<Option<Vec<_>>>>()?;
        Ok(answers.map(|answers| CellResult::of_all(&answers)))
    }

    /// Runs a cell of this column; `None` if it was not done in its time.
    pub(super) fn run(&self, row: &DrawnRow, options: &Regret, iterations_per_us: f64) -> Result<Option<CellResult>> {
        let [span_ns, settle_ns] = [options.ms, options.settle].map(|ms| ms * 1_000_000);
        let (threads, grain_ns) = (row.threads, u64::from(row.grain_us) * 1_000);
        let teams = if row.groups == Groups::TwoTeams { 2 } else { 1 };
        match row.kind {
            EpisodeKind::Construct(construct) => {
                let (runtime, body_ns) = (self.spec.clone(), grain_ns);
                let cell = OpenMpCell { runtime, construct, threads, teams, body_ns, span_ns, settle_ns, iterations_per_us };
                self.in_processes(&cell, row.groups)
            }
            EpisodeKind::Barrier(shape) => {
                let (waiter, pins, fork_join) = (self.spec.clone(), vec![], false);
                #[rustfmt::skip]
                let cell = BarrierCell {
                    waiter, threads, teams, grain_ns, shape, pins, fork_join, span_ns, settle_ns, iterations_per_us,
                };
                self.in_processes(&cell, row.groups)
            }
        }
    }
}

/// A folder that goes with its owner.
pub(crate) struct ScratchFolder(PathBuf);

impl ScratchFolder {
    pub(crate) fn new() -> Result<Self> {
        let path = env::temp_dir().join(format!("foregather-measure-{}", process::id()));
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
