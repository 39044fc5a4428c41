//! Constructs of OpenMP: what each costs by every runtime, alone and beside hogs; and whole programs, with
//! and without this project's libraries.
//!
//! Draws measurements `openmp/...` (microseconds, with the labels `construct`, `threads`, `hogs` and
//! `runner`) and `program/time/...` (milliseconds, with the labels `program` and `libraries`).
use super::axis::Scale;
use super::spec::{Cell, FigureSpec, Reading, bars, most, names};
use foregather_measure::openmp::OPENMP;
use foregather_results::number::{digits, quantity};

/// This project's runtime.
const OURS: &str = "foregather";

/// A panel for each construct, a line for each runtime, a bar for each load; of the smallest team.
pub(super) const CONSTRUCTS: FigureSpec = FigureSpec {
    of: &[OPENMP],
    keep: |cells| {
        if let Some(threads) = names(cells, "threads").first().map(|&threads| threads.to_owned()) {
            cells.retain(|cell| cell.name("threads") == threads);
        }
    },
    title: "Constructs of OpenMP, {threads} threads",
    values: &[("", |m| {
        let s = &m.summary;
        Some(Reading::of(s.p50.filter(|&us| us > 0.0)?).scattered(s.min.filter(|&low| low > 0.0), s.max))
    })],
    panel: "{construct}",
    series: "{hogs} hogs",
    along: "{runner}",
    chart: bars("microseconds for a construct with 1 us of work (log scale)", Scale::Log10, "us"),
    caption: |cells| {
        let ours = |other: &Cell<'_>| {
            let same = |cell: &&Cell<'_>| ["construct", "hogs"].iter().all(|name| cell.name(name) == other.name(name));
            cells.iter().find(|cell| cell.name("runner") == OURS && same(cell))
        };
        let slower = |cell: &Cell<'_>| ours(cell).map_or(f64::NAN, |ours| cell.value / ours.value);
        let others = || cells.iter().filter(|cell| cell.name("runner") != OURS && slower(cell).is_finite());
        let told = |cell: &Cell<'_>| {
            let [runtime, construct, hogs] = ["runner", "construct", "hogs"].map(|name| cell.name(name));
            let (time, ratio) = (quantity(cell.value * 1e3, "ns"), digits(slower(cell), 2));
            format!("{runtime} takes {time} for a {construct} beside {hogs} hogs, {ratio} times ours")
        };
        let (worst, best) = (most(others(), slower), most(others(), |cell| -slower(cell)));
        let both = worst
            .zip(best)
            .map_or(String::new(), |(worst, best)| format!(" At most, {}; at least, {}.", told(worst), told(best)));
        Some(format!("Means of cells, their medians and extremes.{both}"))
    },
    ..FigureSpec::PLAIN
};

/// What ids of times of whole programs begin with.
const PROGRAM_TIMES: &str = "program/time/";

/// A line for each program, a bar without the libraries and one with them.
pub(super) const PROGRAMS: FigureSpec = FigureSpec {
    of: &[PROGRAM_TIMES],
    title: "Whole programs",
    values: &[("", |m| {
        let s = &m.summary;
        Some(Reading::of(s.p50.filter(|&ms| ms > 0.0)?).scattered(s.min.filter(|&low| low > 0.0), s.max))
    })],
    series: "{libraries}",
    along: "{program}",
    chart: bars("milliseconds from begin to end", Scale::Linear, "ms"),
    caption: |cells| {
        let told = |cell: &Cell<'_>| {
            let [ratio, least, most] = ["ratio", "ratio_least", "ratio_most"].map(|name| cell.figure(name));
            let [ratio, least, most] = [ratio?, least?, most?].map(|ratio| digits(ratio, 3));
            let without =
                cells.iter().find(|other| other.name("libraries") == "without" && other.name("program") == cell.name("program"));
            let cut = without.and_then(|without| without.figure("cut_off")).filter(|&cut| cut > 0.0);
            let cut = cut.map_or(String::new(), |cut| format!("; {cut} runs without were cut off"));
            Some(format!("{}: {ratio} times ({least} to {most}{cut})", cell.name("program")))
        };
        let all: Vec<String> = cells.iter().filter_map(told).collect();
        (!all.is_empty())
            .then(|| format!("Medians and extremes. As fast with this project's libraries as without: {}.", all.join(", ")))
    },
    ..FigureSpec::PLAIN
};
