//! Constructs of OpenMP: what each costs by every runtime, alone and beside hogs; and whole programs, with
//! and without this project's libraries.
//!
//! Draws measurements `openmp/...` (microseconds, with the labels `construct`, `threads`, `hogs` and
//! `runner`) and `program/time/...` (milliseconds, with the labels `program` and `libraries`).
use super::axis::Scale;
use super::names::{self, PRODUCT};
use super::spec::{Cell, FigureSpec, Reading, bars, most};
use foregather_measure::openmp::OPENMP;
use foregather_results::Measurement;
use foregather_results::number::{digits, quantity};

/// Constructs in plain words; those with tasks have a figure of their own.
const PLAIN: [(&str, &str); 11] = [
    ("region", "parallel region"),
    ("barrier", "barrier"),
    ("single", "single"),
    ("dynamic", "loop of 64 chunks"),
    ("critical", "critical section"),
    ("task-wait", "tasks, each waited for"),
    ("task-tree", "a tree of tasks"),
    ("task-chain", "a chain of tasks"),
    ("task-stencil", "a stencil of tasks"),
    ("ordered", "ordered loop"),
    ("nested", "nested regions"),
];

fn is_of_tasks(m: &Measurement) -> bool {
    m.text("construct").starts_with("task-")
}

fn plain_names(m: &Measurement) -> Vec<(&'static str, String)> {
    let construct = m.labels.get("construct").map_or("", String::as_str);
    let plain = PLAIN.iter().find(|(known, _)| *known == construct).map_or(construct, |(_, plain)| plain);
    let [runner, hogs] = ["runner", "hogs"].map(|name| m.labels.get(name));
    let named = [
        Some(("construct", plain.to_owned())).filter(|_| !construct.is_empty()),
        runner.map(|runner| ("runner", names::library(runner))),
        hogs.map(|hogs| ("beside", names::hogs(hogs))),
    ];
    named.into_iter().flatten().collect()
}

/// A panel for each construct, a line for each runtime, a bar for each load; of the smallest team.
pub(super) const CONSTRUCTS: FigureSpec = FigureSpec {
    of: &[OPENMP],
    names: |m| (!is_of_tasks(m)).then(|| plain_names(m)),
    keep: |cells| {
        if let Some(threads) = super::spec::names(cells, "threads").first().map(|&threads| threads.to_owned()) {
            cells.retain(|cell| cell.name("threads") == threads);
        }
    },
    title: "Constructs of OpenMP, {threads} threads",
    values: &[("", |m| {
        let s = &m.summary;
        Some(Reading::of(s.p50.filter(|&us| us > 0.0)?).scattered(s.min.filter(|&low| low > 0.0), s.max))
    })],
    panel: "{construct}",
    series: "{beside}",
    along: "{runner}",
    chart: bars("microseconds for a construct with 1 us of work (log scale)", Scale::Log10, "us"),
    caption: |cells| (!cells.is_empty()).then(|| format!("Means of cells, their medians and extremes.{}", extremes(cells))),
};

/// The same of constructs with tasks.
pub(super) const TASKS: FigureSpec = FigureSpec {
    names: |m| is_of_tasks(m).then(|| plain_names(m)),
    title: "Tasks of OpenMP, {threads} threads",
    chart: bars("microseconds for all tasks of a construct (log scale)", Scale::Log10, "us"),
    ..CONSTRUCTS
};

/// How many times as long as the product's a runtime takes, if both were measured.
fn slower(cells: &[Cell<'_>], other: &Cell<'_>) -> f64 {
    let same = |cell: &&Cell<'_>| ["construct", "hogs"].iter().all(|name| cell.name(name) == other.name(name));
    let ours = cells.iter().filter(same).find(|cell| names::is_product(cell.name("runner")));
    ours.map_or(f64::NAN, |ours| other.value / ours.value)
}

/// Where another runtime loses most against the product, and where least.
fn extremes(cells: &[Cell<'_>]) -> String {
    let others = || cells.iter().filter(|cell| !names::is_product(cell.name("runner")) && slower(cells, cell).is_finite());
    let told = |cell: &Cell<'_>| {
        let [runtime, construct, beside] = ["runner", "construct", "beside"].map(|name| cell.name(name));
        let (time, ratio) = (quantity(cell.value * 1e3, "ns"), digits(slower(cells, cell), 2));
        format!("{runtime} takes {time} for {construct} {beside}, {ratio} times {PRODUCT}'s")
    };
    let most_and_least = most(others(), |cell| slower(cells, cell)).zip(most(others(), |cell| -slower(cells, cell)));
    most_and_least.map_or(String::new(), |(worst, best)| format!(" At most, {}; at least, {}.", told(worst), told(best)))
}

/// How long other runtimes take for constructs beside the product's, in a sentence.
pub(super) fn headline_of_constructs(all: &[Measurement]) -> Option<String> {
    let cells: Vec<Cell<'_>> = [&CONSTRUCTS, &TASKS].into_iter().flat_map(|figure| figure.cells(all)).collect();
    let others = || cells.iter().filter(|cell| !names::is_product(cell.name("runner"))).map(|cell| slower(&cells, cell));
    let ratios: Vec<f64> = others().filter(|ratio| ratio.is_finite()).collect();
    let worst = most(cells.iter().filter(|cell| slower(&cells, cell).is_finite()), |cell| slower(&cells, cell))?;
    let slower_ones = ratios.iter().filter(|ratio| **ratio > 1.0).count();
    let (runtime, construct, beside) = (worst.name("runner"), worst.name("construct"), worst.name("beside"));
    (!ratios.is_empty()).then(|| {
        format!(
            "In {slower_ones} of {} comparisons another OpenMP runtime takes longer for a construct than {PRODUCT}'s, at most {} times as \
             long ({runtime}, {construct}, {beside}).",
            ratios.len(),
            digits(slower(&cells, worst), 2)
        )
    })
}

/// What the libraries do for whole programs, in a sentence.
pub(super) fn headline_of_programs(all: &[Measurement]) -> Option<String> {
    let cells = PROGRAMS.cells(all);
    let ratio = |cell: &Cell<'_>| cell.figure("ratio").unwrap_or(f64::NAN);
    let told = || cells.iter().filter(|cell| ratio(cell).is_finite());
    let (best, worst) = (most(told(), ratio)?, most(told(), |cell| -ratio(cell))?);
    Some(format!(
        "Whole programs run {} ({}) to {} times ({}) as fast on {PRODUCT} as without it.",
        digits(ratio(worst), 3),
        worst.name("program"),
        digits(ratio(best), 3),
        best.name("program")
    ))
}

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
