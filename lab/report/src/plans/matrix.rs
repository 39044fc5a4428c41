//! A plan's figure as a matrix of colours, and of many choices the means of each, over all others.
use super::description::quantity_of;
use super::{Drawn, Shown, capital, choices, circumstances, describe, plain};
use crate::heat::{Column, ColumnGroup, Heat, HeatRow};
use crate::shades::Shades;
use foregather_results::Measurement;
use foregather_results::number::digits;
use std::collections::BTreeMap;

/// Rows that have this number of names or more are averaged by choice.
const NAMES_AVERAGED: usize = 3;
/// The unit of a plan of regrets: time that the best choice would have saved.
const REGRET: &str = "regret";

/// The means of all rows with one choice, column by column.
struct ChoiceMeans<'a> {
    name: &'a str,
    choice: String,
    means: Vec<Option<f64>>,
}

/// Rows or columns, in order of first appearance.
#[derive(Default)]
struct NamedPositions {
    names: Vec<Vec<String>>,
    known: BTreeMap<Vec<String>, usize>,
}

impl NamedPositions {
    fn of(&mut self, names: Vec<String>) -> usize {
        *self.known.entry(names).or_insert_with_key(|names| {
            self.names.push(names.clone());
            self.names.len() - 1
        })
    }
}

pub(super) fn draw(mut plan: Shown<'_>) -> Option<Drawn> {
    let columns = plan.axis("column-axis");
    let named = plan.axis("row-axis");
    // Names besides those make more rows.
    let row_names = [named.clone(), plan.others(&[columns.as_slice(), named.as_slice()].concat())].concat();
    let names = [columns.as_slice(), row_names.as_slice()].concat();
    let base = plan.take_base(&names);
    let what = match (base, plan.unit) {
        (Some(base), _) => format!("times as fast as {base}"),
        (None, unit) => format!("{} ({unit})", plan.what),
    };
    let shown: Vec<&(usize, &Measurement)> = plan.points.iter().filter(|(_, m)| m.summary.mean.is_some()).collect();
    let (mut across, mut down) = (NamedPositions::default(), NamedPositions::default());
    let mut cells = BTreeMap::new();
    for (number, m) in &shown {
        let place = (down.of(choices(m, &row_names)), across.of(describe(m, &columns)));
        cells.insert(place, (m.summary.mean?, Some(*number)));
    }
    let across = across.names;
    let row = |(i, names)| HeatRow { names, cells: (0..across.len()).map(|column| cells.get(&(i, column)).copied()).collect() };
    let mut rows: Vec<HeatRow> = down.names.into_iter().enumerate().map(row).collect();
    let effects = if row_names.len() >= NAMES_AVERAGED { effects(&row_names, &rows) } else { vec![] };
    let caption = caption((&what, plan.unit), &shown, &names, &effects, &across)?;
    let summary = |e: &ChoiceMeans<'_>| HeatRow {
        names: vec![format!("average of {} {}", plain(e.name), e.choice)],
        cells: e.means.iter().map(|mean| mean.map(|mean| (mean, None))).collect(),
    };
    let values = shown.iter().filter_map(|(_, m)| m.summary.mean);
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
    let sums = if plan.unit == REGRET { sums(&rows) } else { vec![] };
    let summaries = sums.len() + effects.len();
    rows.extend(sums);
    rows.extend(effects.iter().map(summary));
    let heat = Heat {
        title: plan.title,
        scale: &what,
        shades: match plan.unit {
            "%" => Shades::percentages(),
            "times" => Shades::times(),
            REGRET => Shades::regrets(),
            _ => Shades::between(low, high),
        },
        heads: row_names.iter().map(|name| plain(name).to_owned()).collect(),
        columns: across.iter().map(|names| column(names)).collect(),
        rows,
        summaries,
    };
    Some(Drawn { svg: heat.render(), caption })
}

