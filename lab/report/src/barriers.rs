//! Barrier figures: how close each waiter comes to the best of the row, row by row and class by class, and
//! what it costs in processor time.
//!
//! Draws measurements with the labels `row`, `waiter`, `kind` (`ours` or `peer`) and `class`, and the figures
//! `oracle_share` (of the best peer or fixed policy of the row) and `cpu_us_per_episode`.
use super::axis::Scale;
use super::bars::{Bar, Bars, Panel};
use super::heat::{Column, Heat, Row};
use super::shades::{Shades, share};
use super::svg::colour;
use super::{Drawn, distinct};
use foregather_measure::barriers::figures::geomean_and_worst;
use foregather_measure::barriers::rows::{LoadClass, SUBSETS};
use foregather_results::Measurement;
use foregather_results::number::quantity;

/// The number that is drawn: a share of the row's best time.
const SHARE: &str = "oracle_share";

/// One cell of the matrix.
struct Cell<'a> {
    row: &'a str,
    waiter: &'a str,
    ours: bool,
    of: &'a Measurement,
    /// Its number among all measurements.
    number: usize,
}

impl<'a> Cell<'a> {
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

/// Does the waiter adapt its policy? 2 for the central one, 1 for the others, 0 for no.
fn adapts(waiter: &str) -> u8 {
    match waiter {
        "central/adaptive" => 2,
        name => u8::from(name.split_once('/').is_some_and(|(_, policy)| policy.starts_with("adaptive"))),
    }
}

/// A waiter with its numbers over all rows.
struct Contender<'a> {
    name: &'a str,
    ours: bool,
    geomean: f64,
    worst: f64,
    worst_row: &'a str,
    /// The number of the worst row's measurement.
    worst_number: usize,
}

impl Contender<'_> {
    fn column(&self) -> Column {
        Column { name: self.name.to_owned(), of: String::new(), first_group: self.ours }
    }
}

/// The waiters: those that adapt first, then ours, the best of each kind first.
fn waiters<'a>(all: &[Cell<'a>]) -> Vec<Contender<'a>> {
    let waiter = |name: &'a str| {
        let shares = || all.iter().filter(|c| c.waiter == name).filter_map(|c| Some((c.share()?, c)));
        let (_, cell) = shares().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let (geomean, worst) = geomean_and_worst(&shares().map(|(share, _)| share).collect::<Vec<_>>(), true)?;
        let ours = all.iter().any(|c| c.waiter == name && c.ours);
        Some(Contender { name, ours, geomean, worst, worst_row: cell.row, worst_number: cell.number })
    };
    let mut waiters: Vec<_> = distinct(all.iter().map(|c| c.waiter)).into_iter().filter_map(waiter).collect();
    let kind = |w: &Contender<'_>| (adapts(w.name), w.ours);
    waiters.sort_by(|a, b| kind(b).cmp(&kind(a)).then(b.geomean.total_cmp(&a.geomean)));
    waiters
}

/// Share of the row's oracle, rows by waiters, with the geometric mean and the worst row of each waiter.
pub(super) fn matrix(all: &[Measurement]) -> Option<Drawn> {
    let all: Vec<Cell<'_>> = all.iter().enumerate().filter_map(Cell::from).collect();
    let waiters = waiters(&all);
    waiters.first()?;
    let mut rows: Vec<Row> = Vec::new();
    for name in distinct(all.iter().map(|c| c.row)) {
        let cell = |w: &Contender<'_>| {
            let cell = all.iter().find(|c| c.row == name && c.waiter == w.name)?;
            Some((cell.share()?, Some(cell.number)))
        };
        rows.push(Row { names: vec![name.to_owned()], cells: waiters.iter().map(cell).collect() });
    }
    let n = rows.len();
    let summary = |name: &str, of: fn(&Contender<'_>) -> (f64, Option<usize>)| Row {
        names: vec![name.to_owned()],
        cells: waiters.iter().map(|w| Some(of(w))).collect(),
    };
    rows.push(summary("geometric mean", |w| (w.geomean, None)));
    rows.push(summary("worst row", |w| (w.worst, Some(w.worst_number))));
    let heat = Heat {
        title: "Barriers: episodes per second as a share of the row's best peer or fixed policy",
        scale: "1 = as fast as the best of them in the row; ours in bold",
        shades: Shades::shares(),
        heads: vec![],
        columns: waiters.iter().map(Contender::column).collect(),
        rows,
        summaries: 2,
    };
    Some(Drawn { svg: heat.render(), caption: matrix_caption(&all, &waiters, n) })
}

