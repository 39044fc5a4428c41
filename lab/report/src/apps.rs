//! Programs on shared memory, after figure 6 of Itzkovitz & Schuster 1999: their speedups on more ranks,
//! beside the ideal; and what a thread's time went into, a bar for each run.
//!
//! Draws measurements `app/...` as [`apps`] describes them.
use super::Drawn;
use super::axis::{Axis, Scale};
use super::curve::{Curve, CurveStyle, Point};
use super::legend::{LegendEntry, Swatch};
use super::spec::{Chart, FigureSpec, ShownMeasurement, most, positive};
use super::svg::{At, Canvas, Svg, colour, fitted, ink, width_of};
use foregather_results::Measurement;
use foregather_results::apps::{self, APP, PARTS, RANKS, SERIES, SPEEDUP};
use foregather_results::number::{digits, quantity};

/// Curves over the ranks, a plot for each series; nothing if there is only one number of ranks.
pub(super) const SPEEDUPS: FigureSpec = FigureSpec {
    names: |m| apps::is_run(m).then(Vec::new),
    keep: |cells| {
        let fewest = ends(cells)[0].to_string();
        cells.iter_mut().for_each(|cell| cell.names.push(("fewest", fewest.clone())));
    },
    title: "Speedups of programs on shared memory",
    values: &[("", |m| positive(m, SPEEDUP))],
    panel: "[{series}]",
    series: "{app}",
    along: "{ranks}",
    chart: Chart::Lines {
        x: ("ranks", Scale::Span),
        whole: true,
        y: ("times as quick as on {fewest}", Scale::Linear),
        level: None,
        look: |_| CurveStyle::Points,
        more: |cells| {
            let [fewest, most] = ends(cells);
            let points = [fewest, most].map(|ranks| Point::sharp((ranks, ranks / fewest))).to_vec();
            // The ideal lies below the others, so that a curve that comes close to it stays visible.
            [vec![Curve { name: "ideal".to_owned(), points, look: CurveStyle::Band }], vec![]]
        },
    },
    caption: |cells| {
        let [fewest, last] = ends(cells);
        let best = most(cells.iter().filter(|cell| cell.number(RANKS) == last), |cell| cell.value)?;
        (last > fewest).then(|| {
            format!(
                "On {last} ranks {} is quickest in proportion ({}): {} times as quick as on {fewest}, where {} would be ideal.",
                best.name(APP),
                best.name(SERIES),
                digits(best.value, 3),
                digits(last / fewest, 3)
            )
        })
    },
    ..FigureSpec::PLAIN
};

/// Returns whether all runs are simulated.
pub(super) fn are_simulated(all: &[Measurement]) -> bool {
    all.iter().filter(|m| apps::is_run(m)).all(|m| m.labels.get(SERIES).is_some_and(|series| series.starts_with("simulated")))
}

/// The fewest and the most ranks of all runs.
fn ends(cells: &[ShownMeasurement<'_>]) -> [f64; 2] {
    let ranks = || cells.iter().map(|cell| cell.number(RANKS));
    [ranks().fold(f64::MAX, f64::min), ranks().fold(0.0, f64::max)]
}

const WIDTH: f64 = 960.0;
/// Height of a bar, with the gap below it, and the larger gap between programs.
const BAR: f64 = 18.0;
const BETWEEN: f64 = 10.0;
/// Room at the right of a bar for the time of the whole run.
const NUMBERS: f64 = 78.0;

/// A run, and its parts in milliseconds.
struct AppRun<'a> {
    app: &'a str,
    series: &'a str,
    ranks: u32,
    parts: [f64; PARTS.len()],
    /// The number of its measurement.
    of: usize,
}

