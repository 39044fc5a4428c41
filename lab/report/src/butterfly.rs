//! The simulated butterfly barrier (Seidel & Davis 1992) over the number of nodes, beside its formula.
//!
//! Draws measurements with ids under `simulated/butterfly/` and the labels `nodes` and `series`; a series with
//! `formula` in its name is drawn as a band below the others.
use super::axis::Scale;
use super::curve::{Curve, Look, Point};
use super::lines::{AxisSide, Lines, Plot};
use super::{Drawn, distinct};
use foregather_results::Measurement;
use foregather_results::number::{digits, quantity};

/// The series, nodes and time of a measurement.
fn point(m: &Measurement) -> Option<(&str, f64, f64)> {
    let nodes = m.labels.get("nodes")?.parse().ok().filter(|&n: &f64| n >= 1.0)?;
    Some((m.labels.get("series").map_or("simulated", String::as_str), nodes, m.summary.p50?))
}

/// One curve per series.
pub(super) fn draw(all: &[Measurement]) -> Option<Drawn> {
    let all: Vec<&Measurement> = all.iter().filter(|m| m.id.starts_with("simulated/butterfly/")).collect();
    let points: Vec<(&str, f64, f64)> = all.iter().filter_map(|m| point(m)).collect();
    let curve = |name: &str| {
        let mut points: Vec<Point> = points.iter().filter(|p| p.0 == name).map(|p| Point::sharp((p.1, p.2))).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let look = if name.contains("formula") { Look::Band } else { Look::Points };
        Curve { name: name.to_owned(), points, look }
    };
    let mut curves: Vec<Curve> = distinct(points.iter().map(|p| p.0)).into_iter().map(curve).collect();
    // Formulas go below, so that the values they predict stay visible on them.
    curves.sort_by_key(|c| c.look != Look::Band);
    let unit = &all.first()?.unit;
    let caption = caption(&curves, unit)?;
    let lines = Lines {
        title: "Simulated butterfly barrier",
        x: AxisSide::new("nodes (log scale)", Scale::Log2),
        y: AxisSide::new(format!("{unit} per barrier"), Scale::Linear),
        steps: false,
        level: None,
        plots: vec![Plot { curves, ..Plot::default() }],
    };
    Some(Drawn { svg: lines.render(), caption })
}

/// The value at the largest number of nodes that was simulated, and what the formula says there.
fn caption(curves: &[Curve], unit: &str) -> Option<String> {
    let simulated = curves.iter().find(|c| c.look == Look::Points)?;
    let &Point { x: nodes, y: value, .. } = simulated.points.last()?;
    let took = quantity(value, unit);
    let mut text = format!("At {} nodes the simulated barrier takes {took} ({})", digits(nodes, 9), simulated.name);
    let bands = curves.iter().filter(|c| c.look == Look::Band);
    let formula = bands.filter_map(|c| Some((&c.name, c.points.iter().find(|p| p.x == nodes)?.y))).find(|f| f.1 > 0.0);
    if let Some((name, predicted)) = formula {
        let percent = ((value / predicted - 1.0) * 10_000.0).round() / 100.0;
        let predicted = quantity(predicted, unit);
        text += &match percent {
            0.0 => format!(", which is what the {name} gives"),
            _ => format!("; the {name} gives {predicted}, a difference of {percent} %"),
        };
    }
    Some(text + ".")
}
