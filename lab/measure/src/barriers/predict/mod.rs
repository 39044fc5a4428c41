//! Predicted against measured: the teams of the matrix in the simulator of processors, with this machine's
//! prices, beside what they came to here.
//!
//! [`team`]: a row of the matrix as a simulation, and where its members begin.
//!
//! Where the members of a free team settle is chance, and decides more than anything else: a team that shares
//! a processor and one that is spread are simulated each by itself, and the measured share of stacked
//! episodes says which of them counts.

pub mod team;
#[cfg(test)]
mod wrong_costs;

use super::figures::geomean_and_worst;
use super::rows::Row;
use super::waiters::{CANDIDATE, Waiter};
use crate::calibration::{Calibration, factor};
use anyhow::Result;
use foregather_bench::Stranger;
use foregather_bench::barriers::parse;
use foregather_host::{affinity, interrupt};
use foregather_machine::{Costs, Nanos};
use foregather_results::number::digits;
use foregather_results::progress::Progress;
use foregather_results::table::Shows::{By, Figure, Label};
use foregather_results::table::{Heading, ResultTable};
use foregather_results::{Distribution, Measurement};
use team::{Start, Team};

/// Every prediction's id begins with it.
pub const ID: &str = "prediction/";
/// The waiters that are simulated unless others are asked for.
const USUAL: [&str; 5] = [CANDIDATE, "central/spin", "central/block", "central/spin-yield:2us", "central/two-phase:20us"];

/// What to predict, and on which machine.
pub struct Plan<'a> {
    /// The rows that were measured.
    pub rows: &'a [Row],
    /// What was measured in them.
    pub waiters: &'a [Waiter],
    /// Were the waiters named? Otherwise a few are simulated.
    pub named: bool,
    /// The machine's prices.
    pub costs: &'a Costs,
    /// For how long cells were measured, and are simulated.
    pub span: Nanos,
}

/// What was measured of a waiter in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Time per barrier.
    pub us: f64,
    /// The share of episodes in which all members were on one processor.
    pub stacked: f64,
}

impl Measured {
    /// That of the row's cell; `None` if there is none, or if it collapsed in most of its runs: that has no
    /// time per barrier.
    fn of(cells: &[Measurement], row: &str, waiter: &str) -> Option<Self> {
        let is = |m: &&Measurement, label: &str, value: &str| m.labels.get(label).is_some_and(|found| found == value);
        let cell = cells.iter().find(|m| is(m, "row", row) && is(m, "waiter", waiter))?;
        let figure = |name: &str| cell.figures.get(name).copied();
        let collapsed = figure("collapsed_runs").unwrap_or(0.0) * 2.0 >= cell.summary.n as f64;
        Some(Self { us: figure("us_per_episode").filter(|_| !collapsed)?, stacked: figure("stacked")? })
    }
}

/// One cell of the matrix on both sides.
struct Prediction {
    measured: Measured,
    /// Time per barrier from a spread start and from a stacked one; a pinned team has only its own.
    simulated: Vec<(Start, Simulated)>,
}

/// Microseconds per barrier, of each seed.
type Simulated = Vec<f64>;