impl<'a> AppRun<'a> {
    fn of((of, m): (usize, &'a Measurement)) -> Option<Self> {
        let label = |name: &str| m.labels.get(name).map(String::as_str);
        let mut parts = [0.0; PARTS.len()];
        for (part, (name, _)) in parts.iter_mut().zip(PARTS) {
            *part = m.figures.get(name).copied().filter(|&ms| ms >= 0.0)?;
        }
        let run = Self { app: label(APP)?, series: label(SERIES)?, ranks: label(RANKS)?.parse().ok()?, parts, of };
        (apps::is_run(m) && run.whole() > 0.0).then_some(run)
    }

    fn whole(&self) -> f64 {
        self.parts.iter().sum()
    }

    fn percent(&self, part: usize) -> f64 {
        100.0 * self.parts[part] / self.whole()
    }
}

/// A bar for each run, programs one below the other, each on more and more ranks.
pub(super) fn breakdown(all: &[Measurement]) -> Option<Drawn> {
    let mut runs: Vec<AppRun<'_>> = all.iter().enumerate().filter_map(AppRun::of).collect();
    runs.sort_by_key(|run| (run.app, run.series, run.ranks));
    let caption = caption(&runs)?;
    Some(Drawn { svg: render(&runs), caption })
}

/// The run on most ranks, and what it waited for most.
fn caption(runs: &[AppRun<'_>]) -> Option<String> {
    let told = runs.iter().max_by_key(|run| run.ranks)?;
    let most = (1..PARTS.len()).max_by(|&a, &b| told.parts[a].total_cmp(&told.parts[b]))?;
    Some(format!(
        "By the mean of all threads. {} on {} ranks ({}) computes for {} % of its {}; most of the rest is {} ({} %).",
        told.app,
        told.ranks,
        told.series,
        digits(told.percent(0), 3),
        quantity(told.whole(), "ms"),
        PARTS[most].1,
        digits(told.percent(most), 3)
    ))
}

fn render(runs: &[AppRun<'_>]) -> Svg {
    let mut canvas = Canvas::new(WIDTH);
    let title = "Where the time of programs on shared memory goes";
    canvas.heading(16.0, 26.0, 15.0, title);
    let entry = |(i, (_, name)): (usize, &(&str, &'static str))| LegendEntry {
        series: Some(i),
        name,
        ink: colour(i),
        swatch: Swatch::Box,
    };
    let entries: Vec<_> = PARTS.iter().enumerate().map(entry).collect();
    let top = 38.0 + canvas.legend((8.0, WIDTH), 38.0, &entries) + 14.0;
    let several = runs.iter().any(|run| run.series != runs[0].series);
    let label = |run: &AppRun<'_>| {
        let series = if several { format!(" ({})", run.series) } else { String::new() };
        format!("{}, {} rank{}{series}", run.app, run.ranks, if run.ranks == 1 { "" } else { "s" })
    };
    let left = runs.iter().map(|run| width_of(&label(run), 12.0)).fold(40.0, f64::max).min(300.0) + 28.0;
    let axis = Axis::fit([100.0].into_iter(), Scale::Span, (left, WIDTH - NUMBERS - 16.0));
    let axis = Axis { low: 0.0, high: 100.0, ..axis };
    let (mut y, mut tops) = (top, Vec::new());
    for (i, run) in runs.iter().enumerate() {
        let new = i > 0 && (run.app, run.series) != (runs[i - 1].app, runs[i - 1].series);
        y += if new { BETWEEN } else { 0.0 };
        tops.push(y);
        y += BAR;
    }
    let bottom = y + 4.0;
    let line = |v: f64| format!("M{:.1} {:.1}V{bottom:.1}", axis.at(v), top - 4.0);
    canvas.grid(&axis.ticks(60.0), At::Middle, line, |v| (axis.at(v), bottom + 16.0));
    for part in 0..PARTS.len() {
        let bar = |(run, y): (&AppRun<'_>, &f64)| {
            let before: f64 = (0..part).map(|part| run.percent(part)).sum();
            let (from, to) = (axis.at(before), axis.at(before + run.percent(part)));
            if to - from < 0.05 { String::new() } else { format!(r#"<path d="M{from:.1} {:.1}H{to:.1}"/>"#, y + BAR / 2.0 - 1.0) }
        };
        let bars: String = runs.iter().zip(&tops).map(bar).collect();
        canvas.put(format_args!(r#"<g class="s" data-s="{part}">"#));
        canvas.group(format_args!(r#"stroke="{}" stroke-width="13""#, colour(part)), &bars);
        canvas.put(format_args!("</g>"));
    }
    let middle = |y: f64| y + BAR / 2.0 + 3.0;
    let names = runs.iter().zip(&tops).map(|(run, &y)| (left - 10.0, middle(y), fitted(&label(run), 12.0, left - 26.0)));
    canvas.texts(At::End, ink::TEXT, names);
    let wholes = runs.iter().zip(&tops).map(|(run, &y)| (WIDTH - 14.0, middle(y), quantity(run.whole(), "ms")));
    canvas.texts(At::End, ink::TEXT, wholes);
    // An area as long as the panel, so that the pointer finds a run wherever it is.
    let area = |(run, y): (&AppRun<'_>, &f64)| {
        format!(r#"<path d="M{left:.1} {:.1}H{:.1}" data-m="{}"/>"#, y + BAR / 2.0, WIDTH - NUMBERS, run.of)
    };
    let areas: String = runs.iter().zip(&tops).map(area).collect();
    canvas.group(format_args!(r#"class="a" stroke="transparent" stroke-width="{BAR}""#), &areas);
    canvas.text((left + WIDTH - NUMBERS) / 2.0, bottom + 40.0, At::Middle, ink::SOFT, "percent of a thread's time");
    canvas.finish(bottom + 54.0, title)
}
