//! Plans: files that say what to simulate. `plans/README.md` lists every key.
//!
//! A file is read into a tree of values that know their lines (`tree`). A sweep puts other values into that
//! tree, one choice an axis (`sweep`), so every key can be swept; and each tree is read by serde (`read`)
//! into a study: of processors (`machine`, `job`, `mix`, `run`), or of nodes (`network`, `trial`). All of a
//! plan's studies are read once when it is parsed: what is wrong is known before anything runs. A plan
//! without a file is written first (`draft`), then read like any other.
mod compute;
mod draft;
mod draw;
mod figure;
mod files;
mod grid;
mod job;
mod lock;
mod machine;
mod mix;
mod network;
mod published;
mod read;
mod run;
mod study;
mod sweep;
#[cfg(test)]
mod tests;
mod tree;
mod trial;

pub use draft::PlanDraft;
pub(super) use figure::PlanFigure;
use foregather_results::meant;
pub use grid::Labels;
use read::table;
pub(crate) use read::{nanos, picos};
pub use study::Study;

use crate::metric::{self, Metric};
use crate::network::METRICS;
use anyhow::{Result, anyhow};
use files::PlanFiles;
use foregather_sim::smp::MachineSpec;
use foregather_wait::Policy;
use grid::SweepGrid;
use published::PublishedFactor;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::path::{Path, PathBuf};
pub(crate) use tree::{Located, Mistake, Value};
use tree::{ParseResult, mistake};

/// The only schema that there is so far.
#[derive(Deserialize)]
enum Schema {
    #[serde(rename = "foregather.plan/1")]
    One,
}

table! {
    "the plan" PlanTable {
        ;
        schema: Schema, title: String, load: IgnoredAny, machine: IgnoredAny, job: IgnoredAny, mix: IgnoredAny, network: IgnoredAny,
        trial: IgnoredAny, run: IgnoredAny, record: IgnoredAny, sweep: IgnoredAny, draw: IgnoredAny, figure: IgnoredAny, published: IgnoredAny,
        full: IgnoredAny
    }
}

/// A plan of more runs is refused as an oversight.
const RUNS_MAX: usize = 100_000;

/// The name of a plan that is in no file.
const DRAFT: &str = "job";

/// How a plan is to be read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Where its relative paths begin.
    pub folder: PathBuf,
    /// Whether it is read with the changes of its `[full]`.
    pub full: bool,
    /// This is added to every seed.
    pub seed_offset: u64,
    /// At least this number of spans of the first point's runs is kept, for a trace.
    pub spans: usize,
    /// Further changes: dotted keys and their values, as in the file.
    pub set: Vec<(String, String)>,
}

/// A plan that has been checked at every point of its sweep.
pub struct Plan {
    file: String,
    title: String,
    root: Located,
    grid: SweepGrid,
    figure: PlanFigure,
    published: Option<PublishedFactor>,
    files: PlanFiles,
    seed_offset: u64,
    spans: usize,
}

impl Plan {
    /// The plan in this text; `file` is what messages call it.
    ///
    /// # Errors
    /// If anything in it is wrong, with file, line and remedy.
    pub fn parse(file: &str, text: &str, ask: &ReadOptions) -> Result<Self> {
        Self::read(file, text, ask).map_err(|error| explain(file, &error))
    }

    /// The plan that was asked for without a file.
    ///
    /// # Errors
    /// If anything in it is wrong, with the name of the answer.
    pub fn of_draft(draft: &PlanDraft, ask: &ReadOptions) -> Result<Self> {
        Self::read(DRAFT, &draft.text()?, ask).map_err(|error| draft.explain(&error))
    }

    fn read(file: &str, text: &str, ask: &ReadOptions) -> ParseResult<Self> {
        let mut root = Located::parse(text)?;
        let title = read::read::<PlanTable>(&root)?.title.unwrap_or_else(|| stem(file));
        if let Some(full) = root.take("full") {
            let Some(changes) = full.entries() else {
                return mistake(full.line, format!("[full] is a table, not {}", full.sort()));
            };
            changes.iter().filter(|_| ask.full).try_for_each(|(path, node)| root.set(path, node))?;
        }
        for (path, word) in &ask.set {
            root.set(path, &Located::of_word(word))?;
        }
        let [sweep, draw, figure, published] = ["sweep", "draw", "figure", "published"].map(|key| root.take(key));
        let axes = sweep.as_ref().map_or(Ok(vec![]), sweep::read)?;
        let of_network = study::is_network(&root)?;
        let metrics = metrics_of(of_network);
        let figure = figure::read(figure.as_ref().unwrap_or(&Located::nothing()), &axes, metrics, of_network)?;
        let published = published.as_ref().map(|node| published::read(node, &axes)).transpose()?;
        let drawn = draw.as_ref().map(|node| draw::read(node, &axes, &figure)).transpose()?;
        let grid = SweepGrid { axes, drawn };
        let (files, seed_offset, spans) = (PlanFiles::new(&ask.folder), ask.seed_offset, ask.spans);
        let mut plan = Self { file: file.to_owned(), title, root, grid, figure, published, files, seed_offset, spans };
        plan.check()?;
        plan.find_baseline()?;
        Ok(plan)
    }

