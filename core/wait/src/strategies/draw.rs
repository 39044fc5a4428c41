//! Random spin bounds with the density that no adversary can exploit. They are computed with integers only,
//! so they are the same on every machine.
use foregather_machine::{Nanos, Rank, SplitMix};

/// The stream of bounds of one member.
pub(super) struct Draw(SplitMix);

impl Draw {
    /// Creates the stream of `rank`, which is the same in every run.
    pub(super) fn new(rank: Rank) -> Self {
        // The seed is mixed, because the streams of neighbouring ranks must not be shifted copies of each
        // other.
        Self(SplitMix(SplitMix::mix(u64::from(rank) ^ 0x5851_f42d_4c95_7f2d)))
    }

    /// Draws a bound from the density `e^(x/C) / (C (e - 1))` on `[0, C]`, where `C` is `switch`, and rounds
    /// it to the nearest nanosecond.
    ///
    /// The method needs comparisons only (von Neumann 1951). Draw numbers until one does not fall below its
    /// predecessor. If the falling run that begins with `y` has length `n`, then `n` is odd with probability
    /// `e^-y`. An accepted `y` therefore has a density proportional to `e^-y`, and `x = 1 - y` one
    /// proportional to `e^x`.
    pub(super) fn bound(&mut self, switch: Nanos) -> Nanos {
        loop {
            let first = self.0.next();
            let (mut last, mut odd) = (first, true);
            loop {
                let next = self.0.next();
                if next >= last {
                    break;
                }
                (last, odd) = (next, !odd);
            }
            if odd {
                let scaled = u128::from(switch.0) * u128::from(!first);
                return Nanos(((scaled + (1 << 63)) >> 64) as u64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::f64::consts::E;

    #[test]
    fn bounds_have_the_density_that_nobody_can_exploit() {
        const DRAWS: usize = 200_000;
        let (mut draw, switch) = (Draw::new(3), Nanos::from_ms(1));
        let mut bounds: Vec<_> = (0..DRAWS).map(|_| draw.bound(switch).0 as f64 / switch.0 as f64).collect();
        bounds.sort_by(f64::total_cmp);
        let below = |x: f64| ((x.exp() - 1.0) / (E - 1.0) * DRAWS as f64) as i64;
        let furthest = bounds.iter().enumerate().map(|(i, &x)| (below(x) - i as i64).abs()).max().unwrap();
        // Kolmogorov-Smirnov test: one stream in a hundred exceeds 1.63 sqrt(n), and this stream is always
        // the same.
        assert!((furthest as f64) < 1.63 * (DRAWS as f64).sqrt(), "{furthest}");
        assert!(bounds[0] < 0.001 && bounds[DRAWS - 1] > 0.999 && bounds[DRAWS - 1] <= 1.0);
    }

    #[test]
    fn a_rank_has_a_stream_of_its_own_and_always_the_same() {
        let stream = |rank| {
            let mut draw = Draw::new(rank);
            [(); 100].map(|()| draw.bound(Nanos::from_ms(1)))
        };
        assert_eq!(stream(1), stream(1));
        let same = |a: u32, b: u32| stream(a).iter().filter(|bound| stream(b).contains(bound)).count();
        assert!(same(0, 1) < 5 && same(1, 2) < 5);
        assert_eq!(Draw::new(0).bound(Nanos::ZERO), Nanos::ZERO);
    }
}
