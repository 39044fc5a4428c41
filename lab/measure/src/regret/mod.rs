//! Regret: how much slower ours is than the best way to wait, row by row, in rows that no policy was tuned
//! to.
//!
//! - `rows`: what is drawn. `columns`: ways to wait, among them ours a second time, whose regret is the
//!   noise.
//! - `judge`: the best column is chosen by every other process, and the regret computed by the others.
//! - `state`: results so far, so that an interrupted run goes on.
mod columns;
mod judge;
mod rows;
mod state;

use crate::cells::myself;
use crate::matrix::{CellLoop, TurnOrder};
use crate::options::Regret;
use crate::{Experiment, Measured, machine_file, peers};
use anyhow::{Result, ensure};
pub(super) use columns::ScratchFolder;
use columns::{AGAIN, BLOCK, Candidate, OURS};
use foregather_bench::Work;
use foregather_host::{affinity, clock, interrupt};
use foregather_results::geomean;
use foregather_results::ids::REGRET;
use foregather_results::table::Shows::{Count, Figure, Label, Median};
use foregather_results::table::{Heading, ResultTable, texts};
use foregather_results::{Distribution, Measurement, NoiseMeter, Results};
use judge::{ClassRatios, Interval, RowRatios};
use rows::DrawnRow;
use state::{RegretLog, Time};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What ids of classes of rows begin with.
pub const OF_CLASS: &str = "regret-of/";
const ROWS: [Heading; 14] = [
    ("row", Label("row")),
    ("column", Label("column")),
    ("n", Count),
    ("us", Median),
    ("best", Label("against")),
    ("ratio", Figure("ratio")),
    ("low", Figure("low")),
    ("high", Figure("high")),
    ("floor", Figure("floor")),
    ("/block", Figure("block")),
    ("low", Figure("block_low")),
    ("cpu", Figure("cpu_ratio")),
    ("others %", Figure("foreign_percent")),
    ("verdict", Label("verdict")),
];
const CLASSES: [Heading; 11] = [
    ("class", Label("class")),
    ("column", Label("column")),
    ("rows", Figure("rows")),
    ("geomean", Figure("geomean")),
    ("floor", Figure("floor_geomean")),
    ("worst", Figure("worst")),
    (">1.5", Figure("above")),
    ("/block", Figure("block_geomean")),
    (">1.15", Figure("above_block")),
    ("cpu", Figure("cpu_geomean")),
    ("verdict", Label("verdict")),
];
/// The class of all rows.
const ALL_ROWS: &str = "all rows";

/// What a column came to in a row, in the order of its processes.
#[derive(Clone, Debug, Default)]
struct ColumnTimes {
    us: Vec<f64>,
    cpu_us: Vec<f64>,
}

impl ColumnTimes {
    fn cpu_us(&self) -> f64 {
        Distribution::quantile_of(self.cpu_us.iter().copied(), 0.5)
    }
}

/// A row with all its results.
struct SeenRow<'a> {
    row: &'a DrawnRow,
    columns: &'a [Candidate],
    times: Vec<ColumnTimes>,
    cpus: u32,
    foreign_percent: f64,
}

