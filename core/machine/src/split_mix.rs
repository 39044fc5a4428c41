//! The one source of numbers that look random. It is seeded, so a run can be repeated; nothing here asks the
//! machine.

/// Steele, Lea & Flood 2014 (SplitMix64): the same numbers from the same seed, on every machine.
#[derive(Clone, Debug)]
pub struct SplitMix(pub u64);

impl SplitMix {
    /// Scatters a number: neighbours give unlike results.
    #[inline]
    pub const fn mix(z: u64) -> u64 {
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next 64 bits.
    #[inline]
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        Self::mix(self.0)
    }

    /// A number below `n`, all equally likely.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// A number above 0 and at most 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Two independent normal numbers (Box & Muller 1958).
    pub fn normal_pair(&mut self) -> (f64, f64) {
        let (radius, angle) = ((-2.0 * self.unit().ln()).sqrt(), core::f64::consts::TAU * self.unit());
        (radius * angle.cos(), radius * angle.sin())
    }

    /// Puts the items into a random order (Fisher & Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }

    /// A permutation of `0..n`.
    pub fn shuffled(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        self.shuffle(&mut order);
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_reference() {
        // The first of Vigna's splitmix64.c from 1234567.
        let mut random = SplitMix(1_234_567);
        assert_eq!([random.next(), random.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn orders_differ_but_not_between_runs() {
        let (mut a, mut b) = (SplitMix(7), SplitMix(7));
        let first = a.shuffled(20);
        assert_eq!(first, b.shuffled(20));
        let second = a.shuffled(20);
        assert_ne!(first, second);
        let mut sorted = second;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn numbers_have_the_bounds_and_moments_they_should() {
        let mut random = SplitMix(3);
        let normal: Vec<f64> = (0..20_000).flat_map(|_| <[f64; 2]>::from(random.normal_pair())).collect();
        let mean = normal.iter().sum::<f64>() / normal.len() as f64;
        let variance = normal.iter().map(|x| x * x).sum::<f64>() / normal.len() as f64;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
        assert!((0..1_000).all(|_| (0.0..=1.0).contains(&random.unit()) && random.below(5) < 5));
    }
}