impl Plan<'_> {
    /// A measurement for each cell that can be simulated, one for each group of them, and what was left out.
    pub fn run(&self, cells: &[Measurement], quiet: bool) -> (Vec<Measurement>, Vec<String>) {
        let likeness = Calibration::of(self.costs);
        let (left_out, rows): (Vec<&Row>, Vec<&Row>) =
            self.rows.iter().partition(|row| row.fork_join || row.stranger != Stranger::Hog);
        let mut notes = Vec::new();
        if !left_out.is_empty() {
            let names: Vec<String> = left_out.iter().map(|row| row.name()).collect();
            notes.push(format!(
                "not predicted, since the simulator has no fork-join episodes and no strangers but hogs: {}",
                names.join("; ")
            ));
        }
        let waiters: Vec<&Waiter> = self.waiters.iter().filter(|waiter| self.simulates(waiter)).collect();
        let mut progress = Progress::new("predict", rows.len() * waiters.len(), quiet);
        let mut found = Vec::new();
        for (row, waiter) in rows.iter().flat_map(|row| waiters.iter().map(move |waiter| (row, waiter))) {
            progress.step(&format!("{}: {}", row.name(), waiter.name));
            let Some(measured) = Measured::of(cells, &row.name(), &waiter.name) else { continue };
            match self.predict(row, waiter, measured, &likeness) {
                _ if interrupt::requested() => break,
                Ok(prediction) => found.extend(measurement(row, waiter, &prediction)),
                Err(error) => notes.push(format!("{} in `{}` is not predicted: {error:#}", waiter.name, row.name())),
            }
        }
        found.extend(groups(&found));
        (found, notes)
    }

    /// Is it ours, and one of those that were asked for?
    fn simulates(&self, waiter: &Waiter) -> bool {
        waiter.ours && (self.named || USUAL.contains(&waiter.name.as_str()))
    }

    fn predict(&self, row: &Row, waiter: &Waiter, measured: Measured, likeness: &Calibration) -> Result<Prediction> {
        let (kind, policy) = parse(&waiter.spec, self.costs).map_err(anyhow::Error::msg)?;
        let team = Team { row, kind, policy, cpus: affinity::allowed().len() as u32, span: self.span };
        let starts: &[Start] = if row.pinned { &[Start::Pinned] } else { &[Start::Spread, Start::Stacked] };
        let simulated = starts.iter().map(|&start| Ok((start, team.simulate(start, likeness)?))).collect::<Result<_>>()?;
        Ok(Prediction { measured, simulated })
    }
}

/// A prediction as a measurement; `None` if nothing was simulated.
fn measurement(row: &Row, waiter: &Waiter, prediction: &Prediction) -> Option<Measurement> {
    let of = |start: Start| prediction.simulated.iter().find(|(simulated, _)| *simulated == start);
    let median = |start| of(start).and_then(|(_, us)| Distribution::of_values(us)).map_or(f64::NAN, |all| all.quantile(0.5));
    let start = Start::fitting(row.pinned, prediction.measured.stacked);
    let (measured, predicted) = (prediction.measured.us, median(start));
    let (factor, limit) = (factor(measured, predicted), limit(row));
    let what = "simulated time per barrier, from the start that fits what was measured";
    let all = Measurement::from_values(format!("{ID}{}/{}", row.name(), waiter.name), what, "us", of(start)?.1.clone())
        .label("row", row.name())
        .label("class", row.class().name())
        .label("waiter", &waiter.name)
        .label("kind", "prediction")
        .label("load", load(row))
        .label("start", start.name())
        .figure("measured_us", measured)
        .figure("stacked", prediction.measured.stacked)
        .figure("spread_us", median(Start::Spread))
        .figure("stacked_us", median(Start::Stacked))
        .figure("predicted_us", predicted)
        .figure("factor", factor)
        .figure("limit", limit);
    // A factor that is no number is not within.
    Some(all.figure("within", f64::from(u8::from(factor <= limit))))
}

/// A prediction of a team that is alone is near enough if it is off by no more than this.
pub const LIMIT_ALONE: f64 = 1.3;
/// Beside hogs and under a quota single events decide, and the kernel has reasons that the simulator does not
/// know.
pub const LIMIT_CROWDED: f64 = 2.0;

/// What a row is called that has neither hogs nor a quota, and what one is called that has.
const LOADS: [&str; 2] = ["alone", "hogs or quota"];

fn is_crowded(row: &Row) -> bool {
    row.hogs > 0 || row.quota.is_some()
}

/// By which factor a prediction of that row may be off.
fn limit(row: &Row) -> f64 {
    if is_crowded(row) { LIMIT_CROWDED } else { LIMIT_ALONE }
}

/// Has a row hogs or a quota?
fn load(row: &Row) -> &'static str {
    LOADS[usize::from(is_crowded(row))]
}

/// How many predictions are within, and how far they are off: of the adaptive waiter and of all, alone and
/// not.
fn groups(predictions: &[Measurement]) -> Vec<Measurement> {
    let whose = [CANDIDATE, "all"];
    whose.iter().flat_map(|who| LOADS.iter().filter_map(|load| group(predictions, who, load))).collect()
}

