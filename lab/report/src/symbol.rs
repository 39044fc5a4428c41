//! The mark of a point on a curve: a shape a series, told apart without colours.
use super::svg::Canvas;

/// As many as colours would repeat their pairs; seven and five do not.
const SHAPES: usize = 5;

/// Marks a series' points, in its colour: one path for all.
pub(super) fn mark(canvas: &mut Canvas, series: usize, ink: &str, points: impl Iterator<Item = (f64, f64)>) {
    // A line of no length is a dot as its ends are shaped.
    let dot = |cap: &str, width: f64| (format!(r#"stroke="{ink}" stroke-width="{width}" stroke-linecap="{cap}""#), "h0");
    let shape = |outline| (format!(r#"fill="{ink}""#), outline);
    let (look, outline) = match series % SHAPES {
        0 => dot("round", 6.5),
        1 => dot("square", 5.6),
        2 => shape("m0-4.4l4.4 4.4-4.4 4.4-4.4-4.4z"),
        3 => shape("m0-4.2l4.2 7.2h-8.4z"),
        _ => shape("m0 4.2l4.2-7.2h-8.4z"),
    };
    let path: String = points.map(|(x, y)| format!("M{x:.1} {y:.1}{outline}")).collect();
    canvas.put(format_args!(r#"<path d="{path}" {look}/>"#));
}
