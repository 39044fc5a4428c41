//! What disturbs busy processors, after figures 3-9 and 3-10 of Seidel & Davis 1992: one plot a processor.
//!
//! Draws measurements `noise/trace/...` (the times of loops in their order, with the figures `floor_us` and
//! `interrupted_above_us`) and `noise/line/...` (distances of trials from a line, with the figures
//! `slope_ns`, `intercept_ns`, `outlier_above_ns`, and of the trials' lengths, which come in turn,
//! `step_iterations` and `steps`); both with the label `cpu`. The caption tells of all loops by
//! `noise/loops/...`.
use super::Drawn;
use super::axis::Scale;
use super::curve::{Curve, CurveStyle, Point};
use super::lines::{AxisSide, LineChart, Plot};
use foregather_results::number::{digits, quantity, short};
use foregather_results::{Distribution, Measurement};

/// More plots would be too small to be read.
const PLOTS: usize = 4;
/// Points of a trace: as many as the eye can tell apart.
const COLUMNS: usize = 125;

fn of<'a>(all: &'a [Measurement], what: &str) -> Vec<&'a Measurement> {
    all.iter().filter(|m| m.id.starts_with(&format!("noise/{what}/")) && m.summary.n > 0).collect()
}

fn cpu(m: &Measurement) -> &str {
    m.labels.get("cpu").map_or("?", String::as_str)
}

/// Says `first 4 of 64 processors`, if there are more than are shown.
fn shown(processors: usize) -> String {
    if processors > PLOTS { format!(" (first {PLOTS} of {processors} processors)") } else { String::new() }
}

/// Several values as one point: their median, the least and the greatest.
fn point(x: f64, values: &[f64]) -> Option<Point> {
    let all = Distribution::of_values(values)?;
    Some(Point { x, y: all.quantile(0.5), low: all.quantile(0.0), high: all.quantile(1.0) })
}

/// The curve, unless it has no points.
fn curve(name: &str, points: Vec<Point>, look: CurveStyle) -> Option<Curve> {
    (!points.is_empty()).then(|| Curve { name: name.to_owned(), points, look })
}

/// The times of the first loops in their order (figure 3-9).
pub(super) fn trace(all: &[Measurement]) -> Option<Drawn> {
    let traces = of(all, "trace");
    let plots: Vec<Plot> = traces.iter().filter_map(|m| trace_plot(m)).take(PLOTS).collect();
    let told = of(all, "loops").into_iter().take(PLOTS).filter_map(trace_caption).collect::<Vec<_>>().join(" ");
    let title = format!("A loop that ought to take the same time again and again{}", shown(traces.len()));
    let lines = LineChart {
        title: &title,
        x: AxisSide::new("ms, loops end to end", Scale::Span),
        y: AxisSide::new("us a loop (log scale)", Scale::Log10),
        steps: false,
        level: None,
        plots,
    };
    (!lines.plots.is_empty()).then(|| Drawn { svg: lines.render(), caption: told })
}

fn trace_plot(m: &Measurement) -> Option<Plot> {
    let (floor, above) = (*m.figures.get("floor_us")?, *m.figures.get("interrupted_above_us")?);
    let mut now = 0.0;
    let placed = |&took: &f64| {
        now += took / 1e3;
        (now, took)
    };
    let loops: Vec<(f64, f64)> = m.values.as_ref()?.iter().map(placed).collect();
    let (left_alone, hit): (Vec<_>, Vec<_>) = loops.iter().partition(|(_, took)| *took <= above);
    let column = |loops: &[(f64, f64)]| point(loops[loops.len() / 2].0, &loops.iter().map(|l| l.1).collect::<Vec<_>>());
    let columns = left_alone.chunks(left_alone.len().div_ceil(COLUMNS).max(1)).filter_map(column).collect();
    let curves = [
        curve("left alone (median and range)", columns, CurveStyle::Line),
        curve("interrupted", hit.into_iter().map(Point::sharp).collect(), CurveStyle::Dots),
        curve("floor", [0.0, now].map(|at| Point::sharp((at, floor))).to_vec(), CurveStyle::Line),
    ];
    Some(Plot { title: format!("processor {}", cpu(m)), curves: curves.into_iter().flatten().collect(), ..Plot::default() })
}

