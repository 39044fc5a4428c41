//! Programs on shared memory: how many times as quick they become on more ranks, beside the ideal (Itzkovitz & Schuster 1999, figure
//! 6, left).
//!
//! Draws measurements `app/...` as [`apps`] describes them: a plot for each series, a curve for each program.
use super::axis::{Marks, Scale};
use super::curve::{Curve, Look, Point};
use super::lines::{AxisSide, Lines, Plot};
use super::{Drawn, distinct};
use foregather_results::Measurement;
use foregather_results::apps::{self, APP, RANKS, SERIES, SPEEDUP};
use foregather_results::number::digits;

const IDEAL: &str = "ideal";

/// The program, the series, and how quick it is on how many ranks.
fn point(m: &Measurement) -> Option<(&str, &str, f64, f64)> {
    let label = |name: &str| m.labels.get(name).map(String::as_str);
    let ranks = label(RANKS)?.parse().ok().filter(|&ranks: &u32| ranks > 0)?;
    let speedup = m.figures.get(SPEEDUP).copied().filter(|&times| times > 0.0)?;
    apps::is_run(m).then_some((label(APP)?, label(SERIES)?, f64::from(ranks), speedup))
}

/// Curves over the ranks; nothing if there is only one number of them.
pub(super) fn draw(all: &[Measurement]) -> Option<Drawn> {
    let points: Vec<_> = all.iter().filter_map(point).collect();
    let ranks = || points.iter().map(|point| point.2);
    let (fewest, most) = (ranks().reduce(f64::min)?, ranks().reduce(f64::max)?);
    let best = points.iter().filter(|point| point.2 == most).max_by(|a, b| a.3.total_cmp(&b.3))?;
    if most <= fewest {
        return None;
    }
    let curve = |series: &str, app: &str| {
        let mine = points.iter().filter(|point| point.1 == series && point.0 == app);
        let mut points: Vec<Point> = mine.map(|point| Point::sharp((point.2, point.3))).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        (!points.is_empty()).then(|| Curve { name: app.to_owned(), points, look: Look::Points })
    };
    let (serieses, apps) = (distinct(points.iter().map(|point| point.1)), distinct(points.iter().map(|point| point.0)));
    let plot = |series: &&str| {
        let ends = [fewest, most].map(|ranks| Point::sharp((ranks, ranks / fewest)));
        // Below the others, so that what comes close to it stays visible.
        let ideal = Curve { name: IDEAL.to_owned(), points: ends.to_vec(), look: Look::Band };
        let curves = std::iter::once(ideal).chain(apps.iter().filter_map(|app| curve(series, app))).collect();
        Plot { title: if serieses.len() > 1 { (*series).to_owned() } else { String::new() }, curves, remarks: vec![] }
    };
    let lines = Lines {
        title: "Speedups of programs on shared memory",
        x: AxisSide { marks: Marks::Whole, ..AxisSide::new("ranks", Scale::Span) },
        y: AxisSide::new(format!("times as quick as on {fewest}"), Scale::Linear),
        steps: false,
        level: None,
        plots: serieses.iter().map(plot).collect(),
    };
    let caption = format!(
        "On {most} ranks {} is quickest in proportion ({}): {} times as quick as on {fewest}, where {} would be ideal.",
        best.0,
        best.1,
        digits(best.3, 3),
        digits(most / fewest, 3)
    );
    Some(Drawn { svg: lines.render(), caption })
}
