//! What to see in a plan's curves, in words: which series come highest and lowest, where they peak, how far
//! they hold.
use super::capital;
use crate::axis::Marks;
use crate::curve::{Curve, Point};
use crate::lines::Plot;
use foregather_results::number::{digits, nanoseconds, quantity};

/// Peaks are told of if they stand out by this share of what curves come to on average.
const STANDS_OUT: f64 = 0.25;

/// What the numbers of a figure are, for its caption.
pub(super) struct Description<'a> {
    pub(super) what: &'a str,
    pub(super) unit: &'a str,
    /// The name of x.
    pub(super) across: &'a str,
    /// The most values that a point has.
    pub(super) seeds: u64,
}

/// A number in the unit of a plan: times in the unit that suits their size.
pub(super) fn quantity_of(value: f64, unit: &str) -> String {
    match unit {
        "times" | "index" | "" => digits(value, 3),
        unit if nanoseconds(unit).is_some() => quantity(value, unit),
        unit => format!("{} {unit}", digits(value, 3)),
    }
}

/// A curve with its full name.
struct Named<'a> {
    name: String,
    curve: &'a Curve,
    mean: f64,
}

impl Description<'_> {
    /// The caption; `level` is what curves are held against, `label` names the places of x.
    pub(super) fn caption<'a>(
        &self,
        plots: &[Plot],
        level: Option<f64>,
        marks: &Marks,
        label: impl Fn(f64) -> &'a str,
    ) -> String {
        let several = plots.len() > 1;
        let mut curves: Vec<Named<'_>> = plots.iter().flat_map(|plot| named(plot, several)).collect();
        curves.sort_by(|a, b| b.mean.total_cmp(&a.mean));
        let mut sentences: Vec<String> = Vec::new();
        if let Marks::Names(_) = marks {
            sentences.extend(self.extremes(&curves, &label));
        } else {
            sentences.extend(self.at_the_end(&curves, &label));
            sentences.extend(if let Marks::Multiples(of) = marks { self.peaks(&curves, f64::from(*of)) } else { None });
            sentences.extend(level.and_then(|level| self.holds(&curves, level, &label)));
        }
        if plots.iter().any(|plot| !plot.remarks.is_empty()) {
            sentences.extend(self.grid(&curves, marks, &label));
        }
        if self.seeds > 1 {
            sentences
                .push(format!("A point is the mean of up to {} values, bands reach from the least to the greatest", self.seeds));
        }
        sentences.join(". ") + "."
    }

    fn quantity(&self, value: f64) -> String {
        quantity_of(value, self.unit)
    }

    /// What x is, without its unit.
    fn over(&self) -> &str {
        self.across.split(" (").next().unwrap_or_default()
    }

    /// Highest and lowest where x ends: an average over x would depend on which x there are.
    fn at_the_end<'a>(&self, curves: &[Named<'_>], label: impl Fn(f64) -> &'a str) -> Option<String> {
        let last = curves.iter().flat_map(|curve| &curve.curve.points).map(|p| p.x).max_by(f64::total_cmp)?;
        let there = curves.iter().filter_map(|curve| Some((curve, curve.curve.points.iter().find(|p| p.x == last)?.y)));
        let mut there: Vec<(&Named<'_>, f64)> = there.collect();
        there.sort_by(|a, b| b.1.total_cmp(&a.1));
        let (most, least) = (there.first()?, there.last()?);
        let told = |(curve, y): &(&Named<'_>, f64)| format!("{}, {}", curve.name, self.quantity(*y));
        let (what, at) = (capital(self.what), format!("at {} {}", self.over(), label(last)));
        Some(match there.len() {
            1 => format!("{what}, {at}: {}", self.quantity(most.1)),
            _ => format!("{what}, {at}: most with {}; least with {}", told(most), told(least)),
        })
    }

    /// What the averages above the curves are over.
    fn grid<'a>(&self, curves: &[Named<'_>], marks: &Marks, label: impl Fn(f64) -> &'a str) -> Option<String> {
        let mut all: Vec<f64> = curves.iter().flat_map(|curve| &curve.curve.points).map(|p| p.x).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        let multiples = match marks {
            Marks::Multiples(of) => {
                format!(", {} of them multiples of {of}", all.iter().filter(|x| **x % f64::from(*of) == 0.0).count())
            }
            _ => String::new(),
        };
        Some(format!(
            "Above the curves: average \u{b1} average absolute deviation over the {} points from {} {} to {}{multiples}",
            all.len(),
            self.over(),
            label(*all.first()?),
            label(*all.last()?)
        ))
    }

    /// The highest and the lowest point.
    fn extremes<'a>(&self, curves: &[Named<'_>], label: impl Fn(f64) -> &'a str) -> Option<String> {
        let points = || curves.iter().flat_map(|curve| curve.curve.points.iter().map(move |point| (&curve.name, point)));
        let most = points().max_by(|a, b| a.1.y.total_cmp(&b.1.y))?;
        let least = points().min_by(|a, b| a.1.y.total_cmp(&b.1.y))?;
        let told = |(name, point): (&String, &Point)| {
            format!("{}, {}", format!("{} {name}", label(point.x)).trim(), self.quantity(point.y))
        };
        Some(format!("{}: most with {}; least with {}", capital(self.what), told(most), told(least)))
    }

    /// The curve that stands out most where x is a multiple of `of`.
    fn peaks(&self, curves: &[Named<'_>], of: f64) -> Option<String> {
        let apart = |curve: &'_ Named<'_>| {
            let (on, off): (Vec<Point>, Vec<Point>) = curve.curve.points.iter().partition(|p| p.x % of == 0.0);
            let mean = |points: &[Point]| points.iter().map(|p| p.y).sum::<f64>() / points.len() as f64;
            (mean(&on), mean(&off))
        };
        let apart = curves.iter().map(|curve| (curve, apart(curve))).filter(|(c, (on, off))| on - off > STANDS_OUT * c.mean);
        let (curve, (on, off)) = apart.max_by(|(_, a), (_, b)| (a.0 - a.1).total_cmp(&(b.0 - b.1)))?;
        let name = if curve.name.is_empty() { "it is".to_owned() } else { format!("{} comes to", curve.name) };
        let to = if curve.name.is_empty() { "" } else { " to" };
        Some(format!("At multiples of {of}, {name} {}, elsewhere{to} {}", self.quantity(on), self.quantity(off)))
    }

    /// How far the curves that begin above the level stay there.
    fn holds<'a>(&self, curves: &[Named<'_>], level: f64, label: impl Fn(f64) -> &'a str) -> Option<String> {
        let above = |curve: &'_ Named<'_>| curve.curve.points.iter().take_while(|p| p.y > level).count();
        let mut all: Vec<(usize, &Named<'_>)> = curves.iter().map(|curve| (above(curve), curve)).filter(|a| a.0 > 0).collect();
        all.sort_by_key(|(above, _)| std::cmp::Reverse(*above));
        let across = self.over();
        let told = |(above, curve): &(usize, &Named<'_>)| match curve.curve.points.get(*above) {
            None => "everywhere".to_owned(),
            Some(_) => format!("up to {across} {}", label(curve.curve.points[above - 1].x)),
        };
        let (first, last) = (all.first()?, all.last()?);
        let name = |curve: &Named<'_>| if curve.name.is_empty() { "it".to_owned() } else { curve.name.clone() };
        let level = self.quantity(level);
        Some(match told(last) == told(first) {
            true if curves.len() > 1 && all.len() == curves.len() => format!("All stay above {level} {}", told(first)),
            true => format!("{} stays above {level} {}", capital(&name(first.1)), told(first)),
            false => format!("{} stays above {level} {}, {} {}", capital(&name(first.1)), told(first), name(last.1), told(last)),
        })
    }
}

/// The curves of a panel that have points, with the panel's name where there are several.
fn named(plot: &Plot, several: bool) -> Vec<Named<'_>> {
    let title = if several { plot.title.as_str() } else { "" };
    let name = |curve: &Curve| match (curve.name.as_str(), title) {
        (name, "") => name.to_owned(),
        ("", title) => title.to_owned(),
        (name, title) => format!("{name} ({title})"),
    };
    let named = |curve: &'_ Curve| {
        let mean = curve.points.iter().map(|p| p.y).sum::<f64>() / curve.points.len() as f64;
        (name(curve), mean)
    };
    let curves = plot.curves.iter().filter(|curve| !curve.points.is_empty());
    curves.map(|curve| (named(curve), curve)).map(|((name, mean), curve)| Named { name, curve, mean }).collect()
}
