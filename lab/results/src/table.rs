//! Results as text: aligned for a terminal, or as comma-separated values.
use super::number::digits;
use super::{Measurement, Results, Verdict};
use std::collections::BTreeSet;

/// Rows of cells under headings.
#[derive(Clone, Debug, Default)]
pub struct ResultTable {
    /// One heading a column.
    pub headings: Vec<String>,
    /// As many cells a row as there are headings.
    pub rows: Vec<Vec<String>>,
}

impl ResultTable {
    /// An empty table under these headings.
    pub fn new<S: Into<String>>(headings: impl IntoIterator<Item = S>) -> Self {
        Self { headings: headings.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// The table with its columns aligned, numbers to the right. Control characters are shown, not obeyed.
    pub fn to_text(&self) -> String {
        let lines: Vec<Vec<String>> = std::iter::once(&self.headings)
            .chain(&self.rows)
            .map(|row| row.iter().map(|cell| cell.replace(char::is_control, "\u{fffd}")).collect())
            .collect();
        let mut columns = Vec::new();
        for i in 0..self.headings.len() {
            let width = lines.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
            let numeric = self.rows.iter().all(|row| is_numeric(&row[i]));
            columns.push((width, numeric && !self.rows.is_empty()));
        }
        let mut text = String::new();
        for row in &lines {
            let cells = row.iter().zip(&columns).map(
                |(cell, &(width, numeric))| {
                    if numeric { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
                },
            );
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }

    /// The table as comma-separated values (RFC 4180, but lines end as on Unix).
    pub fn to_csv(&self) -> String {
        let mut text = String::new();
        for row in std::iter::once(&self.headings).chain(&self.rows) {
            text.push_str(&row.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(","));
            text.push('\n');
        }
        text
    }

    /// The table as a list of JSON objects, one a row.
    pub fn to_json(&self) -> String {
        let object = |row: &Vec<String>| {
            let cells = self.headings.iter().cloned().zip(row.iter().map(|cell| cell.as_str().into()));
            serde_json::Value::Object(cells.collect())
        };
        super::json(&self.rows.iter().map(object).collect::<Vec<_>>())
    }
}

fn is_numeric(cell: &str) -> bool {
    cell.is_empty() || cell == "-" || cell.parse::<f64>().is_ok()
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

impl Results {
    /// The measurements for a terminal, then the verdicts and the notes. Labels that never change are left out.
    pub fn to_table(&self) -> String {
        let mut parts = Vec::new();
        if !self.measurements.is_empty() {
            parts.push(measurements(&self.measurements).to_text());
        }
        if !self.verdicts.is_empty() {
            parts.push(verdicts(&self.verdicts).to_text());
        }
        if !self.notes.is_empty() {
            parts.push(self.notes.iter().map(|note| format!("{}\n", note.replace(char::is_control, "\u{fffd}"))).collect());
        }
        parts.join("\n")
    }

    /// The measurements as comma-separated values, every label and figure in a column of its own.
    pub fn to_csv(&self) -> String {
        let (labels, figures) = (names(&self.measurements, |m| m.labels.keys()), names(&self.measurements, |m| m.figures.keys()));
        let own = ["id", "what"].map(str::to_owned).into_iter();
        let statistics = ["unit", "n", "min", "mean", "p50", "p90", "p99", "max"].map(str::to_owned);
        let mut table = ResultTable::new(own.chain(labels.iter().cloned()).chain(statistics).chain(figures.iter().cloned()));
        for m in &self.measurements {
            let s = &m.summary;
            let full = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
            let mut row = vec![m.id.clone(), m.what.clone()];
            row.extend(labels.iter().map(|l| m.labels.get(l).cloned().unwrap_or_default()));
            row.extend([m.unit.clone(), s.n.to_string()]);
            row.extend([s.min, s.mean, s.p50, s.p90, s.p99, s.max].map(full));
            row.extend(figures.iter().map(|f| full(m.figures.get(f).copied())));
            table.rows.push(row);
        }
        table.to_csv()
    }
}

/// All names that occur, sorted.
fn names<'a, I: Iterator<Item = &'a String>>(all: &'a [Measurement], of: impl Fn(&'a Measurement) -> I) -> Vec<String> {
    all.iter().flat_map(of).cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Do the labels tell all measurements apart? Else their ids must be shown.
fn tell_apart(all: &[Measurement], labels: &[String]) -> bool {
    let keys: BTreeSet<Vec<Option<&String>>> = all.iter().map(|m| labels.iter().map(|l| m.labels.get(l)).collect()).collect();
    keys.len() == all.len()
}

/// Measurements for people: what varies of their labels (or their ids), the main statistics, and their figures.
pub fn measurements(all: &[Measurement]) -> ResultTable {
    let (mut labels, figures) = (names(all, |m| m.labels.keys()), names(all, |m| m.figures.keys()));
    labels.retain(|l| all.iter().any(|m| m.labels.get(l) != all[0].labels.get(l)));
    let by_id = !tell_apart(all, &labels);
    if by_id {
        labels = vec!["id".to_owned()];
    }
    let statistics = ["n", "min", "mean", "p50", "p99", "max", "unit"].map(str::to_owned);
    let mut table = ResultTable::new(labels.iter().cloned().chain(statistics).chain(figures.iter().cloned()));
    let shown = |v: Option<&f64>| v.map_or_else(|| "-".to_owned(), |&v| digits(v, 4));
    for m in all {
        let s = &m.summary;
        let mut row = if by_id { vec![m.id.clone()] } else { Vec::new() };
        if !by_id {
            row.extend(labels.iter().map(|l| m.labels.get(l).cloned().unwrap_or_default()));
        }
        row.push(s.n.to_string());
        row.extend([s.min, s.mean, s.p50, s.p99, s.max].map(|v| shown(v.as_ref())));
        row.push(m.unit.clone());
        row.extend(figures.iter().map(|f| shown(m.figures.get(f))));
        table.rows.push(row);
    }
    table
}

/// Verdicts for people and for CSV.
pub fn verdicts(all: &[Verdict]) -> ResultTable {
    let mut table = ResultTable::new(["paper", "claim", "verdict", "expected", "got", "unit", "in words", "reason"]);
    for v in all {
        let value = |value: &Option<super::Value>| value.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
        let (expected, got) = (value(&v.expected), value(&v.got));
        let text = |text: &String| text.clone();
        let row =
            [text(&v.paper), text(&v.id), v.verdict.to_string(), expected, got, text(&v.unit), text(&v.claim), text(&v.reason)];
        table.rows.push(row.into());
    }
    table
}
