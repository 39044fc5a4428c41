//! Computation of a known length, with the variation that real members have.
use crate::Shape;
use foregather_host::clock;
use std::hint::black_box;

/// Iterations measured at once when calibrating: some tens of microseconds.
const CALIBRATION: u64 = 20_000;

/// One member's computation between two barriers.
pub struct Work {
    iterations: f64,
    shape: Shape,
    random: u64,
}

/// A chain of multiplications, each of which needs the one before.
pub(crate) fn compute(iterations: u64) {
    let mut x = black_box(3u64);
    for _ in 0..iterations {
        x = x.wrapping_mul(x) | 1;
    }
    black_box(x);
}

impl Work {
    /// How many iterations a microsecond takes, at best. Measure it once and hand it to all that are compared.
    pub fn iterations_per_us() -> f64 {
        let once = || {
            let began = clock::cycles();
            compute(CALIBRATION);
            CALIBRATION as f64 * 1e3 / clock::cycles_to_nanos(clock::cycles() - began).0.max(1) as f64
        };
        (0..20).map(|_| once()).fold(0.0, f64::max)
    }

    /// `grain_ns` on average. Members of different ranks draw different lengths, the same in every run.
    pub fn new(grain_ns: u64, iterations_per_us: f64, shape: Shape, seed: u64) -> Self {
        Self { iterations: grain_ns as f64 / 1e3 * iterations_per_us, shape, random: seed.wrapping_mul(7_919).wrapping_add(13) }
    }

    /// A uniform number in (0, 1], by Knuth's linear congruence.
    fn uniform(&mut self) -> f64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.random >> 33) + 1) as f64 / (1u64 << 31) as f64
    }

    /// Computes for one grain.
    #[inline]
    pub fn run(&mut self) {
        if self.iterations > 0.0 {
            let factor = match self.shape {
                Shape::Uniform => 0.75 + 0.5 * self.uniform(),
                Shape::Exponential => -self.uniform().ln(),
            };
            compute((self.iterations * factor) as u64);
        }
    }
}

/// Computes until `stop` says so: a foreign program that wants the processor.
pub fn hog(stop: impl Fn() -> bool) {
    while !stop() {
        compute(CALIBRATION);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_shapes_have_the_mean_they_are_asked_for() {
        for shape in [Shape::Uniform, Shape::Exponential] {
            let mut work = Work::new(1_000, 1.0, shape, 5);
            let mut mean = 0.0;
            for _ in 0..100_000 {
                let factor = match shape {
                    Shape::Uniform => 0.75 + 0.5 * work.uniform(),
                    Shape::Exponential => -work.uniform().ln(),
                };
                assert!(factor >= 0.0);
                mean += factor / 1e5;
            }
            assert!((mean - 1.0).abs() < 0.02, "{shape:?}: {mean}");
        }
    }
}
