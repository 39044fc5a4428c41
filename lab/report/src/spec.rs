//! Figures as data: which measurements a figure is of, which of their values stands where, in which kind of
//! chart. A function over the same cells writes the caption.
//!
//! Texts are templates: `{threads} threads` has a measurement's label, figure or `unit` in it; a part in
//! brackets is there only if it differs between measurements. A measurement without a name that a template
//! needs is not drawn.
use super::axis::{Marks, Scale};
use super::bars::{Bar, Bars, Panel};
use super::curve::{Curve, CurveStyle, Point};
use super::heat::{Column, ColumnGroup, Heat, HeatRow};
use super::lines::{AxisSide, CURVES_MAX, LineChart, PLOTS_MAX, Plot, more_than};
use super::names::{is_product, product_first};
use super::shades::Shades;
use super::svg::{Svg, colour};
use super::{Drawn, distinct};
use foregather_results::Measurement;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Further names of a measurement, which come before its labels; `None` if it is not shown.
pub(super) type ExtraNames = fn(&Measurement) -> Option<Vec<(&'static str, String)>>;
/// Reads from a measurement what is drawn; `None`: it is not drawn.
pub(super) type ValueReader = fn(&Measurement) -> Option<DrawnValue>;

/// Curves besides those of measurements: below these and above them.
type More = fn(&[ShownMeasurement<'_>]) -> [Vec<Curve>; 2];

/// A figure as data.
pub(super) struct FigureSpec {
    /// What the ids of its measurements begin with.
    pub(super) of: &'static [&'static str],
    pub(super) names: ExtraNames,
    /// Takes out cells that are not shown, or puts cells in another order.
    pub(super) keep: fn(&mut Vec<ShownMeasurement<'_>>),
    pub(super) title: &'static str,
    /// What is read from each measurement; each of several values has a panel of its own, under its title.
    pub(super) values: &'static [(&'static str, ValueReader)],
    pub(super) panel: &'static str,
    pub(super) series: &'static str,
    /// The label of a bar, the row of a matrix, the x of a point.
    pub(super) along: &'static str,
    pub(super) chart: Chart,
    /// Writes the caption; `None` if there is nothing to be drawn.
    pub(super) caption: fn(&[ShownMeasurement<'_>]) -> Option<String>,
}

/// Curves over fewer points are no chart: their numbers are in the data.
const POINTS_MIN: usize = 3;

/// The kinds of chart.
pub(super) enum Chart {
    Bars {
        axis: &'static str,
        scale: Scale,
        number: &'static str,
        colours: &'static [usize],
        /// The bars with the least of this come first.
        first: Option<fn(&Measurement) -> Option<f64>>,
    },
    Lines {
        x: (&'static str, Scale),
        whole: bool,
        y: (&'static str, Scale),
        level: Option<(f64, &'static str)>,
        look: fn(&str) -> CurveStyle,
        /// Further curves in every panel.
        more: More,
    },
    Heat {
        scale: &'static str,
        shades: fn() -> Shades,
    },
}

/// Bars in the usual colours, in the order of the measurements.
pub(super) const fn bars(axis: &'static str, scale: Scale, number: &'static str) -> Chart {
    Chart::Bars { axis, scale, number, colours: &[0, 1, 2, 3, 4, 5, 6], first: None }
}

/// Curves with marked points, and nothing else, over a logarithmic x.
pub(super) const fn lines(x: &'static str, y: (&'static str, Scale), level: Option<(f64, &'static str)>) -> Chart {
    let (look, more): (fn(&str) -> CurveStyle, More) = (|_| CurveStyle::Points, |_| [vec![], vec![]]);
    Chart::Lines { x: (x, Scale::Log2), whole: false, y, level, look, more }
}

/// A value, the bounds between which it scatters, and a dot.
#[derive(Clone, Copy, Debug)]
pub(super) struct DrawnValue {
    pub(super) value: f64,
    pub(super) scatter: Option<(f64, f64)>,
    pub(super) dot: Option<f64>,
}

impl DrawnValue {
    pub(super) fn of(value: f64) -> Self {
        Self { value, scatter: None, dot: None }
    }

    pub(super) fn scattered(self, low: Option<f64>, high: Option<f64>) -> Self {
        Self { scatter: low.zip(high), ..self }
    }
}

/// A figure of a measurement, by its name.
pub(super) fn figure(m: &Measurement, name: &str) -> Option<f64> {
    m.figures.get(name).copied()
}

/// A figure alone, if it is above zero.
pub(super) fn positive(m: &Measurement, name: &str) -> Option<DrawnValue> {
    figure(m, name).filter(|&value| value > 0.0).map(DrawnValue::of)
}

/// A measurement that is shown.
pub(super) struct ShownMeasurement<'a> {
    pub(super) m: &'a Measurement,
    /// Its number among all measurements.
    of: usize,
    /// Its names besides its labels and figures.
    pub(super) names: Vec<(&'static str, String)>,
    /// The first of the figure's values.
    pub(super) value: f64,
}

impl ShownMeasurement<'_> {
    fn find(&self, name: &str) -> Option<Cow<'_, str>> {
        let own = self.names.iter().find(|(known, _)| *known == name).map(|(_, text)| text);
        let text = own.or_else(|| self.m.labels.get(name)).map(|text| Cow::from(text.as_str()));
        let number = || self.m.figures.get(name).map(|number| Cow::from(number.to_string()));
        text.or_else(number).or_else(|| (name == "unit").then(|| Cow::from(self.m.unit.as_str())))
    }

    /// One of its names; empty if it has none of that kind.
    pub(super) fn name(&self, name: &str) -> &str {
        let own = self.names.iter().find(|(known, _)| *known == name).map(|(_, text)| text);
        own.or_else(|| self.m.labels.get(name)).map_or("", String::as_str)
    }

    pub(super) fn number(&self, name: &str) -> f64 {
        self.name(name).parse().unwrap_or(f64::NAN)
    }

    pub(super) fn figure(&self, name: &str) -> Option<f64> {
        figure(self.m, name)
    }

    /// Fills the template with its names; `None` if it lacks one.
    fn fill(&self, template: &str, varies: &dyn Fn(&str) -> bool) -> Option<String> {
        let mut text = String::new();
        for (i, part) in template.split(['[', ']']).enumerate() {
            let mut names = part.split('{').skip(1).filter_map(|rest| rest.split('}').next());
            if i % 2 == 1 && !names.any(varies) {
                continue;
            }
            for (j, piece) in part.split(['{', '}']).enumerate() {
                text += &if j % 2 == 1 { self.find(piece)? } else { Cow::from(piece) };
            }
        }
        Some(text)
    }
}

/// The cell with the least of a number.
pub(super) fn least<'c, 'a>(
    cells: impl Iterator<Item = &'c ShownMeasurement<'a>>,
    of: impl Fn(&ShownMeasurement<'a>) -> f64,
) -> Option<&'c ShownMeasurement<'a>>
where
    'a: 'c,
{
    cells.min_by(|a, b| of(a).total_cmp(&of(b)))
}

/// The cell with the most of a number, the last of several.
pub(super) fn most<'c, 'a>(
    cells: impl Iterator<Item = &'c ShownMeasurement<'a>>,
    of: impl Fn(&ShownMeasurement<'a>) -> f64,
) -> Option<&'c ShownMeasurement<'a>>
where
    'a: 'c,
{
    cells.max_by(|a, b| of(a).total_cmp(&of(b)))
}

/// The different names of cells, in order of first appearance.
pub(super) fn names<'c>(cells: &'c [ShownMeasurement<'_>], name: &str) -> Vec<&'c str> {
    distinct(cells.iter().map(|cell| cell.name(name)))
}

/// A cell with its place in the chart.
struct DrawnCell<'c, 'a> {
    cell: &'c ShownMeasurement<'a>,
    panel: String,
    series: String,
    along: String,
    reading: DrawnValue,
}

impl FigureSpec {
    /// The parts of a figure that most figures have in common.
    pub(super) const PLAIN: Self = Self {
        of: &[],
        names: |_| Some(vec![]),
        keep: |_| {},
        title: "",
        values: &[],
        panel: "",
        series: "",
        along: "",
        chart: bars("", Scale::Log10, "us"),
        caption: |_| None,
    };

    /// The figure of these measurements.
    pub(super) fn draw(&self, all: &[Measurement]) -> Option<Drawn> {
        let cells = self.cells(all);
        let (mut caption, last) = ((self.caption)(&cells)?, cells.last()?);
        let varies = |name: &str| cells.iter().any(|cell| cell.find(name) != last.find(name));
        let title = last.fill(self.title, &varies)?;
        let mut marks = Vec::new();
        for (heading, read) in self.values {
            for cell in &cells {
                let template = if self.values.len() > 1 { heading } else { &self.panel };
                let (panel, series) = (cell.fill(template, &varies)?, cell.fill(self.series, &varies)?);
                let along = cell.fill(self.along, &varies)?;
                marks.extend(read(cell.m).map(|reading| DrawnCell { cell, panel, series, along, reading }));
            }
        }
        if let Chart::Lines { .. } = self.chart {
            if texts(&marks, |m| &m.along).len() < POINTS_MIN {
                return None;
            }
            caption += &more_than(PLOTS_MAX, texts(&marks, |m| &m.panel).len(), "panels");
            caption += &more_than(CURVES_MAX, texts(&marks, |m| &m.series).len(), "curves");
        }
        let svg = match self.chart {
            Chart::Bars { axis, scale, number, colours, first } => {
                let axis = cells[0].fill(axis, &varies)?;
                draw_bars(
                    &marks,
                    Bars { title: &title, axis, scale, number, labels: vec![], series: vec![], panels: vec![] },
                    colours,
                    first,
                )
            }
            Chart::Lines { x, whole, y, level, look, more } => {
                let [x, y] = [x, y].map(|(name, scale)| Some(AxisSide::new(cells[0].fill(name, &varies)?, scale)));
                let x = AxisSide { marks: if whole { Marks::Whole } else { Marks::Round }, ..x? };
                let level = level.map(|(at, meaning)| (at, meaning.to_owned()));
                let plots = plots(&marks, look, &|| more(&cells));
                LineChart { title: &title, x, y: y?, steps: false, level, plots }.render()
            }
            Chart::Heat { scale, shades } => heat(&marks, &title, scale, shades()),
        };
        (!marks.is_empty()).then_some(Drawn { svg, caption })
    }

    /// The measurements that it shows.
    pub(super) fn cells<'a>(&self, all: &'a [Measurement]) -> Vec<ShownMeasurement<'a>> {
        let mut cells: Vec<ShownMeasurement<'a>> = all.iter().enumerate().filter_map(|(of, m)| self.cell(of, m)).collect();
        (self.keep)(&mut cells);
        cells
    }

    fn cell<'a>(&self, of: usize, m: &'a Measurement) -> Option<ShownMeasurement<'a>> {
        let mine = self.of.is_empty() || self.of.iter().any(|prefix| m.id.starts_with(prefix));
        let names = (self.names)(m).filter(|_| mine)?;
        let cell = ShownMeasurement { m, of, names, value: self.values[0].1(m)?.value };
        let told = [self.panel, self.series, self.along].iter().all(|text| cell.fill(text, &|_| true).is_some());
        // A point whose x is no number has no place.
        let placed = !matches!(self.chart, Chart::Lines { .. }) || x_of(&cell.fill(self.along, &|_| true)?).is_some();
        (told && placed).then_some(cell)
    }
}

/// The place of a point.
fn x_of(text: &str) -> Option<f64> {
    text.parse().ok().filter(|x: &f64| x.is_finite() && *x > 0.0)
}

fn texts<'m>(marks: &'m [DrawnCell<'_, '_>], of: impl Fn(&'m DrawnCell<'_, '_>) -> &'m String) -> Vec<&'m str> {
    distinct(marks.iter().map(|mark| of(mark).as_str()))
}

fn draw_bars(
    marks: &[DrawnCell<'_, '_>],
    chart: Bars<'_>,
    colours: &[usize],
    first: Option<fn(&Measurement) -> Option<f64>>,
) -> Svg {
    let (panels, series, mut labels) = (texts(marks, |m| &m.panel), texts(marks, |m| &m.series), texts(marks, |m| &m.along));
    if let Some(first) = first {
        let here = |label: &str| marks.iter().filter(|mark| mark.along == label && mark.panel == panels[0]).collect::<Vec<_>>();
        let best = |label: &str| here(label).iter().filter_map(|mark| first(mark.cell.m)).fold(f64::MAX, f64::min);
        labels.sort_by(|a, b| best(a).total_cmp(&best(b)));
    }
    product_first(&mut labels, |label| label);
    let place = |all: &[&str], name: &str| all.iter().position(|known| *known == name).unwrap_or(0);
    let bar = |mark: &DrawnCell<'_, '_>| Bar {
        label: place(&labels, &mark.along),
        series: place(&series, &mark.series),
        value: mark.reading.value,
        whisker: mark.reading.scatter,
        dot: mark.reading.dot,
        of: mark.cell.of,
    };
    let panel = |title: &&str| Panel {
        title: (*title).to_owned(),
        bars: marks.iter().filter(|mark| mark.panel == **title).map(bar).collect(),
    };
    let named = |(i, name): (usize, &&str)| ((*name).to_owned(), colour(colours[i % colours.len()]));
    Bars {
        labels: labels.iter().map(|&label| label.to_owned()).collect(),
        series: series.iter().enumerate().map(named).collect(),
        panels: panels.iter().map(panel).collect(),
        ..chart
    }
    .render()
}

fn plots(marks: &[DrawnCell<'_, '_>], look: fn(&str) -> CurveStyle, more: &dyn Fn() -> [Vec<Curve>; 2]) -> Vec<Plot> {
    let mut series = texts(marks, |m| &m.series);
    product_first(&mut series, |name| name);
    series.truncate(CURVES_MAX);
    let curve = |panel: &str, name: &str| {
        let point = |mark: &DrawnCell<'_, '_>| {
            let DrawnValue { value: y, scatter, .. } = mark.reading;
            let (low, high) = scatter.unwrap_or((y, y));
            Some(Point { x: x_of(&mark.along)?, y, low, high })
        };
        let mine = marks.iter().filter(|mark| mark.panel == panel && mark.series == name);
        let mut points: Vec<Point> = mine.filter_map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        (!points.is_empty()).then(|| Curve { name: name.to_owned(), points, look: look(name) })
    };
    let plot = |panel: &str| {
        let [below, above] = more();
        let mut curves: Vec<Curve> = series.iter().filter_map(|name| curve(panel, name)).collect();
        // A band lies below the other curves, so that they can be seen.
        curves.sort_by_key(|curve| curve.look != CurveStyle::Band);
        Plot { title: panel.to_owned(), curves: below.into_iter().chain(curves).chain(above).collect(), ..Plot::default() }
    };
    texts(marks, |m| &m.panel).into_iter().take(PLOTS_MAX).map(plot).collect()
}

fn heat(marks: &[DrawnCell<'_, '_>], title: &str, scale: &str, shades: Shades) -> Svg {
    let mut columns = texts(marks, |m| &m.series);
    product_first(&mut columns, |name| name);
    let found: BTreeMap<(&str, &str), &DrawnCell<'_, '_>> =
        marks.iter().rev().map(|mark| ((mark.along.as_str(), mark.series.as_str()), mark)).collect();
    let row = |name: &str| {
        let cell = |column: &&str| found.get(&(name, column)).map(|mark| (mark.reading.value, Some(mark.cell.of)));
        HeatRow { names: vec![name.to_owned()], cells: columns.iter().map(cell).collect() }
    };
    let group = |name: &str| if is_product(name) { ColumnGroup::Product } else { ColumnGroup::Peer };
    let column = |name: &&str| Column { name: (*name).to_owned(), of: String::new(), group: group(name) };
    let rows = texts(marks, |m| &m.along).into_iter().map(row).collect();
    Heat { title, scale, shades, heads: vec![], columns: columns.iter().map(column).collect(), rows, summaries: 0 }.render()
}
