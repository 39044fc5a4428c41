//! A plan's figure as curves: one a series, over x; names besides those make panels on the same scales.
use super::description::Description;
use super::{Drawn, Shown, choices, circumstances, describe, distinct, plain};
use crate::axis::{Marks, Scale};
use crate::curve::{Curve, CurveStyle, Point};
use crate::lines::{AxisSide, CURVES_MAX, LineChart, PLOTS_MAX, Plot, more_than};
use crate::published::PublishedMark;
use foregather_results::Measurement;
use foregather_results::claims::Published;
use foregather_results::number::nanoseconds;

/// Points up to which a curve that is alone is marked.
const ALONE_MAX: usize = 48;
/// Loads are held against multiples of this: numbers of processors are powers of two.
const OF_PROCESSORS: u32 = 16;
/// A rate of successful spins below which spinning is not worth while (Tsafrir & Feitelson 2002).
const HALF_PERCENT: f64 = 50.0;

/// One measurement as a point.
struct CurvePoint {
    panel: String,
    series: String,
    x: String,
    y: f64,
    low: f64,
    high: f64,
    values: u64,
}

/// What x is, in words and in numbers.
struct Across {
    name: String,
    labels: Vec<String>,
    /// The place of each label.
    places: Vec<f64>,
    /// `None` if the labels are only names.
    scale: Option<Scale>,
    marks: Marks,
}

pub(super) fn draw(mut plan: Shown<'_>, published: &[Published]) -> Option<Drawn> {
    let (x, series) = (plan.axis("x-axis"), plan.axis("series-axis"));
    // Seeds are no magnitude: a run that is shown over time need not be shown as a dot too.
    if x.is_empty() || (x == ["seed"] && !plan.states.is_empty()) {
        return None;
    }
    let others = plan.others(&[x.as_slice(), series.as_slice()].concat());
    let base = plan.take_base(&[others.as_slice(), series.as_slice(), x.as_slice()].concat());
    let reading = |(_, m): &(usize, &Measurement)| {
        let s = &m.summary;
        let (panel, series, x) = (circumstances(m, &others), describe(m, &series).join(" "), choices(m, &x).join(" "));
        Some(CurvePoint { panel, series, x, y: s.mean?, low: s.min?, high: s.max?, values: s.n })
    };
    let readings: Vec<CurvePoint> = plan.points.iter().filter_map(reading).collect();
    let across = Across::of(&x, &readings);
    if across.labels.len() < 2 {
        return None;
    }
    let all = distinct(readings.iter().map(|r| r.panel.as_str()));
    let series = distinct(readings.iter().map(|r| r.series.as_str()));
    let plots: Vec<Plot> =
        all.iter().take(PLOTS_MAX).map(|panel| plot(&readings, panel, &across, plan.unit, published)).collect();
    let y = match &base {
        Some(base) => format!("times as fast as {base}"),
        None if plan.unit.is_empty() || plan.unit == "index" => plan.what.to_owned(),
        None => format!("{} ({})", plan.what, plan.unit),
    };
    let level = match plan.unit {
        "%" if plan.what.starts_with("spins") => Some((HALF_PERCENT, format!("below {HALF_PERCENT} % spinning does not pay"))),
        "times" => Some((1.0, base.map_or_else(|| "as fast".to_owned(), |base| format!("as fast as {base}")))),
        _ => None,
    };
    let seeds = readings.iter().map(|r| r.values).max().unwrap_or(0);
    let told =
        Description { what: if plan.unit == "times" { &y } else { plan.what }, unit: plan.unit, across: &across.name, seeds };
    let mut caption = told.caption(&plots, level.as_ref().map(|level| level.0), &across.marks, |place| across.label(place));
    caption += &more_than(PLOTS_MAX, all.len(), "panels");
    caption += &more_than(CURVES_MAX, series.len(), "curves");
    let holds = if plan.unit == "%" { vec![100.0] } else { vec![] };
    let ends = if let Marks::Names(names) = &across.marks { vec![-0.5, names.len() as f64 - 0.5] } else { vec![] };
    let lines = LineChart {
        title: plan.title,
        x: AxisSide { name: across.name, scale: across.scale.unwrap_or(Scale::Span), marks: across.marks, holds: ends },
        y: AxisSide { holds, ..AxisSide::new(y, Scale::Linear) },
        steps: false,
        level,
        plots,
    };
    Some(Drawn { svg: lines.render(), caption })
}

fn plot(readings: &[CurvePoint], panel: &str, across: &Across, unit: &str, published: &[Published]) -> Plot {
    let here: Vec<&CurvePoint> = readings.iter().filter(|r| r.panel == panel).collect();
    let mut names = distinct(here.iter().map(|r| r.series.as_str()));
    names.truncate(CURVES_MAX);
    let curve = |name: &str| {
        let point = |r: &&&CurvePoint| Some(Point { x: across.place(&r.x)?, y: r.y, low: r.low, high: r.high });
        let mut points: Vec<Point> = here.iter().filter(|r| r.series == name).filter_map(|r| point(&r)).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let look = match across.scale {
            None => CurveStyle::Dots,
            // A line alone needs no marks to be told apart.
            Some(_) if points.len() > ALONE_MAX && names.len() == 1 => CurveStyle::Line,
            Some(_) => CurveStyle::Points,
        };
        Curve { name: name.to_owned(), points, look }
    };
    let curves: Vec<Curve> = names.iter().map(|name| curve(name)).collect();
    // Shares and ratios have an average over x that says something; times and rates that grow with x have
    // not.
    let grows = ["us", "ms", "MB/s", "per ms"].contains(&unit);
    let averages = curves.iter().filter(|_| across.scale.is_some() && !grows).map(|curve| average(curve, unit));
    let remarks = averages.collect::<Option<_>>().unwrap_or_default();
    Plot { title: panel.to_owned(), curves, remarks, published: PublishedMark::of(published, panel) }
}

