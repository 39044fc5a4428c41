//! Curves: lines or steps over two axes, with every point kept in an attribute for the pointer to read.
use super::axis::{Axis, Scale};
use super::svg::{At, Canvas, Entry, Swatch, colour, dash, escape, ink};
use crate::results::number::digits;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 70.0;

/// A chart of curves.
pub(super) struct Lines<'a> {
    pub(super) title: &'a str,
    pub(super) x: (String, Scale),
    pub(super) y: (String, Scale),
    /// Does a curve keep its height until the next point?
    pub(super) steps: bool,
    pub(super) curves: Vec<Curve>,
}

/// One curve; its points in ascending order.
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) look: Look,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// A line, as for distribution functions.
    Line,
    /// A line with its points, as for measured values.
    Points,
    /// A broad pale band below the others, as for a formula.
    Band,
}

impl Lines<'_> {
    /// The chart as SVG.
    pub(super) fn render(&self) -> String {
        let mut canvas = Canvas::new(WIDTH);
        canvas.heading(16.0, 26.0, 15.0, self.title);
        let entry = |(series, curve): (usize, &'_ Curve)| {
            let (ink, dash) = curve.ink(series);
            (series, curve.name.clone(), ink, dash)
        };
        let named: Vec<_> = self.curves.iter().enumerate().map(entry).collect();
        let entries: Vec<_> = named
            .iter()
            .map(|(series, name, ink, dash)| Entry { series: *series, name, ink, swatch: Swatch::Line(dash) })
            .collect();
        let top = 38.0 + canvas.legend(16.0, 38.0, &entries) + 12.0;
        let bottom = top + HEIGHT;
        let points = || self.curves.iter().flat_map(|c| &c.points);
        let x = Axis::fit(points().map(|p| p.0), self.x.1, (LEFT, WIDTH - 24.0));
        let y = Axis::fit(points().map(|p| p.1), self.y.1, (bottom, top));
        self.grid(&mut canvas, &x, &y);
        for (series, curve) in self.curves.iter().enumerate() {
            self.curve(&mut canvas, series, curve, &x, &y);
        }
        canvas.put(format_args!(r#"<path class="at" stroke="{}" stroke-dasharray="3 3" visibility="hidden"/>"#, ink::SOFT));
        let data = format!(
            r#" data-x="{}" data-steps="{}" data-axis="{} {:.5} {:.5} {LEFT} {} {top:.1} {bottom:.1}""#,
            escape(&self.x.0),
            u8::from(self.steps),
            x.scale.name(),
            x.low,
            x.high,
            x.to
        );
        canvas.finish(bottom + 52.0, self.title, &data)
    }

    fn grid(&self, canvas: &mut Canvas, x: &Axis, y: &Axis) {
        let (left, right, top, bottom) = (x.from, x.to, y.to, y.from);
        let upright = |v: f64| format!("M{:.1} {top:.1}V{bottom:.1}", x.at(v));
        canvas.grid(&x.ticks(44.0), At::Middle, upright, |v| (x.at(v), bottom + 17.0));
        let level = |v: f64| format!("M{left:.1} {:.1}H{right:.1}", y.at(v));
        canvas.grid(&y.ticks(34.0), At::End, level, |v| (left - 8.0, y.at(v) + 4.0));
        canvas.text((left + right) / 2.0, bottom + 38.0, At::Middle, ink::SOFT, &self.x.0);
        canvas.put(format_args!(
            r#"<text transform="translate(22 {:.1}) rotate(-90)" text-anchor="middle" fill="{}">{}</text>"#,
            (top + bottom) / 2.0,
            ink::SOFT,
            escape(&self.y.0)
        ));
    }

    fn curve(&self, canvas: &mut Canvas, series: usize, curve: &Curve, x: &Axis, y: &Axis) {
        let (mut path, mut data) = (String::new(), String::new());
        for (i, &(px, py)) in curve.points.iter().enumerate() {
            let (ax, ay) = (x.at(px), y.at(py));
            path += &match (i, self.steps) {
                (0, true) => format!("M{ax:.1} {:.1}V{ay:.1}", y.from),
                (0, false) => format!("M{ax:.1} {ay:.1}"),
                (_, true) => format!("H{ax:.1}V{ay:.1}"),
                (_, false) => format!("L{ax:.1} {ay:.1}"),
            };
            data += &format!("{}{},{}", if i == 0 { "" } else { " " }, digits(px, 5), digits(py, 4));
        }
        if self.steps && !curve.points.is_empty() {
            path += &format!("H{:.1}", x.to);
        }
        let (name, (ink, dash)) = (escape(&curve.name), curve.ink(series));
        let width = if curve.look == Look::Band { 7 } else { 2 };
        canvas.put(format_args!(r#"<g class="s" data-s="{series}" data-name="{name}" data-p="{data}">"#));
        canvas.put(format_args!(
            r#"<path d="{path}" fill="none" stroke="{ink}" stroke-width="{width}" stroke-linejoin="round" stroke-dasharray="{dash}"/>"#
        ));
        if curve.look == Look::Points {
            for &(px, py) in &curve.points {
                canvas.put(format_args!(r#"<circle cx="{:.1}" cy="{:.1}" r="3" fill="{ink}"/>"#, x.at(px), y.at(py)));
            }
        }
        canvas.put(format_args!("</g>"));
    }
}

impl Curve {
    /// Its colour and its dashes.
    fn ink(&self, series: usize) -> (&'static str, &'static str) {
        if self.look == Look::Band { (ink::PALE, "") } else { (colour(series), dash(series)) }
    }
}
