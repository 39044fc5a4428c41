//! What a shipped plan came to, as an experiment asks about it.
use super::{Answer, Findings, TrialOptions};
use anyhow::Result;
use foregather_results::Measurement;
use foregather_simulate::{self as simulate, Plan, Point, Ran, ReadOptions, RunnerSettings, points, shipped};

/// The measurements of one plan.
pub(super) struct Curves {
    all: Vec<Measurement>,
    /// The same without each of its seeds, if there are several.
    left_out: Vec<Curves>,
}

/// Some of them.
pub(super) struct Selection<'c>(Vec<&'c Measurement>);

/// A shipped plan, as the trial wants it.
pub(super) fn plan(name: &str, trial: &TrialOptions) -> Result<Plan> {
    shipped::open(name, &ReadOptions { full: trial.full, ..ReadOptions::default() })
}

/// Every run of it.
pub(super) fn runs(plan: &Plan, trial: &TrialOptions) -> Result<Vec<Point>> {
    simulate::run(plan, RunnerSettings { workers: 0, quiet: trial.quiet })
}

/// Runs a shipped plan; its measurements are kept.
pub(super) fn curves(name: &str, trial: &TrialOptions, findings: &mut Findings) -> Result<Curves> {
    let plan = plan(name, trial)?;
    let found = Curves::of(&plan, runs(&plan, trial)?);
    let all = &found.all;
    findings.measurements.extend(all.iter().cloned());
    // A plan of jobs counts barriers, one of networks trials.
    for (figure, what) in [("barriers", "barriers of each job"), ("trials", "trials of each seed")] {
        let counts: Vec<f64> = all.iter().filter_map(|m| m.figures.get(figure).copied()).collect();
        if !counts.is_empty() {
            findings.notes.push(format!("{name}: {} points, {:.0} {what} on average", all.len(), mean(&counts)));
        }
    }
    Ok(found)
}

/// A shipped plan with changes.
pub(super) fn changed(name: &str, changes: &[(&str, &str)]) -> Result<Plan> {
    let set = changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    shipped::open(name, &ReadOptions { set, ..ReadOptions::default() })
}

/// Runs a shipped plan with changes, to hold it against the plan itself.
pub(super) fn varied(name: &str, trial: &TrialOptions, changes: &[(&str, &str)]) -> Result<Curves> {
    let plan = changed(name, changes)?;
    Ok(Curves::of(&plan, runs(&plan, trial)?))
}

impl Curves {
    fn of(plan: &Plan, mut points: Vec<Point>) -> Self {
        let all = points::measurements(plan, &points);
        let seeds = points.iter().map(|point| point.runs.len()).min().unwrap_or(0);
        let mut left_out = vec![];
        for seed in 0..if seeds > 1 { seeds } else { 0 } {
            let taken: Vec<Ran> = points.iter_mut().map(|point| point.runs.remove(seed)).collect();
            left_out.push(Self { all: points::measurements(plan, &points), left_out: vec![] });
            points.iter_mut().zip(taken).for_each(|(point, ran)| point.runs.insert(seed, ran));
        }
        Self { all, left_out }
    }

    /// The number of its seeds.
    pub(super) fn seeds(&self) -> usize {
        self.left_out.len().max(1)
    }

    /// The same without one of its seeds.
    pub(super) fn leaving_out(&self, seed: Option<usize>) -> &Self {
        seed.map_or(self, |seed| &self.left_out[seed])
    }

    /// What comes of a number of all seeds, a value for each seed.
    pub(super) fn pseudo_values(&self, of: impl Fn(&Self) -> f64) -> Vec<f64> {
        pseudo_values(self.seeds(), |seed| of(self.leaving_out(seed)))
    }

    /// A number of all seeds, with its interval.
    pub(super) fn number(&self, of: impl Fn(&Self) -> f64, why: impl Into<String>) -> Answer {
        sampled(self.seeds(), |seed| of(self.leaving_out(seed)), why)
    }

