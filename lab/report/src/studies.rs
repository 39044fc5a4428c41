//! Studies of barriers: the adaptive waiter without each rule of its table, what the simulator predicts, and
//! the butterfly barrier of Seidel & Davis 1992 over the number of nodes.
//!
//! Draws measurements with the labels `row` and `off` (a rule, or `nothing`) and the figure `times_full`, the
//! time of an episode over that with all rules; those with the labels `row`, `waiter` and `class` and the
//! figures `measured_us`, `predicted_us`, `factor` and `within`; those with ids under `simulated/butterfly/`
//! and the labels `nodes` and `series`.
use super::axis::Scale;
use super::curve::{Curve, CurveStyle, Point};
use super::names::PRODUCT;
use super::shades::{Shades, share};
use super::spec::{Chart, DrawnValue, FigureSpec, ShownMeasurement, least, most, names, positive};
use foregather_results::ids::{CANDIDATE, NOTHING, OFF, PREDICTION_LIMIT};
use foregather_results::number::{digits, quantity};

/// A rule matters in a row that is slower by this factor when it is off.
const MATTERS: f64 = 1.2;

/// What is left of the adaptive waiter's speed without each rule: rows by rules.
pub(super) const ABLATION: FigureSpec = FigureSpec {
    names: |m| {
        m.labels.get(OFF).filter(|rule| *rule != NOTHING)?;
        Some(vec![("row", super::names::row_whole(m.labels.get("row")?))])
    },
    title: "Foregather without one rule of its decision table",
    values: &[("", |m| positive(m, "times_full").map(|times| DrawnValue::of(1.0 / times.value)))],
    series: "{off}",
    along: "{row}",
    chart: Chart::Heat { scale: "episodes per second, as a share of those with all rules", shades: Shades::shares },
    caption: |cells| {
        let (rules, least) = (names(cells, OFF), least(cells.iter(), |cell| cell.value)?);
        let matters = |rule: &&&str| cells.iter().any(|cell| cell.name(OFF) == **rule && cell.value < 1.0 / MATTERS);
        Some(format!(
            "{} of {} rules make some row a fifth slower when they are off; most of all {}, without which {} keeps {} of its speed.",
            rules.iter().filter(matters).count(),
            rules.len(),
            least.name(OFF),
            least.name("row"),
            share(least.value)
        ))
    },
    ..FigureSpec::PLAIN
};

/// What teams took on the machine against what the simulator says: the adaptive waiter in a plot of its own,
/// all others in one.
pub(super) const PREDICTIONS: FigureSpec = FigureSpec {
    names: |m| {
        positive(m, "measured_us").and(positive(m, "factor"))?;
        let waiter = m.labels.get("waiter")?;
        let whose = if waiter == CANDIDATE { PRODUCT } else { "other ways of waiting" };
        let row = super::names::row_whole(m.labels.get("row")?);
        Some(vec![("whose", whose.to_owned()), ("row", row), ("plain", super::names::waiter(waiter))])
    },
    keep: |cells| cells.sort_by_key(|cell| cell.name("waiter") != CANDIDATE),
    title: "Time per barrier, measured here and predicted by the simulator",
    values: &[("", |m| positive(m, "predicted_us"))],
    panel: "{whose}",
    series: "{class}",
    along: "{measured_us}",
    chart: Chart::Lines {
        x: ("us measured (log scale)", Scale::Log10),
        whole: false,
        y: ("us predicted (log scale)", Scale::Log10),
        level: None,
        look: |_| CurveStyle::Dots,
        more: |cells| {
            let times = || cells.iter().flat_map(|cell| [cell.figure("measured_us").unwrap_or(cell.value), cell.value]);
            let ends = (times().fold(f64::MAX, f64::min), times().fold(0.0, f64::max));
            let points = [ends.0, ends.1].map(|us| Point::sharp((us, us))).to_vec();
            [vec![Curve { name: "as predicted".to_owned(), points, look: CurveStyle::Band }], bounds(ends)]
        },
    },
    caption: |cells| {
        let farthest = most(cells.iter(), |cell| cell.figure("factor").unwrap_or(0.0))?;
        let us = |name: &str| quantity(farthest.figure(name).unwrap_or(f64::NAN), "us");
        Some(format!(
            "{} of {} predictions are within a factor of {PREDICTION_LIMIT}, in each state that a team may settle in. Farthest off \
             is {} in {}, by a factor of {}: {} measured, {} predicted.",
            cells.iter().filter(|cell| cell.figure("within").is_some_and(|within| within > 0.0)).count(),
            cells.len(),
            farthest.name("plain"),
            farthest.name("row"),
            digits(farthest.figure("factor").unwrap_or(f64::NAN), 3),
            us("measured_us"),
            us("predicted_us")
        ))
    },
    ..FigureSpec::PLAIN
};

/// Two lines for each factor: that factor above what was measured, and below it. They end where the values
/// do.
fn bounds((low, high): (f64, f64)) -> Vec<Curve> {
    let line = |factor: f64, points: [(f64, f64); 2]| Curve {
        name: format!("off by a factor of {factor}"),
        points: points.map(Point::sharp).to_vec(),
        look: CurveStyle::Line,
    };
    let both = |factor: f64| {
        let (more, less) = ([(low, low * factor), (high / factor, high)], [(low * factor, low), (high, high / factor)]);
        [more, less].map(|points| line(factor, points))
    };
    both(PREDICTION_LIMIT).into()
}

/// One curve a series; one with `formula` in its name is a band below the others.
pub(super) const BUTTERFLY: FigureSpec = FigureSpec {
    of: &["simulated/butterfly/"],
    names: |m| Some(vec![("series", m.labels.get("series").map_or("simulated", String::as_str).to_owned())]),
    title: "Simulated butterfly barrier",
    values: &[("", |m| m.summary.p50.map(DrawnValue::of))],
    series: "{series}",
    along: "{nodes}",
    chart: Chart::Lines {
        x: ("nodes (log scale)", Scale::Log2),
        whole: false,
        y: ("{unit} per barrier", Scale::Linear),
        level: None,
        look: |series| if is_formula(series) { CurveStyle::Band } else { CurveStyle::Points },
        more: |_| [vec![], vec![]],
    },
    caption: |cells| {
        // The value at the largest number of nodes that was simulated, and what the formula says there.
        let first = cells.iter().find(|cell| !is_formula(cell.name("series")))?.name("series");
        let nodes = |cell: &ShownMeasurement<'_>| cell.number("nodes");
        let last = most(cells.iter().filter(|cell| cell.name("series") == first), nodes)?;
        let unit = &last.m.unit;
        let took = quantity(last.value, unit);
        let mut text = format!("At {} nodes the simulated barrier takes {took} ({first})", digits(nodes(last), 9));
        let same =
            |cell: &&ShownMeasurement<'_>| is_formula(cell.name("series")) && nodes(cell) == nodes(last) && cell.value > 0.0;
        if let Some(formula) = cells.iter().find(same) {
            let percent = ((last.value / formula.value - 1.0) * 10_000.0).round() / 100.0;
            let (name, predicted) = (formula.name("series"), quantity(formula.value, unit));
            text += &match percent {
                0.0 => format!(", which is what the {name} gives"),
                _ => format!("; the {name} gives {predicted}, a difference of {percent} %"),
            };
        }
        Some(text + ".")
    },
    ..FigureSpec::PLAIN
};

fn is_formula(series: &str) -> bool {
    series.contains("formula")
}
