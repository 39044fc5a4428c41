//! Curves: lines or steps over two axes, in one panel or several on the same scales, with every point kept in
//! an attribute for the pointer to read.
use super::axis::{Axis, Marks, Scale};
use super::curve::Curve;
use super::distinct;
use super::legend::LegendEntry;
use super::published::PublishedMark;
use super::svg::{At, Canvas, Svg, escape, fitted, ink, width_of};

const WIDTH: f64 = 960.0;
/// Room at the left of a panel for the numbers of its axis, and for the axis' name.
const LEFT: f64 = 70.0;
const LEVEL_DASH: &str = "5 4";
/// Room below a panel's lines for numbers and the axis' name.
const BELOW: f64 = 48.0;

/// More plots or curves would be too many to look at: figures leave them out and say so.
pub(super) const PLOTS_MAX: usize = 12;
pub(super) const CURVES_MAX: usize = 40;

/// Says that there are more than are shown; nothing if there are not.
pub(super) fn more_than(shown: usize, all: usize, what: &str) -> String {
    if all > shown { format!(" Of {all} {what} the first {shown} are shown; the data have all.") } else { String::new() }
}

/// A chart of curves.
pub(super) struct LineChart<'a> {
    pub(super) title: &'a str,
    pub(super) x: AxisSide,
    pub(super) y: AxisSide,
    /// Whether a curve keeps its height until the next point.
    pub(super) steps: bool,
    /// A height with which curves are compared, and what it means.
    pub(super) level: Option<(f64, String)>,
    pub(super) plots: Vec<Plot>,
}

/// One of the two axes: its name, its scale, its marks.
pub(super) struct AxisSide {
    pub(super) name: String,
    pub(super) scale: Scale,
    pub(super) marks: Marks,
    /// Values that the axis covers besides those of the curves.
    pub(super) holds: Vec<f64>,
}

impl AxisSide {
    /// An axis with round values.
    pub(super) fn new(name: impl Into<String>, scale: Scale) -> Self {
        Self { name: name.into(), scale, marks: Marks::Round, holds: vec![] }
    }

    fn axis(&self, values: impl Iterator<Item = f64>) -> Axis {
        Axis::fit(values.chain(self.holds.iter().copied()), self.scale, (0.0, 1.0))
    }
}

/// Curves that share a pair of axes.
#[derive(Default)]
pub(super) struct Plot {
    /// The heading; empty if there is only one plot.
    pub(super) title: String,
    pub(super) curves: Vec<Curve>,
    /// A few words about each of its curves, after its name in the plot's own legend; empty: no such legend.
    pub(super) remarks: Vec<String>,
    /// What a paper says here.
    pub(super) published: Vec<PublishedMark>,
}

/// Where a panel's lines lie.
#[derive(Clone, Copy)]
struct PlotArea {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl LineChart<'_> {
    /// The chart as SVG.
    pub(super) fn render(&self) -> Svg {
        let mut canvas = Canvas::new(WIDTH);
        let room = self.level_meaning(&mut canvas);
        canvas.heading(16.0, 26.0, 15.0, &fitted(self.title, 15.6, room));
        let series = distinct(self.plots.iter().flat_map(|p| &p.curves).map(|c| c.name.as_str()));
        let points = || self.plots.iter().flat_map(|p| &p.curves).flat_map(|c| &c.points);
        let published = self.plots.iter().flat_map(|p| &p.published).flat_map(PublishedMark::heights);
        let heights = points().flat_map(|p| [p.y, p.low, p.high]).chain(self.level.iter().map(|level| level.0)).chain(published);
        let (x, y) = (self.x.axis(points().map(|p| p.x)), self.y.axis(heights));
        let across = match self.plots.len() {
            n @ 0..=2 => n.max(1),
            4 => 2,
            _ => 3,
        };
        let (pitch, height) = ((WIDTH - 16.0) / across as f64, [300.0, 240.0, 190.0][across - 1]);
        let mut bottom = 38.0;
        // One legend is enough, unless plots have remarks of their own.
        if self.plots.iter().all(|plot| plot.remarks.is_empty()) {
            let curve = |name: &str| self.plots.iter().flat_map(|p| &p.curves).find(|c| c.name == name);
            let curves: Vec<(&Curve, &str)> = series.iter().filter_map(|name| Some((curve(name)?, *name))).collect();
            bottom += legend(&mut canvas, &curves, &series, (16.0, WIDTH), bottom);
        }
        for row in self.plots.chunks(across) {
            let mut top = bottom;
            for (i, plot) in row.iter().enumerate() {
                let left = LEFT + i as f64 * pitch;
                let title = if plot.title.is_empty() { 0.0 } else { 22.0 };
                canvas.heading(left, bottom + title - 6.0, 12.5, &fitted(&plot.title, 12.5, pitch - LEFT));
                let curves: Vec<(&Curve, &str)> = plot.curves.iter().zip(plot.remarks.iter().map(String::as_str)).collect();
                let remarks = legend(&mut canvas, &curves, &series, (left - 8.0, left + pitch - LEFT), bottom + title);
                let published: Vec<LegendEntry<'_>> = plot.published.iter().map(PublishedMark::entry).collect();
                let ends = (left - 8.0, left + pitch - LEFT);
                let published = canvas.legend(ends, bottom + title + remarks, &published);
                top = top.max(bottom + title + remarks + published + 6.0);
            }
            for (i, plot) in row.iter().enumerate() {
                let left = LEFT + i as f64 * pitch;
                let frame = PlotArea { left, right: left + pitch - LEFT - 8.0, top, bottom: top + height };
                self.plot(&mut canvas, plot, &series, frame, (&x, &y));
            }
            bottom = top + height + BELOW;
        }
        canvas.finish(bottom + 4.0, self.title)
    }