/// Mean and average absolute deviation over a curve's points, as Tsafrir & Feitelson 2002 write them.
fn average(curve: &Curve, unit: &str) -> Option<String> {
    let n = curve.points.len() as f64;
    let mean = curve.points.iter().map(|p| p.y).sum::<f64>() / n;
    let deviation = curve.points.iter().map(|p| (p.y - mean).abs()).sum::<f64>() / n;
    let of = if curve.name.is_empty() { "average" } else { &curve.name };
    let unit = if unit == "%" { " %" } else { "" };
    // Three digits of the mean, and as many decimals of the deviation.
    let decimals = if mean == 0.0 { 0 } else { (2 - mean.abs().log10().floor() as i32).clamp(0, 6) as usize };
    (n >= 3.0).then(|| format!("{of}: {mean:.decimals$} \u{b1} {deviation:.decimals$}{unit}"))
}

impl Across {
    fn of(names: &[&str], readings: &[CurvePoint]) -> Self {
        let labels: Vec<String> = distinct(readings.iter().map(|r| r.x.as_str())).into_iter().map(str::to_owned).collect();
        let mut name = names.iter().map(|name| plain(name)).collect::<Vec<_>>().join(", ");
        let is_load = names == ["load"];
        match numbers(&labels).filter(|_| names != ["seed"]) {
            None => {
                let places = (0..labels.len()).map(|i| i as f64).collect();
                Self { name, marks: Marks::Names(labels.clone()), labels, places, scale: None }
            }
            Some((places, unit)) => {
                let doublings = places.len() > 2 && places.iter().all(|&v| v >= 1.0 && v.log2().fract() == 0.0);
                let (least, most) = places.iter().fold((f64::MAX, f64::MIN), |(low, high), &v| (low.min(v), high.max(v)));
                let wide = most - least >= f64::from(2 * OF_PROCESSORS);
                let processors = is_load && unit.is_empty() && wide && !doublings;
                match unit.as_str() {
                    "" if is_load => name += " (threads)",
                    "x" if is_load => name += " (threads for each processor)",
                    "" => {}
                    unit => name += &format!(" ({unit})"),
                }
                if doublings {
                    name += " (log scale)";
                }
                let scale = Some(if doublings { Scale::Log2 } else { Scale::Span });
                let whole = unit.is_empty() && places.iter().all(|place| place.fract() == 0.0);
                let marks = match (processors, whole) {
                    (true, _) => Marks::Multiples(OF_PROCESSORS),
                    (false, true) => Marks::Whole,
                    (false, false) => Marks::Round,
                };
                Self { name, labels, places, scale, marks }
            }
        }
    }

    fn place(&self, label: &str) -> Option<f64> {
        self.labels.iter().position(|known| known == label).map(|i| self.places[i])
    }

    /// The label at a place.
    fn label(&self, place: f64) -> &str {
        self.places.iter().position(|&known| known == place).map_or("", |i| &self.labels[i])
    }
}

/// The labels as numbers of one unit; `None` if they are not. Times of several units become microseconds.
fn numbers(labels: &[String]) -> Option<(Vec<f64>, String)> {
    let split = |label: &String| {
        let end = label.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c)).unwrap_or(label.len());
        let (number, unit) = label.split_at(end);
        Some((number.parse::<f64>().ok().filter(|v| v.is_finite())?, unit.trim().to_owned()))
    };
    let all: Vec<(f64, String)> = labels.iter().map(split).collect::<Option<_>>()?;
    let unit = all.first()?.1.clone();
    if all.iter().all(|(_, other)| *other == unit) {
        return Some((all.into_iter().map(|(v, _)| v).collect(), unit));
    }
    let us = |(v, unit): &(f64, String)| Some(v * nanoseconds(unit)? / 1e3);
    Some((all.iter().map(us).collect::<Option<_>>()?, "us".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels<const N: usize>(labels: [&str; N]) -> Vec<String> {
        labels.map(str::to_owned).into()
    }

    #[test]
    fn labels_are_numbers_if_they_have_one_unit_or_are_times() {
        assert_eq!(numbers(&labels(["1x", "0.5x"])), Some((vec![1.0, 0.5], "x".to_owned())));
        assert_eq!(numbers(&labels(["500 ns", "2us"])), Some((vec![0.5, 2.0], "us".to_owned())));
        for names in [labels(["CS", "2CS+"]), labels(["1x", "2"]), labels(["multiples of 16", "others"]), labels(["1", ""])] {
            assert_eq!(numbers(&names), None, "{names:?}");
        }
    }
}
