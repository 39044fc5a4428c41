//! Fork and join: what a region costs by every runner of teams; and a BLAS: how many times faster than alone
//! its calls are, and how a product slows down beside hogs.
//!
//! Draws measurements `teams/...` (microseconds, with the labels `threads`, `body_us`, `hogs` and `runner`),
//! `blas/...` (with the labels `routine`, `n` and `runner` and the figures `ratio` and `ratio_low`) and
//! `blas-collapse/...` (with the labels `hogs` and `runner` and the figures `mean_us` and `p99_us`).
use super::axis::Scale;
use super::names::{self, is_product};
use super::spec::{self, DrawnValue, FigureSpec, ShownMeasurement, bars, figure, least, lines, most};
use foregather_results::ids::{BLAS, BLAS_COLLAPSE, TEAMS};
use foregather_results::number::{digits, quantity};

/// The length of bodies, in microseconds, that is shown if it was measured, else the first one there is.
const SHOWN_US: &str = "1";

/// A panel for each size of team, a line for each runner, a bar for each load.
pub(super) const REGIONS: FigureSpec = FigureSpec {
    of: &[TEAMS],
    names: |m| Some(names::runner_and_load(m)),
    keep: |cells| {
        let bodies = spec::names(cells, "body_us");
        if let Some(body) = bodies.iter().find(|body| **body == SHOWN_US).or(bodies.first()).map(|&body| body.to_owned()) {
            cells.retain(|cell| cell.name("body_us") == body);
        }
    },
    title: "Fork and join",
    values: &[("", |m| {
        let s = &m.summary;
        Some(DrawnValue::of(s.p50.filter(|&us| us > 0.0)?).scattered(s.min.filter(|&low| low > 0.0), s.max))
    })],
    panel: "{threads} threads",
    series: "{beside}",
    along: "{runner}",
    chart: bars("microseconds for a region of bodies of {body_us} us (log scale)", Scale::Log10, "us"),
    caption: |cells| {
        // The product alone, and beside the most busy programs.
        let first = cells.iter().find(|cell| is_product(cell.name("runner"))).or(cells.first())?;
        let told = |cell: &ShownMeasurement<'_>| {
            let cpu = cell.figure("cpu_us_per_region");
            let cpu = cpu.map_or(String::new(), |us| format!(", with {} us of processor time", digits(us, 3)));
            let [threads, runner, beside] = ["threads", "runner", "beside"].map(|name| cell.name(name));
            format!("{threads} threads by {runner} take {} {beside}{cpu}", quantity(cell.value * 1e3, "ns"))
        };
        let same = |cell: &&ShownMeasurement<'_>| ["runner", "threads"].iter().all(|name| cell.name(name) == first.name(name));
        let most = cells.iter().rfind(same)?;
        let both = if std::ptr::eq(most, first) { told(first) } else { format!("{}; {}", told(first), told(most)) };
        let body = first.name("body_us");
        Some(format!("Means of cells, their medians and extremes; one region of bodies of {body} us on {both}."))
    },
};

/// A panel for each routine, a curve for each BLAS: below 1, its own threads make it slower.
pub(super) const BLAS_SIZES: FigureSpec = FigureSpec {
    of: &[BLAS],
    names: |m| Some(names::runner_and_load(m)),
    title: "Calls shared by threads",
    values: &[("", |m| {
        let ratio = figure(m, "ratio").filter(|&ratio| ratio > 0.0)?;
        Some(DrawnValue::of(ratio).scattered(figure(m, "ratio_low"), Some(ratio)))
    })],
    panel: "{routine}",
    series: "{runner}",
    along: "{n}",
    chart: lines("length or order (log scale)", ("times faster than alone (log scale)", Scale::Log10), Some((1.0, "alone"))),
    caption: |cells| {
        // The call at which each BLAS loses most by its threads.
        let told = |runner: &str| {
            let cell = least(cells.iter().filter(|cell| cell.name("runner") == runner), |cell| cell.value)?;
            Some(format!("{runner} {} ({} of {})", digits(cell.value, 2), cell.name("routine"), cell.name("n")))
        };
        let least: Vec<String> = spec::names(cells, "runner").into_iter().filter_map(told).collect();
        let pairs = "Medians of alternated pairs, down to their lower 95 % bounds; below one threads make a call slower";
        (!least.is_empty()).then(|| format!("{pairs}. The least ratios: {}.", least.join(", ")))
    },
    ..FigureSpec::PLAIN
};

/// A bar for each BLAS and load.
pub(super) const COLLAPSE: FigureSpec = FigureSpec {
    of: &[BLAS_COLLAPSE],
    names: |m| Some(names::runner_and_load(m)),
    title: "{routine} of order {n} beside busy programs",
    values: &[("", |m| {
        let mean = figure(m, "mean_us")?;
        Some(DrawnValue::of(mean).scattered(Some(mean), figure(m, "p99_us").filter(|&high| high >= mean)))
    })],
    series: "{beside}",
    along: "{runner}",
    chart: bars("microseconds for a call (log scale)", Scale::Log10, "us"),
    caption: |cells| {
        let slowdown = |cell: &ShownMeasurement<'_>| {
            let calm = |other: &&ShownMeasurement<'_>| other.name("runner") == cell.name("runner") && other.name("hogs") == "0";
            cells.iter().find(calm).map_or(f64::NEG_INFINITY, |calm| cell.value / calm.value)
        };
        let told = |cell: &ShownMeasurement<'_>| [cell.name("runner").to_owned(), cell.name("beside").to_owned()];
        let worst = most(cells.iter(), slowdown).filter(|cell| slowdown(cell).is_finite());
        let worst = worst.map_or(String::new(), |cell| {
            let [runner, beside] = told(cell);
            format!("; worst is {runner} {beside}, {} times its own time alone", digits(slowdown(cell), 2))
        });
        let (last, [runner, beside]) = (cells.last()?, told(cells.last()?));
        let mean = quantity(last.value * 1e3, "ns");
        Some(format!("Means, up to the 99th percentile: {runner} takes {mean} {beside}{worst}."))
    },
    ..FigureSpec::PLAIN
};
