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

use crate::matrix::{Matrix, Order};
use crate::{Experiment, Measured, machine_file};
use anyhow::{Result, ensure};
use columns::{AGAIN, Candidate, OURS, ScratchFolder};
use foregather_bench::Work;
use foregather_cli::Regret;
use foregather_host::{affinity, clock};
use foregather_results::table::Shows::{Count, Figure, Label, Median};
use foregather_results::table::{Heading, ResultTable, texts};
use foregather_results::{Distribution, Measurement, Results};
use judge::{Interval, geomean};
use rows::DrawnRow;
use state::{RegretLog, Time};
use std::collections::BTreeMap;

const ID: &str = "regret/";
const ROWS: [Heading; 8] = [
    ("row", Label("row")),
    ("column", Label("column")),
    ("n", Count),
    ("us", Median),
    ("cpu us", Figure("cpu_us")),
    ("ratio", Figure("ratio")),
    ("low", Figure("low")),
    ("high", Figure("high")),
];
const CLASSES: [Heading; 7] = [
    ("class", Label("class")),
    ("column", Label("column")),
    ("rows", Figure("rows")),
    ("geomean", Figure("geomean")),
    ("worst", Figure("worst")),
    ("worst low", Figure("worst_low")),
    ("cpu", Figure("cpu_geomean")),
];

/// What a column came to in a row, in the order of its processes.
#[derive(Clone, Debug, Default)]
struct ColumnTimes {
    us: Vec<f64>,
    cpu_us: Vec<f64>,
}

impl Experiment for Regret {
    fn name(&self) -> &'static str {
        "regret"
    }

    fn seed(&self) -> Option<u64> {
        self.draw
    }

    fn measure(&self, quiet: bool) -> Result<Measured> {
        let seed = self.draw.unwrap_or_else(clock::unix_seconds);
        let costs = machine_file::load_or_measure()?;
        let (folder, mut notes) = (ScratchFolder::new()?, vec![]);
        let columns = columns::columns(self, &costs, &mut notes, &folder)?;
        ensure!(columns.len() > 1, "there is only one column, so no regret: {}", notes.join("; "));
        let cpus = affinity::allowed().len() as u32;
        let rows = rows::draw(seed, self.rows as usize, self.barriers, cpus);
        notes.push(format!("{} rows drawn by seed {seed}; `--draw {seed}` draws them again", rows.len()));
        let mut state = RegretLog::open(self.state.as_deref(), seed)?;
        let iterations_per_us = Work::iterations_per_us();
        let cells = rows.len() * columns.len();
        let mut matrix = Matrix::new("regret", cells, self.starts, Order::Random(seed), quiet);
        for row in &rows {
            let name = |column: &Candidate| format!("{}: {}", row.name, column.name);
            let runs = matrix.row(row.surroundings(), &columns, name, |column, turn| {
                let key = (row.name.as_str(), column.name.as_str(), turn.repetition);
                if let Some(time) = state.known(key) {
                    return Ok(Some(time));
                }
                let answer = column.run(row, self, iterations_per_us)?;
                // A cell that collapsed did one episode in all its time.
                let time = answer.map_or(Time::collapsed(self.ms + self.settle), |cell| Time::of(&cell));
                state.keep(key, time)?;
                Ok(Some(time))
            })?;
            let times = |runs: &Vec<Time>| ColumnTimes {
                us: runs.iter().map(|time| time.us).collect(),
                cpu_us: runs.iter().map(|time| time.cpu_us).collect(),
            };
            let times: Vec<ColumnTimes> = runs.iter().map(|runs| times(&runs.results)).collect();
            matrix.found.measurements.extend(row_of(row, &columns, &times, cpus, self.wrong_costs));
        }
        let summaries = summaries(&matrix.found.measurements);
        matrix.found.measurements.extend(summaries);
        matrix.found.notes.splice(0..0, notes);
        matrix.end()
    }

    fn text(&self, results: &Results) -> String {
        let (classes, rows): (Vec<_>, Vec<_>) = results.measurements.iter().partition(|m| m.id.starts_with("regret-of/"));
        let mut rows: Vec<_> = rows.into_iter().filter(|m| self.wrong_costs || m.text("column") == OURS).collect();
        rows.sort_by(|a, b| b.number("ratio").total_cmp(&a.number("ratio")));
        texts([ResultTable::of(&ROWS, rows), ResultTable::of(&CLASSES, classes)])
    }
}

/// The measurements of a row. The ratio of ours and of its repetition is the regret against the best
/// column; that of another column is against ours.
fn row_of(row: &DrawnRow, columns: &[Candidate], times: &[ColumnTimes], cpus: u32, wrong_costs: bool) -> Vec<Measurement> {
    let us: Vec<Vec<f64>> = times.iter().map(|times| times.us.clone()).collect();
    let pair: Vec<Vec<f64>> = us.iter().take(2).cloned().collect();
    let cpu_of = |at: usize| Distribution::of_values(&times[at].cpu_us).map_or(f64::NAN, |all| all.quantile(0.5));
    let one = |(at, column): (usize, &Candidate)| {
        let (against, interval) = match column.name.as_str() {
            OURS if !wrong_costs => judge::regret(&us, at)?,
            // The noise: ours against the better of two columns that are the same.
            AGAIN if !wrong_costs => judge::regret(&pair, at)?,
            _ => (0, judge::ratio(&us[0], &us[at])?),
        };
        let Interval { ratio, low, high } = interval;
        let what = "one episode, mean of a process";
        let id = format!("{ID}{}/{}", row.name, column.name);
        Some(
            Measurement::from_values(id, what, "us", us[at].clone())
                .label("row", row.name.clone())
                .label("class", row.class(cpus))
                .label("column", column.name.clone())
                .label("against", columns[against].name.clone())
                .figure("ratio", ratio)
                .figure("low", low)
                .figure("high", high)
                .figure("cpu_us", cpu_of(at))
                .figure("cpu_ratio", cpu_of(at) / cpu_of(against)),
        )
    };
    columns.iter().enumerate().filter_map(one).collect()
}

/// A measurement for each class of rows and column, and for all rows.
fn summaries(all: &[Measurement]) -> Vec<Measurement> {
    let mut groups: BTreeMap<(String, String), Vec<&Measurement>> = BTreeMap::new();
    for m in all {
        for class in [m.text("class"), "all rows"] {
            groups.entry((class.to_owned(), m.text("column").to_owned())).or_default().push(m);
        }
    }
    let of = |((class, column), group): ((String, String), Vec<&Measurement>)| {
        let figure = |name: &str| group.iter().map(|m| m.number(name)).filter(|value| value.is_finite()).collect::<Vec<_>>();
        let (ratios, lows, cpu) = (figure("ratio"), figure("low"), figure("cpu_ratio"));
        let most = |values: &[f64]| values.iter().copied().fold(f64::NAN, f64::max);
        Measurement::from_values(format!("regret-of/{class}/{column}"), "ratios of the rows of a class", "", ratios.clone())
            .label("class", class)
            .label("column", column)
            .figure("rows", ratios.len() as f64)
            .figure("geomean", geomean(&ratios))
            .figure("worst", most(&ratios))
            .figure("worst_low", most(&lows))
            .figure("cpu_geomean", geomean(&cpu))
    };
    groups.into_iter().map(of).collect()
}
