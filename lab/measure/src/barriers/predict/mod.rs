//! Predicted against measured: the teams of the matrix in the simulator of processors, with this machine's
//! prices, beside their times here.
//!
//! `team`: a row of the matrix as a simulation. `places`: where its threads begin. `modes`: the one or two
//! states in which a team may settle, and the share of starts in each.
//!
//! A row's predictions are made before anything in it is measured, with the price of a line at that moment: a
//! hypervisor that moves virtual processors to other cores changes it by a factor of six, for minutes.

pub(crate) mod modes;
mod places;
pub(crate) mod team;

use super::waiters::Waiter;
use crate::calibration::Calibration;
use anyhow::Result;
use foregather_bench::barriers::parse;
use foregather_bench::prices;
use foregather_host::{affinity, interrupt};
use foregather_machine::{Costs, Nanos};
use foregather_results::Measurement;
use foregather_results::geomean_and_worst;
use foregather_results::ids::{CANDIDATE, PREDICTION_LIMIT};
use foregather_results::number::digits;
use foregather_results::row::Row;
use foregather_results::table::Shows::{By, Figure, Label};
use foregather_results::table::{Heading, ResultTable};
use modes::Modes;
use team::PredictedTeam;

/// Every prediction's id begins with it.
pub const ID: &str = "prediction/";
/// The waiters that are simulated unless others are asked for.
const USUAL: [&str; 5] = [CANDIDATE, "central/spin", "central/block", "central/spin-yield:2us", "central/two-phase:20us"];

/// How many starts of a cell's program are simulated, and measured unless another number is asked for.
pub const STARTS: u32 = 12;

/// What to predict, and on which machine.
pub struct PredictionPlan<'a> {
    /// What is measured in each row.
    pub waiters: &'a [Waiter],
    /// Whether the waiters were named by the user. Otherwise a few are simulated.
    pub named: bool,
    /// The machine's prices.
    pub costs: &'a Costs,
    /// For how long cells are measured, and are simulated.
    pub span: Nanos,
}

/// The simulated times of a waiter in a row.
pub(crate) struct Prediction<'a> {
    row: &'a Row,
    waiter: &'a str,
    /// Microseconds per barrier of each simulated start.
    times_us: Vec<f64>,
    modes: Modes,
}

/// Predicts row by row, each before it is measured.
pub struct BarrierPredictions<'a> {
    plan: PredictionPlan<'a>,
    likeness: Calibration,
    found: Vec<Prediction<'a>>,
    left_out: Vec<String>,
    notes: Vec<String>,
}

impl PredictionPlan<'_> {
    /// Returns whether it is this project's, and one of those that were requested.
    fn simulates(&self, waiter: &Waiter) -> bool {
        waiter.ours && (self.named || USUAL.contains(&waiter.name.as_str()))
    }

    fn simulate(&self, row: &Row, waiter: &Waiter, likeness: &Calibration) -> Result<Vec<f64>> {
        let (kind, policy) = parse(&waiter.spec, self.costs).map_err(anyhow::Error::msg)?;
        PredictedTeam::meeting(row, kind, policy, (affinity::allowed().len() as u32, self.span))
            .simulate(likeness, u64::from(STARTS))
    }
}

impl<'a> BarrierPredictions<'a> {
    /// Of no row yet.
    ///
    /// # Errors
    /// If the price of a preemption cannot be measured.
    pub fn new(plan: PredictionPlan<'a>) -> Result<Self> {
        let likeness = Calibration::with_preemption(plan.costs)?;
        Ok(Self { plan, likeness, found: vec![], left_out: vec![], notes: vec![] })
    }

    /// Predicts the row's cells, if it can be simulated, with what a line costs now.
    ///
    /// # Errors
    /// If a line to another processor cannot be measured.
    pub fn predict(&mut self, row: &'a Row) -> Result<()> {
        if !row.can_be_simulated() {
            self.left_out.push(row.name());
            return Ok(());
        }
        self.likeness.prices.line = prices::line_round_trip()?.map_or(self.likeness.prices.line, |line| line.percent(50));
        for waiter in self.plan.waiters.iter().filter(|waiter| self.plan.simulates(waiter)) {
            if interrupt::requested() {
                break;
            }
            match self.plan.simulate(row, waiter, &self.likeness) {
                Ok(times_us) => self.found.extend(Prediction::of(row, &waiter.name, times_us)),
                Err(error) => self.notes.push(format!("{} in `{}` is not predicted: {error:#}", waiter.name, row.name())),
            }
        }
        Ok(())
    }