fn trace_caption(m: &Measurement) -> Option<String> {
    let figure = |name: &str| m.figures.get(name).copied();
    let mut text = format!("On processor {} a loop that nothing disturbs takes {}", cpu(m), quantity(figure("floor_us")?, "us"));
    if let Some((rate, stolen)) = figure("interruptions_per_s").zip(figure("stolen_percent")) {
        let length =
            |(median, most)| format!(" of {} in the median and {} at most", quantity(median, "us"), quantity(most, "us"));
        let lengths = figure("length_p50_us").zip(figure("length_max_us")).map(length).unwrap_or_default();
        text += &format!("; {} interruptions a second{lengths} take {} % of the time", short(rate), digits(stolen, 2));
    }
    Some(text + ".")
}

/// Times over numbers of iterations, and the line through them (figure 3-10).
pub(super) fn line(all: &[Measurement]) -> Option<Drawn> {
    let fits = of(all, "line");
    let drawn: Vec<(Plot, String)> = fits.iter().filter_map(|m| line_plot(m)).take(PLOTS).collect();
    let (plots, told): (Vec<Plot>, Vec<String>) = drawn.into_iter().unzip();
    let title = format!("What k iterations of a loop take{}", shown(fits.len()));
    let lines = LineChart {
        title: &title,
        x: AxisSide::new("k iterations (log scale)", Scale::Log10),
        y: AxisSide::new("us (log scale)", Scale::Log10),
        steps: false,
        level: None,
        plots,
    };
    (!lines.plots.is_empty()).then(|| Drawn { svg: lines.render(), caption: told.join(" ") })
}

/// The plot of a processor, and the sentence about it.
fn line_plot(m: &Measurement) -> Option<(Plot, String)> {
    let figure = |name: &str| m.figures.get(name).copied();
    let (slope, intercept, above) = (figure("slope_ns")?, figure("intercept_ns")?, figure("outlier_above_ns")?);
    let (step, steps) = (figure("step_iterations")?, figure("steps")?.max(1.0) as usize);
    let on_line = |k: f64| (slope * k + intercept) / 1e3;
    let residuals = m.values.as_ref()?;
    let mut near = vec![Vec::new(); steps.min(residuals.len())];
    let mut outliers = Vec::new();
    for (trial, residual) in residuals.iter().enumerate() {
        let k = (trial % steps + 1) as f64 * step;
        let took = on_line(k) + residual / 1e3;
        if *residual > above { outliers.push(Point::sharp((k, took))) } else { near[trial % steps].push(took) }
    }
    let left_out = outliers.len();
    let near = near.iter().enumerate().filter_map(|(i, took)| point((i + 1) as f64 * step, took)).collect();
    let ends = [step, step * steps as f64];
    let curves = [
        curve("trials (median and range)", near, CurveStyle::Dots),
        curve("left out", outliers, CurveStyle::Dots),
        curve("fitted line", ends.map(|k| Point::sharp((k, on_line(k)))).to_vec(), CurveStyle::Line),
    ];
    let formula = format!("{} ns k + {} ns", digits(slope, 3), digits(intercept, 3));
    let caption = format!(
        "On processor {} k iterations take {formula}: {left_out} of {} trials, which lie more than {} above, are left out.",
        cpu(m),
        residuals.len(),
        quantity(above, "ns")
    );
    let title = format!("processor {}: {formula}", cpu(m));
    Some((Plot { title, curves: curves.into_iter().flatten().collect(), ..Plot::default() }, caption))
}
