//! Barrier figures: how close each waiter comes to the best of the row, row by row and class by class, and
//! what it costs in processor time.
//!
//! Draws measurements with the labels `row`, `waiter`, `kind` (`ours` or `peer`) and `class`, and the figures
//! `oracle_share` (of the best peer or fixed policy of the row) and `cpu_us_per_episode`.
use super::axis::Scale;
use super::bars::{Bar, Bars, Panel};
use super::heat::{Column, ColumnGroup, Heat, HeatRow};
use super::names::{self, PRODUCT};
use super::shades::{Shades, share};
use super::svg::{colour, ink};
use super::{Drawn, Headline, distinct};
use foregather_results::Measurement;
use foregather_results::geomean_and_worst;
use foregather_results::ids::{CANDIDATE, RUST_STD};
use foregather_results::number::{digits, quantity};
use foregather_results::row::{LoadClass, SUBSETS};
use std::collections::BTreeMap;

/// The groups of waiters as series of bars.
const SERIES: [(&str, &str); 3] = [(PRODUCT, colour(0)), ("other libraries", ink::MUTED), ("fixed ways of waiting", ink::PALE)];
/// More waiters are not drawn.
const WAITERS_MAX: usize = 40;
/// The number that is drawn: a share of the row's best time.
const SHARE: &str = "oracle_share";

/// One cell of the matrix.
struct MatrixCell<'a> {
    row: &'a str,
    waiter: &'a str,
    ours: bool,
    of: &'a Measurement,
    /// Its number among all measurements.
    number: usize,
}

impl<'a> MatrixCell<'a> {
    fn from((number, of): (usize, &'a Measurement)) -> Option<Self> {
        let label = |name| of.labels.get(name).map(String::as_str);
        Some(Self { row: label("row")?, waiter: label("waiter")?, ours: label("kind") == Some("ours"), of, number })
    }

    fn class(&self) -> Option<LoadClass> {
        self.of.labels.get("class").and_then(|name| LoadClass::named(name))
    }

    fn share(&self) -> Option<f64> {
        self.of.figures.get(SHARE).copied()
    }
}

/// A waiter with its numbers over all rows.
struct Contender<'a> {
    name: &'a str,
    group: ColumnGroup,
    geomean: f64,
    worst: f64,
    worst_row: &'a str,
    /// The number of the worst row's measurement.
    worst_number: usize,
}

impl Contender<'_> {
    fn column(&self) -> Column {
        Column { name: names::waiter(self.name), of: String::new(), group: self.group }
    }

    /// Returns whether it waits adaptively with another barrier than the product's.
    fn adapts(&self) -> bool {
        self.group == ColumnGroup::Fixed && self.name.split_once('/').is_some_and(|(_, policy)| policy.starts_with("adaptive"))
    }
}

/// The waiters: the product, other libraries, fixed policies; of each the best first.
fn waiters<'a>(all: &[MatrixCell<'a>]) -> Vec<Contender<'a>> {
    let waiter = |name: &'a str| {
        let shares = || all.iter().filter(|c| c.waiter == name).filter_map(|c| Some((c.share()?, c)));
        let (_, cell) = shares().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let (geomean, worst) = geomean_and_worst(&shares().map(|(share, _)| share).collect::<Vec<_>>(), true)?;
        let group = match all.iter().any(|c| c.waiter == name && c.ours) {
            _ if name == CANDIDATE => ColumnGroup::Product,
            true => ColumnGroup::Fixed,
            false => ColumnGroup::Peer,
        };
        Some(Contender { name, group, geomean, worst, worst_row: cell.row, worst_number: cell.number })
    };
    let mut waiters: Vec<_> = distinct(all.iter().map(|c| c.waiter)).into_iter().take(WAITERS_MAX).filter_map(waiter).collect();
    let place = |w: &Contender<'_>| (w.group as u8, !w.adapts());
    waiters.sort_by(|a, b| place(a).cmp(&place(b)).then(b.geomean.total_cmp(&a.geomean)));
    waiters
}

/// Share of the row's oracle, rows by waiters, with the geometric mean and the worst row of each waiter.
pub(super) fn matrix(all: &[Measurement]) -> Option<Drawn> {
    let all: Vec<MatrixCell<'_>> = all.iter().enumerate().filter_map(MatrixCell::from).collect();
    let waiters = waiters(&all);
    waiters.first()?;
    let found: BTreeMap<(&str, &str), &MatrixCell<'_>> = all.iter().rev().map(|c| ((c.row, c.waiter), c)).collect();
    let mut rows: Vec<HeatRow> = Vec::new();
    for name in distinct(all.iter().map(|c| c.row)) {
        let cell = |w: &Contender<'_>| found.get(&(name, w.name)).and_then(|cell| Some((cell.share()?, Some(cell.number))));
        let names = names::row(name).map_or_else(|| vec![String::new(), name.to_owned()], Vec::from);
        rows.push(HeatRow { names, cells: waiters.iter().map(cell).collect() });
    }
    // Rows of as much work stand together.
    let works: Vec<String> = distinct(rows.iter().map(|row| row.names[0].as_str())).into_iter().map(str::to_owned).collect();
    rows.sort_by_key(|row| works.iter().position(|work| *work == row.names[0]));
    let n = rows.len();
    let summary = |name: &str, of: fn(&Contender<'_>) -> (f64, Option<usize>)| HeatRow {
        names: vec![name.to_owned()],
        cells: waiters.iter().map(|w| Some(of(w))).collect(),
    };
    rows.push(summary("geometric mean", |w| (w.geomean, None)));
    rows.push(summary("worst row", |w| (w.worst, Some(w.worst_number))));
    let heat = Heat {
        title: "Barriers per second, relative to the best other library under the same load",
        scale: "1 = as fast as the best other",
        shades: Shades::shares(),
        heads: vec!["work between".to_owned(), "load".to_owned()],
        columns: waiters.iter().map(Contender::column).collect(),
        rows,
        summaries: 2,
    };
    Some(Drawn { svg: heat.render(), caption: matrix_caption(&all, &waiters, n) })
}