    /// Writes what the level means at the right of the title; returns the room that is left of it.
    fn level_meaning(&self, canvas: &mut Canvas) -> f64 {
        let Some((_, meaning)) = &self.level else { return WIDTH - 32.0 };
        let meaning = fitted(meaning, 12.0, WIDTH / 3.0);
        let left = WIDTH - 24.0 - width_of(&meaning, 12.0);
        canvas.sample((left - 30.0, 22.0), ink::SOFT, LEVEL_DASH);
        canvas.text(left, 26.0, At::Start, ink::SOFT, &meaning);
        left - 60.0
    }

    fn plot(&self, canvas: &mut Canvas, plot: &Plot, series: &[&str], frame: PlotArea, (x, y): (&Axis, &Axis)) {
        let (x, y) = (x.moved((frame.left, frame.right)), y.moved((frame.bottom, frame.top)));
        self.grid(canvas, &x, &y, frame.left < 2.0 * LEFT);
        let names = if let Marks::Names(names) = &self.x.marks { names.join("\n") } else { String::new() };
        canvas.put(format_args!(
            r#"<g data-title="{}" data-x="{}" data-names="{}" data-steps="{}" data-axis="{} {:.5} {:.5} {:.1} {:.1} {:.1} {:.1}">"#,
            escape(&plot.title),
            escape(&self.x.name),
            escape(&names),
            u8::from(self.steps),
            x.scale.name(),
            x.low,
            x.high,
            x.from,
            x.to,
            frame.top,
            frame.bottom
        ));
        if let Some((level, _)) = &self.level {
            let (ink, at) = (ink::SOFT, y.at(*level));
            canvas.put(format_args!(
                r#"<path d="M{:.1} {at:.1}H{:.1}" stroke="{ink}" stroke-dasharray="{LEVEL_DASH}"/>"#,
                x.from, x.to
            ));
        }
        for curve in &plot.curves {
            let number = series.iter().position(|name| *name == curve.name).unwrap_or(0);
            curve.draw(canvas, number, self.steps, (&x, &y));
        }
        plot.published.iter().for_each(|published| published.draw(canvas, (&x, &y)));
        canvas.put(format_args!(r#"<path class="at" stroke="{}" stroke-dasharray="3 3" visibility="hidden"/></g>"#, ink::SOFT));
    }

    fn grid(&self, canvas: &mut Canvas, x: &Axis, y: &Axis, outermost: bool) {
        let (left, right, top, bottom) = (x.from, x.to, y.to, y.from);
        let upright = |v: f64| format!("M{:.1} {top:.1}V{bottom:.1}", x.at(v));
        canvas.grid(&x.marked(&self.x.marks, 60.0), At::Middle, upright, |v| (x.at(v), bottom + 17.0));
        let level = |v: f64| format!("M{left:.1} {:.1}H{right:.1}", y.at(v));
        canvas.grid(&y.marked(&self.y.marks, 34.0), At::End, level, |v| (left - 8.0, y.at(v) + 4.0));
        canvas.text((left + right) / 2.0, bottom + 38.0, At::Middle, ink::SOFT, &fitted(&self.x.name, 12.0, right - left));
        // Plots beside each other share their scales.
        if outermost {
            self.name_of_y(canvas, left, (top, bottom));
        }
    }

    /// Writes the name of the heights along their axis, in two lines if it is long.
    fn name_of_y(&self, canvas: &mut Canvas, left: f64, (top, bottom): (f64, f64)) {
        let room = bottom - top + 20.0;
        let mut lines = vec![self.y.name.as_str()];
        let middle = self.y.name.len() / 2;
        let spaces = self.y.name.match_indices(' ').map(|(at, _)| at);
        if width_of(&self.y.name, 12.0) > room
            && let Some(at) = spaces.min_by_key(|at| at.abs_diff(middle))
        {
            lines = vec![&self.y.name[..at], &self.y.name[at + 1..]];
        }
        for (i, line) in lines.iter().enumerate() {
            canvas.put(format_args!(
                r#"<text transform="translate({:.1} {:.1}) rotate(-90)" text-anchor="middle" fill="{}">{}</text>"#,
                left - 48.0 - 13.0 * (lines.len() - 1 - i) as f64,
                (top + bottom) / 2.0,
                ink::SOFT,
                escape(&fitted(line, 12.0, room))
            ));
        }
    }
}

/// The legend of these curves, with a remark about each. Returns the height used.
fn legend(canvas: &mut Canvas, curves: &[(&Curve, &str)], series: &[&str], ends: (f64, f64), top: f64) -> f64 {
    let mut entries = Vec::new();
    for &(curve, name) in curves.iter().filter(|(_, name)| !name.is_empty()) {
        let number = series.iter().position(|known| *known == curve.name);
        let (ink, swatch) = curve.swatch(number.unwrap_or(0));
        entries.push(LegendEntry { series: number, name, ink, swatch });
    }
    canvas.legend(ends, top, &entries)
}