impl Experiment for Regret {
    fn measure(&self, quiet: bool) -> Result<Measured> {
        let seed = self.draw.unwrap_or_else(clock::unix_seconds);
        let costs = machine_file::load_or_measure()?;
        let (folder, mut notes) = (ScratchFolder::new()?, vec![]);
        let columns = columns::columns(self, &costs, &mut notes, &folder)?;
        ensure!(columns.len() > 1, "there is only one column, so no regret: {}", notes.join("; "));
        let cpus = affinity::allowed().len() as u32;
        let rows = rows::draw(seed, self.rows as usize, self.barriers, cpus);
        notes.push(format!("{} rows drawn by seed {seed}; `--draw {seed}` draws them again", rows.len()));
        let mut log = RegretLog::open(self.state.as_deref(), &run_name(self, seed))?;
        let iterations_per_us = Work::iterations_per_us();
        let is_known = |log: &RegretLog, row: &DrawnRow| {
            columns.iter().all(|column| log.all(&row.name, &column.name, self.starts).len() == self.starts as usize)
        };
        let ahead = rows.iter().filter(|row| !is_known(&log, row)).count();
        let mut matrix = CellLoop::new("regret", ahead * columns.len(), self.starts, TurnOrder::Random(seed), quiet);
        let mut complete = 0;
        for row in &rows {
            let name = |column: &Candidate| format!("{}: {}", row.name, column.name);
            if !is_known(&log, row) && !interrupt::requested() {
                let meter = NoiseMeter::start();
                matrix.row(row.surroundings(), &columns, name, |column, turn| {
                    let key = (row.name.as_str(), column.name.as_str(), turn.repetition);
                    if log.known(key).is_none() {
                        let answer = column.run(row, self, iterations_per_us)?;
                        // A cell that collapsed did one episode in all its time.
                        let time = answer.map_or(Time::collapsed(self.ms + self.settle), |cell| Time::of(&cell));
                        log.keep(key, time)?;
                    }
                    Ok(Some(()))
                })?;
                log.keep_foreign(&row.name, meter.stop(&[]).foreign_percent.unwrap_or(f64::NAN))?;
            }
            let seen = SeenRow::of(row, &columns, &log, cpus, self.starts);
            // Half a row is no row.
            if seen.times[0].us.len() == self.starts as usize {
                complete += 1;
                matrix.found.measurements.extend(seen.measurements(self.wrong_costs));
            }
        }
        if complete < rows.len() {
            notes.push(format!("{complete} of {} rows are complete: the same command with --state goes on", rows.len()));
        }
        let summaries = summaries(&matrix.found.measurements, self.starts);
        matrix.found.measurements.extend(summaries);
        matrix.found.notes.splice(0..0, notes);
        matrix.end()
    }

    fn text(&self, results: &Results) -> String {
        let (classes, rows): (Vec<_>, Vec<_>) = results.measurements.iter().partition(|m| m.id.starts_with(OF_CLASS));
        let mut rows: Vec<_> =
            rows.into_iter().filter(|m| self.wrong_costs || self.ablation || m.text("column") == OURS).collect();
        rows.sort_by(|a, b| b.number("ratio").total_cmp(&a.number("ratio")));
        texts([ResultTable::of(&ROWS, rows), ResultTable::of(&CLASSES, classes)])
    }
}