/// In how many rows a waiter comes to at least 0.95 of the best.
fn reached(all: &[MatrixCell<'_>], waiter: &str) -> usize {
    all.iter().filter(|c| c.waiter == waiter && c.share().is_some_and(|share| share >= 0.95)).count()
}

fn matrix_caption(all: &[MatrixCell<'_>], waiters: &[Contender<'_>], rows: usize) -> String {
    let told = |what: &str, w: &Contender<'_>| {
        let (geomean, worst, row) = (share(w.geomean), share(w.worst), names::row_whole(w.worst_row));
        format!("{what} has a geometric mean of {geomean}; its worst row, {row}, is at {worst}")
    };
    let best = |of: &dyn Fn(&Contender<'_>) -> bool| waiters.iter().find(|w| of(w));
    let mut sentences: Vec<String> = Vec::new();
    if let Some(w) = best(&|w| w.group == ColumnGroup::Product) {
        let reached = reached(all, w.name);
        sentences.push(format!(
            "In {reached} of {rows} rows {PRODUCT} reaches at least 0.95 of the best peer or fixed policy. {}",
            told("It", w)
        ));
    }
    sentences
        .extend(best(&|w| w.group == ColumnGroup::Peer).map(|w| told(&format!("Of the peers {}", names::waiter(w.name)), w)));
    let fixed = best(&|w| w.group == ColumnGroup::Fixed && !w.adapts());
    sentences.extend(fixed.map(|w| told(&format!("Of the fixed policies {}", names::waiter(w.name)), w)));
    sentences.join(". ") + "."
}

/// How close the product comes to the best of each row, and how close others do, in a sentence.
pub(super) fn headline(all: &[Measurement]) -> Option<Headline> {
    let all: Vec<MatrixCell<'_>> = all.iter().enumerate().filter_map(MatrixCell::from).collect();
    let waiters = waiters(&all);
    let product = waiters.iter().find(|w| w.group == ColumnGroup::Product)?;
    let rows = distinct(all.iter().map(|c| c.row));
    let peer = |w: &Contender<'_>| format!("{}: {}", names::waiter(w.name), number(w.geomean));
    let mut peers: Vec<&Contender<'_>> = waiters.iter().filter(|w| w.group == ColumnGroup::Peer).collect();
    // The best of them, and what most programs have.
    let usual = peers.iter().position(|w| w.name == RUST_STD);
    peers = [peers.first().copied(), usual.filter(|&at| at > 0).map(|at| peers[at])].into_iter().flatten().collect();
    let others: Vec<String> = peers.into_iter().map(peer).collect();
    let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join("; ")) };
    let (geomean, reached) = (number(product.geomean), reached(&all, product.name));
    let (about, sentence) = match rows[..] {
        [row] => {
            let row = names::row_whole(row);
            (
                format!("barriers under the one load {row}"),
                format!(
                    "Under the one load {row}, {PRODUCT}'s barrier is {geomean} times as fast as the best other way{others}."
                ),
            )
        }
        _ => (
            format!("barriers under {} loads", rows.len()),
            format!(
                "Under {} loads, {PRODUCT}'s barrier is {geomean} times as fast as the best other way for each of them, by the \
                 geometric mean{others}; under {reached} of them it reaches at least 0.95.",
                rows.len()
            ),
        ),
    };
    let is_single = all.iter().filter(|c| c.waiter == product.name).all(|c| c.of.summary.n < 2);
    Some(Headline { about, sentence, is_single })
}

/// A ratio within a sentence, with two digits behind the point.
fn number(ratio: f64) -> String {
    if ratio < 0.1 { digits(ratio, 2) } else { format!("{ratio:.2}") }
}

