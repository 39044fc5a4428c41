//! One measured quantity: its raw values or histogram, their summary, and further figures beside it. Every
//! quantile comes from a sorted distribution.
use super::number::rounded;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Significant digits that are kept of a value: more than any clock gives.
const DIGITS: usize = 9;
/// Those kept of a figure, which is computed from values.
const FIGURE_DIGITS: usize = 6;

/// One measured quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// Unique in its document, from the general to the particular: `ping-pong/process/two-cpus/spin/0us`.
    pub id: String,
    /// What was measured, in words.
    pub what: String,
    /// The circumstances, by name: `row`, `waiter`, `kind`, `nodes`, `series` ...
    pub labels: BTreeMap<String, String>,
    /// The unit of the values and of the summary.
    pub unit: String,
    /// One value per repetition, in the order in which they were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<f64>>,
    /// Values and their counts, where there are too many to keep each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Vec<(u64, u64)>>,
    /// What they come to.
    pub summary: Summary,
    /// Further numbers, their unit at the end of the name: `cpu_us_per_episode`.
    pub figures: BTreeMap<String, f64>,
}

/// The usual statistics of a set of values; all but the count are missing if it is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// How many values.
    pub n: u64,
    /// The least.
    pub min: Option<f64>,
    /// The arithmetic mean.
    pub mean: Option<f64>,
    /// The greatest.
    pub max: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// Nine of ten are below.
    pub p90: Option<f64>,
    /// All but one in a hundred are below.
    pub p99: Option<f64>,
}

impl Summary {
    /// Of a distribution, if there is one.
    pub fn of(distribution: Option<&Distribution>) -> Self {
        let Some(d) = distribution else { return Self::default() };
        let at = |q| Some(rounded(d.quantile(q), DIGITS));
        let mean = Some(rounded(d.mean(), DIGITS));
        Self { n: d.count(), min: at(0.0), mean, max: at(1.0), p50: at(0.5), p90: at(0.9), p99: at(0.99) }
    }
}

impl Measurement {
    /// From one value per repetition. JSON knows no infinity, so values that are not finite are left out;
    /// the others keep nine significant digits.
    pub fn from_values(id: impl Into<String>, what: impl Into<String>, unit: impl Into<String>, mut values: Vec<f64>) -> Self {
        values.retain(|v| v.is_finite());
        values.iter_mut().for_each(|v| *v = rounded(*v, DIGITS));
        let summary = Summary::of(Distribution::of_values(&values).as_ref());
        Self::new(id.into(), what.into(), unit.into(), Some(values), None, summary)
    }

    /// From values with their counts, in any order.
    pub fn from_histogram(
        id: impl Into<String>,
        what: impl Into<String>,
        unit: impl Into<String>,
        histogram: Vec<(u64, u64)>,
    ) -> Self {
        let summary = Summary::of(Distribution::of_histogram(&histogram).as_ref());
        Self::new(id.into(), what.into(), unit.into(), None, Some(histogram), summary)
    }

    fn new(
        id: String,
        what: String,
        unit: String,
        values: Option<Vec<f64>>,
        histogram: Option<Vec<(u64, u64)>>,
        summary: Summary,
    ) -> Self {
        Self { id, what, labels: BTreeMap::new(), unit, values, histogram, summary, figures: BTreeMap::new() }
    }

    /// The same under one more circumstance.
    #[must_use]
    pub fn label(mut self, name: &str, value: impl Into<String>) -> Self {
        self.labels.insert(name.to_owned(), value.into());
        self
    }

    /// The same with one more number beside it, of which six digits are kept; one that is not finite is left
    /// out.
    #[must_use]
    pub fn figure(mut self, name: &str, value: f64) -> Self {
        if value.is_finite() {
            self.figures.insert(name.to_owned(), rounded(value, FIGURE_DIGITS));
        }
        self
    }

    /// A label; empty if it has none of that name.
    pub fn text(&self, label: &str) -> &str {
        self.labels.get(label).map_or("", String::as_str)
    }

    /// A figure; not a number if it has none of that name.
    pub fn number(&self, figure: &str) -> f64 {
        self.figures.get(figure).copied().unwrap_or(f64::NAN)
    }

    /// The median; not a number if there are no values.
    pub fn median(&self) -> f64 {
        self.summary.p50.unwrap_or(f64::NAN)
    }

    /// The parts of its id.
    pub fn id_parts(&self) -> Vec<&str> {
        self.id.split('/').collect()
    }

    /// The values in order of size; `None` if there are none.
    pub fn distribution(&self) -> Option<Distribution> {
        match (&self.values, &self.histogram) {
            (Some(values), _) => Distribution::of_values(values),
            (None, Some(histogram)) => Distribution::of_histogram(histogram),
            (None, None) => None,
        }
    }
}