    /// Reads every study once.
    fn check(&self) -> ParseResult<()> {
        let (mut runs, mut names) = (0, Vec::<String>::new());
        let not_too_many = |runs| match self.grid.axes.last() {
            Some(axis) if runs > RUNS_MAX => {
                mistake(axis.line, format!("more than {RUNS_MAX} runs: choose fewer points or seeds"))
            }
            _ => Ok(()),
        };
        not_too_many(self.grid.points())?;
        for point in 0..self.grid.points() {
            runs += self.check_point(point, &mut names).map_err(|error| self.grid.met_at(point, error))?;
            not_too_many(runs)?;
        }
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        match self.figure.of.iter().find(|name| !known.contains(&name.as_str())) {
            Some(name) => mistake(self.figure.of_line, format!("no job that meets is named `{name}`{}", meant(name, &known))),
            None => Ok(()),
        }
    }

    /// How many runs a point has; enters the names of its jobs that meet.
    fn check_point(&self, point: usize, names: &mut Vec<String>) -> ParseResult<usize> {
        let root = self.grid.at(&self.root, point)?;
        let seeds = self.seeds_of(&root)?;
        // Only mixes depend on the seed.
        let differing = if root.get("mix").is_some() { seeds.len() } else { 1 };
        for &seed in &seeds[..differing] {
            let jobs = study::read(&root, &self.files, seed)?.smp().map_or(vec![], |study| study.jobs);
            for job in jobs.into_iter().filter(|job| job.meets()) {
                if !names.contains(&job.name) {
                    names.push(job.name);
                }
            }
        }
        Ok(seeds.len())
    }

    fn seeds_of(&self, root: &Located) -> ParseResult<Vec<u64>> {
        Ok(study::seeds(root)?.into_iter().map(|seed| seed.saturating_add(self.seed_offset)).collect())
    }

    /// Finds the choice that speedups are over: always-block, unless the plan names another.
    fn find_baseline(&mut self) -> ParseResult<()> {
        if self.is_network() {
            return Ok(());
        }
        // In a draw only the axis that regrets are over is whole.
        let whole = |axis: usize| self.grid.drawn.is_none() || self.figure.best == Some(axis);
        for (number, axis) in self.grid.axes.iter().enumerate().filter(|(axis, _)| self.figure.over.is_none() && whole(*axis)) {
            let blocks = (0..axis.choices.len()).map(|choice| self.blocks(self.grid.beside(0, number, choice)));
            let blocks = blocks.collect::<ParseResult<Vec<bool>>>()?;
            if let Some(choice) = blocks.iter().position(|&blocks| blocks).filter(|_| blocks.contains(&false)) {
                self.figure.over = Some((number, choice));
                break;
            }
        }
        if self.figure.y.name == "speedup" && self.figure.over.is_none() {
            return mistake(self.figure.line, "a speedup is over a choice of the policy `block`, or over what `over` names");
        }
        Ok(())
    }

    fn blocks(&self, point: usize) -> ParseResult<bool> {
        let root = self.grid.at(&self.root, point)?;
        let study = study::read(&root, &self.files, self.seeds_of(&root)?[0])?.smp();
        Ok(study.is_some_and(|study| study.jobs.iter().filter(|job| job.meets()).all(|job| job.policy == Policy::Block)))
    }

    /// Its short name: the name of its file without the ending.
    pub fn name(&self) -> String {
        stem(&self.file)
    }

    /// Returns whether it is about nodes that exchange messages, not about processors.
    pub fn is_network(&self) -> bool {
        self.root.get("network").is_some()
    }

    /// The files that it names and that were read: traces, and costs of other machines.
    pub fn inputs(&self) -> Vec<PathBuf> {
        self.files.inputs()
    }

