//! What the calls of a cell work on: the same numbers whoever's BLAS it is.
use super::Routine;
use foregather_machine::SplitMix;

/// Vectors and matrices of one order, all of them written before the first call: memory that was never written reads as one page.
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

    /// Makes the matrix one that thousands of calls in place neither blow up nor shrink to numbers that processors are slow with.
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
