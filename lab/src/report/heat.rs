//! A matrix of numbers coloured by value: what stands out is what a reader should ask about.
use super::svg::{At, Canvas, escape, fitted, ink, width_of};
use crate::results::number::digits;

const CELL: f64 = 24.0;
const WIDEST: f64 = 62.0;
const NARROWEST: f64 = 34.0;
/// Room for a column's name.
const HEADING: f64 = 230.0;
/// Width of the whole figure, unless there are so many columns that it must be wider.
const WIDTH: f64 = 960.0;

/// Cells below this share; how the scale names them; the colours of the cell and of its number.
struct Band(f64, &'static str, &'static str, &'static str);

const BANDS: [Band; 9] = [
    Band(0.03, "< .03", "var(--h0,#8f3b00)", "var(--t0,#fff)"),
    Band(0.1, ".03+", "var(--h1,#b95000)", "var(--t1,#fff)"),
    Band(0.3, ".1+", "var(--h2,#e38a45)", "var(--t2,#1b1108)"),
    Band(0.5, ".3+", "var(--h3,#f2b27c)", "var(--t3,#1b1108)"),
    Band(0.7, ".5+", "var(--h4,#f8d0ac)", "var(--t4,#1b1108)"),
    Band(0.9, ".7+", "var(--h5,#fce8d5)", "var(--t5,#1b1108)"),
    // What is printed as 1.00 belongs to the next.
    Band(0.995, ".9+", "var(--h6,#f2f4f6)", "var(--t6,#1b2330)"),
    Band(1.1, "1+", "var(--h7,#c9e2f3)", "var(--t7,#06283f)"),
    Band(f64::INFINITY, "1.1+", "var(--h8,#7dbbe3)", "var(--t8,#06283f)"),
];

/// A matrix.
pub(super) struct Heat<'a> {
    pub(super) title: &'a str,
    /// Over the scale of colours: what the numbers are.
    pub(super) scale: &'a str,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
    /// How many rows at the end are summaries, set apart.
    pub(super) summaries: usize,
}

/// A column: its name, and whether it belongs to the first group, which is set in bold and apart.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) first_group: bool,
}

/// A row: its name, and per column a value with the number of its measurement, of which the page shows more.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) cells: Vec<Option<(f64, Option<usize>)>>,
}

