//! A BLAS: how many times faster than alone its calls are over the size, and what becomes of a product beside hogs.
//!
//! Draws measurements `blas/...` (with the labels `routine`, `n` and `runner` and the figures `ratio` and `ratio_low`) and
//! `blas-collapse/...` (with the labels `hogs` and `runner` and the figures `mean_us` and `p99_us`).
use super::axis::Scale;
use super::bars::{Bar, Bars, Panel};
use super::curve::{Curve, Look, Point};
use super::lines::{AxisSide, Lines, Plot};
use super::svg::colour;
use super::{Drawn, distinct};
use foregather_measure::blas::{COLLAPSE, SIZES, slowdown};
use foregather_results::Measurement;
use foregather_results::number::{digits, quantity};

fn label<'a>(m: &'a Measurement, name: &str) -> Option<&'a str> {
    m.labels.get(name).map(String::as_str)
}

/// A panel for each routine, a curve for each BLAS: below one its own threads make it slower.
pub(super) fn sizes(all: &[Measurement]) -> Option<Drawn> {
    let all: Vec<&Measurement> = all.iter().filter(|m| m.id.starts_with(SIZES)).collect();
    let runners = distinct(all.iter().filter_map(|m| label(m, "runner")));
    let routines = distinct(all.iter().filter_map(|m| label(m, "routine")));
    let curve = |routine: &str, runner: &str| {
        let mine = all.iter().filter(|m| label(m, "routine") == Some(routine) && label(m, "runner") == Some(runner));
        let point = |m: &&Measurement| {
            let (x, y) = (label(m, "n")?.parse().ok()?, *m.figures.get("ratio")?);
            (y > 0.0).then_some(Point { x, y, low: *m.figures.get("ratio_low").unwrap_or(&y), high: y })
        };
        let mut points: Vec<Point> = mine.filter_map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        (!points.is_empty()).then(|| Curve { name: runner.to_owned(), points, look: Look::Points })
    };
    let plot = |routine: &&str| {
        let curves: Vec<Curve> = runners.iter().filter_map(|runner| curve(routine, runner)).collect();
        (!curves.is_empty()).then(|| Plot { title: (*routine).to_owned(), curves, remarks: vec![] })
    };
    let plots: Vec<Plot> = routines.iter().filter_map(plot).collect();
    let caption = worst(&all)?;
    let lines = Lines {
        title: "Calls shared by threads",
        x: AxisSide::new("length or order (log scale)", Scale::Log2),
        y: AxisSide::new("times faster than alone (log scale)", Scale::Log10),
        steps: false,
        level: Some((1.0, "alone".to_owned())),
        plots,
    };
    (!lines.plots.is_empty()).then(|| Drawn { svg: lines.render(), caption })
}

/// Where each BLAS loses most by its threads.
fn worst(all: &[&Measurement]) -> Option<String> {
    let ratio = |m: &&Measurement| m.figures.get("ratio").copied().filter(|&ratio| ratio > 0.0);
    let told = |runner: &str| {
        let mine = all.iter().filter(|m| label(m, "runner") == Some(runner));
        let (least, m) = mine.filter_map(|m| Some((ratio(m)?, m))).min_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(format!("{runner} {} ({} of {})", digits(least, 2), label(m, "routine")?, label(m, "n")?))
    };
    let least: Vec<String> = distinct(all.iter().filter_map(|m| label(m, "runner"))).into_iter().filter_map(told).collect();
    let pairs = "Medians of alternated pairs, down to their lower 95 % bounds; below one threads make a call slower";
    (!least.is_empty()).then(|| format!("{pairs}. The least ratios: {}.", least.join(", ")))
}

