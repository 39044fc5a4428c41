//! What a call of a BLAS costs alone and shared, in alternated pairs: one cell a runner, each in a process of
//! its own.
//!
//! - [`BlasCell`]: whose routine, which one, how large, how often. [`measure`]: one cell, of any BLAS; it
//!   is.
//! - [`Operands`]: what calls work on. [`ours`]: our own BLAS.
pub mod ours;

use crate::Cell;
use crate::barriers::check_team;
use foregather_host::{clock, usage};
use foregather_machine::named;
use foregather_machine::{Nanos, SplitMix};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The fewest pairs of a cell, whatever its span.
pub const PAIRS: usize = 30;
/// Calls that are shorter are timed together, in batches that last this long.
const BATCH: Nanos = Nanos::from_us(100);
/// The most calls that are timed together.
const BATCH_MOST: u64 = 4_000;
/// Calls before a batch of calls back to back, which do not count: for this time, and at least this number.
/// The other side has been at the caches and has let members sleep. What sleeping members cost is what cells
/// with a gap are for.
const SETTLE: (Nanos, u32) = (Nanos::from_us(100), 2);
/// How long members may need to fall asleep before processor time is counted.
const COOL_DOWN: Duration = Duration::from_millis(20);
/// A cell may take this number of times its span.
const OVER: u64 = 10;

named! {
    /// The routines that are measured, in double precision.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Routine {
        /// `y += alpha * x`, vectors of `n`.
        Daxpy = "daxpy",
        /// The sum of `x * y`, vectors of `n`.
        Ddot = "ddot",
        /// `y = A * x`, of order `n`.
        Dgemv = "dgemv",
        /// `C = A * B`, of order `n`.
        Dgemm = "dgemm",
        /// `y = A * x`, `A` symmetric, of order `n`.
        Dsymv = "dsymv",
        /// `C = A * B`, `A` symmetric, of order `n`.
        Dsymm = "dsymm",
        /// A triangle of `C = A * A^T`, of order `n`.
        Dsyrk = "dsyrk",
        /// `B = A * B`, `A` triangular, of order `n`.
        Dtrmm = "dtrmm",
        /// `A * X = B`, `A` triangular, of order `n`.
        Dtrsm = "dtrsm",
        /// The factorisation with partial pivoting, of order `n`.
        Lu = "lu",
    }
}

impl Routine {
    /// Additions and multiplications of a call.
    pub fn flops(self, n: u32) -> f64 {
        let n = f64::from(n);
        match self {
            Self::Daxpy | Self::Ddot => 2.0 * n,
            Self::Dgemv | Self::Dsymv => 2.0 * n * n,
            Self::Dgemm | Self::Dsymm => 2.0 * n * n * n,
            Self::Dsyrk | Self::Dtrmm | Self::Dtrsm => n * n * n,
            Self::Lu => 2.0 / 3.0 * n * n * n,
        }
    }
}

/// What to measure. Hogs are the caller's business.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlasCell {
    /// Whose BLAS, by the name its program knows: `foregather`, `openblas` ...
    pub runner: String,
    /// The routine that is called.
    pub routine: Routine,
    /// Length of vectors, order of matrices.
    pub n: u32,
    /// Threads of the shared side.
    pub threads: u32,
    /// Idle time before each call.
    pub gap_ns: u64,
    /// For how long to measure pairs, if there are [`PAIRS`] by then.
    pub span_ns: u64,
}

impl Cell for BlasCell {
    const VERB: &'static str = "blas-cell";
    type Answer = BlasResult;

    fn check(&self) -> Result<(), String> {
        let most = if matches!(self.routine, Routine::Daxpy | Routine::Ddot) { 100_000_000 } else { 8_192 };
        if self.n == 0 || self.n > most {
            return Err(format!("{} of {} cannot be run; 1 to {most} can", self.routine.name(), self.n));
        }
        check_team(self.threads, 1.0)
    }

    fn at_most(&self) -> Nanos {
        Nanos(self.span_ns) * OVER + Nanos(self.gap_ns) * (6 * PAIRS as u64) + Nanos::from_ms(5_000)
    }

    fn env(&self) -> Vec<(String, String)> {
        vec![("FOREGATHER_THREADS".to_owned(), self.threads.to_string())]
    }

    fn run(&self) -> Result<Option<BlasResult>, String> {
        ours::run(self).map(Some)
    }
}

/// The two ways of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlasVariant {
    /// Calls that the calling thread does by itself.
    Alone,
    /// By as many threads as there are, if the BLAS thinks it worth while.
    Shared,
}