    /// What was left out, and why.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        if !self.left_out.is_empty() {
            notes.push(format!(
                "not predicted, because the simulator has no fork-join episodes and no background load but hogs: {}",
                self.left_out.join("; ")
            ));
        }
        notes
    }

    /// A measurement for each prediction whose cell was measured, and one for each group of them.
    pub fn against(&self, cells: &[Measurement]) -> Vec<Measurement> {
        let mut found: Vec<Measurement> = self.found.iter().filter_map(|prediction| prediction.against(cells)).collect();
        found.extend(groups(&found));
        found
    }
}

impl<'a> Prediction<'a> {
    /// That of some simulated starts; `None` of none.
    pub(crate) fn of(row: &'a Row, waiter: &'a str, times_us: Vec<f64>) -> Option<Self> {
        Modes::of(&times_us).map(|modes| Self { row, waiter, times_us, modes })
    }

    /// Returns whether it is that of a row by a waiter.
    pub(crate) fn is(&self, row: &Row, waiter: &str) -> bool {
        self.row == row && self.waiter == waiter
    }

    fn against(&self, cells: &[Measurement]) -> Option<Measurement> {
        let is = |m: &&Measurement, label: &str, value: &str| m.labels.get(label).is_some_and(|found| found == value);
        let cell = cells.iter().find(|m| is(m, "row", &self.row.name()) && is(m, "waiter", self.waiter))?;
        let measured_us: Vec<f64> = cell.values.iter().flatten().map(|rate| 1e6 / rate).collect();
        self.against_times(&measured_us)
    }

    /// Compares it with the times of measured starts. `None` if there are none.
    pub(crate) fn against_times(&self, measured_us: &[f64]) -> Option<Measurement> {
        let (row, waiter) = (self.row.name(), self.waiter);
        let slow_share = |modes: &Modes| modes.slow.map_or(0.0, |slow| slow.share);
        let (factor, shares) = self.modes.against(measured_us);
        let measured = Modes::of(measured_us)?;
        let what = "simulated time per barrier, of each start";
        let prediction = Measurement::from_values(format!("{ID}{row}/{waiter}"), what, "us", self.times_us.clone())
            .label("row", &row)
            .label("class", self.row.class().name())
            .label("waiter", waiter)
            .label("kind", "prediction")
            .label("load", load(self.row))
            .figure("measured_us", measured.fast_us)
            .figure("measured_slow_us", measured.slow.map_or(f64::NAN, |slow| slow.us))
            .figure("measured_slow_share", slow_share(&measured))
            .figure("predicted_us", self.modes.fast_us)
            .figure("predicted_slow_us", self.modes.slow.map_or(f64::NAN, |slow| slow.us))
            .figure("predicted_slow_share", slow_share(&self.modes))
            .figure("factor", factor);
        // A factor that is no number is not within.
        let within = factor <= PREDICTION_LIMIT && modes::shares_agree(shares);
        Some(prediction.figure("within", f64::from(u8::from(within))))
    }
}

/// What a row is called that has neither hogs nor a quota, and what one is called that has.
pub(crate) const LOADS: [&str; 2] = ["alone", "hogs or quota"];

/// Returns the name of a row's load: whether it has busy processes or a quota.
fn load(row: &Row) -> &'static str {
    LOADS[usize::from(row.hogs > 0 || row.quota.is_some())]
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
            .figure("geomean", geomean)
            .figure("worst", worst),
    )
}

/// The ids of what groups come to begin with it.
const GROUP: &str = "prediction-summary/";
const COLUMNS: [Heading; 10] = [
    ("row", Label("row")),
    ("waiter", Label("waiter")),
    ("measured us", Figure("measured_us")),
    ("slow us", Figure("measured_slow_us")),
    ("share", Figure("measured_slow_share")),
    ("predicted us", Figure("predicted_us")),
    ("slow us", Figure("predicted_slow_us")),
    ("share", Figure("predicted_slow_share")),
    ("factor", Figure("factor")),
    ("verdict", By(|m| if m.number("within") == 1.0 { "within" } else { "beyond" }.to_owned())),
];

/// Returns whether it is a prediction, or the summary of a group of predictions.
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

