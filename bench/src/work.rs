//! Computation of a known length that no compiler removes, and programs that want the processors of a team
//! and know nothing of it.
use crate::{BackgroundLoad, WorkDistribution};
use foregather_host::clock;
use foregather_machine::Nanos;
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

/// The variance of the logarithm of log-normal work whose deviation equals its mean: `ln 2`.
const LOG_VARIANCE: f64 = std::f64::consts::LN_2;
/// Short and long draws of bimodal work, in grains, and how often a draw is long: a grain on average.
const BIMODAL: [f64; 2] = [0.5, 5.5];
const BIMODAL_LONG: f64 = 0.1;
/// The slow member: not the one that measures.
const SLOW: u64 = 1;
/// The longest operation of a graph over the shortest: of a language model that runs on processors, 60 us
/// over 5.
const GRAPH_RANGE: f64 = 12.0;
/// Iterations measured at once when calibrating: some tens of microseconds.
const CALIBRATION: u64 = 20_000;

/// One member's computation between two barriers.
pub struct Work {
    iterations: f64,
    shape: WorkDistribution,
    random: u64,
}

/// A chain of multiplications, each of which needs the one before.
pub fn compute(iterations: u64) {
    let mut x = black_box(3u64);
    for _ in 0..iterations {
        x = x.wrapping_mul(x) | 1;
    }
    black_box(x);
}

impl Work {
    /// How many iterations a microsecond takes, at best. Measure it once and hand it to all that are
    /// compared.
    pub fn iterations_per_us() -> f64 {
        let once = || {
            let began = clock::cycles();
            compute(CALIBRATION);
            CALIBRATION as f64 * 1e3 / clock::cycles_to_nanos(clock::cycles() - began).0.max(1) as f64
        };
        (0..20).map(|_| once()).fold(0.0, f64::max)
    }

    /// `grain_ns` on average; of [`WorkDistribution::Imbalanced`] only over an even and an odd rank, and rank
    /// 1 of [`WorkDistribution::SlowMember`] has three times as much. Members of different ranks draw
    /// different lengths (but for [`WorkDistribution::Graph`]), the same in every run.
    pub fn new(grain_ns: u64, iterations_per_us: f64, shape: WorkDistribution, rank: u64) -> Self {
        let part = match shape {
            WorkDistribution::Imbalanced if rank.is_multiple_of(2) => 0.5,
            WorkDistribution::Imbalanced => 1.5,
            WorkDistribution::SlowMember if rank == SLOW => 3.0,
            _ => 1.0,
        };
        let iterations = part * grain_ns as f64 / 1e3 * iterations_per_us;
        let stream = if shape == WorkDistribution::Graph { 0 } else { rank };
        Self { iterations, shape, random: stream.wrapping_mul(7_919).wrapping_add(13) }
    }

    /// A uniform number in (0, 1], by Knuth's linear congruence.
    fn uniform(&mut self) -> f64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.random >> 33) + 1) as f64 / (1u64 << 31) as f64
    }

    /// One draw: how many iterations the next computation has.
    #[inline]
    fn next(&mut self) -> f64 {
        self.iterations
            * match self.shape {
                WorkDistribution::Uniform | WorkDistribution::Imbalanced => 0.75 + 0.5 * self.uniform(),
                WorkDistribution::Constant | WorkDistribution::SlowMember => 1.0,
                WorkDistribution::Bimodal => BIMODAL[usize::from(self.uniform() <= BIMODAL_LONG)],
                WorkDistribution::Exponential => -self.uniform().ln(),
                // Even in its logarithm.
                WorkDistribution::Graph => GRAPH_RANGE.powf(self.uniform()) * GRAPH_RANGE.ln() / (GRAPH_RANGE - 1.0),
                WorkDistribution::LogNormal => (LOG_VARIANCE.sqrt() * self.normal() - LOG_VARIANCE / 2.0).exp(),
            }
    }

    /// A standard normal number (Box & Muller 1958).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Computes for one grain.
    #[inline]
    pub fn run(&mut self) {
        if self.iterations > 0.0 {
            compute(self.next() as u64);
        }
    }
}

/// What a member of a foreign team computes between two of its barriers.
const TEAM_GRAIN: Nanos = Nanos::from_us(50);
/// How long what wakes computes, and how often.
const WAKE: (Nanos, u32) = (Nanos::from_us(20), 60);
/// How many iterations are computed between two looks at the clock: a few microseconds.
const AT_ONCE: u64 = 2_000;