/// One side of all pairs. Times of a call in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SideResult {
    /// The median.
    pub p50_ns: f64,
    /// The mean.
    pub mean_ns: f64,
    /// All but a hundredth of the samples took no longer.
    pub p99_ns: f64,
    /// Processor time of the process for a call, idle waiting in the gap included.
    pub cpu_ns: f64,
}

/// What a cell came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlasResult {
    /// Pairs of a batch alone and a batch shared.
    pub pairs: u64,
    /// Calls that were timed together.
    pub batch: u64,
    /// In the calling thread.
    pub alone: SideResult,
    /// Calls that a team shares.
    pub shared: SideResult,
    /// How many times faster sharing is: the median of the pairs.
    pub ratio: f64,
    /// Its lower 95 % bound.
    pub ratio_low: f64,
}

/// Runs pairs until the span is over and there are enough of them. `prepare` is not timed; it comes before
/// each call that would spoil its operands, which are then timed one by one.
pub fn measure(cell: &BlasCell, operands: &mut Operands, mut call: impl FnMut(BlasVariant, &mut Operands)) -> BlasResult {
    let gap = Duration::from_nanos(cell.gap_ns);
    let single = cell.gap_ns > 0 || cell.routine == Routine::Lu;
    let mut sample = |side: BlasVariant, batch: u64, operands: &mut Operands| {
        let (began, mut settled) = (clock::now(), 0);
        while cell.gap_ns == 0 && (settled < SETTLE.1 || clock::now() - began < SETTLE.0) {
            operands.prepare();
            call(side, operands);
            settled += 1;
        }
        operands.prepare();
        if !gap.is_zero() {
            std::thread::sleep(gap);
        }
        let began = clock::now();
        for _ in 0..batch {
            call(side, operands);
        }
        (u64::from(settled), (clock::now() - began).0 as f64 / batch as f64)
    };
    // First calls start threads and find crossovers.
    let first = (0..3)
        .map(|_| (sample(BlasVariant::Shared, 1, operands), sample(BlasVariant::Alone, 1, operands).1).1)
        .fold(f64::MAX, f64::min);
    let batch = if single { 1 } else { ((BATCH.0 as f64 / first.max(1.0)) as u64).clamp(1, BATCH_MOST) };
    let (mut alone, mut shared) = (Vec::new(), Vec::new());
    let began = clock::now();
    loop {
        let taken = (clock::now() - began).0;
        if taken > cell.span_ns && (alone.len() >= PAIRS || taken > cell.span_ns.saturating_mul(OVER)) {
            break;
        }
        // The second side finds warmer caches.
        let order = if alone.len() % 2 == 0 {
            [BlasVariant::Alone, BlasVariant::Shared]
        } else {
            [BlasVariant::Shared, BlasVariant::Alone]
        };
        for side in order {
            let (_, time) = sample(side, batch, operands);
            if side == BlasVariant::Alone { alone.push(time) } else { shared.push(time) }
        }
    }
    let ratios: Vec<f64> = alone.iter().zip(&shared).map(|(alone, shared)| alone / shared).collect();
    let (ratio, ratio_low) = median_and_bound(ratios);
    let mut cpu = |side: BlasVariant| {
        std::thread::sleep(COOL_DOWN);
        let (calls, began, cpu) = (alone.len() as u64, clock::now(), usage::process_cpu());
        let mut done = 0;
        while done < calls && clock::now() - began < Nanos(cell.span_ns) * 2 {
            done += batch + sample(side, batch, operands).0;
        }
        (usage::process_cpu() - cpu).0 as f64 / done.max(1) as f64
    };
    let (alone_cpu, shared_cpu) = (cpu(BlasVariant::Alone), cpu(BlasVariant::Shared));
    BlasResult {
        pairs: alone.len() as u64,
        batch,
        alone: side(alone, alone_cpu),
        shared: side(shared, shared_cpu),
        ratio,
        ratio_low,
    }
}

/// The summary of one side's samples.
fn side(mut samples: Vec<f64>, cpu_ns: f64) -> SideResult {
    samples.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| samples.get(((samples.len() as f64 * share) as usize).min(samples.len() - 1)).copied().unwrap_or(0.0);
    let mean_ns = samples.iter().sum::<f64>() / samples.len().max(1) as f64;
    SideResult { p50_ns: at(0.5), mean_ns, p99_ns: at(0.99), cpu_ns }
}