fn group(predictions: &[Measurement], who: &str, load: &str) -> Option<Measurement> {
    let mine = |m: &&Measurement| m.text("load") == load && (who == "all" || m.text("waiter") == who);
    let mine: Vec<&Measurement> = predictions.iter().filter(mine).collect();
    let figures = |name: &str| mine.iter().filter_map(|m| m.figures.get(name).copied()).collect::<Vec<f64>>();
    let factors = figures("factor");
    let (geomean, worst) = geomean_and_worst(&factors, false)?;
    let what = "measured and predicted time per barrier differ by this factor";
    Some(
        Measurement::from_values(format!("prediction-summary/{who}/{load}"), what, "factor", factors)
            .label("name", who)
            .label("load", load)
            .figure("within", figures("within").iter().sum())
            .figure("limit", figures("limit").first().copied().unwrap_or(f64::NAN))
            .figure("geomean", geomean)
            .figure("worst", worst),
    )
}

/// The ids of what groups come to begin with it.
const GROUP: &str = "prediction-summary/";
const COLUMNS: [Heading; 10] = [
    ("row", Label("row")),
    ("waiter", Label("waiter")),
    ("start", Label("start")),
    ("measured us", Figure("measured_us")),
    ("stacked", Figure("stacked")),
    ("spread us", Figure("spread_us")),
    ("stacked us", Figure("stacked_us")),
    ("predicted us", Figure("predicted_us")),
    ("factor", Figure("factor")),
    ("verdict", By(|m| if m.number("within") == 1.0 { "within" } else { "beyond" }.to_owned())),
];

/// Is it a prediction, or what a group of predictions comes to?
pub fn is_prediction(m: &Measurement) -> bool {
    m.id.starts_with(ID) || m.id.starts_with(GROUP)
}

/// Every cell in a line of a table, then a line for each group; nothing if nothing was predicted.
pub fn text(measurements: &[Measurement]) -> String {
    let of = |prefix: &'static str| measurements.iter().filter(move |m| m.id.starts_with(prefix));
    let table = ResultTable::of(&COLUMNS, of(ID));
    if table.rows.is_empty() {
        return String::new();
    }
    format!("{}\n{}", table.to_text(), of(GROUP).map(line).collect::<String>())
}

