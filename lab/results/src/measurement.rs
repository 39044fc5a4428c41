//! One measured quantity: its raw values or histogram, their summary, and further figures beside it.
use super::Distribution;
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

    /// The same with one more number beside it, of which six digits are kept; one that is not finite is left out.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