/// The median, and the order statistic below which it lies with a probability of at most 5 %.
fn median_and_bound(mut ratios: Vec<f64>) -> (f64, f64) {
    ratios.sort_unstable_by(f64::total_cmp);
    let count = ratios.len() as f64;
    // The number of samples below the median is binomial: 1.645 standard deviations below half of them.
    let low = (count / 2.0 - 1.645 * count.sqrt() / 2.0).floor().max(0.0) as usize;
    let of = |at: usize| ratios.get(at).copied().unwrap_or(f64::NAN);
    (of(ratios.len() / 2), of(low))
}

/// Vectors and matrices of one order, all of them written before the first call: memory that was never
/// written reads as one page.
#[derive(Clone, Debug)]
pub struct Operands {
    /// Length of vectors, order of matrices, which lie by columns without gaps.
    pub n: usize,
    /// A matrix, if the routine reads one.
    pub a: Vec<f64>,
    /// A second one, or a vector.
    pub b: Vec<f64>,
    /// What is written.
    pub c: Vec<f64>,
    /// Room for one a row, where a routine returns such; some libraries' have half the bits.
    pub pivots: Vec<i64>,
    spoilt: bool,
}

impl Operands {
    /// For calls of that routine.
    pub fn new(routine: Routine, n: u32) -> Self {
        let n = n as usize;
        let square = n * n;
        let [a, b, c] = match routine {
            Routine::Daxpy | Routine::Ddot => [0, n, n],
            Routine::Dgemv | Routine::Dsymv => [square, n, n],
            Routine::Dgemm | Routine::Dsymm => [square; 3],
            Routine::Dsyrk | Routine::Dtrmm | Routine::Dtrsm => [square, 0, square],
            Routine::Lu => [square, 0, square],
        };
        let mut random = SplitMix(n as u64);
        let mut filled = |len: usize| (0..len).map(|_| random.below(2_001) as f64 / 1_000.0 - 1.0).collect();
        let mut operands =
            Self { n, a: filled(a), b: filled(b), c: filled(c), pivots: vec![0; n], spoilt: routine == Routine::Lu };
        if matches!(routine, Routine::Dtrmm | Routine::Dtrsm) {
            operands.calm_triangles();
        }
        operands
    }

    /// Makes the matrix one that thousands of calls in place neither blow up nor shrink to numbers that
    /// processors are slow with.
    fn calm_triangles(&mut self) {
        for (at, value) in self.a.iter_mut().enumerate() {
            *value = if at % (self.n + 1) == 0 { 1.0 } else { *value * 1e-12 };
        }
    }

    /// Puts back what a call destroys.
    pub(super) fn prepare(&mut self) {
        if self.spoilt {
            self.c.copy_from_slice(&self.a);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(routine: Routine, n: u32) -> BlasCell {
        BlasCell { runner: "foregather".into(), routine, n, threads: 2, gap_ns: 0, span_ns: 1_000_000 }
    }

    #[test]
    fn all_routines_run_alone_and_shared_and_bad_cells_are_refused() {
        for routine in Routine::ALL {
            let cell = cell(routine, 100);
            assert_eq!(BlasCell::from_arg(&cell.to_arg()), Ok(cell.clone()));
            for runner in ours::RUNNERS {
                let result = ours::run(&BlasCell { runner: runner.into(), ..cell.clone() }).unwrap();
                assert!(result.pairs > 0 && result.ratio_low <= result.ratio && result.alone.p50_ns > 0.0, "{result:?}");
            }
            assert!(BlasCell::from_arg(&BlasCell { n: 0, ..cell.clone() }.to_arg()).is_err());
            assert!(BlasCell::from_arg(&BlasCell { threads: 0, ..cell.clone() }.to_arg()).is_err());
            assert!(ours::run(&BlasCell { runner: "nobody".into(), ..cell }).unwrap_err().contains("foregather"));
        }
    }

    #[test]
    fn the_bound_is_below_the_median_by_what_so_few_pairs_leave_open() {
        let (median, low) = median_and_bound((0..31).rev().map(f64::from).collect());
        assert_eq!((median, low), (15.0, 10.0));
        assert!(median_and_bound(vec![]).0.is_nan());
        assert_eq!(median_and_bound(vec![2.0]), (2.0, 2.0));
    }

    #[test]
    fn short_calls_are_timed_together_and_those_after_a_gap_one_by_one() {
        let mut calls = 0_u32;
        let mut operands = Operands::new(Routine::Ddot, 10);
        let result = measure(&cell(Routine::Ddot, 10), &mut operands, |_, _| calls += 1);
        assert!(result.batch > 1 && u64::from(calls) > 2 * result.pairs * result.batch);
        let gap = BlasCell { gap_ns: 1_000, ..cell(Routine::Ddot, 10) };
        assert_eq!(measure(&gap, &mut operands, |_, _| ()).batch, 1);
    }
}
