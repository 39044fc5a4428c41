//! Predictions: what teams came to on the machine against what the simulator says, waiter by waiter, with the bounds within which
//! a prediction counts as near.
//!
//! Draws measurements with the labels `row`, `waiter` and `class` and the figures `measured_us`, `predicted_us`, `factor`
//! and `within`.
use super::axis::Scale;
use super::curve::{Curve, Look, Point};
use super::lines::{AxisSide, Lines, Plot};
use super::{Drawn, distinct};
use foregather_measure::barriers::predict::{LIMIT_ALONE, LIMIT_CROWDED};
use foregather_measure::barriers::waiters::CANDIDATE;
use foregather_results::Measurement;
use foregather_results::number::{digits, quantity};

/// One prediction.
struct Prediction<'a> {
    row: &'a str,
    waiter: &'a str,
    class: &'a str,
    measured_us: f64,
    predicted_us: f64,
    factor: f64,
    within: bool,
}

impl<'a> Prediction<'a> {
    fn from(m: &'a Measurement) -> Option<Self> {
        let label = |name| m.labels.get(name).map(String::as_str);
        let figure = |name| m.figures.get(name).copied().filter(|&us| us > 0.0);
        let (measured_us, predicted_us) = (figure("measured_us")?, figure("predicted_us")?);
        let (factor, within) = (figure("factor")?, figure("within").is_some());
        let (row, waiter, class) = (label("row")?, label("waiter")?, label("class")?);
        Some(Self { row, waiter, class, measured_us, predicted_us, factor, within })
    }
}

/// The adaptive waiter in a plot of its own, and all others in one.
pub(super) fn draw(all: &[Measurement]) -> Option<Drawn> {
    let all: Vec<Prediction<'_>> = all.iter().filter_map(Prediction::from).collect();
    let farthest = all.iter().max_by(|a, b| a.factor.total_cmp(&b.factor))?;
    let (adaptive, others): (Vec<_>, Vec<_>) = all.iter().partition(|p| p.waiter == CANDIDATE);
    let times = || all.iter().flat_map(|p| [p.measured_us, p.predicted_us]);
    let ends = (times().fold(f64::MAX, f64::min), times().fold(0.0, f64::max));
    let classes = distinct(all.iter().map(|p| p.class));
    let plot = |(title, of): (&str, &Vec<&Prediction<'_>>)| {
        let points = classes.iter().filter_map(|class| dots(class, of));
        let curves = [equal(ends)].into_iter().chain(points).chain(bounds(ends)).collect();
        (!of.is_empty()).then(|| Plot { title: title.to_owned(), curves, remarks: vec![] })
    };
    let lines = Lines {
        title: "Time per barrier, measured here and predicted by the simulator",
        x: AxisSide::new("us measured (log scale)", Scale::Log10),
        y: AxisSide::new("us predicted (log scale)", Scale::Log10),
        steps: false,
        level: None,
        plots: [(CANDIDATE, &adaptive), ("other policies", &others)].into_iter().filter_map(plot).collect(),
    };
    let caption = format!(
        "{} of {} predictions are within a factor of {LIMIT_ALONE}, or of {LIMIT_CROWDED} beside hogs and under a quota. Farthest off \
         is {} in {}, by a factor of {}: {} measured, {} predicted.",
        all.iter().filter(|p| p.within).count(),
        all.len(),
        farthest.waiter,
        farthest.row,
        digits(farthest.factor, 3),
        quantity(farthest.measured_us, "us"),
        quantity(farthest.predicted_us, "us")
    );
    Some(Drawn { svg: lines.render(), caption })
}

/// The predictions of a class; `None` if there are none.
fn dots(class: &str, of: &[&Prediction<'_>]) -> Option<Curve> {
    let mine = of.iter().filter(|p| p.class == class);
    let mut points: Vec<Point> = mine.map(|p| Point::sharp((p.measured_us, p.predicted_us))).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    (!points.is_empty()).then(|| Curve { name: class.to_owned(), points, look: Look::Dots })
}

/// Where both are the same.
fn equal((low, high): (f64, f64)) -> Curve {
    Curve { name: "as predicted".to_owned(), points: [low, high].map(|us| Point::sharp((us, us))).to_vec(), look: Look::Band }
}

/// Two lines for each factor: so much more than measured, and so much less. They end where the values do.
fn bounds((low, high): (f64, f64)) -> Vec<Curve> {
    let line = |factor: f64, points: [(f64, f64); 2]| Curve {
        name: format!("off by a factor of {factor}"),
        points: points.map(Point::sharp).to_vec(),
        look: Look::Line,
    };
    let both = |factor: f64| {
        let (more, less) = ([(low, low * factor), (high / factor, high)], [(low * factor, low), (high, high / factor)]);
        [more, less].map(|points| line(factor, points))
    };
    [LIMIT_ALONE, LIMIT_CROWDED].into_iter().flat_map(both).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_lie_so_many_times_above_and_below_within_the_values() {
        let all = bounds((1.0, 100.0));
        let names = distinct(all.iter().map(|curve| curve.name.as_str()));
        assert_eq!(names, ["off by a factor of 1.3", "off by a factor of 2"]);
        let ratios: Vec<f64> = all.iter().flat_map(|curve| &curve.points).map(|p| p.y / p.x).collect();
        let expected = [1.3, 1.3, 1.0 / 1.3, 1.0 / 1.3, 2.0, 2.0, 0.5, 0.5];
        assert!(ratios.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9) && ratios.len() == 8, "{ratios:?}");
        assert!(all.iter().flat_map(|curve| &curve.points).all(|p| (1.0..=100.0).contains(&p.y)));
    }

    #[test]
    fn the_adaptive_waiter_has_a_plot_of_its_own_and_the_farthest_is_told() {
        let one = |waiter: &str, measured, predicted, within| {
            let m = Measurement::from_values("prediction/2t, 1 us", "", "us", vec![predicted]).label("row", "2t, 1 us");
            let m = m.label("waiter", waiter).label("class", "2 free").figure("measured_us", measured);
            m.figure("predicted_us", predicted).figure("factor", predicted / measured).figure("within", within)
        };
        let drawn = draw(&[one(CANDIDATE, 1.0, 1.1, 1.0), one("central/spin", 3.0, 12.0, 0.0)]).unwrap();
        assert_eq!(drawn.svg.matches("data-axis=").count(), 2);
        assert!(drawn.caption.starts_with("1 of 2 predictions"), "{}", drawn.caption);
        assert!(drawn.caption.contains("central/spin in 2t, 1 us, by a factor of 4"), "{}", drawn.caption);
        assert!(draw(&[one("central/spin", 0.0, 12.0, 0.0)]).is_none(), "nothing was measured");
    }
}
