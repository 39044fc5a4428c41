//! `[figure]`: what of a plan's runs is shown, over what.
use super::section::{Section, choice, meant, text};
use super::sweep::Axis;
use super::tree::{Located, ParseResult, Value, mistake};
use crate::metric::Metric;

pub(super) const KEYS: [&str; 9] = ["kind", "x", "series", "rows", "columns", "y", "of", "over", "best"];

/// The series of a figure that shows several jobs.
const JOB: &str = "job";

/// The number that is over the best of several choices.
const REGRET: &str = "regret";

/// What a plan's figure shows.
pub(crate) struct Figure {
    /// Is it a heat map (rows by columns), or curves (series over x)?
    pub(crate) heat: bool,
    /// What varies along it: x or columns.
    pub(crate) along: Vec<String>,
    /// What varies across it: series or rows.
    pub(crate) across: Vec<String>,
    pub(crate) y: &'static Metric,
    /// The jobs that are looked at, each for itself; nothing: all that meet, together.
    pub(crate) of: Vec<String>,
    /// The axis and the choice that speedups are over.
    pub(crate) over: Option<(usize, usize)>,
    /// The axis of whose choices the best is what regrets are over.
    pub(crate) best: Option<usize>,
    /// The line of the section.
    pub(super) line: usize,
    /// Of `of`.
    pub(super) of_line: usize,
}

/// `metrics` are what the plan's runs come to; those of a network have neither jobs nor speedups.
pub(super) fn read(node: &Located, axes: &[Axis], metrics: &'static [Metric], of_network: bool) -> ParseResult<Figure> {
    let section = if of_network {
        Section::new("the [figure] of a network", node, &KEYS[..6])?
    } else {
        Section::new("[figure]", node, &KEYS)?
    };
    let heat = section.choice("kind", &[("lines", false), ("heat", true)], false)?;
    let (along, across, others) = if heat { ("columns", "rows", ["x", "series"]) } else { ("x", "series", ["columns", "rows"]) };
    if let Some((other, node)) = others.iter().find_map(|other| Some((other, section.get(other)?))) {
        let kind = if heat { "heat map has rows and columns" } else { "figure of lines has x and series" };
        return mistake(node.line, format!("a {kind}, no `{other}`"));
    }
    let known: Vec<(&str, &'static Metric)> = metrics.iter().map(|metric| (metric.name, metric)).collect();
    let y = section.get("y").map_or(Ok(&metrics[0]), |node| choice("y", node, &known))?;
    let of_line = section.get("of").map_or(section.line(), |node| node.line);
    let of = section.get("of").map_or(Ok(vec![]), |node| names("of", node))?;
    let mut varying: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    if of.len() > 1 {
        varying.push(JOB);
    }
    let first = varying.first().map(|&name| name.to_owned());
    let along = section.get(along).map_or(Ok(first.into_iter().collect()), |node| swept(along, node, &varying))?;
    let rest = varying.iter().map(|&name| name.to_owned()).filter(|name| !along.contains(name)).take(1).collect();
    let across = section.get(across).map_or(Ok(rest), |node| swept(across, node, &varying))?;
    let over = section.get("over").map(|node| baseline(node, axes)).transpose()?;
    let best = best(&section, axes, y)?;
    Ok(Figure { heat, along, across, y, of, over, best, line: section.line(), of_line })
}

/// `best = "policy"`, which is what regrets are over if nothing is said.
fn best(section: &Section<'_>, axes: &[Axis], y: &Metric) -> ParseResult<Option<usize>> {
    let regrets = y.name == REGRET;
    let (name, line) = match section.get("best") {
        Some(node) if !regrets => return mistake(node.line, format!("`best` is what regrets are over: give y = \"{REGRET}\"")),
        Some(node) => (text("best", node)?, node.line),
        None if regrets => ("policy", section.line()),
        None => return Ok(None),
    };
    let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    match names.iter().position(|known| *known == name) {
        None => {
            mistake(line, format!("regrets are over the best choice of `{name}`, which does not vary{}", meant(name, &names)))
        }
        found => Ok(found),
    }
}

/// One name or several.
fn names(key: &str, node: &Located) -> ParseResult<Vec<String>> {
    match &node.value {
        Value::List(items) => items.iter().map(|item| text(key, item).map(str::to_owned)).collect(),
        _ => Ok(vec![text(key, node)?.to_owned()]),
    }
}

/// The names of what varies along one side.
fn swept(key: &str, node: &Located, varying: &[&str]) -> ParseResult<Vec<String>> {
    let names = names(key, node)?;
    match names.iter().find(|name| !varying.contains(&name.as_str())) {
        None => Ok(names),
        Some(name) if varying.is_empty() => mistake(node.line, format!("`{name}` does not vary: there is no [sweep]")),
        Some(name) => mistake(node.line, format!("`{name}` does not vary in [sweep]{}", meant(name, varying))),
    }
}

/// `over = { policy = "AB" }`.
fn baseline(node: &Located, axes: &[Axis]) -> ParseResult<(usize, usize)> {
    let Some([(name, choice)]) = node.entries() else {
        return mistake(node.line, "`over` names one choice: over = { policy = \"AB\" }");
    };
    let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    let Some(axis) = names.iter().position(|known| known == name) else {
        return mistake(choice.line, format!("`{name}` does not vary in [sweep]{}", meant(name, &names)));
    };
    let label = text("over", choice)?;
    let labels: Vec<&str> = axes[axis].choices.iter().map(|choice| choice.label.as_str()).collect();
    match labels.iter().position(|known| *known == label) {
        Some(choice) => Ok((axis, choice)),
        None => mistake(choice.line, format!("`{label}` is no choice of `{name}`{}", meant(label, &labels))),
    }
}
