//! What a shipped plan came to, as an experiment asks about it.
use super::{Answer, Findings, Trial};
use anyhow::Result;
use foregather_results::Measurement;
use foregather_simulate::{self as simulate, Ask, Plan, Point, Running, points, shipped};

/// The measurements of one plan.
pub(super) struct Curves(Vec<Measurement>);

/// Some of them.
pub(super) struct Series<'c>(Vec<&'c Measurement>);

/// A shipped plan, as the trial wants it.
pub(super) fn plan(name: &str, trial: &Trial) -> Result<Plan> {
    shipped::open(name, &Ask { full: trial.full, ..Ask::default() })
}

/// Every run of it.
pub(super) fn runs(plan: &Plan, trial: &Trial) -> Result<Vec<Point>> {
    simulate::run(plan, Running { workers: 0, quiet: trial.quiet })
}

/// Runs a shipped plan; its measurements are kept.
pub(super) fn curves(name: &str, trial: &Trial, findings: &mut Findings) -> Result<Curves> {
    let plan = plan(name, trial)?;
    let all = points::measurements(&plan, &runs(&plan, trial)?);
    findings.measurements.extend(all.iter().cloned());
    // A plan of jobs counts barriers, one of networks trials.
    for (figure, what) in [("barriers", "barriers of each job"), ("trials", "trials of each seed")] {
        let counts: Vec<f64> = all.iter().filter_map(|m| m.figures.get(figure).copied()).collect();
        if !counts.is_empty() {
            findings.notes.push(format!("{name}: {} points, {:.0} {what} on average", all.len(), mean(&counts)));
        }
    }
    Ok(Curves(all))
}

/// Runs a shipped plan with changes, to hold it against the plan itself.
pub(super) fn varied(name: &str, trial: &Trial, changes: &[(&str, &str)]) -> Result<Curves> {
    let set = changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let plan = shipped::open(name, &Ask { set, ..Ask::default() })?;
    Ok(Curves(points::measurements(&plan, &runs(&plan, trial)?)))
}

impl Curves {
    /// Those with these labels.
    pub(super) fn with(&self, labels: &[(&str, &str)]) -> Series<'_> {
        let fits = |m: &&Measurement| labels.iter().all(|(name, value)| m.labels.get(*name).is_some_and(|label| label == value));
        Series(
            self.0
                .iter()
                .filter(fits)
                .filter(|m| !m.labels.contains_key("state") || labels.iter().any(|l| l.0 == "state"))
                .collect(),
        )
    }

    /// The different values of a label.
    pub(super) fn labels(&self, name: &str) -> Vec<&str> {
        let mut all = Vec::new();
        for value in self.0.iter().filter_map(|m| m.labels.get(name)) {
            if !all.contains(&value.as_str()) {
                all.push(value.as_str());
            }
        }
        all
    }
}

fn load(of: &Measurement) -> Option<f64> {
    of.labels.get("load")?.trim_end_matches('x').parse().ok()
}

impl Series<'_> {
    /// A figure over the load: threads in all, or threads a processor.
    pub(super) fn over_load(&self, figure: &str) -> Vec<(f64, f64)> {
        self.0.iter().filter_map(|m| Some((load(m)?, *m.figures.get(figure)?))).collect()
    }

    /// A figure of all of them.
    pub(super) fn all(&self, figure: &str) -> Vec<f64> {
        self.0.iter().filter_map(|m| m.figures.get(figure).copied()).collect()
    }

    /// Its mean; not a number if there is none.
    pub(super) fn mean(&self, figure: &str) -> f64 {
        mean(&self.all(figure))
    }

    /// What is drawn, over the load; `of` makes one number of the mean curve. A value for each seed: what the
    /// number would be if all seeds had moved it as that one does (the jackknife), so their mean and its
    /// interval are the number's.
    pub(super) fn pseudo_values(&self, of: impl Fn(&[(f64, f64)]) -> f64) -> Vec<f64> {
        let seeds = self.0.iter().map(|m| m.values.as_ref().map_or(0, Vec::len)).min().unwrap_or(0);
        let without = |left_out: Option<usize>| {
            let at = |m: &Measurement| {
                let kept = (0..seeds).filter(|&seed| Some(seed) != left_out);
                Some((load(m)?, mean(&kept.map(|seed| m.values.as_ref().map_or(f64::NAN, |all| all[seed])).collect::<Vec<_>>())))
            };
            of(&self.0.iter().filter_map(|m| at(m)).collect::<Vec<_>>())
        };
        let (all, n) = (without(None), seeds as f64);
        (0..seeds).map(|seed| n * all - (n - 1.0) * without(Some(seed))).collect()
    }

    /// Every value of every measurement: one a seed, or one a sample.
    pub(super) fn values(&self) -> Vec<f64> {
        self.0.iter().flat_map(|m| m.values.iter().flatten().copied()).collect()
    }
}

/// The arithmetic mean; not a number if there is nothing.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The values at the loads that fit, and at the others.
pub(super) fn parted(points: &[(f64, f64)], fits: impl Fn(f64) -> bool) -> (Vec<f64>, Vec<f64>) {
    let at = |wanted: bool| points.iter().filter(|p| fits(p.0) == wanted).map(|p| p.1).collect();
    (at(true), at(false))
}

/// Where a falling curve last crosses a height, between its points; nothing if it never does.
pub(super) fn falls_below(points: &[(f64, f64)], height: f64) -> Option<f64> {
    let last = points.iter().rposition(|p| p.1 >= height)?;
    let ((x0, y0), (x1, y1)) = (points[last], *points.get(last + 1)?);
    Some(x0 + (x1 - x0) * (y0 - height) / (y0 - y1))
}

/// A number, unless there is none.
pub(super) fn number(value: f64, why: impl Into<String>) -> Answer {
    if value.is_finite() { Answer::Number(value, why.into()) } else { Answer::CannotTry("the simulation gave no number".into()) }
}

/// Several numbers, all of which are asked for.
pub(super) fn each(values: Vec<f64>, why: impl Into<String>) -> Answer {
    Answer::Each(values, why.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crossing_lies_between_its_points() {
        let curve = [(1.0, 2.0), (1.5, 1.2), (2.0, 0.8), (3.0, 0.5)];
        assert!((falls_below(&curve, 1.0).unwrap() - 1.75).abs() < 1e-9);
        assert_eq!(falls_below(&curve, 3.0), None, "it never was there");
        assert_eq!(falls_below(&curve, 0.1), None, "it never falls so low");
    }

    #[test]
    fn seeds_move_the_mean_curves_number_as_much_as_they_differ() {
        let point = |load: &str, values: Vec<f64>| Measurement::from_values(load, "w", "x", values).label("load", load);
        let all = Curves(vec![point("1x", vec![2.0, 3.0]), point("2x", vec![4.0, 6.0, 9.0])]);
        let moved = |of: fn(&[(f64, f64)]) -> f64| all.with(&[]).pseudo_values(of);
        assert_eq!(moved(|curve| curve.iter().map(|p| p.0 * p.1).sum()), [10.0, 15.0], "a mean's are the seeds' own");
        assert_eq!(moved(|curve| curve[0].1.powi(2)), [2.0 * 6.25 - 9.0, 2.0 * 6.25 - 4.0]);
    }

    #[test]
    fn what_is_no_number_is_not_tried() {
        assert!(matches!(number(f64::NAN, ""), Answer::CannotTry(_)));
    }
}
