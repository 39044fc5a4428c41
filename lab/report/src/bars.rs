//! Horizontal bars: one line per label, panels side by side and below each other on one scale, whiskers where
//! values scatter.
use super::axis::{Axis, Scale};
use super::legend::{LegendEntry, Swatch};
use super::names::is_product;
use super::svg::{At, Canvas, Svg, colour, fitted, ink, width_of};
use foregather_results::number::short;

const WIDTH: f64 = 960.0;
/// Height of one bar and its gap.
const BAR: f64 = 12.0;
/// Room between the bars of two labels.
const BETWEEN: f64 = 7.0;
/// Room below a row of panels for numbers and the next row's headings.
const BELOW: f64 = 50.0;
/// Room for the number at the right of a panel.
const NUMBERS: f64 = 46.0;
/// More labels or panels are not drawn: a reader has the data for that.
const LABELS_MAX: usize = 80;
const PANELS_MAX: usize = 24;

/// A chart of bars.
pub(super) struct Bars<'a> {
    pub(super) title: &'a str,
    /// The text under the axis: what is shown and in which unit.
    pub(super) axis: String,
    pub(super) scale: Scale,
    /// The heading of the numbers at the right of each panel.
    pub(super) number: &'a str,
    pub(super) labels: Vec<String>,
    /// The name and the colour of each series.
    pub(super) series: Vec<(String, &'a str)>,
    pub(super) panels: Vec<Panel>,
}

/// Bars that share a heading.
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) bars: Vec<Bar>,
}

/// One bar.
pub(super) struct Bar {
    /// The numbers of its label and of its series.
    pub(super) label: usize,
    pub(super) series: usize,
    /// The value at which it ends.
    pub(super) value: f64,
    /// The lowest and the highest of the values that scatter.
    pub(super) whisker: Option<(f64, f64)>,
    /// The value of a dot, such as the median.
    pub(super) dot: Option<f64>,
    /// The number of its measurement, of which the page shows more when the pointer is on it.
    pub(super) of: usize,
}

/// Where each line of the chart lies.
struct BarLayout {
    left: f64,
    /// How many panels stand side by side.
    across: usize,
    /// Height of the bars of a panel.
    high: f64,
    /// For each label its distance from the top, and the series that it has a bar of.
    lines: Vec<(f64, Vec<usize>)>,
    /// Width of the bars' part of a panel, and the distance between the beginnings of panels.
    plot: f64,
    pitch: f64,
}

