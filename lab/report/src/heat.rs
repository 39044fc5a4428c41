//! A matrix of numbers coloured by value: a reader sees at once which of them stand out.
use super::shades::Shades;
use super::svg::{At, Canvas, escape, fitted, ink, width_of};

/// Height of a row; of many rows each is lower.
const ROW: f64 = 24.0;
const LOW_ROW: f64 = 19.0;
const MANY_ROWS: usize = 24;
/// Width of a column whose name leans, and the narrowest of all.
const WIDEST: f64 = 62.0;
const NARROWEST: f64 = 34.0;
/// Width of a column whose name does not lean.
const WIDEST_LEVEL: f64 = 124.0;
/// Room for a column's name, and for a row's.
const HEADING: f64 = 230.0;
const NAME: f64 = 200.0;
/// Width of the whole figure, unless its columns need more.
const WIDTH: f64 = 960.0;

/// A matrix of coloured numbers.
pub(super) struct Heat<'a> {
    pub(super) title: &'a str,
    /// The heading of the scale of colours: what the numbers are.
    pub(super) scale: &'a str,
    pub(super) shades: Shades,
    /// What each part of the rows' names is a name of; empty if that is plain.
    pub(super) heads: Vec<String>,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
    /// How many rows at the end are summaries, set apart.
    pub(super) summaries: usize,
}

/// A column: its name, that of the columns that it belongs to if there are such, and whether it belongs to
/// the first group, which is set in bold and apart.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) of: String,
    pub(super) first_group: bool,
}

impl Column {
    fn full_name(&self) -> String {
        format!("{} {}", self.of, self.name).trim().to_owned()
    }
}

/// A row: its name in one part or several, and for each column a value with the number of its measurement, of
/// which the page shows more.
pub(super) struct Row {
    pub(super) names: Vec<String>,
    pub(super) cells: Vec<Option<(f64, Option<usize>)>>,
}

/// Where the parts of the figure lie.
struct Layout {
    /// Widths of the parts of the rows' names.
    names: Vec<f64>,
    left: f64,
    top: f64,
    cell: f64,
    row: f64,
    width: f64,
    leaning: bool,
}