/// `central/adaptive, alone: 20 of 24 within a factor of 1.3; geometric mean 1.12, worst 1.8`.
fn line(group: &Measurement) -> String {
    let figure = |name: &str| digits(group.number(name), 3);
    let whose = if group.text("name") == "all" { "all predictions" } else { group.text("name") };
    format!(
        "{whose}, {}: {} of {} within a factor of {}; geometric mean {}, worst {}\n",
        group.text("load"),
        figure("within"),
        group.summary.n,
        figure("limit"),
        figure("geomean"),
        figure("worst")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::barriers::{rows::rows, waiters::own};
    use crate::options::Barriers;

    fn row(name: &str) -> Row {
        rows(&Barriers::default()).0.into_iter().find(|row| row.name() == name).unwrap()
    }

    fn describe(row_name: &str, measured: Measured, simulated: Vec<(Start, Simulated)>) -> Measurement {
        let waiter = own(CANDIDATE, &Costs::TYPICAL).unwrap();
        measurement(&row(row_name), &waiter, &Prediction { measured, simulated }).unwrap()
    }

    #[test]
    fn the_start_that_fits_is_the_prediction_and_both_are_told() {
        let both = || vec![(Start::Spread, vec![1.0, 9.0, 2.0]), (Start::Stacked, vec![40.0])];
        let spread = describe("2t, 1 us", Measured { us: 2.5, stacked: 0.1 }, both());
        let figures = ["measured_us", "spread_us", "stacked_us", "predicted_us", "factor", "within"];
        assert_eq!(figures.map(|name| spread.figures[name]), [2.5, 2.0, 40.0, 2.0, 1.25, 1.0]);
        assert_eq!((spread.id.as_str(), spread.labels["start"].as_str()), ("prediction/2t, 1 us/central/adaptive", "spread"));
        let stacked = describe("2t, 1 us", Measured { us: 20.0, stacked: 0.5 }, both());
        assert_eq!(figures.map(|name| stacked.figures[name]), [20.0, 2.0, 40.0, 40.0, 2.0, 0.0]);
    }

    #[test]
    fn beside_hogs_the_same_factor_is_near_enough() {
        let spread = |us| vec![(Start::Spread, vec![us]), (Start::Stacked, vec![0.5])];
        let within = |row: &str, us| describe(row, Measured { us: 10.0, stacked: 0.0 }, spread(us)).figures["within"];
        assert_eq!([within("2t, 1 us", 13.0), within("2t, 1 us", 19.0), within("2t + 1 hog, 1 us", 19.0)], [1.0, 0.0, 1.0]);
        assert_eq!([within("2t + 1 hog, 1 us", 4.9), within("2t + 1 hog, 1 us", f64::NAN)], [0.0, 0.0]);
    }

    #[test]
    fn what_collapsed_was_not_measured() {
        let cell = |runs: usize, collapsed: f64| {
            let m = Measurement::from_values("a", "", "", vec![1.0; runs]).label("row", "r").label("waiter", "w");
            [m.figure("us_per_episode", 4.0).figure("stacked", 0.25).figure("collapsed_runs", collapsed)]
        };
        assert_eq!(Measured::of(&cell(3, 1.0), "r", "w"), Some(Measured { us: 4.0, stacked: 0.25 }));
        assert_eq!(Measured::of(&cell(3, 2.0), "r", "w"), None);
        assert_eq!(Measured::of(&cell(3, 0.0), "r", "another"), None);
    }

    #[test]
    fn peers_are_not_simulated_and_of_ours_only_a_few_that_nobody_named() {
        let mine = |name: &str| own(name, &Costs::TYPICAL).unwrap();
        let simulates = |named, waiter: &Waiter| {
            Plan { rows: &[], waiters: &[], named, costs: &Costs::TYPICAL, span: Nanos::ZERO }.simulates(waiter)
        };
        assert!(USUAL.iter().all(|name| simulates(false, &mine(name))));
        let yields = mine("central/yield");
        assert!(simulates(true, &yields) && !simulates(false, &yields));
        assert!(!simulates(true, &Waiter { ours: false, ..yields }));
    }

    fn prediction(waiter: &str, load: &str, factor: f64) -> Measurement {
        let within = if factor <= 2.0 { 1.0 } else { 0.0 };
        let m = Measurement::from_values("a", "", "", vec![1.0]).label("waiter", waiter).label("load", load);
        m.figure("factor", factor).figure("within", within).figure("limit", 2.0)
    }

    #[test]
    fn the_adaptive_waiter_and_all_have_a_group_for_each_load() {
        let all = [
            prediction(CANDIDATE, LOADS[0], 1.0),
            prediction("central/spin", LOADS[0], 4.0),
            prediction("central/spin", LOADS[1], 1.5),
        ];
        let found = groups(&all);
        let ids: Vec<&str> = found.iter().map(|m| m.id.as_str()).collect();
        let expected = ["central/adaptive/alone", "all/alone", "all/hogs or quota"];
        assert_eq!(ids, expected.map(|id| format!("prediction-summary/{id}")));
        let alone = &found[1];
        assert_eq!(
            (alone.summary.n, alone.figures["within"], alone.figures["geomean"], alone.figures["worst"]),
            (2, 1.0, 2.0, 4.0)
        );
        assert_eq!(groups(&[]), []);
    }

    #[test]
    fn a_cell_has_a_line_in_the_table_and_a_group_one_below_it() {
        let cell = Measurement::from_values("prediction/2t, 1 us/central/spin", "", "us", vec![2.0]).label("row", "2t, 1 us");
        let group = Measurement::from_values("prediction-summary/all/alone", "", "factor", vec![1.0, 4.0]).label("load", "alone");
        let group = group.label("name", "all").figure("within", 1.0).figure("limit", 1.3).figure("geomean", 2.0);
        let matrix = Measurement::from_values("barriers/2t, 1 us/gomp", "", "", vec![1.0]).label("row", "elsewhere");
        let all = [matrix, cell.figure("factor", 1.75).figure("within", 0.0), group.figure("worst", 4.0)];
        let text = text(&all);
        assert!(
            text.contains("2t, 1 us") && text.contains("1.75") && text.contains("beyond") && !text.contains("elsewhere"),
            "{text}"
        );
        assert!(text.ends_with("all predictions, alone: 1 of 2 within a factor of 1.3; geometric mean 2, worst 4\n"), "{text}");
        assert_eq!(all.each_ref().map(is_prediction), [false, true, true]);
        assert_eq!(super::text(&all[..1]), "");
    }
}