impl Heat<'_> {
    /// The matrix as SVG.
    pub(super) fn render(&self) -> String {
        let widest = self.rows.iter().map(|r| width_of(&r.name, 12.6)).fold(60.0, f64::max);
        let left = (widest.min(200.0) + 26.0).round();
        let n = self.columns.len().max(1) as f64;
        let names = self.columns.iter().map(|c| width_of(&fitted(&c.name, 12.0, HEADING), 12.0)).fold(20.0, f64::max);
        // Headings lean out to the right, so the matrix ends before the figure does.
        let lean = names * 0.72;
        let cell = ((WIDTH - left - lean - 8.0) / n).clamp(NARROWEST, WIDEST).floor();
        let width = WIDTH.max(left + cell * n + lean + 8.0);
        let top = (92.0 + names * 0.74).round();
        let mut canvas = Canvas::new(width);
        canvas.heading(16.0, 26.0, 15.0, self.title);
        self.key(&mut canvas, 16.0, 50.0);
        let apart = |column: usize| if self.is_second(column) { 6.0 } else { 0.0 };
        let x = |column: usize| left + column as f64 * cell + apart(column);
        for (i, column) in self.columns.iter().enumerate() {
            let weight = if column.first_group { r#" font-weight="600""# } else { "" };
            canvas.put(format_args!(
                r#"<text transform="translate({:.1} {:.1}) rotate(-46)" fill="{}"{weight}>{}</text>"#,
                x(i) + cell / 2.0 + 2.0,
                top - 7.0,
                ink::TEXT,
                escape(&fitted(&column.name, 12.0, HEADING))
            ));
        }
        let (mut y, mut bands, mut names) = (top, Bands::default(), Vec::new());
        for (i, row) in self.rows.iter().enumerate() {
            let summary = i + self.summaries >= self.rows.len();
            if i + self.summaries == self.rows.len() {
                canvas.line(&format!("M16 {:.1}H{:.1}", y + 5.0, x(self.columns.len()) - 2.0), ink::MUTED, 1.0);
                y += 10.0;
            }
            let name = (16.0, y + 15.0, fitted(&row.name, 12.0, left - 24.0));
            if summary {
                canvas.heading(name.0, name.1, 12.0, &name.2)
            } else {
                names.push(name)
            }
            for (column, &value) in row.cells.iter().enumerate() {
                match value {
                    Some(value) => bands.add(value, (x(column), y, cell), summary),
                    None => canvas.text(x(column) + cell / 2.0, y + 16.0, At::Middle, ink::MUTED, "\u{2013}"),
                }
            }
            y += CELL;
        }
        canvas.texts(At::Start, ink::TEXT, names);
        bands.put(&mut canvas);
        canvas.finish(y + 16.0, self.title, "")
    }

    /// Does this column belong to the second group, and is there a first?
    fn is_second(&self, column: usize) -> bool {
        let group = |i: usize| self.columns.get(i.min(self.columns.len() - 1)).is_some_and(|c| c.first_group);
        group(0) && !group(column)
    }

    /// The scale of colours, with the bounds between them.
    fn key(&self, canvas: &mut Canvas, left: f64, top: f64) {
        canvas.text(left, top, At::Start, ink::SOFT, self.scale);
        let (mut x, y) = (left + width_of(self.scale, 12.0) + 8.0, top - 11.0);
        let wide = 46.0;
        for Band(_, label, fill, text) in BANDS {
            canvas.put(format_args!(r#"<rect x="{x:.1}" y="{y:.1}" width="{wide}" height="15" fill="{fill}"/>"#));
            canvas.put(format_args!(
                r#"<text x="{:.1}" y="{:.1}" text-anchor="middle" font-size="10.5" fill="{text}">{}</text>"#,
                x + wide / 2.0,
                y + 11.3,
                escape(label)
            ));
            x += wide;
        }
    }
}

/// The cells and their numbers, by band: those of a band share their colours.
#[derive(Default)]
struct Bands([(String, String); BANDS.len()]);

impl Bands {
    fn add(&mut self, (value, of): (f64, Option<usize>), (x, y, wide): (f64, f64, f64), bold: bool) {
        let band = BANDS.iter().position(|band| value < band.0).unwrap_or(BANDS.len() - 1);
        let (cells, numbers) = &mut self.0[band];
        let of = of.map_or(String::new(), |of| format!(r#" data-m="{of}""#));
        *cells += &format!(r#"<path d="M{x} {}h{}"{of}/>"#, y + CELL / 2.0 - 1.0, wide - 2.0);
        let weight = if bold { r#" font-weight="600""# } else { "" };
        let (x, y) = ((x + wide / 2.0 - 1.0).round(), y + 15.0);
        *numbers += &format!(r#"<text x="{x}" y="{y}"{weight}>{}</text>"#, escape(&share(value)));
    }

    fn put(&self, canvas: &mut Canvas) {
        for ((cells, numbers), Band(_, _, fill, text)) in self.0.iter().zip(BANDS) {
            canvas.group(format_args!(r#"stroke="{fill}" stroke-width="{}""#, CELL - 2.0), cells);
            canvas.group(format_args!(r#"fill="{text}" font-size="11" text-anchor="middle" pointer-events="none""#), numbers);
        }
    }
}

/// A share as in a printed table, without its leading zero: `.94`, `1.15`, `.051`; what is below a thousandth has
/// collapsed, however far.
pub(super) fn share(value: f64) -> String {
    let text = match value {
        v if v > 0.0 && v < 0.001 => return "<.001".to_owned(),
        v if v < 0.0095 => digits(v, 1),
        v if v < 0.095 => digits(v, 2),
        v => format!("{v:.2}"),
    };
    text.strip_prefix('0').filter(|rest| rest.starts_with('.')).map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_are_short_whatever_their_size() {
        assert_eq!(
            [0.938, 1.152, 1.0, 0.0512, 0.00621, 0.0004, 0.0].map(share),
            [".94", "1.15", "1.00", ".051", ".006", "<.001", "0"]
        );
    }
}
