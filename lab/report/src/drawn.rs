//! Regret in drawn rows: how much longer ours takes than the best column, the worst row first; and whole
//! programs by every runtime.
//!
//! Draws measurements `regret/...` of our column (the figures `ratio` with `low` and `high`, `floor`,
//! `block_low`, and the labels `row`, `class` and `verdict`), and `programs/...` (seconds, with the labels
//! `threads`, `hogs` and `runner`).
use super::axis::Scale;
use super::names;
use super::spec::{Chart, DrawnValue, FigureSpec, ShownMeasurement, bars, figure, most};
use foregather_results::Measurement;
use foregather_results::geomean;
use foregather_results::ids::{PROGRAMS, REGRET};
use foregather_results::number::digits;

/// More rows than that are not shown: the worst are.
const ROWS_MOST: usize = 80;

fn ratio(cell: &ShownMeasurement<'_>) -> f64 {
    cell.figure("ratio").unwrap_or(f64::NAN)
}

/// A bar for each row in the colour of its class, with its interval; the dot is the noise floor.
pub(super) const REGRETS: FigureSpec = FigureSpec {
    of: &[REGRET],
    // Only our column has a verdict.
    names: |m| m.labels.contains_key("verdict").then(Vec::new),
    keep: |cells| {
        cells.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
        cells.truncate(ROWS_MOST);
    },
    title: "Regret in drawn rows: {episodes}",
    values: &[("", |m| {
        let above_zero = |name| figure(m, name).filter(|&value| value > 0.0);
        let reading = DrawnValue::of(above_zero("ratio")?).scattered(above_zero("low"), above_zero("high"));
        Some(DrawnValue { dot: above_zero("floor"), ..reading })
    })],
    series: "{class}",
    along: "{row}",
    chart: Chart::Bars {
        axis: "times as long as the best way to wait (log scale)",
        scale: Scale::Log10,
        number: "x",
        colours: &[0, 1, 2, 3, 4, 5, 6],
        first: Some(|m: &Measurement| figure(m, "ratio").map(|ratio| -ratio)),
    },
    caption: |cells| {
        let worst = most(cells.iter(), ratio)?;
        let above = |name: &str, bound: f64| cells.iter().filter(|cell| cell.figure(name).is_some_and(|low| low > bound)).count();
        let [mean, floor] = [geomean(cells.iter().map(ratio)), geomean(cells.iter().filter_map(|cell| cell.figure("floor")))]
            .map(|mean| digits(mean, 3));
        Some(format!(
            "{} rows, geometric mean {mean} beside a noise floor of {floor} (dots); bars have 95 % intervals. {} rows lie wholly above \
             1.5, and {} wholly above 1.15 against our own block. The worst is {}: {} times as long as {}.",
            cells.len(),
            above("low", 1.5),
            above("block_low", 1.15),
            worst.name("row"),
            digits(ratio(worst), 3),
            worst.name("against")
        ))
    },
    ..FigureSpec::PLAIN
};

/// A panel for each number of threads, a line for each runtime, a bar for each load.
pub(super) const RUNTIMES: FigureSpec = FigureSpec {
    of: &[PROGRAMS],
    names: |m| Some(names::runner_and_load(m)),
    title: "{program} by each OpenMP runtime",
    values: &[("", |m| {
        let s = &m.summary;
        Some(DrawnValue::of(s.p50.filter(|&s| s > 0.0)?).scattered(s.min.filter(|&low| low > 0.0), s.max))
    })],
    panel: "{threads} threads",
    series: "{beside}",
    along: "{runner}",
    chart: bars("seconds (log scale)", Scale::Log10, "s"),
    caption: |cells| {
        let ours = || cells.iter().filter(|cell| names::is_product(cell.name("runner")));
        let regret = |cell: &ShownMeasurement<'_>| cell.figure("regret").unwrap_or(f64::NAN);
        let worst = most(ours().filter(|cell| regret(cell).is_finite()), regret);
        let worst = worst.map_or(String::new(), |cell| {
            let [threads, beside] = ["threads", "beside"].map(|name| cell.name(name));
            let mean = digits(geomean(ours().map(regret)), 3);
            format!(
                " Foregather takes {mean} times as long as the best runtime of a row (geometric mean), at most {} times ({threads} \
                 threads {beside}).",
                digits(regret(cell), 3)
            )
        });
        (!cells.is_empty()).then(|| format!("Medians and extremes; runs that were cut off count with their limit.{worst}"))
    },
    ..FigureSpec::PLAIN
};