/// Names a run by all that its results depend on: options, and programs by what is in them.
fn run_name(options: &Regret, seed: u64) -> String {
    let mut hasher = DefaultHasher::new();
    let Regret { barriers, wrong_costs, ablation, ms, settle, .. } = options;
    (seed, barriers, wrong_costs, ablation, ms, settle).hash(&mut hasher);
    let files = if options.barriers { vec![myself()] } else { peers::own_runtime().into_iter().collect() };
    for file in files.into_iter().chain(peers::program()).chain(options.old.clone()) {
        std::fs::read(&file).unwrap_or_default().hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

impl<'a> SeenRow<'a> {
    fn of(row: &'a DrawnRow, columns: &'a [Candidate], log: &RegretLog, cpus: u32, starts: u32) -> Self {
        let times = |column: &Candidate| {
            let all = log.all(&row.name, &column.name, starts);
            ColumnTimes { us: all.iter().map(|time| time.us).collect(), cpu_us: all.iter().map(|time| time.cpu_us).collect() }
        };
        let (times, foreign_percent) = (columns.iter().map(times).collect(), log.foreign_percent(&row.name));
        Self { row, columns, times, cpus, foreign_percent }
    }

    /// A measurement for each column. The ratio of ours is its regret; that of another column is against
    /// ours.
    fn measurements(&self, wrong_costs: bool) -> Vec<Measurement> {
        let us: Vec<Vec<f64>> = self.times.iter().map(|times| times.us.clone()).collect();
        let one = |at: usize| {
            if at == 0 && !wrong_costs {
                let (best, ratios) = self.ratios(&us)?;
                return Some(self.of_ours(best, &ratios));
            }
            let Interval { ratio, low, high } = judge::ratio(&us[0], &us[at])?;
            let m = self.measurement(at).label("against", OURS).figure("ratio", ratio).figure("low", low).figure("high", high);
            Some(m.figure("cpu_ratio", self.times[at].cpu_us() / self.times[0].cpu_us()))
        };
        (0..self.columns.len()).filter_map(one).collect()
    }

    /// The best column, and what ours comes to beside it, beside itself and beside our `block`.
    fn ratios(&self, us: &[Vec<f64>]) -> Option<(usize, RowRatios)> {
        let at = |name: &str| self.columns.iter().position(|column| column.name == name);
        let (again, block) = (at(AGAIN), at(BLOCK));
        // Ours again is no other way to wait.
        let among: Vec<usize> = (0..us.len()).filter(|&at| Some(at) != again).collect();
        let (best, regret) = judge::regret(us, &among, 0)?;
        let floor = again.and_then(|again| judge::regret(us, &[0, again], again)).map(|(_, floor)| floor);
        let block = block.and_then(|block| judge::ratio(&us[block], &us[0]));
        let cpu = self.times[0].cpu_us() / self.times[best].cpu_us();
        Some((best, RowRatios { regret: Some(regret), floor, block, cpu }))
    }

    fn of_ours(&self, best: usize, ratios: &RowRatios) -> Measurement {
        let named = [("ratio", "low", "high"), ("floor", "floor_low", "floor_high"), ("block", "block_low", "block_high")];
        let intervals = [ratios.regret, ratios.floor, ratios.block];
        let mut m = self.measurement(0).label("against", self.columns[best].name.clone()).label("verdict", ratios.verdict());
        for ((ratio, low, high), interval) in named.into_iter().zip(intervals) {
            let Some(interval) = interval else { continue };
            m = m.figure(ratio, interval.ratio).figure(low, interval.low).figure(high, interval.high);
        }
        m.figure("cpu_ratio", ratios.cpu)
    }

    fn measurement(&self, at: usize) -> Measurement {
        let (row, column) = (self.row, &self.columns[at]);
        let id = format!("{REGRET}{}/{}", row.name, column.name);
        Measurement::from_values(id, "one episode, mean of a process", "us", self.times[at].us.clone())
            .label("row", row.name.clone())
            .label("class", row.class(self.cpus))
            .label("column", column.name.clone())
            .label("episodes", row.episodes())
            .figure("cpu_us", self.times[at].cpu_us())
            .figure("foreign_percent", self.foreign_percent)
    }
}

impl RowRatios {
    /// As a row's measurement of ours has them.
    fn of(m: &Measurement) -> Self {
        let interval = |names: [&str; 3]| {
            let [ratio, low, high] = names.map(|name| m.number(name));
            ratio.is_finite().then_some(Interval { ratio, low, high })
        };
        Self {
            regret: interval(["ratio", "low", "high"]),
            floor: interval(["floor", "floor_low", "floor_high"]),
            block: interval(["block", "block_low", "block_high"]),
            cpu: m.number("cpu_ratio"),
        }
    }
}

/// A measurement for each class of rows and column, and for all rows.
fn summaries(all: &[Measurement], starts: u32) -> Vec<Measurement> {
    let mut groups: BTreeMap<(String, String), Vec<&Measurement>> = BTreeMap::new();
    for m in all {
        for class in [m.text("class"), ALL_ROWS] {
            groups.entry((class.to_owned(), m.text("column").to_owned())).or_default().push(m);
        }
    }
    let of = |((class, column), group): ((String, String), Vec<&Measurement>)| {
        let figure = |name: &str| group.iter().map(|m| m.number(name)).filter(|value| value.is_finite()).collect::<Vec<_>>();
        let ratios = figure("ratio");
        let most = |values: Vec<f64>| values.into_iter().fold(f64::NAN, f64::max);
        let m =
            Measurement::from_values(format!("{OF_CLASS}{class}/{column}"), "ratios of the rows of a class", "", ratios.clone())
                .label("class", class.clone())
                .label("column", column.clone())
                .figure("rows", ratios.len() as f64)
                .figure("geomean", geomean(ratios.iter().copied()))
                .figure("worst", most(ratios))
                .figure("worst_low", most(figure("low")))
                .figure("cpu_geomean", geomean(figure("cpu_ratio")));
        let rows: Vec<RowRatios> = group.iter().map(|m| RowRatios::of(m)).collect();
        // Without the noise floor nothing is judged.
        if rows.iter().all(|row| row.floor.is_none()) {
            return m;
        }
        let class = ClassRatios::of(&rows, class == rows::ALONE);
        m.label("verdict", class.verdict(starts))
            .figure("floor_geomean", class.floor)
            .figure("above", class.above as f64)
            .figure("block_geomean", class.block)
            .figure("above_block", class.above_block as f64)
    };
    groups.into_iter().map(of).collect()
}
