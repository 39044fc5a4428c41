//! Results as text: aligned for a terminal, or as comma-separated values.
use super::number::digits;
use super::{Measurement, Results, Verdict};
use foregather_machine::shown;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Longer cells are cut in text: the longest claim of a paper has some 300 characters, and names in a
/// foreign file may have any number.
const CELL_MAX: usize = 400;
/// So much further to the right begin the lines of a row that are not its first.
const INDENT: usize = 2;

/// How wide text may be; [`fit`] sets it.
static COLUMNS: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Sets the greatest width, in columns, of tables and [`wrapped`] text of this process. A longer word keeps
/// its width. Without a call text is as wide as it needs.
pub fn fit(columns: usize) {
    COLUMNS.store(columns, Relaxed);
}

/// Words on lines that [`fit`]; a word that is longer has a line of its own. What stands between backticks is
/// one word, so it can be copied. Lines but the first are indented by `indent`.
pub fn wrapped(text: &str, indent: usize) -> String {
    wrapped_within(text, indent, COLUMNS.load(Relaxed))
}

/// As [`wrapped`], on lines of that many columns.
pub fn wrapped_within(text: &str, indent: usize, columns: usize) -> String {
    let width = columns.saturating_sub(indent).max(1);
    lines_of(&words(text), width).join(&format!("\n{}", " ".repeat(indent)))
}

/// Names side by side, in lines that [`fit`], and are not longer than 100 characters.
pub fn in_columns(names: &[&str]) -> String {
    let wide = names.iter().map(|name| name.chars().count()).max().unwrap_or(0) + 2;
    let per_line = (COLUMNS.load(Relaxed).min(100).saturating_sub(INDENT) / wide).max(1);
    let line = |names: &[&str]| names.iter().map(|name| format!("{name:<wide$}")).collect::<String>().trim_end().to_owned();
    names.chunks(per_line).map(line).collect::<Vec<_>>().join("\n")
}

/// Rows of cells under headings.
#[derive(Clone, Debug, Default)]
pub struct ResultTable {
    /// One heading a column.
    pub headings: Vec<String>,
    /// As many cells a row as there are headings.
    pub rows: Vec<Vec<String>>,
}

