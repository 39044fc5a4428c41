//! `[figure]`: which numbers of a plan's runs are shown, over what.
use super::read::{AnyValue, KEY, choice, read as read_table, table, values};
use super::sweep::SweptParameter;
use super::tree::{Located, ParseResult, mistake};
use crate::metric::Metric;
use foregather_results::meant;

table! {
    "[figure]" Table {
        ;
        kind: IsHeat, x: (usize, Names), series: (usize, Names), rows: (usize, Names), columns: (usize, Names), y: (usize, AnyValue),
        of: (usize, Names), over: (usize, AnyValue), best: (usize, String)
    }
}

values! {
    IsHeat(bool) = |value| choice(value, &[("lines", false), ("heat", true)]);
    /// One name or several.
    Names(Vec<String>) = |value| match value {
        AnyValue::List(items) => items.iter().map(super::read::text).collect(),
        _ => Ok(vec![super::read::text(value)?]),
    };
}

/// The series of a figure that shows several jobs.
const JOB: &str = "job";

/// The number that compares a choice with the best of several.
const REGRET: &str = "regret";

/// What a plan's figure shows.
pub(crate) struct PlanFigure {
    /// Returns whether it is a heat map (rows by columns), not curves (series over x).
    pub(crate) heat: bool,
    /// The names of what varies along it: x or columns.
    pub(crate) along: Vec<String>,
    /// The names of what varies across it: series or rows.
    pub(crate) across: Vec<String>,
    pub(crate) y: &'static Metric,
    /// The jobs that are looked at, each by itself; none: all that meet, together.
    pub(crate) of: Vec<String>,
    /// The axis and the choice that speedups are over.
    pub(crate) over: Option<(usize, usize)>,
    /// The axis that regrets are over: the best of its choices is what they compare with.
    pub(crate) best: Option<usize>,
    /// The line of `[figure]`.
    pub(super) line: usize,
    /// The line of its key `of`.
    pub(super) of_line: usize,
}

/// Reads `[figure]`. `metrics` are the numbers that the plan's runs give; those of a network have neither
/// jobs nor speedups.
pub(super) fn read(
    node: &Located,
    axes: &[SweptParameter],
    metrics: &'static [Metric],
    of_network: bool,
) -> ParseResult<PlanFigure> {
    let table: Table = read_table(node)?;
    if let Some((key, node)) = ["of", "over", "best"].iter().find_map(|key| Some((key, node.get(key)?))).filter(|_| of_network) {
        return mistake(node.line, format!("unknown key `{key}` in the [figure] of a network: it has neither jobs nor speedups"));
    }
    let heat = table.kind.is_some_and(|kind| kind.0);
    let kind = if heat { "heat map has rows and columns" } else { "figure of lines has x and series" };
    let others =
        if heat { [("x", &table.x), ("series", &table.series)] } else { [("columns", &table.columns), ("rows", &table.rows)] };
    if let Some((other, (line, _))) = others.into_iter().find_map(|(key, given)| Some((key, given.as_ref()?))) {
        return mistake(*line, format!("a {kind}, no `{other}`"));
    }
    let known: Vec<(&str, &'static Metric)> = metrics.iter().map(|metric| (metric.name, metric)).collect();
    let y = match &table.y {
        Some((line, value)) => choice(value, &known).or_else(|what| mistake(*line, what.replace(KEY, "y")))?,
        None => &metrics[0],
    };
    let best = best(table.best.as_ref(), node.line, axes, y)?;
    let (of_line, of) = table.of.map_or((node.line, vec![]), |(line, names)| (line, names.0));
    let mut varying: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    if of.len() > 1 {
        varying.push(JOB);
    }
    let [along, across] = if heat { [table.columns, table.rows] } else { [table.x, table.series] };
    let first = varying.first().map(|&name| name.to_owned());
    let along = along.map_or(Ok(first.into_iter().collect()), |given| swept(given, &varying))?;
    let rest = varying.iter().map(|&name| name.to_owned()).filter(|name| !along.contains(name)).take(1).collect();
    let across = across.map_or(Ok(rest), |given| swept(given, &varying))?;
    let over = table.over.map(|given| baseline(&given, axes)).transpose()?;
    Ok(PlanFigure { heat, along, across, y, of, over, best, line: node.line, of_line })
}

/// The axis that `best = "policy"` names; without it `policy`, if the figure shows regrets.
fn best(given: Option<&(usize, String)>, line: usize, axes: &[SweptParameter], y: &Metric) -> ParseResult<Option<usize>> {
    let (line, name) = match given {
        Some((line, _)) if y.name != REGRET => {
            return mistake(*line, format!("`best` is what regrets are over: give y = \"{REGRET}\""));
        }
        Some((line, name)) => (*line, name.as_str()),
        None if y.name == REGRET => (line, "policy"),
        None => return Ok(None),
    };
    match axis(name, axes) {
        Err(meant) => mistake(line, format!("regrets are over the best choice of `{name}`, which does not vary{meant}")),
        Ok(found) => Ok(Some(found)),
    }
}

/// The axis of that name, or what was probably meant.
fn axis(name: &str, axes: &[SweptParameter]) -> Result<usize, String> {
    let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    names.iter().position(|known| *known == name).ok_or_else(|| meant(name, &names))
}

/// The names of what varies along one side.
fn swept((line, Names(names)): (usize, Names), varying: &[&str]) -> ParseResult<Vec<String>> {
    match names.iter().find(|name| !varying.contains(&name.as_str())) {
        None => Ok(names),
        Some(name) if varying.is_empty() => mistake(line, format!("`{name}` does not vary: there is no [sweep]")),
        Some(name) => mistake(line, format!("`{name}` does not vary in [sweep]{}", meant(name, varying))),
    }
}

/// `over = { policy = "AB" }`.
fn baseline((line, value): &(usize, AnyValue), axes: &[SweptParameter]) -> ParseResult<(usize, usize)> {
    let one = if let AnyValue::Table(entries) = value { entries.iter().next().filter(|_| entries.len() == 1) } else { None };
    let Some((name, AnyValue::Text(label))) = one else {
        return mistake(*line, "`over` names one choice: over = { policy = \"AB\" }");
    };
    let axis = axis(name, axes).or_else(|meant| mistake(*line, format!("`{name}` does not vary in [sweep]{meant}")))?;
    let labels: Vec<&str> = axes[axis].choices.iter().map(|choice| choice.label.as_str()).collect();
    match labels.iter().position(|known| known == label) {
        Some(choice) => Ok((axis, choice)),
        None => mistake(*line, format!("`{label}` is no choice of `{name}`{}", meant(label, &labels))),
    }
}