    /// The numbers that its runs give.
    pub(super) fn metrics(&self) -> &'static [Metric] {
        metrics_of(self.is_network())
    }

    /// What it shows, in words.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The number that it shows, in words with its unit.
    pub fn shows(&self) -> String {
        let over = self.figure.over.filter(|_| self.figure.y.name == "speedup").map_or_else(String::new, |(axis, choice)| {
            let axis = &self.grid.axes[axis];
            format!(", {} = {}", axis.name, axis.choices[choice].label)
        });
        format!("{}{over} ({})", self.figure.y.what, self.figure.y.unit)
    }

    /// How many points it has: combinations of its choices.
    pub fn points(&self) -> usize {
        self.grid.points()
    }

    /// The names of the choices at a point.
    pub fn labels(&self, point: usize) -> Labels {
        self.grid.labels(point)
    }

    /// The names of the choices at a point; choices that are shown as one have one name.
    pub(super) fn group(&self, point: usize) -> Labels {
        self.grid.group(point)
    }

    pub(super) fn figure(&self) -> &PlanFigure {
        &self.figure
    }

    /// The seeds with which a point is run.
    ///
    /// # Errors
    /// None, for a plan that could be parsed.
    pub fn seeds(&self, point: usize) -> Result<Vec<u64>> {
        let seeds = self.grid.at(&self.root, point).and_then(|root| self.seeds_of(&root));
        seeds.map_err(|error| explain(&self.file, &error))
    }

    /// The study of a point with a seed. Spans are recorded at the first point only: there may be many.
    ///
    /// # Errors
    /// None, for a plan that could be parsed.
    pub fn study(&self, point: usize, seed: u64) -> Result<Study> {
        let study = self.grid.at(&self.root, point).and_then(|root| study::read(&root, &self.files, seed));
        let mut study = study.map_err(|error| explain(&self.file, &error))?;
        if let Study::Smp(study) = &mut study {
            study.record.spans = if point == 0 { study.record.spans.max(self.spans) } else { 0 };
        }
        Ok(study)
    }

    /// The point that speedups at this one are over.
    pub fn baseline(&self, point: usize) -> Option<usize> {
        self.figure.over.map(|(axis, choice)| self.grid.beside(point, axis, choice))
    }

    /// The points that differ from this one only in the choice that regrets are over, itself among them.
    pub(super) fn rivals(&self, point: usize) -> Option<impl Iterator<Item = usize>> {
        let axis = self.figure.best?;
        Some((0..self.grid.axes[axis].choices.len()).map(move |choice| self.grid.beside(point, axis, choice)))
    }

    /// The published factor that its two cases are compared with, if it names one.
    pub(super) fn published(&self) -> Option<&PublishedFactor> {
        self.published.as_ref()
    }

    /// The point that differs from this one only in the choice of an axis.
    pub(super) fn beside(&self, point: usize, axis: usize, choice: usize) -> usize {
        self.grid.beside(point, axis, choice)
    }

    /// The swept name of the axis that regrets are over.
    pub(super) fn best_name(&self) -> Option<&str> {
        self.figure.best.map(|axis| self.grid.axes[axis].name.as_str())
    }

    /// Remarks that a reader of its results needs.
    pub fn notes(&self) -> Vec<String> {
        if !self.files.asked_for_costs() {
            return vec![];
        }
        let note = "prices are those that `measure waits` found on this machine: elsewhere the plan gives other numbers";
        vec![note.to_owned()]
    }
}

/// The machine of today's scheduler with `cpus` processors and these changes: keys of a plan's `machine`.
///
/// # Errors
/// If a change is about something else, or makes no sense.
pub(crate) fn machine_of(cpus: u32, set: &[(String, String)]) -> Result<MachineSpec> {
    if let Some((key, _)) = set.iter().find(|(key, _)| !key.starts_with("machine.")) {
        return Err(anyhow!("--set {key}: a workload has its machine alone to change, as in machine.cpus=4"));
    }
    let machine = || {
        let mut root = Located::parse(&format!("[machine]\npreset = \"eevdf\"\ncpus = {cpus}"))?;
        set.iter().try_for_each(|(path, word)| root.set(path, &Located::of_word(word)))?;
        machine::machine(root.get("machine").unwrap_or(&Located::nothing()), &PlanFiles::new(Path::new("")))
    };
    machine().map_err(|error| anyhow!("--set: {}", error.what))
}

fn metrics_of(network: bool) -> &'static [Metric] {
    if network { &METRICS } else { &metric::METRICS }
}

/// The name of a file without folder and ending: `plans/fig3.toml` is `fig3`.
fn stem(file: &str) -> String {
    Path::new(file).file_stem().map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

fn explain(file: &str, mistake: &Mistake) -> anyhow::Error {
    match mistake.line {
        0 => anyhow!("{file} with --set: {}", mistake.what),
        line => anyhow!("{file}:{line}: {}", mistake.what),
    }
}
