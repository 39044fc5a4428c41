//! A plan's two cases beside the factor that others have published.
use super::plan::Plan;
use super::points::see;
use super::runner::Point;
use foregather_results::number::digits;

/// A simulated factor this many times off the published one is a hit.
const WITHIN: f64 = 2.0;

/// A published factor beside the simulated ones.
#[derive(Clone, Debug)]
pub struct PublishedNumber {
    /// The published factor.
    pub published: f64,
    /// Where it was published.
    pub source: String,
    /// The least and the greatest simulated factor, over the ranges of what was assumed.
    pub simulated: [f64; 2],
}

impl PublishedNumber {
    /// Returns whether all simulated factors are within twice the published one, and each is half of the
    /// published effect at least (of its logarithm): no effect is no hit.
    pub fn is_hit(&self) -> bool {
        let within = |factor: f64| (1.0 / WITHIN..=WITHIN).contains(&(factor / self.published));
        let has_effect = |factor: f64| factor.ln() / self.published.ln() >= 0.5;
        self.simulated.into_iter().all(|factor| within(factor) && has_effect(factor))
    }

    /// The comparison in one line.
    pub fn line(&self) -> String {
        let [least, most] = self.simulated.map(|factor| digits(factor, 3));
        let verdict = if self.is_hit() { "a hit: all of it is within 2 times" } else { "a miss" };
        format!("published factor {}, simulated {least} to {most}, {verdict} ({})", digits(self.published, 3), self.source)
    }
}

/// Compares a plan's runs with what was published, if the plan says what that is and all its runs ended.
pub fn compare(plan: &Plan, points: &[Point]) -> Option<PublishedNumber> {
    let published = plan.published()?;
    let mean = |point: &Point| {
        let values: Vec<f64> = see(plan, points, point, None).map(|seen| plan.figure().y.value(&seen)).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    let pairs = points.iter().filter_map(|point| {
        let base = plan.beside(point.number, published.axis, 1);
        (base != point.number).then(|| mean(point) / mean(&points[base]))
    });
    let factors: Vec<f64> = pairs.collect();
    let simulated = [factors.iter().copied().fold(f64::NAN, f64::min), factors.iter().copied().fold(f64::NAN, f64::max)];
    let all = !factors.is_empty() && factors.iter().all(|factor| factor.is_finite());
    all.then(|| PublishedNumber { published: published.factor, source: published.source.clone(), simulated })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::ReadOptions;
    use crate::runner::{RunnerSettings, run_while};
    use crate::shipped;

    fn compared(name: &str) -> PublishedNumber {
        let plan = shipped::open(format!("anomalies/{name}"), &ReadOptions::default()).unwrap();
        let points = run_while(&plan, RunnerSettings { workers: 1, quiet: true }, &|| true).unwrap();
        compare(&plan, &points).unwrap()
    }

    /// `plans/README.md` has these verdicts. Nothing in the plans is fitted, so a miss stays a miss.
    #[test]
    fn published_anomalies_have_the_verdicts_of_the_handbook() {
        for (name, hit, least, most) in [
            ("ollama", true, 28.9, 57.9),
            ("scikit-learn", false, 9.04, 387.0),
            ("mpi4py", false, 2.7, 130.0),
            ("llmman", false, 0.107, 6.64),
            ("postgresql", false, 1.0, 1.0),
        ] {
            let found = compared(name);
            let close = |(found, expected): (f64, f64)| (found / expected - 1.0).abs() < 0.05;
            assert!(found.simulated.into_iter().zip([least, most]).all(close), "{name}: {:?}", found.simulated);
            assert_eq!(found.is_hit(), hit, "{}", found.line());
        }
    }

    #[test]
    fn a_hit_needs_the_whole_range() {
        let of = |simulated| PublishedNumber { published: 10.0, source: "here".to_owned(), simulated };
        let slight = PublishedNumber { published: 0.51, ..of([1.0, 1.0]) };
        assert!(!slight.is_hit(), "a simulated factor of 1 is within 2 times, and no effect");
        assert!(of([5.0, 20.0]).is_hit() && !of([4.9, 10.0]).is_hit() && !of([10.0, 20.1]).is_hit());
        assert_eq!(of([6.0, 8.0]).line(), "published factor 10, simulated 6 to 8, a hit: all of it is within 2 times (here)");
    }
}
