//! How much a median would vary if the run were repeated, from the values of one run.
use crate::Distribution;
use foregather_machine::SplitMix;

/// Bootstrap replicates of each median.
const REPLICATES: usize = 2000;
/// Up to so many values the bootstrap draws each; above, it draws the rank of the median, which is then nearly normal.
pub(super) const DRAWN_EACH: u64 = 64;

/// Bootstrap replicates of the median.
pub(super) fn medians(of: &Distribution, random: &mut SplitMix) -> Vec<f64> {
    let n = of.count();
    let drawn = |random: &mut SplitMix| {
        let values: Vec<f64> = (0..n).map(|_| of.quantile((random.below(n) as f64) / (n - 1).max(1) as f64)).collect();
        Distribution::of_values(&values).map_or(f64::NAN, |d| d.quantile(0.5))
    };
    let ranked = |random: &mut SplitMix| of.quantile(0.5 + 0.5 * random.normal_pair().0 / (n as f64).sqrt());
    (0..REPLICATES).map(|_| if n <= DRAWN_EACH { drawn(random) } else { ranked(random) }).collect()
}