/// Two more rows of a matrix of regrets: the mean and the worst of each column.
fn sums(rows: &[HeatRow]) -> Vec<HeatRow> {
    let columns = rows.first().map_or(0, |row| row.cells.len());
    let of = |column: usize| rows.iter().filter_map(|row| row.cells[column]).map(|(value, _)| value).collect::<Vec<f64>>();
    let row = |name: &str, sum: fn(&[f64]) -> f64| HeatRow {
        names: vec![name.to_owned()],
        cells: (0..columns).map(of).map(|all| (!all.is_empty()).then(|| (sum(&all), None))).collect(),
    };
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    vec![row("average", mean), row("worst", |all| all.iter().copied().fold(f64::MIN, f64::max))]
}

/// A column under the last of its choices, of those before.
fn column(names: &[String]) -> Column {
    let (name, of) = names.split_last().map_or((String::new(), String::new()), |(name, of)| (name.clone(), of.join(" ")));
    Column { name, of, group: ColumnGroup::Peer }
}

/// The means of the rows with each choice of each name.
fn effects<'a>(names: &[&'a str], rows: &[HeatRow]) -> Vec<ChoiceMeans<'a>> {
    let mut all = Vec::new();
    for (part, name) in names.iter().enumerate() {
        for choice in super::distinct(rows.iter().map(|row| row.names[part].as_str())) {
            let mine: Vec<&HeatRow> = rows.iter().filter(|row| row.names[part] == choice).collect();
            let mean = |column: usize| {
                let cells: Vec<f64> = mine.iter().filter_map(|row| row.cells[column]).map(|(value, _)| value).collect();
                (!cells.is_empty()).then(|| cells.iter().sum::<f64>() / cells.len() as f64)
            };
            let means = (0..rows[0].cells.len()).map(mean).collect();
            all.push(ChoiceMeans { name, choice: choice.to_owned(), means });
        }
    }
    all
}

/// The greatest and the least number, and the name whose choices differ most.
fn caption(
    (what, unit): (&str, &str),
    shown: &[&(usize, &Measurement)],
    names: &[&str],
    effects: &[ChoiceMeans<'_>],
    across: &[Vec<String>],
) -> Option<String> {
    let mean = |m: &&&(usize, &Measurement)| m.1.summary.mean.unwrap_or(0.0);
    let most = shown.iter().max_by(|a, b| mean(a).total_cmp(&mean(b)))?;
    let least = shown.iter().min_by(|a, b| mean(a).total_cmp(&mean(b)))?;
    let number = |value: f64| if unit == REGRET { digits(value, 3) } else { quantity_of(value, unit) };
    let told = |m: &(usize, &Measurement)| format!("{} ({})", number(m.1.summary.mean.unwrap_or(0.0)), circumstances(m.1, names));
    let mut text = format!("{}: from {} to {}.", capital(what.split(" (").next().unwrap_or_default()), told(least), told(most));
    // How far apart the choices of a name lie in a column.
    let mut strongest: Option<(f64, &ChoiceMeans<'_>, &ChoiceMeans<'_>, usize)> = None;
    for (i, a) in effects.iter().enumerate() {
        for b in effects[i + 1..].iter().filter(|b| b.name == a.name) {
            for (column, pair) in a.means.iter().zip(&b.means).enumerate() {
                if let (Some(x), Some(y)) = pair {
                    let (low, high) = if x < y { (a, b) } else { (b, a) };
                    if strongest.is_none_or(|(apart, ..)| (x - y).abs() > apart) {
                        strongest = Some(((x - y).abs(), low, high, column));
                    }
                }
            }
        }
    }
    if let Some((apart, low, high, column)) = strongest.filter(|s| s.0 > 0.0) {
        let mean = |e: &ChoiceMeans<'_>| number(e.means[column].unwrap_or(0.0));
        text += &format!(
            " Most depends on {}: {} of {} on average with {}, {} with {}",
            plain(low.name),
            mean(low),
            across[column].join(" "),
            low.choice,
            mean(high),
            high.choice
        );
        text += &format!(", a difference of {}.", number(apart));
    }
    Some(text)
}