/// Is such a load until `stop` says so, as the team that it disturbs may run on `processors`.
pub fn disturb(load: BackgroundLoad, processors: usize, stop: impl Fn() -> bool + Sync) {
    let rests = |computing: Nanos, resting: Duration| {
        while !stop() {
            compute_for(computing);
            thread::sleep(resting);
        }
    };
    match load {
        BackgroundLoad::Hog => hog(stop),
        BackgroundLoad::Bursts(ms) => rests(Nanos::from_ms(ms.into()), Duration::from_millis(ms.into())),
        BackgroundLoad::Wakes => rests(WAKE.0, Duration::from_secs(1) / WAKE.1),
        BackgroundLoad::Team => team(processors, stop),
    }
}

/// Computes until `stop` says so.
pub fn hog(stop: impl Fn() -> bool) {
    while !stop() {
        compute(AT_ONCE);
    }
}

fn compute_for(span: Nanos) {
    let end = clock::now() + span;
    while clock::now() < end {
        compute(AT_ONCE);
    }
}

fn team(size: usize, stop: impl Fn() -> bool + Sync) {
    let (barrier, speed, ends) = (Barrier::new(size), Work::iterations_per_us(), std::sync::atomic::AtomicBool::new(false));
    let member = |rank: u64| {
        let mut work = Work::new(TEAM_GRAIN.0, speed, WorkDistribution::Uniform, rank);
        // Of all members one asks, before a barrier, so that behind it all know.
        while !ends.load(std::sync::atomic::Ordering::Relaxed) {
            work.run();
            barrier.wait();
            if rank == 0 && stop() {
                ends.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            barrier.wait();
        }
    };
    thread::scope(|threads| (0..size as u64).for_each(|rank| drop(threads.spawn(move || member(rank)))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;
    use std::sync::atomic::Ordering::Relaxed;

    const MEAN: f64 = 1_000.0;

    /// Mean and deviation of a rank's draws.
    fn moments(shape: WorkDistribution, rank: u64) -> (f64, f64) {
        let mut work = Work::new(MEAN as u64, 1_000.0, shape, rank);
        let draws: Vec<f64> = (0..200_000).map(|_| work.next()).collect();
        assert!(draws.iter().all(|&draw| draw >= 0.0));
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|draw| (draw - mean) * (draw - mean)).sum::<f64>() / draws.len() as f64;
        (mean / MEAN, variance.sqrt() / MEAN)
    }

    #[test]
    fn every_shape_has_the_mean_and_deviation_it_is_asked_for() {
        // A uniform number over half the mean deviates by the twelfth part of it, squared.
        let uniform = 0.5 / 12f64.sqrt();
        for (shape, rank, expected) in [
            (WorkDistribution::Uniform, 5, (1.0, uniform)),
            (WorkDistribution::Exponential, 5, (1.0, 1.0)),
            (WorkDistribution::LogNormal, 5, (1.0, 1.0)),
            (WorkDistribution::Constant, 5, (1.0, 0.0)),
            (WorkDistribution::Bimodal, 5, (1.0, 1.5)),
            // The squares' mean is (r + 1) ln r / 2 (r - 1) times the square of the mean.
            (WorkDistribution::Graph, 5, (1.0, (13.0 * 12f64.ln() / 22.0 - 1.0).sqrt())),
            (WorkDistribution::SlowMember, 0, (1.0, 0.0)),
            (WorkDistribution::SlowMember, 1, (3.0, 0.0)),
            (WorkDistribution::Imbalanced, 4, (0.5, 0.5 * uniform)),
            (WorkDistribution::Imbalanced, 5, (1.5, 1.5 * uniform)),
        ] {
            let (mean, deviation) = moments(shape, rank);
            assert!((mean - expected.0).abs() < 0.02, "{shape:?}: mean {mean}");
            assert!((deviation - expected.1).abs() < 0.04, "{shape:?}: deviation {deviation}");
        }
    }

    #[test]
    fn members_draw_different_lengths_and_the_same_in_every_run() {
        let first = |rank| Work::new(1_000, 1_000.0, WorkDistribution::LogNormal, rank).next();
        assert_eq!(first(1).to_bits(), first(1).to_bits());
        assert_ne!(first(1).to_bits(), first(2).to_bits());
        let of_graph = |rank| Work::new(1_000, 1_000.0, WorkDistribution::Graph, rank).next();
        assert_eq!(of_graph(1).to_bits(), of_graph(2).to_bits(), "an operation is split evenly");
    }

    #[test]
    fn every_load_stops() {
        for load in [BackgroundLoad::Hog, BackgroundLoad::Bursts(1), BackgroundLoad::Team, BackgroundLoad::Wakes] {
            let asked = AtomicU32::new(0);
            disturb(load, 2, || asked.fetch_add(1, Relaxed) == 2);
            assert_eq!(asked.into_inner(), 3, "{load}");
        }
    }
}