/// A bar for each BLAS and load.
pub(super) fn collapse(all: &[Measurement]) -> Option<Drawn> {
    let cells: Vec<(usize, &Measurement)> =
        all.iter().enumerate().filter(|(_, m)| m.id.starts_with(COLLAPSE) && m.figures.contains_key("mean_us")).collect();
    let (_, last) = cells.last()?;
    let runners = distinct(cells.iter().filter_map(|(_, m)| label(m, "runner")));
    let loads = distinct(cells.iter().filter_map(|(_, m)| label(m, "hogs")));
    let place = |of: &[&str], name: Option<&str>| of.iter().position(|known| Some(*known) == name).unwrap_or(0);
    let bar = |(of, m): &(usize, &Measurement)| {
        let value = m.figures["mean_us"];
        let whisker = m.figures.get("p99_us").filter(|&&high| high >= value).map(|&high| (value, high));
        Bar {
            label: place(&runners, label(m, "runner")),
            series: place(&loads, label(m, "hogs")),
            value,
            whisker,
            dot: None,
            of: *of,
        }
    };
    let most = cells.iter().filter_map(|&(_, m)| slowdown(all, m).map(|times| (times, m))).max_by(|a, b| a.0.total_cmp(&b.0));
    let most = most.map_or(String::new(), |(times, m)| {
        let (runner, hogs) = (label(m, "runner").unwrap_or_default(), label(m, "hogs").unwrap_or_default());
        format!("; worst is {runner} beside {hogs} hogs, {} times its own time without", digits(times, 2))
    });
    let mean = quantity(last.figures["mean_us"] * 1e3, "ns");
    let (runner, hogs) = (label(last, "runner")?, label(last, "hogs")?);
    let caption = format!("Means, up to the 99th percentile: {runner} takes {mean} beside {hogs} hogs{most}.");
    let title = format!("{} of order {} beside hogs", label(last, "routine")?, label(last, "n")?);
    let bars = Bars {
        title: &title,
        axis: "microseconds for a call (log scale)".to_owned(),
        scale: Scale::Log10,
        number: "us",
        labels: runners.iter().map(|&runner| runner.to_owned()).collect(),
        series: loads.iter().enumerate().map(|(i, load)| (format!("{load} hogs"), colour(i))).collect(),
        panels: vec![Panel { title: String::new(), bars: cells.iter().map(bar).collect() }],
    };
    Some(Drawn { svg: bars.render(), caption })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_panel_for_each_routine_and_the_worst_ratio_is_told() {
        let cell = |routine: &str, n: &str, runner: &str, ratio: f64| {
            Measurement::from_values(format!("{SIZES}{routine}/{n}/{runner}"), "", "us", vec![1.0])
                .label("routine", routine)
                .label("n", n)
                .label("runner", runner)
                .figure("ratio", ratio)
                .figure("ratio_low", ratio * 0.9)
        };
        let all =
            [cell("ddot", "1000", "foregather", 1.0), cell("ddot", "8000", "other", 0.54), cell("dgemm", "64", "other", 1.5)];
        let drawn = sizes(&all).unwrap();
        for part in ["ddot", "dgemm", "foregather", "other", "times faster"] {
            assert!(drawn.svg.contains(part), "{part}");
        }
        assert!(drawn.caption.contains("other 0.54 (ddot of 8000)"), "{}", drawn.caption);
        assert!(sizes(&[]).is_none());
    }

    #[test]
    fn the_worst_slowdown_is_told() {
        let cell = |hogs: &str, runner: &str, us: f64| {
            Measurement::from_values(format!("{COLLAPSE}{hogs}h/{runner}"), "", "us", vec![us])
                .label("hogs", hogs)
                .label("runner", runner)
                .label("routine", "dgemm")
                .label("n", "256")
                .figure("mean_us", us)
                .figure("p99_us", us * 2.0)
        };
        let all =
            [cell("0", "foregather", 300.0), cell("2", "foregather", 600.0), cell("0", "other", 300.0), cell("2", "other", 9e4)];
        let drawn = collapse(&all).unwrap();
        assert!(drawn.caption.contains("other beside 2 hogs, 300 times"), "{}", drawn.caption);
        assert!(drawn.svg.contains("dgemm of order 256") && collapse(&[]).is_none());
    }
}
