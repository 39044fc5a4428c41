//! Values with their counts, sorted: where every quantile in a results file comes from.

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

    /// The values with the share of all values that lies at or below each: the steps of its distribution function.
    pub fn steps(&self) -> impl Iterator<Item = (f64, f64)> {
        let total = self.count() as f64;
        self.upto.iter().map(move |&(value, upto)| (value, upto as f64 / total))
    }
}

#[cfg(test)]
mod tests {
    use super::Distribution;

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
