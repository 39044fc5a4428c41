//! Programs with one planted fault each under `foregather advise`: which cause it names, and how certain it
//! is.
//!
//! Draws measurements `advise/...` (a cause that was named for a kind: the labels `kind`, `said` and `fault`,
//! the figures `runs`, `right` and `sure`, and of all runs of the kind `runs_of_kind`, `right_of_kind` and
//! `sure_of_kind`), and measurements `cure/...` (such a program in one `way`: the figure `relative` is its
//! speed relative to that with the best of a grid of settings, `best_s` the time with that, and `right` is 1
//! if the advice was right).
use super::shades::Shades;
use super::spec::{Chart, DrawnValue, FigureSpec, ShownMeasurement, figure};
use foregather_results::Measurement;
use std::collections::BTreeMap;

/// A kind counts if this share of its runs is right.
const COUNTS: f64 = 0.9;

/// The runs, below zero if the cause is not the planted one.
fn runs(m: &Measurement) -> Option<f64> {
    let (runs, right) = (figure(m, "runs")?, figure(m, "right")?);
    Some(if right * 2.0 >= runs { runs } else { -runs })
}

/// A row for each kind, a column for each cause; right verdicts first, so that they lie on the diagonal.
pub(super) const VERDICTS: FigureSpec = FigureSpec {
    of: &["advise/"],
    names: |m| {
        let [kind, said] = ["kind", "said"].map(|name| Some(m.labels.get(name)?.replace('-', " ")));
        let [runs, right, sure] = ["runs_of_kind", "right_of_kind", "sure_of_kind"].map(|name| figure(m, name));
        let kind = if m.labels.get("fault")? == "yes" { kind? } else { format!("no fault: {}", kind?) };
        Some(vec![("row", format!("{kind} ({} of {}, {} sure)", right?, runs?, sure?)), ("cause", said?)])
    },
    keep: |cells| cells.sort_by_key(|cell| cell.value < 0.0),
    title: "Which cause advise names for a planted fault",
    values: &[("", |m| Some(DrawnValue::of(runs(m)?)))],
    series: "{cause}",
    along: "{row}",
    chart: Chart::Heat { scale: "runs, by the cause that was named", shades: Shades::verdicts },
    caption,
    ..FigureSpec::PLAIN
};

/// The columns of [`CURES`].
const WAYS: [&str; 4] = ["as it is", "predicted", "verified", "best of 16 settings"];

/// What the advice for each kind was worth. The document has failures first.
pub(super) const CURES: FigureSpec = FigureSpec {
    of: &["cure/"],
    names: |m| {
        let [kind, way] = ["kind", "way"].map(|name| Some(m.labels.get(name)?.replace('-', " ")));
        let ending = if figure(m, "right")? == 1.0 { "" } else { ", missed" };
        Some(vec![("row", format!("{} ({:.2} s{ending})", kind?, figure(m, "best_s")?)), ("way", way?)])
    },
    keep: |cells| cells.sort_by_key(|cell| WAYS.iter().position(|way| *way == cell.name("way"))),
    title: "Programs with a planted fault: advised setting, predicted and measured",
    values: &[("", |m| Some(DrawnValue::of(figure(m, "relative")?)))],
    series: "{way}",
    along: "{row}",
    chart: Chart::Heat { scale: "speed relative to the best of 16 settings", shades: Shades::shares },
    caption: cures_caption,
    ..FigureSpec::PLAIN
};

fn cures_caption(cells: &[ShownMeasurement<'_>]) -> Option<String> {
    let kinds: BTreeMap<&str, &ShownMeasurement<'_>> = cells.iter().map(|cell| (&*cell.m.labels["kind"], cell)).collect();
    let right = kinds.values().filter(|cell| cell.figure("right") == Some(1.0)).count();
    let faster = kinds.values().filter(|cell| cell.figure("gain").is_some_and(|gain| gain > 1.5)).count();
    (!kinds.is_empty()).then(|| {
        format!(
            "For {right} of {} kinds of faults, the prediction is within a factor of 1.5 of the measured time and the advised setting \
             takes at most 1.1 times as long as the best of 16 settings. With it, {faster} of them run more than 1.5 times as fast. In \
             brackets: the time with the best setting.",
            kinds.len()
        )
    })
}

fn caption(cells: &[ShownMeasurement<'_>]) -> Option<String> {
    let sum = |name: &str| cells.iter().filter_map(|cell| cell.figure(name)).sum::<f64>();
    let kinds = |fault: &str| -> BTreeMap<&str, (f64, f64)> {
        let of_fault = cells.iter().filter(|cell| cell.name("fault") == fault);
        let counted = |cell: &ShownMeasurement<'_>| Some((cell.figure("right_of_kind")?, cell.figure("runs_of_kind")?));
        of_fault.filter_map(|cell| Some((&*cell.m.labels["kind"], counted(cell)?))).collect()
    };
    let (faults, clean) = (kinds("yes"), kinds("no"));
    let counting = faults.values().filter(|(right, runs)| *right >= COUNTS * runs).count();
    let [silent, of] =
        [|(right, _): &(f64, f64)| *right, |(_, runs): &(f64, f64)| *runs].map(|part| clean.values().map(part).sum::<f64>());
    let sure_and_right: f64 = cells.iter().filter(|cell| cell.value > 0.0).filter_map(|cell| cell.figure("sure")).sum();
    (!cells.is_empty()).then(|| {
        format!(
            "{counting} of {} kinds of faults are named right in at least 9 of 10 runs, {silent} of {of} runs without a fault are silent, and of {} \
             sure verdicts {sure_and_right} are right. A row is a kind of program; in brackets: how many of its runs were named right, and \
             how many verdicts were sure.",
            faults.len(),
            sum("sure")
        )
    })
}
