//! Horizontal bars: one line per label, several panels side by side on one scale, whiskers where values
//! scatter.
use super::axis::{Axis, Scale};
use super::legend::{Entry, Swatch};
use super::svg::{At, Canvas, fitted, ink, width_of};
use foregather_results::number::short;

const WIDTH: f64 = 960.0;
/// Height of one bar and its gap.
const BAR: f64 = 12.0;
/// Room between the bars of two labels.
const BETWEEN: f64 = 7.0;
/// Room for the number at the right of a panel.
const NUMBERS: f64 = 46.0;

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
struct Layout {
    left: f64,
    top: f64,
    bottom: f64,
    /// For each label its top, and the series that it has a bar of.
    lines: Vec<(f64, Vec<usize>)>,
    /// Width of the bars' part of a panel, and the distance between the beginnings of panels.
    plot: f64,
    pitch: f64,
}

impl Bars<'_> {
    /// The chart as SVG.
    pub(super) fn render(&self) -> String {
        let mut canvas = Canvas::new(WIDTH);
        canvas.heading(16.0, 26.0, 15.0, self.title);
        let shown = |i: usize| Entry { series: Some(i), name: &self.series[i].0, ink: self.series[i].1, swatch: Swatch::Box };
        // A single series needs no name.
        let entries: Vec<_> = (0..self.series.len()).filter(|&i| !self.series[i].0.is_empty()).map(shown).collect();
        let legend = canvas.legend((8.0, WIDTH), 38.0, &entries);
        let layout = self.layout(38.0 + legend);
        let values = self.panels.iter().flat_map(|p| &p.bars).flat_map(|b| {
            let (low, high) = b.whisker.unwrap_or((b.value, b.value));
            [Some(b.value), Some(low), Some(high), b.dot].into_iter().flatten()
        });
        let axis = Axis::fit(values, self.scale, (0.0, layout.plot));
        let label = |(label, (top, series)): (&String, &(f64, Vec<usize>))| {
            let middle = top + series.len() as f64 * BAR / 2.0 + 4.0;
            (layout.left - 10.0, middle, fitted(label, 12.0, layout.left - 26.0))
        };
        canvas.texts(At::End, ink::TEXT, self.labels.iter().zip(&layout.lines).map(label));
        for (i, panel) in self.panels.iter().enumerate() {
            let from = layout.left + i as f64 * layout.pitch;
            self.panel(&mut canvas, panel, &layout, axis.moved((from, from + layout.plot)));
        }
        canvas.text((layout.left + WIDTH) / 2.0, layout.bottom + 40.0, At::Middle, ink::SOFT, &self.axis);
        canvas.finish(layout.bottom + 54.0, self.title, "")
    }

    fn layout(&self, legend_end: f64) -> Layout {
        let widest = self.labels.iter().map(|l| width_of(l, 12.0)).fold(40.0, f64::max);
        let left = widest.min(210.0) + 28.0;
        let mut y = legend_end + 30.0;
        let top = y;
        let mut lines = Vec::new();
        for label in 0..self.labels.len() {
            let bars = self.panels.iter().flat_map(|p| &p.bars).filter(|b| b.label == label);
            let mut series: Vec<usize> = bars.map(|b| b.series).collect();
            series.sort_unstable();
            series.dedup();
            lines.push((y + BETWEEN / 2.0, series.clone()));
            y += series.len().max(1) as f64 * BAR + BETWEEN;
        }
        let pitch = (WIDTH - 12.0 - left) / self.panels.len().max(1) as f64;
        Layout { left, top, bottom: y, lines, plot: pitch - NUMBERS - 14.0, pitch }
    }

    fn panel(&self, canvas: &mut Canvas, panel: &Panel, layout: &Layout, axis: Axis) {
        let (top, bottom, right) = (layout.top, layout.bottom, axis.to + NUMBERS);
        canvas.heading(axis.from, top - 8.0, 12.5, &fitted(&panel.title, 13.0, layout.plot));
        canvas.text(right, top - 8.0, At::End, ink::SOFT, self.number);
        let between = layout.lines.iter().skip(1).map(|(top, _)| top - BETWEEN / 2.0);
        let rules: String = between.map(|y| format!("M{:.1} {y:.1}H{right:.1}", axis.from)).collect();
        canvas.line(&rules, ink::GRID, 0.5);
        let line = |v: f64| format!("M{:.1} {top:.1}V{bottom:.1}", axis.at(v));
        canvas.grid(&axis.ticks(36.0), At::Middle, line, |v| (axis.at(v), bottom + 16.0));
        for (series, (_, ink)) in self.series.iter().enumerate() {
            let bars = panel.bars.iter().filter(|b| b.series == series);
            let mut marks = Marks::default();
            bars.for_each(|bar| {
                let (top, series) = &layout.lines[bar.label];
                let slot = series.iter().position(|&s| s == bar.series).unwrap_or(0);
                marks.add(bar, &axis, top + slot as f64 * BAR);
            });
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