fn matrix_caption(all: &[Cell<'_>], waiters: &[Contender<'_>], rows: usize) -> String {
    let told = |who: &str, w: &Contender<'_>| {
        let (geomean, worst) = (share(w.geomean), share(w.worst));
        format!("{who} has a geometric mean of {geomean}, and its worst row, {}, is at {worst}", w.worst_row)
    };
    let best = |of: &dyn Fn(&Contender<'_>) -> bool| waiters.iter().find(|w| of(w));
    let mut sentences: Vec<String> = Vec::new();
    if let Some(w) = best(&|w| adapts(w.name) > 0) {
        let reached = all.iter().filter(|c| c.waiter == w.name && c.share().is_some_and(|share| share >= 0.95)).count();
        let reaches = "reaches at least .95 of the best peer or fixed policy";
        sentences.push(format!("In {reached} of {rows} rows {} {reaches}; {}", w.name, told("it", w)));
    }
    sentences.extend(best(&|w| w.ours && adapts(w.name) == 0).map(|w| format!("Of the fixed policies, {}", told(w.name, w))));
    sentences.extend(best(&|w| !w.ours).map(|w| format!("Of the peers, {}", told(w.name, w))));
    sentences.join(". ") + "."
}

/// Geometric mean and worst row of every waiter, class by class; below, over the core and the extended
/// matrix.
pub(super) fn classes(all: &[Measurement]) -> Option<Drawn> {
    let all: Vec<Cell<'_>> = all.iter().enumerate().filter_map(Cell::from).collect();
    let waiters = waiters(&all);
    let first = waiters.first()?;
    let told = |name: &str, holds: &dyn Fn(LoadClass) -> bool| {
        let both = |w: &Contender<'_>| {
            let mine = all.iter().filter(|c| c.waiter == w.name && c.class().is_some_and(holds)).filter_map(Cell::share);
            geomean_and_worst(&mine.collect::<Vec<_>>(), true)
        };
        let both: Vec<_> = waiters.iter().map(both).collect();
        let row = |what: &str, of: fn((f64, f64)) -> f64| Row {
            names: vec![name.to_owned(), what.to_owned()],
            cells: both.iter().map(|both| Some((of((*both)?), None))).collect(),
        };
        both.iter().any(Option::is_some).then(|| [row("mean", |both| both.0), row("worst", |both| both.1)])
    };
    let by_class: Vec<Row> = LoadClass::ALL.iter().filter_map(|class| told(class.name(), &|c| c == *class)).flatten().collect();
    // Subsets behind the first two are classes, which have rows of their own.
    let together: Vec<Row> = SUBSETS[..2].iter().filter_map(|(name, holds)| told(name, holds)).flatten().collect();
    let weakest = by_class.chunks(2).filter_map(|rows| Some((rows[0].cells.first().copied()??.0, &rows[0].names[0])));
    let (mean, weakest) = weakest.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let caption = format!("The weakest class of {} is {weakest}, with a geometric mean of {}.", first.name, share(mean));
    let heat = Heat {
        title: "Barriers: geometric mean and worst row of each class of load",
        scale: "of the share of the row's best peer or fixed policy",
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
    let all: Vec<Cell<'_>> =
        all.iter().enumerate().filter_map(Cell::from).filter(|c| c.of.figures.contains_key("cpu_us_per_episode")).collect();
    let waiters = waiters(&all);
    waiters.first()?;
    let rows = chosen(&distinct(all.iter().map(|c| c.row)));
    let cost = |c: &Cell<'_>| c.of.figures.get("cpu_us_per_episode").copied().unwrap_or(0.0);
    let bar = |c: &Cell<'_>| {
        let label = waiters.iter().position(|w| w.name == c.waiter)?;
        Some(Bar { label, series: usize::from(!c.ours), value: cost(c), whisker: None, dot: None, of: c.number })
    };
    let in_row = |row: &str| all.iter().filter(|c| c.row == row).collect::<Vec<_>>();
    let panel = |row: &&str| Panel { title: (*row).to_owned(), bars: in_row(row).into_iter().filter_map(bar).collect() };
    let bars = Bars {
        title: "Barriers: processor time per episode, all members together",
        axis: "us of processor time per episode (log scale)".to_owned(),
        scale: Scale::Log10,
        number: "us",
        labels: waiters.iter().map(|w| w.name.to_owned()).collect(),
        series: vec![("ours".to_owned(), colour(0)), ("peers".to_owned(), super::svg::ink::MUTED)],
        panels: rows.iter().map(panel).collect(),
    };
    let told = |row: &&str| {
        let mut here = in_row(row);
        here.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        let (least, most) = (*here.first()?, *here.last()?);
        let shown = |c: &Cell<'_>| format!("{} ({})", c.waiter, quantity(cost(c), "us"));
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