/// `central/adaptive, alone: 20 of 24 within a factor of 1.5; geometric mean 1.12, worst 1.8`.
fn line(group: &Measurement) -> String {
    let figure = |name: &str| digits(group.number(name), 3);
    let whose = if group.text("name") == "all" { "all predictions" } else { group.text("name") };
    format!(
        "{whose}, {}: {} of {} within a factor of {}; geometric mean {}, worst {}\n",
        group.text("load"),
        figure("within"),
        group.summary.n,
        PREDICTION_LIMIT,
        figure("geomean"),
        figure("worst")
    )
}

#[cfg(test)]
mod tests {
    mod wrong_costs;

    use super::*;
    use crate::barriers::{rows::rows, waiters::own};
    use crate::options::BarriersOptions;

    fn compare(times_us: &[f64], rates: &[f64]) -> Measurement {
        let row = rows(&BarriersOptions::default()).0.into_iter().find(|row| row.name() == "2t + 1 hog, 1 us").unwrap();
        let waiter = own(CANDIDATE, &Costs::TYPICAL).unwrap();
        let modes = Modes::of(times_us).unwrap();
        let cell = Measurement::from_values("a", "", "", rates.to_vec()).label("row", row.name()).label("waiter", CANDIDATE);
        Prediction { row: &row, waiter: &waiter.name, times_us: times_us.to_vec(), modes }.against(&[cell]).unwrap()
    }

    #[test]
    fn both_states_and_their_shares_must_agree() {
        let figures = |m: &Measurement| ["measured_us", "predicted_us", "factor", "within"].map(|name| m.figures[name]);
        let one = compare(&[2.0, 2.0], &[4e5, 4e5]);
        assert_eq!((figures(&one), one.id.as_str()), ([2.5, 2.0, 1.25, 1.0], "prediction/2t + 1 hog, 1 us/central/adaptive"));
        assert_eq!(one.figures.get("predicted_slow_us"), None);
        let two = [2.0, 2.0, 100.0, 100.0];
        assert_eq!(figures(&compare(&two, &[5e5, 5e5, 1e4, 1e4])), [2.0, 2.0, 1.0, 1.0]);
        let other_share = compare(&two, &[5e5; 4]);
        assert_eq!(figures(&other_share), [2.0, 2.0, 1.0, 0.0], "half of the starts were to be slow");
        let slower = compare(&two, &[5e5, 5e5, 5e3, 5e3]);
        assert_eq!((figures(&slower), slower.figures["measured_slow_us"]), ([2.0, 2.0, 2.0, 0.0], 200.0));
    }

    #[test]
    fn peers_are_not_simulated_and_of_ours_only_a_few_that_nobody_named() {
        let mine = |name: &str| own(name, &Costs::TYPICAL).unwrap();
        let simulates = |named, waiter: &Waiter| {
            PredictionPlan { waiters: &[], named, costs: &Costs::TYPICAL, span: Nanos::ZERO }.simulates(waiter)
        };
        assert!(USUAL.iter().all(|name| simulates(false, &mine(name))));
        let yields = mine("central/yield");
        assert!(simulates(true, &yields) && !simulates(false, &yields));
        assert!(!simulates(true, &Waiter { ours: false, ..yields }));
    }

    fn prediction(waiter: &str, load: &str, factor: f64) -> Measurement {
        let within = if factor <= 2.0 { 1.0 } else { 0.0 };
        let m = Measurement::from_values("a", "", "", vec![1.0]).label("waiter", waiter).label("load", load);
        m.figure("factor", factor).figure("within", within)
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
        let group = group.label("name", "all").figure("within", 1.0).figure("geomean", 2.0);
        let matrix = Measurement::from_values("barriers/2t, 1 us/gomp", "", "", vec![1.0]).label("row", "elsewhere");
        let all = [matrix, cell.figure("factor", 1.75).figure("within", 0.0), group.figure("worst", 4.0)];
        let text = text(&all);
        assert!(
            text.contains("2t, 1 us") && text.contains("1.75") && text.contains("beyond") && !text.contains("elsewhere"),
            "{text}"
        );
        assert!(text.ends_with("all predictions, alone: 1 of 2 within a factor of 1.5; geometric mean 2, worst 4\n"), "{text}");
        assert_eq!(all.each_ref().map(is_prediction), [false, true, true]);
        assert_eq!(super::text(&all[..1]), "");
    }
}
