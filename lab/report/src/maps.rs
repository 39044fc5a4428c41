//! Maps of many rows, by two of their properties at a time: each cell shows the mean beside the worst. Above
//! them stand the numbers of all rows, below them the worst rows by name.
use super::shades::Shades;
use super::svg::{At, Canvas, Svg, escape, fitted, ink, width_of};

const WIDTH: f64 = 960.0;
const ROW: f64 = 24.0;
/// The widest cell, and the narrowest with which two maps stand beside each other.
const WIDEST: f64 = 96.0;
const NARROWEST: f64 = 50.0;
/// Room for a name, and for the number of a row in the list.
const NAME: f64 = 150.0;
const NUMBER: f64 = 46.0;
/// The name of a map's last row and column, which sum up all others.
const ALL: &str = "all";

/// A figure of maps: headline, maps, and the list of the worst rows.
pub(super) struct Maps<'a> {
    pub(super) title: &'a str,
    /// The heading of the scale of colours: what the numbers are.
    pub(super) scale: &'a str,
    pub(super) shades: Shades,
    /// Numbers of all rows, each with its meaning.
    pub(super) headline: Vec<(String, String)>,
    pub(super) maps: Vec<Map>,
    pub(super) worst: Listing,
}

/// A map: a cell sums up the rows that have its name down and its name across.
pub(super) struct Map {
    title: String,
    columns: Vec<String>,
    rows: Vec<(String, Vec<Option<Several>>)>,
}

/// The values of several rows: their mean, the greatest, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Several {
    pub(super) mean: f64,
    pub(super) worst: f64,
    pub(super) count: usize,
}

/// The list of the worst rows, the worst first.
pub(super) struct Listing {
    pub(super) title: String,
    /// The headings of the columns of texts.
    pub(super) heads: Vec<String>,
    pub(super) lines: Vec<ListedRow>,
}

/// A row of the list: its value, the number of its measurement, and a text for each heading.
pub(super) struct ListedRow {
    pub(super) value: f64,
    pub(super) of: usize,
    pub(super) texts: Vec<String>,
}

/// A share in two digits.
pub(super) fn hundredths(value: f64) -> String {
    format!("{value:.2}")
}

impl Several {
    /// Sums up these values; `None` if there are none.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (sum, worst, count) = values.fold((0.0, f64::MIN, 0), |(sum, worst, n), v| (sum + v, v.max(worst), n + 1));
        (count > 0).then(|| Self { mean: sum / count as f64, worst, count })
    }
}

impl Map {
    /// A map of rows that have a name down, a name across and a value; `down` and `across` list
    /// the names in their order.
    pub(super) fn new(title: String, down: &[&str], across: &[&str], all: &[(&str, &str, f64)]) -> Self {
        let cell = |down: Option<&str>, across: Option<&str>| {
            let holds = |own: &str, wanted: Option<&str>| wanted.is_none_or(|wanted| wanted == own);
            Several::of(all.iter().filter(|row| holds(row.0, down) && holds(row.1, across)).map(|row| row.2))
        };
        let columns = || across.iter().map(|name| Some(*name)).chain([None]);
        let row =
            |name: Option<&str>| (name.unwrap_or(ALL).to_owned(), columns().map(|column| cell(name, column)).collect::<Vec<_>>());
        let rows = down.iter().map(|name| Some(*name)).chain([None]).map(row).collect();
        Self { title, columns: columns().map(|name| name.unwrap_or(ALL).to_owned()).collect(), rows }
    }

    fn height(&self) -> f64 {
        58.0 + ROW * self.rows.len() as f64 + 6.0
    }