/// Geometric mean and worst row of every waiter, class by class; below, over the core and the extended
/// matrix.
pub(super) fn classes(all: &[Measurement]) -> Option<Drawn> {
    let all: Vec<MatrixCell<'_>> = all.iter().enumerate().filter_map(MatrixCell::from).collect();
    let waiters = waiters(&all);
    let first = waiters.first()?;
    let told = |name: &str, holds: &dyn Fn(LoadClass) -> bool| {
        let both = |w: &Contender<'_>| {
            let mine = all.iter().filter(|c| c.waiter == w.name && c.class().is_some_and(holds)).filter_map(MatrixCell::share);
            geomean_and_worst(&mine.collect::<Vec<_>>(), true)
        };
        let both: Vec<_> = waiters.iter().map(both).collect();
        let row = |what: &str, of: fn((f64, f64)) -> f64| HeatRow {
            names: vec![name.to_owned(), what.to_owned()],
            cells: both.iter().map(|both| Some((of((*both)?), None))).collect(),
        };
        both.iter().any(Option::is_some).then(|| [row("mean", |both| both.0), row("worst", |both| both.1)])
    };
    let by_class: Vec<HeatRow> =
        LoadClass::ALL.iter().filter_map(|class| told(class.name(), &|c| c == *class)).flatten().collect();
    // Subsets behind the first two are classes, which have rows of their own.
    let together: Vec<HeatRow> = SUBSETS[..2].iter().filter_map(|(name, holds)| told(name, holds)).flatten().collect();
    let weakest = by_class.chunks(2).filter_map(|rows| Some((rows[0].cells.first().copied()??.0, &rows[0].names[0])));
    let (mean, weakest) = weakest.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let first = names::waiter(first.name);
    let caption = format!("The weakest class of {first} is {weakest}, with a geometric mean of {}.", share(mean));
    let heat = Heat {
        title: "Barriers: geometric mean and worst row of each class of load",
        scale: "of the share of the best other way under the same load",
        shades: Shades::shares(),
        heads: vec![],
        columns: waiters.iter().map(Contender::column).collect(),
        summaries: together.len(),
        rows: by_class.into_iter().chain(together).collect(),
    };
    Some(Drawn { svg: heat.render(), caption })
}

/// Up to four rows that differ in their load, evenly chosen: those with a grain of 1 us if there are any.
fn chosen<'a>(rows: &[&'a str]) -> Vec<&'a str> {
    let fine: Vec<&str> = rows.iter().copied().filter(|row| row.ends_with(", 1 us")).collect();
    let from = if fine.is_empty() { rows.to_vec() } else { fine };
    let n = from.len().min(4);
    (0..n).map(|i| from[i * (from.len() - 1) / (n - 1).max(1)]).collect()
}

/// Processor time per episode in a few rows.
pub(super) fn cpu(all: &[Measurement]) -> Option<Drawn> {
    let all: Vec<MatrixCell<'_>> =
        all.iter().enumerate().filter_map(MatrixCell::from).filter(|c| c.of.figures.contains_key("cpu_us_per_episode")).collect();
    let waiters = waiters(&all);
    waiters.first()?;
    let rows = chosen(&distinct(all.iter().map(|c| c.row)));
    let cost = |c: &MatrixCell<'_>| c.of.figures.get("cpu_us_per_episode").copied().unwrap_or(0.0);
    let bar = |c: &MatrixCell<'_>| {
        let label = waiters.iter().position(|w| w.name == c.waiter)?;
        Some(Bar { label, series: waiters[label].group as usize, value: cost(c), whisker: None, dot: None, of: c.number })
    };
    let in_row = |row: &str| all.iter().filter(|c| c.row == row).collect::<Vec<_>>();
    let panel = |row: &&str| Panel { title: names::row_whole(row), bars: in_row(row).into_iter().filter_map(bar).collect() };
    let bars = Bars {
        title: "Barriers: processor time per episode, all members together",
        axis: "us of processor time per episode (log scale)".to_owned(),
        scale: Scale::Log10,
        number: "us",
        labels: waiters.iter().map(|w| names::waiter(w.name)).collect(),
        series: SERIES.map(|(name, ink)| (name.to_owned(), ink)).into(),
        panels: rows.iter().map(panel).collect(),
    };
    let told = |row: &&str| {
        let mut here = in_row(row);
        here.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        let (least, most) = (*here.first()?, *here.last()?);
        let shown = |c: &MatrixCell<'_>| format!("{} ({})", names::waiter(c.waiter), quantity(cost(c), "us"));
        let row = names::row_whole(row);
        Some(format!("{row}: least by {}, most by {}", shown(least), shown(most)))
    };
    let (first, last) = (*rows.first()?, *rows.last()?);
    let told: Vec<String> = [Some(first), (last != first).then_some(last)].iter().flatten().filter_map(told).collect();
    Some(Drawn { svg: bars.render(), caption: format!("Processor time per episode in {}.", told.join("; in ")) })
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn the_rows_shown_differ_in_load_at_one_grain() {
        let rows = ["2t pinned, 0 us", "2t pinned, 1 us", "2t, 1 us", "3t, 1 us", "4t, 1 us", "8t, 1 us", "8t, 20 us"];
        assert_eq!(chosen(&rows), ["2t pinned, 1 us", "2t, 1 us", "3t, 1 us", "8t, 1 us"]);
        assert_eq!(chosen(&["a", "b"]), ["a", "b"]);
        assert_eq!(chosen(&["a"]), ["a"]);
        assert!(chosen(&[]).is_empty());
    }
}