/// Sorted values and how often each occurred.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// The values in ascending order, each with the number of values up to and including it.
    upto: Vec<(f64, u64)>,
}

impl Distribution {
    /// Of raw values; those that are not finite are left out. `None` if nothing remains.
    pub fn of_values(values: &[f64]) -> Option<Self> {
        Self::sorted(values.iter().map(|&v| (v, 1)).collect())
    }

    /// The quantile of raw values; not a number if there are none.
    pub fn quantile_of(values: impl IntoIterator<Item = f64>, q: f64) -> f64 {
        Self::of_values(&values.into_iter().collect::<Vec<_>>()).map_or(f64::NAN, |all| all.quantile(q))
    }

    /// Of a histogram. `None` if it is empty.
    pub fn of_histogram(histogram: &[(u64, u64)]) -> Option<Self> {
        Self::sorted(histogram.iter().map(|&(v, n)| (v as f64, n)).collect())
    }

    fn sorted(mut pairs: Vec<(f64, u64)>) -> Option<Self> {
        pairs.retain(|&(v, n)| v.is_finite() && n > 0);
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut total = 0_u64;
        for pair in &mut pairs {
            total = total.saturating_add(pair.1);
            pair.1 = total;
        }
        (!pairs.is_empty()).then_some(Self { upto: pairs })
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.upto.last().map_or(0, |pair| pair.1)
    }

    /// The value at `rank`, counted from 0.
    fn at(&self, rank: u64) -> f64 {
        let index = self.upto.partition_point(|&(_, upto)| upto <= rank);
        self.upto[index.min(self.upto.len() - 1)].0
    }

    /// The value below which the share `q` (0 to 1) of the values lies, interpolated between neighbours.
    pub fn quantile(&self, q: f64) -> f64 {
        let place = (self.count() - 1) as f64 * q.clamp(0.0, 1.0);
        let (low, high) = (self.at(place.floor() as u64), self.at(place.ceil() as u64));
        low + (high - low) * place.fract()
    }

    /// The arithmetic mean.
    pub fn mean(&self) -> f64 {
        let mut before = 0;
        let sum = |sum: f64, &(value, upto): &(f64, u64)| {
            let count = upto - before;
            before = upto;
            sum + value * count as f64
        };
        self.upto.iter().fold(0.0, sum) / self.count() as f64
    }

    /// The values with the share of all values that lies at or below each: the steps of its distribution
    /// function.
    pub fn steps(&self) -> impl Iterator<Item = (f64, f64)> {
        let total = self.count() as f64;
        self.upto.iter().map(move |&(value, upto)| (value, upto as f64 / total))
    }
}

#[cfg(test)]
mod tests {
    use super::{Distribution, *};

    #[test]
    fn a_summary_is_that_of_the_values() {
        let m = Measurement::from_values("a/b", "waits", "us", vec![4.0, f64::INFINITY, 2.0, 6.0]);
        assert_eq!(m.values.as_deref(), Some(&[4.0, 2.0, 6.0][..]), "order is kept, infinity left out");
        let s = m.summary;
        assert_eq!((s.n, s.min, s.mean, s.p50, s.max), (3, Some(2.0), Some(4.0), Some(4.0), Some(6.0)));
        assert_eq!(Measurement::from_values("a", "none", "us", vec![]).summary, Summary::default());
    }

    #[test]
    fn figures_that_are_no_numbers_do_not_get_in() {
        let m = Measurement::from_histogram("a", "waits", "ns", vec![(5, 2)]).figure("ssr", f64::NAN).figure("cpu_us", 2.0);
        assert_eq!(m.figures.len(), 1);
        assert_eq!(m.distribution().map(|d| d.count()), Some(2));
    }

    #[test]
    fn a_histogram_and_the_values_it_counts_agree() {
        let values = Distribution::of_values(&[7.0, 1.0, 3.0, 3.0, f64::NAN, 3.0]).unwrap();
        let histogram = Distribution::of_histogram(&[(3, 3), (9, 0), (7, 1), (1, 1)]).unwrap();
        assert_eq!((values.count(), histogram.count()), (5, 5));
        for q in [0.0, 0.1, 0.5, 0.9, 1.0] {
            assert_eq!(values.quantile(q), histogram.quantile(q), "quantile {q}");
        }
        assert_eq!(values.mean(), 3.4);
        assert_eq!(histogram.mean(), 3.4);
        assert_eq!(values.steps().last(), Some((7.0, 1.0)));
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        let two = Distribution::of_values(&[1.0, 2.0]).unwrap();
        assert_eq!((two.quantile(0.0), two.quantile(0.5), two.quantile(2.0)), (1.0, 1.5, 2.0));
        assert_eq!(Distribution::of_values(&[f64::INFINITY]), None);
        assert_eq!(Distribution::of_histogram(&[]), None);
    }
}