impl Heat<'_> {
    /// The matrix as SVG.
    pub(super) fn render(&self) -> String {
        let layout = self.layout();
        let mut canvas = Canvas::new(layout.width);
        canvas.heading(16.0, 26.0, 15.0, self.title);
        self.shades.key(&mut canvas, self.scale, (16.0, 50.0));
        let x = |column: usize| layout.left + column as f64 * layout.cell + if self.is_second(column) { 6.0 } else { 0.0 };
        self.headings(&mut canvas, &layout, x);
        let (mut y, mut cells, mut names) = (layout.top, HeatCells::new(&self.shades), Vec::new());
        let mut before: &[String] = &[];
        for (i, row) in self.rows.iter().enumerate() {
            let summary = i + self.summaries >= self.rows.len();
            if i + self.summaries == self.rows.len() {
                canvas.line(&format!("M16 {:.1}H{:.1}", y + 5.0, x(self.columns.len()) - 2.0), ink::MUTED, 1.0);
                (y, before) = (y + 10.0, &[]);
            }
            // Where the first of several parts of a name changes, a gap tells.
            if row.names.len() > 1 && before.first().is_some_and(|name| *name != row.names[0]) {
                y += 5.0;
            }
            let middle = y + layout.row / 2.0 + 3.0;
            for (part, text) in self.name_parts(row, before) {
                let place = (layout.names[part], middle, fitted(text, 12.0, NAME));
                if summary { canvas.heading(place.0, place.1, 12.0, &place.2) } else { names.push(place) }
            }
            before = &row.names;
            for (column, &value) in row.cells.iter().enumerate() {
                match value {
                    Some(value) => cells.add(value, (x(column), y, layout.cell, layout.row), summary),
                    None => canvas.text(x(column) + layout.cell / 2.0, middle + 1.0, At::Middle, ink::MUTED, "\u{2013}"),
                }
            }
            y += layout.row;
        }
        canvas.texts(At::Start, ink::TEXT, names);
        cells.put(&mut canvas, layout.row);
        canvas.finish(y + 16.0, self.title, "")
    }

    /// The parts of a row's name that differ from those of the row before, and all after them.
    fn name_parts<'b>(&self, row: &'b Row, before: &[String]) -> impl Iterator<Item = (usize, &'b String)> + use<'b> {
        let same = row.names.iter().zip(before).take_while(|(name, before)| name == before).count();
        // A name in one part is always told.
        row.names.iter().enumerate().skip(same.min(row.names.len().saturating_sub(1)))
    }

    fn layout(&self) -> Layout {
        let parts = self.rows.iter().map(|row| row.names.len()).max().unwrap_or(0);
        let (mut names, mut left) = (Vec::new(), 16.0);
        for part in 0..parts {
            // A summary's name in one part may run over the other parts.
            let long = self.rows.iter().filter(|row| row.names.len() == parts).filter_map(|row| row.names.get(part));
            let widest = long.chain(self.heads.get(part)).map(|name| width_of(name, 12.6)).fold(20.0, f64::max);
            names.push(left);
            left += widest.min(NAME) + if part + 1 < parts { 16.0 } else { 10.0 };
        }
        let left = left.max(86.0).round();
        let n = self.columns.len().max(1) as f64;
        let widest = |name: &dyn Fn(&Column) -> String| {
            self.columns.iter().map(|c| width_of(&fitted(&name(c), 12.0, HEADING), 12.6)).fold(20.0, f64::max)
        };
        let level = ((WIDTH - left - 24.0) / n).min(WIDEST_LEVEL).floor();
        let leaning = widest(&|c| c.name.clone()).max(widest(&|c| c.of.clone())) + 8.0 > level;
        let widest = widest(&Column::full_name);
        // Leaning headings end further to the right than the matrix.
        let lean = if leaning { widest * 0.72 } else { 0.0 };
        let grouped = self.columns.iter().any(|c| !c.of.is_empty());
        let cell = if leaning { ((WIDTH - left - lean - 8.0) / n).clamp(NARROWEST, WIDEST).floor() } else { level };
        let top = if leaning { (92.0 + widest * 0.74).round() } else { 98.0 + if grouped { 16.0 } else { 0.0 } };
        let row = if self.rows.len() > MANY_ROWS { LOW_ROW } else { ROW };
        Layout { names, left, top, cell, row, width: WIDTH.max(left + cell * n + lean + 8.0), leaning }
    }

    fn headings(&self, canvas: &mut Canvas, layout: &Layout, x: impl Fn(usize) -> f64) {
        let mut of = "";
        for (i, column) in self.columns.iter().enumerate() {
            let weight = if column.first_group { r#" font-weight="600""# } else { "" };
            let middle = x(i) + layout.cell / 2.0;
            let (place, name) = if layout.leaning {
                let place = format!(r#"transform="translate({:.1} {:.1}) rotate(-46)""#, middle + 2.0, layout.top - 7.0);
                (place, fitted(&column.full_name(), 12.0, HEADING))
            } else {
                let place = format!(r#"x="{:.1}" y="{:.1}" text-anchor="middle""#, middle - 1.0, layout.top - 8.0);
                (place, column.name.clone())
            };
            canvas.put(format_args!(r#"<text {place} fill="{}"{weight}>{}</text>"#, ink::TEXT, escape(&name)));
            if !layout.leaning && column.of != of {
                let last = self.columns[i..].iter().take_while(|c| c.of == column.of).count() as f64;
                canvas.text(x(i) + last * layout.cell / 2.0, layout.top - 27.0, At::Middle, ink::TEXT, &column.of);
                canvas.line(
                    &format!("M{:.1} {:.1}h{:.1}", x(i) + 4.0, layout.top - 22.5, last * layout.cell - 10.0),
                    ink::MUTED,
                    1.0,
                );
                of = &column.of;
            }
        }
        let head = |(x, head): (&f64, &String)| (*x, layout.top - 8.0, fitted(head, 12.0, NAME));
        canvas.texts(At::Start, ink::SOFT, layout.names.iter().zip(&self.heads).map(head));
    }

    /// Does this column belong to the second group, while there is a first?
    fn is_second(&self, column: usize) -> bool {
        let group = |i: usize| self.columns.get(i.min(self.columns.len() - 1)).is_some_and(|c| c.first_group);
        group(0) && !group(column)
    }
}

/// The cells and their numbers, by band: cells of one band share their colours.
struct HeatCells<'a> {
    shades: &'a Shades,
    bands: Vec<(String, String)>,
}

impl<'a> HeatCells<'a> {
    fn new(shades: &'a Shades) -> Self {
        Self { shades, bands: vec![Default::default(); shades.len()] }
    }

    fn add(&mut self, (value, of): (f64, Option<usize>), (x, y, wide, high): (f64, f64, f64, f64), bold: bool) {
        let (cells, numbers) = &mut self.bands[self.shades.band(value)];
        let of = of.map_or(String::new(), |of| format!(r#" data-m="{of}""#));
        *cells += &format!(r#"<path d="M{x} {}h{}"{of}/>"#, y + high / 2.0 - 1.0, wide - 2.0);
        let weight = if bold { r#" font-weight="600""# } else { "" };
        let (x, y) = ((x + wide / 2.0 - 1.0).round(), y + (high / 2.0 + 3.0).round());
        *numbers += &format!(r#"<text x="{x}" y="{y}"{weight}>{}</text>"#, escape(&(self.shades.number)(value)));
    }

    fn put(&self, canvas: &mut Canvas, row: f64) {
        for (band, (cells, numbers)) in self.bands.iter().enumerate() {
            let (fill, text) = self.shades.inks(band);
            canvas.group(format_args!(r#"stroke="{fill}" stroke-width="{}""#, row - 2.0), cells);
            canvas.group(format_args!(r#"fill="{text}" font-size="11" text-anchor="middle" pointer-events="none""#), numbers);
        }
    }
}
