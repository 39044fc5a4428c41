//! A matrix of numbers coloured by value: a reader sees at once which of them stand out.
use super::shades::Shades;
use super::svg::{At, Canvas, Svg, colour, escape, fitted, ink, width_of};

/// Height of a row; of many rows each is lower.
const ROW: f64 = 24.0;
const LOW_ROW: f64 = 19.0;
const MANY_ROWS: usize = 24;
/// Width of a column whose name leans, and the narrowest of all.
const WIDEST: f64 = 84.0;
const NARROWEST: f64 = 34.0;
/// Width of a column whose name does not lean.
const WIDEST_LEVEL: f64 = 124.0;
/// Room for a column's name, and for a row's.
const HEADING: f64 = 230.0;
const NAME: f64 = 330.0;
/// Between groups of columns.
const APART: f64 = 9.0;
/// More rows than that, summaries left out, are not drawn: a reader has the data for that.
const ROWS_MAX: usize = 250;
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
    pub(super) rows: Vec<HeatRow>,
    /// How many rows at the end are summaries, set apart.
    pub(super) summaries: usize,
}

/// A column: its name, that of the columns that it belongs to if there are such, and its group.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) of: String,
    pub(super) group: ColumnGroup,
}

/// What a column is in a comparison; columns of a group stand together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnGroup {
    /// The product: framed, its name in colour.
    Product,
    /// What it is compared with.
    Peer,
    /// Fixed policies of this project.
    Fixed,
}

impl ColumnGroup {
    fn name(self) -> &'static str {
        match self {
            Self::Product => "",
            Self::Peer => "other libraries",
            Self::Fixed => "fixed ways of waiting",
        }
    }
}

impl Column {
    fn full_name(&self) -> String {
        format!("{} {}", self.of, self.name).trim().to_owned()
    }
}

/// A row: its name in one part or several, and for each column a value with the number of its measurement, of
/// which the page shows more.
pub(super) struct HeatRow {
    pub(super) names: Vec<String>,
    pub(super) cells: Vec<Option<(f64, Option<usize>)>>,
}

/// Where the parts of the figure lie.
struct HeatLayout {
    /// Widths of the parts of the rows' names.
    names: Vec<f64>,
    left: f64,
    top: f64,
    cell: f64,
    row: f64,
    width: f64,
    leaning: bool,
    /// The left end of each column.
    columns: Vec<f64>,
}