impl Bars<'_> {
    /// The chart as SVG.
    pub(super) fn render(&self) -> Svg {
        let mut canvas = Canvas::new(WIDTH);
        canvas.heading(16.0, 26.0, 15.0, self.title);
        let shown =
            |i: usize| LegendEntry { series: Some(i), name: &self.series[i].0, ink: self.series[i].1, swatch: Swatch::Box };
        // A single series needs no name.
        let entries: Vec<_> = (0..self.series.len()).filter(|&i| !self.series[i].0.is_empty()).map(shown).collect();
        let legend = canvas.legend((8.0, WIDTH), 38.0, &entries);
        let layout = self.layout();
        let values = self.panels.iter().flat_map(|p| &p.bars).flat_map(|b| {
            let (low, high) = b.whisker.unwrap_or((b.value, b.value));
            [Some(b.value), Some(low), Some(high), b.dot].into_iter().flatten()
        });
        let axis = Axis::fit(values, self.scale, (0.0, layout.plot));
        let mut top = 38.0 + legend + 30.0;
        let panels = &self.panels[..self.panels.len().min(PANELS_MAX)];
        for row in panels.chunks(layout.across) {
            self.labels(&mut canvas, &layout, top);
            for (i, panel) in row.iter().enumerate() {
                let from = layout.left + i as f64 * layout.pitch;
                self.panel(&mut canvas, panel, &layout, top, axis.moved((from, from + layout.plot)));
            }
            top += layout.high + BELOW;
        }
        let bottom = top - BELOW;
        canvas.text((layout.left + WIDTH) / 2.0, bottom + 40.0, At::Middle, ink::SOFT, &self.axis);
        let (labels, panels) = (self.labels.len(), self.panels.len());
        if labels > LABELS_MAX || panels > PANELS_MAX {
            let told = format!("The first of {labels} lines and {panels} panels; the data have the others.");
            canvas.text(16.0, bottom + 58.0, At::Start, ink::SOFT, &told);
        }
        canvas.finish(bottom + if labels > LABELS_MAX || panels > PANELS_MAX { 72.0 } else { 54.0 }, self.title)
    }

    fn layout(&self) -> BarLayout {
        let labels = &self.labels[..self.labels.len().min(LABELS_MAX)];
        let widest = labels.iter().map(|l| width_of(l, 12.0)).fold(40.0, f64::max);
        let left = widest.min(230.0) + 28.0;
        let mut of = vec![Vec::new(); labels.len()];
        for bar in self.panels.iter().flat_map(|p| &p.bars) {
            if let Some(series) = of.get_mut(bar.label) {
                series.push(bar.series);
            }
        }
        let (mut y, mut lines) = (0.0, Vec::new());
        for mut series in of {
            series.sort_unstable();
            series.dedup();
            let high = series.len().max(1) as f64 * BAR + BETWEEN;
            lines.push((y + BETWEEN / 2.0, series));
            y += high;
        }
        let across = match self.panels.len() {
            n @ 0..=3 => n.max(1),
            4 => 2,
            _ => 3,
        };
        let pitch = (WIDTH - 12.0 - left) / across as f64;
        BarLayout { left, across, high: y, lines, plot: pitch - NUMBERS - 14.0, pitch }
    }

    /// Writes the labels of a row of panels; the product's in its colour.
    fn labels(&self, canvas: &mut Canvas, layout: &BarLayout, top: f64) {
        let place = |(label, (y, series)): (&String, &(f64, Vec<usize>))| {
            let middle = top + y + series.len() as f64 * BAR / 2.0 + 4.0;
            (layout.left - 10.0, middle, fitted(label, 12.0, layout.left - 26.0))
        };
        let all = self.labels.iter().zip(&layout.lines).map(place);
        let (product, others): (Vec<_>, Vec<_>) = all.partition(|(.., label)| is_product(label));
        canvas.texts(At::End, ink::TEXT, others);
        for (x, y, label) in product {
            canvas.put(format_args!(
                r#"<text x="{x:.1}" y="{y:.1}" text-anchor="end" font-weight="700" fill="{}">{label}</text>"#,
                colour(0)
            ));
        }
    }

    fn panel(&self, canvas: &mut Canvas, panel: &Panel, layout: &BarLayout, top: f64, axis: Axis) {
        let (bottom, right) = (top + layout.high, axis.to + NUMBERS);
        canvas.heading(axis.from, top - 8.0, 12.5, &fitted(&panel.title, 13.0, layout.plot));
        canvas.text(right, top - 8.0, At::End, ink::SOFT, self.number);
        let between = layout.lines.iter().skip(1).map(|(y, _)| top + y - BETWEEN / 2.0);
        let rules: String = between.map(|y| format!("M{:.1} {y:.1}H{right:.1}", axis.from)).collect();
        canvas.line(&rules, ink::GRID, 0.5);
        let line = |v: f64| format!("M{:.1} {top:.1}V{bottom:.1}", axis.at(v));
        canvas.grid(&axis.ticks(36.0), At::Middle, line, |v| (axis.at(v), bottom + 16.0));
        for (series, (_, ink)) in self.series.iter().enumerate() {
            let mut marks = Marks::default();
            for bar in panel.bars.iter().filter(|b| b.series == series) {
                let Some((y, series)) = layout.lines.get(bar.label) else { continue };
                let slot = series.iter().position(|&s| s == bar.series).unwrap_or(0);
                marks.add(bar, &axis, top + y + slot as f64 * BAR);
            }
            canvas.put(format_args!(r#"<g class="s" data-s="{series}">"#));
            canvas.group(format_args!(r#"stroke="{ink}" stroke-width="9""#), &marks.bars);
            canvas.group(format_args!(r#"fill="none" stroke="{}" stroke-width="1.1""#, ink::TEXT), &marks.whiskers);
            canvas.group(format_args!(r#"fill="{}" stroke="{}""#, ink::PAPER, ink::TEXT), &marks.dots);
            canvas.group(format_args!(r#"text-anchor="end" font-size="10.5" fill="{}""#, ink::TEXT), &marks.numbers);
            canvas.group(format_args!(r#"class="a" stroke="transparent" stroke-width="{BAR}""#), &marks.areas);
            canvas.put(format_args!("</g>"));
        }
    }
}

/// The marks of several bars, by kind: those of a kind share their attributes.
#[derive(Default)]
struct Marks {
    bars: String,
    whiskers: String,
    dots: String,
    numbers: String,
    /// Invisible areas as long as the panel, so that the pointer finds short bars too.
    areas: String,
}

impl Marks {
    fn add(&mut self, bar: &Bar, axis: &Axis, y: f64) {
        let (from, to, right) = (axis.from, axis.at(bar.value).max(axis.from + 1.0), axis.to + NUMBERS);
        let middle = y + BAR / 2.0;
        self.bars += &format!(r#"<path d="M{from:.1} {middle:.1}H{to:.1}"/>"#);
        if let Some((low, high)) = bar.whisker {
            let (low, high) = (axis.at(low), axis.at(high));
            self.whiskers += &format!(r#"<path d="M{low:.1} {:.1}v6m0-3H{high:.1}m0-3v6"/>"#, middle - 3.0);
        }
        if let Some(dot) = bar.dot {
            self.dots += &format!(r#"<circle cx="{:.1}" cy="{middle:.1}" r="2.6"/>"#, axis.at(dot));
        }
        self.numbers += &format!(r#"<text x="{right:.1}" y="{:.1}">{}</text>"#, y + 9.6, short(bar.value));
        self.areas += &format!(r#"<path d="M{from:.1} {middle:.1}H{right:.1}" data-m="{}"/>"#, bar.of);
    }
}