/// What a column of a table shows of each measurement.
#[derive(Clone, Copy)]
pub enum Shows {
    /// A label.
    Label(&'static str),
    /// A figure.
    Figure(&'static str),
    /// The number of values.
    Count,
    /// The least value.
    Least,
    /// The median.
    Median,
    /// Nine of ten are below.
    P90,
    /// Ninety-nine of a hundred are below.
    P99,
    /// What this makes of it.
    By(fn(&Measurement) -> String),
}

/// A heading, and what stands below it.
pub type Heading = (&'static str, Shows);

impl Shows {
    fn of(self, m: &Measurement, number: fn(f64) -> String) -> String {
        let summary = &m.summary;
        let number = match self {
            Self::Label(name) => return m.text(name).to_owned(),
            Self::Count => return summary.n.to_string(),
            Self::By(make) => return make(m),
            Self::Figure(name) => Some(m.number(name)),
            Self::Least => summary.min,
            Self::Median => summary.p50,
            Self::P90 => summary.p90,
            Self::P99 => summary.p99,
        }
        .filter(|value| value.is_finite())
        .map(number);
        number.unwrap_or_else(|| "-".to_owned())
    }
}

/// A number with three digits.
pub fn three_digits(value: f64) -> String {
    digits(value, 3)
}

/// One column of a table as text.
struct Column {
    width: usize,
    /// Whether its cells are numbers, which are aligned to the right.
    numeric: bool,
}

impl ResultTable {
    /// An empty table under these headings.
    pub fn new<S: Into<String>>(headings: impl IntoIterator<Item = S>) -> Self {
        Self { headings: headings.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// A row for each measurement.
    pub fn of<'m>(columns: &[Heading], all: impl IntoIterator<Item = &'m Measurement>) -> Self {
        Self::with(columns, three_digits, all)
    }

    /// The same with numbers as this writes them.
    pub fn with<'m>(columns: &[Heading], number: fn(f64) -> String, all: impl IntoIterator<Item = &'m Measurement>) -> Self {
        let row = |m: &Measurement| columns.iter().map(|(_, shows)| shows.of(m, number)).collect();
        Self { rows: all.into_iter().map(row).collect(), ..Self::new(columns.iter().map(|(heading, _)| *heading)) }
    }

    /// The table with its columns aligned, numbers to the right; columns for which there is no room stand
    /// below the first ones. What would steer the terminal is shown, not obeyed; long cells are cut.
    pub fn to_text(&self) -> String {
        self.to_text_within(COLUMNS.load(Relaxed))
    }

    fn to_text_within(&self, room: usize) -> String {
        let rows = || std::iter::once(&self.headings).chain(&self.rows);
        let rows: Vec<Vec<String>> = rows().map(|row| row.iter().map(|cell| cell_text(cell)).collect()).collect();
        let column = |at: usize| {
            let width = rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
            let numeric = !self.rows.is_empty() && self.rows.iter().all(|row| is_numeric(&row[at]));
            Column { width: width.min(room.saturating_sub(INDENT).max(1)), numeric }
        };
        let columns: Vec<Column> = (0..self.headings.len()).map(column).collect();
        let lines = broken(&columns, room);
        let mut text = String::new();
        for row in &rows {
            for (at, line) in lines.iter().enumerate() {
                let indent = if at == 0 { 0 } else { INDENT };
                push_line(&mut text, &row[line.clone()], &columns[line.clone()], indent);
            }
        }
        text
    }

    /// The table as comma-separated values (RFC 4180, but lines end as on Unix). Cells are whole; what would
    /// steer a terminal is shown.
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

/// Tables one below the other, without those that have no rows.
pub fn texts(tables: impl IntoIterator<Item = ResultTable>) -> String {
    let texts = tables.into_iter().filter(|table| !table.rows.is_empty()).map(|table| table.to_text());
    texts.collect::<Vec<_>>().join("\n")
}

/// A cell for a terminal.
fn cell_text(cell: &str) -> String {
    let mut text: String = shown(cell).chars().take(CELL_MAX).collect();
    if cell.chars().nth(CELL_MAX).is_some() {
        text.pop();
        text.push('\u{2026}');
    }
    text
}

/// Which columns stand on one line: as many as there is room for, two blanks between them.
fn broken(columns: &[Column], room: usize) -> Vec<Range<usize>> {
    let (mut lines, mut from, mut used) = (Vec::new(), 0, 0);
    for (at, column) in columns.iter().enumerate() {
        if at > from && column.width > room.saturating_sub(used + 2) {
            lines.push(from..at);
            (from, used) = (at, INDENT + column.width);
        } else {
            used += column.width + if at > from { 2 } else { 0 };
        }
    }
    lines.push(from..columns.len());
    lines
}

/// Cells side by side, in as many lines of text as the longest needs.
fn push_line(text: &mut String, cells: &[String], columns: &[Column], indent: usize) {
    let cells: Vec<Vec<String>> = cells
        .iter()
        .zip(columns)
        .map(
            |(cell, column)| {
                if cell.chars().count() <= column.width { vec![cell.clone()] } else { lines_of(&words(cell), column.width) }
            },
        )
        .collect();
    for at in 0..cells.iter().map(Vec::len).max().unwrap_or(0).max(1) {
        let parts = cells.iter().zip(columns).map(|(cell, &Column { width, numeric })| {
            let part = cell.get(at).map_or("", String::as_str);
            if numeric { format!("{part:>width$}") } else { format!("{part:<width$}") }
        });
        let line = format!("{:indent$}{}", "", parts.collect::<Vec<_>>().join("  "));
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// What blanks divide; what stands between backticks is whole.
fn words(text: &str) -> Vec<&str> {
    let (mut words, mut from, mut quoted) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        quoted ^= c == '`';
        if c == ' ' && !quoted {
            words.push(&text[from..at]);
            from = at + 1;
        }
    }
    words.push(&text[from..]);
    words
}

/// As many words on each line as there is room for.
fn lines_of(words: &[&str], width: usize) -> Vec<String> {
    let (mut lines, mut used) = (vec![String::new()], 0);
    for word in words {
        let long = word.chars().count();
        let line = lines.last_mut().expect("there is one from the beginning");
        if line.is_empty() {
            line.push_str(word);
            used = long;
        } else if used + 1 + long <= width {
            line.push(' ');
            line.push_str(word);
            used += 1 + long;
        } else {
            lines.push((*word).to_owned());
            used = long;
        }
    }
    lines
}

fn is_numeric(cell: &str) -> bool {
    cell.is_empty() || cell == "-" || cell.parse::<f64>().is_ok()
}

fn quoted(cell: &str) -> String {
    let cell = shown(cell);
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.into_owned() }
}

impl Results {
    /// The measurements for a terminal, then the verdicts and the notes. Labels that never change are left
    /// out.
    pub fn to_table(&self) -> String {
        let mut parts = Vec::new();
        if !self.measurements.is_empty() {
            parts.push(measurements(&self.measurements).to_text());
        }
        if !self.verdicts.is_empty() {
            parts.push(verdicts(&self.verdicts).to_text());
        }
        if !self.notes.is_empty() {
            parts.push(self.notes.iter().map(|note| wrapped(&shown(note), INDENT) + "\n").collect());
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

/// Returns whether the labels distinguish all measurements. If not, their ids must be shown.
fn tell_apart(all: &[Measurement], labels: &[String]) -> bool {
    let keys: BTreeSet<Vec<Option<&String>>> = all.iter().map(|m| labels.iter().map(|l| m.labels.get(l)).collect()).collect();
    keys.len() == all.len()
}

/// Measurements for a terminal: what varies of their labels (or their ids), the main statistics, and their
/// figures.
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

/// Verdicts for a terminal and for CSV.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn table(cells: [&str; 3]) -> ResultTable {
        ResultTable { rows: vec![cells.map(str::to_owned).into()], ..ResultTable::new(["name", "n", "in words"]) }
    }

    #[test]
    fn columns_without_room_stand_below_and_words_stay_whole() {
        let table = table(["short", "12", "do `apt-get install libomp5 libpmix2` first of all"]);
        assert_eq!(table.to_text(), "name    n  in words\nshort  12  do `apt-get install libomp5 libpmix2` first of all\n");
        assert_eq!(
            table.to_text_within(24),
            "name    n\n  in words\nshort  12\n  do\n  `apt-get install libomp5 libpmix2`\n  first of all\n"
        );
    }

    #[test]
    fn cells_of_any_length_and_content_are_shown_within_bounds() {
        let zero_width = "\u{200b}".repeat(70_000);
        for cell in [
            &"x".repeat(70_000),
            &zero_width,
            "a\u{1b}[2J\nb",
            "\u{202e}abc",
            "",
            &"\u{1f469}\u{200d}".repeat(300),
            &"` ".repeat(500),
        ] {
            for room in [0, 1, 7, 60, usize::MAX] {
                let text = table([cell, cell, "5"]).to_text_within(room);
                assert!(!text.contains(['\u{1b}', '\u{202e}']) && text.lines().all(|line| line.chars().count() < 3 * CELL_MAX));
            }
            let csv = table([cell, "", ""]).to_csv();
            assert!(!csv.contains('\u{1b}') && csv.lines().count() == 2, "{csv:?}");
        }
        assert!(table([&"x".repeat(CELL_MAX + 1), "", ""]).to_text().contains("x\u{2026}"));
        assert!(!table([&"x".repeat(CELL_MAX), "", ""]).to_text().contains('\u{2026}'));
    }
}
