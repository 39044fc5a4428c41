//! Constructs of OpenMP: what each costs by every runtime, alone and beside hogs; and whole programs, with
//! and without this project's libraries.
//!
//! Draws measurements `openmp/...` (microseconds, with the labels `construct`, `threads`, `hogs` and
//! `runner`) and `program/time/...` (milliseconds, with the labels `program` and `libraries`).
use super::Headline;
use super::axis::Scale;
use super::names::{self, PRODUCT};
use super::spec::{DrawnValue, FigureSpec, ShownMeasurement, bars, most};
use foregather_results::ids::OPENMP;
use foregather_results::number::{digits, quantity};
use foregather_results::{Conclusion, Measurement, Speedup, TrustLevel};

/// Constructs in plain words; those with tasks have a figure of their own.
const PLAIN: [(&str, &str); 13] = [
    ("region", "parallel region"),
    ("barrier", "barrier"),
    ("single", "single"),
    ("static", "loop of 64 iterations"),
    ("dynamic", "loop of 64 chunks"),
    ("reduction", "reduction"),
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
    let construct = m.text("construct");
    let plain = PLAIN.iter().find(|(known, _)| *known == construct).map_or(construct, |(_, plain)| plain);
    let construct = Some(("construct", plain.to_owned())).filter(|_| !construct.is_empty());
    construct.into_iter().chain(names::runner_and_load(m)).collect()
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
        Some(DrawnValue::of(s.p50.filter(|&us| us > 0.0)?).scattered(s.min.filter(|&low| low > 0.0), s.max))
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
fn slower(cells: &[ShownMeasurement<'_>], other: &ShownMeasurement<'_>) -> f64 {
    let same = |cell: &&ShownMeasurement<'_>| ["construct", "hogs"].iter().all(|name| cell.name(name) == other.name(name));
    let ours = cells.iter().filter(same).find(|cell| names::is_product(cell.name("runner")));
    ours.map_or(f64::NAN, |ours| other.value / ours.value)
}

/// Where another runtime loses most against the product, and where least.
fn extremes(cells: &[ShownMeasurement<'_>]) -> String {
    let others = || cells.iter().filter(|cell| !names::is_product(cell.name("runner")) && slower(cells, cell).is_finite());
    let told = |cell: &ShownMeasurement<'_>| {
        let [runtime, construct, beside] = ["runner", "construct", "beside"].map(|name| cell.name(name));
        let (time, ratio) = (quantity(cell.value * 1e3, "ns"), digits(slower(cells, cell), 2));
        format!("{runtime} takes {time} for {construct} {beside}, {ratio} times {PRODUCT}'s")
    };
    let most_and_least = most(others(), |cell| slower(cells, cell)).zip(most(others(), |cell| -slower(cells, cell)));
    most_and_least.map_or(String::new(), |(worst, best)| format!(" At most, {}; at least, {}.", told(worst), told(best)))
}

/// How long other runtimes take for constructs beside the product's, in a sentence.
pub(super) fn headline_of_constructs(all: &[Measurement]) -> Option<Headline> {
    let cells: Vec<ShownMeasurement<'_>> = [&CONSTRUCTS, &TASKS].into_iter().flat_map(|figure| figure.cells(all)).collect();
    let compared = || cells.iter().filter(|cell| !names::is_product(cell.name("runner")) && slower(&cells, cell).is_finite());
    let worst = most(compared(), |cell| slower(&cells, cell))?;
    let slower_ones = compared().filter(|cell| slower(&cells, cell) > 1.0).count();
    let [runtime, construct, beside] = ["runner", "construct", "beside"].map(|name| worst.name(name));
    let ratio = digits(slower(&cells, worst), 2);
    let (about, sentence) = match compared().count() {
        1 => (
            format!("{construct} of {runtime} {beside}"),
            format!("{runtime} takes {ratio} times as long as {PRODUCT} for {construct} {beside}."),
        ),
        count => (
            format!("{count} comparisons of constructs of OpenMP"),
            format!(
                "In {slower_ones} of {count} comparisons another OpenMP runtime takes longer for a construct than {PRODUCT}'s, at most \
                 {ratio} times as long ({runtime}, {construct}, {beside})."
            ),
        ),
    };
    Some(Headline { about, sentence, is_single: compared().all(|cell| cell.m.summary.n < 2) })
}

/// What the libraries do for whole programs, in a sentence.
pub(super) fn headline_of_programs(all: &[Measurement]) -> Option<Headline> {
    let cells = PROGRAMS.cells(all);
    let told: Vec<(&ShownMeasurement<'_>, Speedup)> = cells.iter().filter_map(|cell| Some((cell, speedup(cell)?))).collect();
    let by_ratio = |a: &&(&ShownMeasurement<'_>, Speedup), b: &&(&ShownMeasurement<'_>, Speedup)| a.1.ratio.total_cmp(&b.1.ratio);
    let (worst, best) = (told.iter().min_by(by_ratio)?, told.iter().max_by(by_ratio)?);
    // How quiet the machine was decides whether the sentence is used at all.
    let conclusion = |of: &Speedup| of.conclusion(TrustLevel::Quiet);
    let [ratio, least, most] = [best.1.ratio, best.1.least, best.1.most].map(|ratio| digits(ratio, 3));
    let program = best.0.name("program");
    let (about, sentence) = if let [one] = &told[..] {
        (
            format!("{program}, which ran {least} to {most} times as fast on {PRODUCT} as without it"),
            format!(
                "{program} runs {ratio} times as fast on {PRODUCT} as without it ({least} to {most}, {} pairs): {}.",
                one.1.pairs,
                conclusion(&one.1)
            ),
        )
    } else {
        let count = |wanted: Conclusion, what: &str| {
            let count = told.iter().filter(|(_, of)| conclusion(of) == wanted).count();
            (count > 0).then(|| format!("{count} {what}"))
        };
        let counts = [
            count(Conclusion::Faster, "faster"),
            count(Conclusion::Slower, "slower"),
            count(Conclusion::NoDifference, "with no difference seen"),
            count(Conclusion::OnePair, "measured once"),
        ];
        let counts = counts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let (slowest, other) = (digits(worst.1.ratio, 3), worst.0.name("program"));
        (
            format!("{} whole programs", told.len()),
            format!(
                "Of {} whole programs on {PRODUCT}: {counts}; from {slowest} ({other}) to {ratio} times ({program}) as fast as \
                 without it.",
                told.len()
            ),
        )
    };
    Some(Headline { about, sentence, is_single: told.iter().all(|(_, of)| of.pairs < 2) })
}

/// How many times as fast a program was with the libraries; `None` for a run without them.
fn speedup(cell: &ShownMeasurement<'_>) -> Option<Speedup> {
    let [ratio, least, most] = ["ratio", "ratio_least", "ratio_most"].map(|name| cell.figure(name));
    let ratio = ratio.filter(|ratio| ratio.is_finite())?;
    Some(Speedup { ratio, least: least?, most: most?, pairs: cell.m.summary.n })
}

/// What ids of times of whole programs begin with.
const PROGRAM_TIMES: &str = "program/time/";

/// A line for each program, a bar without the libraries and one with them.
pub(super) const PROGRAMS: FigureSpec = FigureSpec {
    of: &[PROGRAM_TIMES],
    title: "Whole programs",
    values: &[("", |m| {
        let s = &m.summary;
        Some(DrawnValue::of(s.p50.filter(|&ms| ms > 0.0)?).scattered(s.min.filter(|&low| low > 0.0), s.max))
    })],
    series: "{libraries}",
    along: "{program}",
    chart: bars("milliseconds from begin to end", Scale::Linear, "ms"),
    caption: |cells| {
        let told = |cell: &ShownMeasurement<'_>| {
            let Speedup { ratio, least, most, .. } = speedup(cell)?;
            let [ratio, least, most] = [ratio, least, most].map(|ratio| digits(ratio, 3));
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