    /// Draws the map from `left` to `right`, and its rows' names in the first `names` pixels.
    fn draw(&self, canvas: &mut Canvas, shades: &Shades, (left, right): (f64, f64), top: f64, names: f64) {
        let cell = ((right - left - names) / self.columns.len() as f64).min(WIDEST);
        let apart = |i: usize, of: usize| if i + 1 == of { 6.0 } else { 0.0 };
        let x = |column: usize| left + names + cell * column as f64 + apart(column, self.columns.len());
        canvas.heading(left, top + 14.0, 12.5, &fitted(&self.title, 13.0, right - left));
        let head = |(i, name): (usize, &String)| (x(i) + cell / 2.0 - 1.0, top + 36.0, fitted(name, 12.0, cell));
        canvas.texts(At::Middle, ink::SOFT, self.columns.iter().enumerate().map(head));
        let (mut cells, mut numbers, mut down) = (String::new(), String::new(), Vec::new());
        for (i, (name, row)) in self.rows.iter().enumerate() {
            let y = top + 44.0 + ROW * i as f64 + apart(i, self.rows.len());
            down.push((left, y + ROW / 2.0 + 3.0, fitted(name, 12.0, names - 8.0)));
            for (column, several) in row.iter().enumerate() {
                let Some(Several { mean, worst, count }) = several else {
                    canvas.text(x(column) + cell / 2.0 - 1.0, y + ROW / 2.0 + 3.0, At::Middle, ink::MUTED, "\u{2013}");
                    continue;
                };
                let told = format!(
                    "{count} rows of {}, {name}: mean {}, worst {}",
                    self.columns[column],
                    hundredths(*mean),
                    hundredths(*worst)
                );
                cells += &format!("<g><title>{}</title>", escape(&told));
                // The mean has the larger part of a cell, and is bold.
                for (value, from, wide) in [(mean, 0.0, cell * 0.54), (worst, cell * 0.54, cell * 0.46)] {
                    let (fill, text) = shades.inks(shades.band(*value));
                    let (x, bold) = (x(column) + from, if from == 0.0 { r#" font-weight="600""# } else { "" });
                    cells += &format!(
                        r#"<rect x="{x:.1}" y="{y:.1}" width="{:.1}" height="{}" fill="{fill}"/>"#,
                        wide - if from == 0.0 { 0.0 } else { 2.0 },
                        ROW - 2.0
                    );
                    let (middle, base) = (x + wide / 2.0 - if from == 0.0 { 0.0 } else { 1.0 }, y + ROW / 2.0 + 3.0);
                    numbers += &format!(
                        r#"<text x="{middle:.1}" y="{base:.1}" fill="{text}"{bold}>{}</text>"#,
                        escape(&hundredths(*value))
                    );
                }
                cells += "</g>";
            }
        }
        canvas.texts(At::Start, ink::TEXT, down);
        canvas.group(format_args!(""), &cells);
        canvas.group(format_args!(r#"font-size="10.5" text-anchor="middle" pointer-events="none""#), &numbers);
    }
}

impl Maps<'_> {
    /// The figure as SVG.
    pub(super) fn render(&self) -> Svg {
        let mut canvas = Canvas::new(WIDTH);
        canvas.heading(16.0, 26.0, 15.0, &fitted(self.title, 15.6, WIDTH - 32.0));
        let mut x = 16.0;
        for (number, meaning) in &self.headline {
            canvas.heading(x, 62.0, 24.0, number);
            canvas.text(x, 80.0, At::Start, ink::SOFT, meaning);
            x += width_of(meaning, 12.0).max(width_of(number, 24.0)) + 26.0;
        }
        self.shades.key(&mut canvas, self.scale, (16.0, 112.0));
        let names = self.maps.iter().flat_map(|map| &map.rows).map(|(name, _)| width_of(name, 12.6)).fold(30.0, f64::max);
        let names = names.min(NAME) + 10.0;
        let most = self.maps.iter().map(|map| map.columns.len()).max().unwrap_or(1) as f64;
        let beside = ((WIDTH - 32.0 - 28.0) / 2.0 - names) / most >= NARROWEST && self.maps.len() > 1;
        let (across, mut top) = (if beside { 2 } else { 1 }, 130.0);
        let pitch = (WIDTH - 32.0 + 28.0) / across as f64;
        for row in self.maps.chunks(across) {
            for (i, map) in row.iter().enumerate() {
                let left = 16.0 + pitch * i as f64;
                map.draw(&mut canvas, &self.shades, (left, left + pitch - 28.0), top, names);
            }
            top += row.iter().map(Map::height).fold(0.0, f64::max) + 10.0;
        }
        let bottom = self.list(&mut canvas, top + 8.0);
        canvas.finish(bottom + 12.0, self.title)
    }

    /// Lists the worst rows from `top` on; returns where they end.
    fn list(&self, canvas: &mut Canvas, top: f64) -> f64 {
        let Listing { title, heads, lines } = &self.worst;
        if lines.is_empty() {
            return top;
        }
        canvas.heading(16.0, top + 14.0, 12.5, title);
        let mut lefts = vec![16.0 + NUMBER + 10.0];
        for part in 0..heads.len() {
            let texts = lines.iter().filter_map(|line| line.texts.get(part)).chain([&heads[part]]);
            lefts.push(lefts[part] + texts.map(|text| width_of(text, 12.0)).fold(20.0, f64::max).min(2.0 * NAME) + 18.0);
        }
        let head = |(left, head): (&f64, &String)| (*left, top + 34.0, head.clone());
        canvas.texts(At::Start, ink::SOFT, lefts.iter().zip(heads).map(head));
        let (mut bars, mut numbers, mut texts) = (String::new(), String::new(), Vec::new());
        for (i, line) in lines.iter().enumerate() {
            let y = top + 42.0 + 20.0 * i as f64;
            let (fill, text) = self.shades.inks(self.shades.band(line.value));
            bars += &format!(r#"<rect x="16" y="{y:.1}" width="{NUMBER}" height="18" fill="{fill}" data-m="{}"/>"#, line.of);
            let number = escape(&hundredths(line.value));
            numbers += &format!(r#"<text x="{:.1}" y="{:.1}" fill="{text}">{number}</text>"#, 16.0 + NUMBER / 2.0, y + 13.0);
            texts.extend(lefts.iter().zip(&line.texts).map(|(left, text)| (*left, y + 13.0, fitted(text, 12.0, 2.0 * NAME))));
        }
        canvas.put(format_args!("{bars}"));
        canvas.group(format_args!(r#"font-size="10.5" text-anchor="middle" pointer-events="none""#), &numbers);
        canvas.texts(At::Start, ink::TEXT, texts);
        top + 42.0 + 20.0 * lines.len() as f64
    }
}