impl Heat<'_> {
    /// The matrix as SVG.
    pub(super) fn render(&self) -> Svg {
        let layout = self.layout();
        let mut canvas = Canvas::new(layout.width);
        canvas.heading(16.0, 26.0, 15.0, self.title);
        self.shades.key(&mut canvas, self.scale, (16.0, 50.0));
        self.headings(&mut canvas, &layout);
        let (mut y, mut cells, mut names) = (layout.top, HeatCells::new(&self.shades), Vec::new());
        let mut before: &[String] = &[];
        let (rows, summaries) = self.rows.split_at(self.rows.len() - self.summaries);
        let right = layout.columns.last().map_or(layout.left, |left| left + layout.cell - 2.0);
        for (i, row) in rows.iter().take(ROWS_MAX).chain(summaries).enumerate() {
            let summary = i >= rows.len().min(ROWS_MAX);
            if i == rows.len().min(ROWS_MAX) {
                y = cut(&mut canvas, rows.len(), y);
                canvas.line(&format!("M16 {:.1}H{right:.1}", y + 5.0), ink::MUTED, 1.0);
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
            for (&x, &value) in layout.columns.iter().zip(&row.cells) {
                match value {
                    Some(value) => cells.add(value, (x, y, layout.cell, layout.row), summary),
                    None => canvas.text(x + layout.cell / 2.0, middle + 1.0, At::Middle, ink::MUTED, "\u{2013}"),
                }
            }
            y += layout.row;
        }
        if summaries.is_empty() {
            y = cut(&mut canvas, rows.len(), y);
        }
        canvas.texts(At::Start, ink::TEXT, names);
        cells.put(&mut canvas, layout.row);
        let bottom = self.groups(&mut canvas, &layout, y);
        canvas.finish(bottom + 16.0, self.title)
    }

    /// Frames the product's column and names the groups below it, if there are several; returns where that
    /// ends.
    fn groups(&self, canvas: &mut Canvas, layout: &HeatLayout, bottom: f64) -> f64 {
        if !self.is_grouped() {
            return bottom;
        }
        let mut numbered = self.columns.iter().zip(&layout.columns).peekable();
        while let Some((column, &left)) = numbered.next() {
            let mut last = left;
            while let Some((_, &left)) = numbered.next_if(|(other, _)| other.group == column.group) {
                last = left;
            }
            let (wide, name) = (last + layout.cell - left, column.group.name());
            if column.group == ColumnGroup::Product {
                canvas.put(format_args!(
                    r#"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{:.1}" rx="3" fill="none" stroke="{}" stroke-width="2.5"/>"#,
                    left - 3.0,
                    layout.top - 4.0,
                    wide + 4.0,
                    bottom - layout.top + 6.0,
                    colour(0)
                ));
            } else {
                let middle = left + wide / 2.0 - 1.0;
                canvas.line(&format!("M{left:.1} {:.1}v4H{:.1}v-4", bottom + 5.0, left + wide - 2.0), ink::MUTED, 1.0);
                canvas.text(middle, bottom + 24.0, At::Middle, ink::SOFT, &fitted(name, 12.0, wide.max(80.0)));
            }
        }
        bottom + 24.0
    }

    fn is_grouped(&self) -> bool {
        self.columns.iter().any(|column| column.group != self.columns[0].group)
    }

    /// The parts of a row's name that differ from those of the row before, and all after them.
    fn name_parts<'b>(&self, row: &'b HeatRow, before: &[String]) -> impl Iterator<Item = (usize, &'b String)> + use<'b> {
        let same = row.names.iter().zip(before).take_while(|(name, before)| name == before).count();
        // A name in one part is always told.
        row.names.iter().enumerate().skip(same.min(row.names.len().saturating_sub(1)))
    }

    fn layout(&self) -> HeatLayout {
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
        let right = if self.is_grouped() { WIDTH - 2.0 * APART } else { WIDTH };
        let n = self.columns.len().max(1) as f64;
        let widest = |name: &dyn Fn(&Column) -> String| {
            self.columns.iter().map(|c| width_of(&fitted(&name(c), 12.0, HEADING), 12.6)).fold(20.0, f64::max)
        };
        let level = ((right - left - 24.0) / n).min(WIDEST_LEVEL).floor();
        let leaning = widest(&|c| c.name.clone()).max(widest(&|c| c.of.clone())) + 8.0 > level;
        let widest = widest(&Column::full_name);
        // Leaning headings end further to the right than the matrix.
        let lean = if leaning { widest * 0.72 } else { 0.0 };
        let grouped = self.columns.iter().any(|c| !c.of.is_empty());
        let cell = if leaning { ((right - left - lean - 8.0) / n).clamp(NARROWEST, WIDEST).floor() } else { level };
        let top = if leaning { (92.0 + widest * 0.74).round() } else { 98.0 + if grouped { 16.0 } else { 0.0 } };
        let row = if self.rows.len() > MANY_ROWS { LOW_ROW } else { ROW };
        let mut x = left;
        let place = |i: usize| {
            let apart = i > 0 && self.columns[i].group != self.columns[i - 1].group;
            x += if apart { APART } else { 0.0 };
            x += if i > 0 { cell } else { 0.0 };
            x
        };
        let columns: Vec<f64> = (0..self.columns.len()).map(place).collect();
        let right = columns.last().map_or(left, |last| last + cell);
        HeatLayout { names, left, top, cell, row, width: WIDTH.max(right + lean + 8.0), leaning, columns }
    }

    fn headings(&self, canvas: &mut Canvas, layout: &HeatLayout) {
        let x = |column: usize| layout.columns[column];
        let mut of = "";
        for (i, column) in self.columns.iter().enumerate() {
            let product = column.group == ColumnGroup::Product;
            let (ink, weight) = if product { (colour(0), r#" font-weight="700""#) } else { (ink::TEXT, "") };
            let middle = x(i) + layout.cell / 2.0;
            let (place, name) = if layout.leaning {
                let place = format!(r#"transform="translate({:.1} {:.1}) rotate(-46)""#, middle + 2.0, layout.top - 7.0);
                (place, fitted(&column.full_name(), 12.0, HEADING))
            } else {
                let place = format!(r#"x="{:.1}" y="{:.1}" text-anchor="middle""#, middle - 1.0, layout.top - 8.0);
                (place, column.name.clone())
            };
            canvas.put(format_args!(r#"<text {place} fill="{ink}"{weight}>{}</text>"#, escape(&name)));
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
}

/// Says how many of the rows are left out, from `y` on; returns where the next may begin.
fn cut(canvas: &mut Canvas, rows: usize, y: f64) -> f64 {
    if rows <= ROWS_MAX {
        return y;
    }
    let told = format!("The first {ROWS_MAX} of {rows} rows; the data have the others.");
    canvas.text(16.0, y + 16.0, At::Start, ink::SOFT, &told);
    y + 24.0
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