    /// Several numbers of all seeds, all of which are asked for: the least and the largest, with their
    /// intervals.
    pub(super) fn each(&self, of: impl Fn(&Self) -> Vec<f64>, why: impl Into<String>) -> Answer {
        each_sampled(self.seeds(), |seed| of(self.leaving_out(seed)), why)
    }

    /// Those with these labels.
    pub(super) fn with(&self, labels: &[(&str, &str)]) -> Selection<'_> {
        let fits = |m: &&Measurement| labels.iter().all(|(name, value)| m.labels.get(*name).is_some_and(|label| label == value));
        Selection(
            self.all
                .iter()
                .filter(fits)
                .filter(|m| !m.labels.contains_key("state") || labels.iter().any(|l| l.0 == "state"))
                .collect(),
        )
    }

    /// The different values of a label.
    pub(super) fn labels(&self, name: &str) -> Vec<&str> {
        let mut all = Vec::new();
        for value in self.all.iter().filter_map(|m| m.labels.get(name)) {
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

impl Selection<'_> {
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

/// A value for each seed: what a number would be if all seeds had moved it as that one does (the jackknife),
/// so their mean and its interval are the number's. `of` is given the seed that is left out.
fn pseudo_values(seeds: usize, of: impl Fn(Option<usize>) -> f64) -> Vec<f64> {
    let (all, n) = (of(None), seeds as f64);
    if seeds < 2 { vec![all] } else { (0..seeds).map(|seed| n * all - (n - 1.0) * of(Some(seed))).collect() }
}

/// A number of several seeds, with its interval; `of` is given the seed that is left out.
pub(super) fn sampled(seeds: usize, of: impl Fn(Option<usize>) -> f64, why: impl Into<String>) -> Answer {
    match pseudo_values(seeds, of)[..] {
        [one] => number(one, why),
        ref values if values.iter().all(|value| value.is_finite()) => Answer::Sample(values.to_vec(), why.into()),
        _ => Answer::CannotTry("the simulation gave no number".into()),
    }
}

/// The least and the largest of several numbers of several seeds; `of` is given the seed that is left out.
pub(super) fn each_sampled(seeds: usize, of: impl Fn(Option<usize>) -> Vec<f64>, why: impl Into<String>) -> Answer {
    if seeds < 2 {
        return each(of(None), why);
    }
    let ends = [f64::min as fn(f64, f64) -> f64, f64::max];
    let end = |end| pseudo_values(seeds, |seed| of(seed).into_iter().reduce(end).unwrap_or(f64::NAN));
    Answer::EachSample(ends.map(end).to_vec(), why.into())
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
        let of = |one: &[f64], two: &[f64]| vec![point("1x", one.to_vec()), point("2x", two.to_vec())];
        let only = |one: f64, two: f64| Curves { all: of(&[one], &[two]), left_out: vec![] };
        let all = Curves { all: of(&[2.0, 3.0], &[4.0, 6.0]), left_out: vec![only(3.0, 6.0), only(2.0, 4.0)] };
        let mean_at = |all: &Curves, load: &str| mean(&all.with(&[("load", load)]).values());
        let sum = |all: &Curves| mean_at(all, "1x") + mean_at(all, "2x");
        assert_eq!(all.pseudo_values(sum), [6.0, 9.0], "a mean's are the seeds' own");
        assert_eq!(all.pseudo_values(|all| mean_at(all, "1x").powi(2)), [2.0 * 6.25 - 9.0, 2.0 * 6.25 - 4.0]);
        let both = |all: &Curves| vec![mean_at(all, "1x"), mean_at(all, "2x")];
        assert!(matches!(all.each(both, ""), Answer::EachSample(ends, _) if ends == [[2.0, 3.0], [4.0, 6.0]]));
        assert!(matches!(only(2.0, 4.0).number(sum, ""), Answer::Number(number, _) if number == 6.0));
    }

    #[test]
    fn what_is_no_number_is_not_tried() {
        assert!(matches!(number(f64::NAN, ""), Answer::CannotTry(_)));
    }
}
