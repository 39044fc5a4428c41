//! One curve of a chart: its line, its points, and how far their values scatter.
use super::axis::Axis;
use super::legend::Swatch;
use super::svg::{Canvas, colour, dash, escape, ink, mark};
use foregather_results::number::digits;

/// A curve of more points is dense: its line is thinner, and only some of its points are marked. Dots without
/// a line are all marked.
const DENSE: usize = 48;
/// Marks on a dense curve: enough to tell it from others.
const MARKS_OF_DENSE: usize = 12;

/// One curve; its points are in ascending order.
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) points: Vec<Point>,
    pub(super) look: CurveStyle,
}

/// A point, and the heights between which its values scatter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Point {
    /// A point whose values do not scatter.
    pub(super) fn sharp((x, y): (f64, f64)) -> Self {
        Self { x, y, low: y, high: y }
    }
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CurveStyle {
    /// A line, as for distribution functions.
    Line,
    /// A line with its points, as for measured values.
    Points,
    /// Points alone, where there is nothing between them.
    Dots,
    /// A broad pale band below the others, as for a formula.
    Band,
}

impl Curve {
    /// Its colour and its dashes, as the series with this number.
    fn ink(&self, series: usize) -> (&'static str, &'static str) {
        match self.look {
            CurveStyle::Band => (ink::PALE, ""),
            CurveStyle::Line => (colour(series), dash(series)),
            // Marks tell the series apart.
            CurveStyle::Points | CurveStyle::Dots => (colour(series), ""),
        }
    }

    /// What a legend shows of it: its colour, and its line or mark.
    pub(super) fn swatch(&self, series: usize) -> (&'static str, Swatch) {
        let (ink, dash) = self.ink(series);
        let swatch = match self.look {
            CurveStyle::Band | CurveStyle::Line => Swatch::Line(dash),
            CurveStyle::Points => Swatch::Marked,
            CurveStyle::Dots => Swatch::Mark,
        };
        (ink, swatch)
    }

    /// Draws it; `steps` keep their height until the next point.
    pub(super) fn draw(&self, canvas: &mut Canvas, series: usize, steps: bool, (x, y): (&Axis, &Axis)) {
        let (ink, dash) = self.ink(series);
        let data: Vec<String> = self.points.iter().map(|p| format!("{},{}", digits(p.x, 5), digits(p.y, 4))).collect();
        let (name, data) = (escape(&self.name), data.join(" "));
        canvas.put(format_args!(r#"<g class="s" data-s="{series}" data-name="{name}" data-p="{data}">"#));
        if self.points.iter().any(|p| p.low < p.high) {
            let outline = self.spread(x, y);
            canvas.put(format_args!(r#"<path d="{outline}" fill="{ink}" fill-opacity=".16"/>"#));
        }
        if self.look != CurveStyle::Dots {
            let line = self.line(steps, x, y);
            let width = match self.look {
                CurveStyle::Band => 7.0,
                _ if self.points.len() > DENSE => 1.3,
                _ => 1.8,
            };
            canvas.put(format_args!(
                r#"<path d="{line}" fill="none" stroke="{ink}" stroke-width="{width}" stroke-linejoin="round" stroke-dasharray="{dash}"/>"#
            ));
        }
        if matches!(self.look, CurveStyle::Points | CurveStyle::Dots) {
            let n = self.points.len();
            let every = if n > DENSE && self.look == CurveStyle::Points { n.div_ceil(MARKS_OF_DENSE) } else { 1 };
            // Marks of several dense curves do not stand above each other.
            let marked = self.points.iter().skip(5 * series % every).step_by(every);
            mark(canvas, series, ink, marked.map(|p| (x.at(p.x), y.at(p.y))));
        }
        canvas.put(format_args!("</g>"));
    }

    fn line(&self, steps: bool, x: &Axis, y: &Axis) -> String {
        let mut path = String::new();
        for (i, p) in self.points.iter().enumerate() {
            let (x, at) = (x.at(p.x), y.at(p.y));
            path += &match (i, steps) {
                (0, true) => format!("M{x:.1} {:.1}V{at:.1}", y.from),
                (0, false) => format!("M{x:.1} {at:.1}"),
                (_, true) => format!("H{x:.1}V{at:.1}"),
                (_, false) => format!("L{x:.1} {at:.1}"),
            };
        }
        if steps && !self.points.is_empty() { path + &format!("H{:.1}", x.to) } else { path }
    }

    /// The area from the lowest values there to the highest values back; of dots, an upright line each.
    fn spread(&self, x: &Axis, y: &Axis) -> String {
        if self.look == CurveStyle::Dots {
            let upright = |p: &Point| format!("M{:.1} {:.1}h4V{:.1}h-4z", x.at(p.x) - 2.0, y.at(p.low), y.at(p.high));
            return self.points.iter().map(upright).collect();
        }
        let low = self.points.iter().map(|p| (p.x, p.low));
        let high = self.points.iter().rev().map(|p| (p.x, p.high));
        let places: Vec<String> = low.chain(high).map(|(px, py)| format!("{:.1} {:.1}", x.at(px), y.at(py))).collect();
        format!("M{}z", places.join("L"))
    }
}
