//! How much a median would vary if the run were repeated, from the values of one run.
use crate::results::Distribution;

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
    let ranked = |random: &mut SplitMix| of.quantile(0.5 + 0.5 * random.normal() / (n as f64).sqrt());
    (0..REPLICATES).map(|_| if n <= DRAWN_EACH { drawn(random) } else { ranked(random) }).collect()
}

/// Steele, Lea & Flood 2014: the same numbers on every machine, so that a comparison can be repeated.
pub(super) struct SplitMix(pub(super) u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// Above 0 and at most 1.
    pub(super) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Box & Muller 1958.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}
