//! The routines that a team may share, and how large a call of each is.
use crate::scalar::Scalar;

foregather_machine::named! {
    /// A routine with a crossover of its own.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Routine {
        /// `axpy`
        Axpy = "axpy",
        /// `scal`
        Scal = "scal",
        /// `copy`
        Copy = "copy",
        /// `swap`
        Swap = "swap",
        /// `dot` in all its forms
        Dot = "dot",
        /// `nrm2`
        Nrm2 = "nrm2",
        /// `asum`
        Asum = "asum",
        /// `iamax`
        Iamax = "iamax",
        /// `gemv` that adds columns as they lie in memory
        GemvN = "gemv-n",
        /// `gemv` that makes dots of columns
        GemvT = "gemv-t",
        /// `ger`, `geru`, `gerc`
        Ger = "ger",
        /// `symv`, `hemv`
        Symv = "symv",
        /// `gemm`
        Gemm = "gemm",
        /// `symm`, `hemm`
        Symm = "symm",
        /// `syrk` and all other routines that compute a triangle of a product
        Syrk = "syrk",
        /// `trmm`
        Trmm = "trmm",
        /// `trsm`
        Trsm = "trsm",
    }
}

/// The unit of a call's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    One,
    Two,
    Three,
}

/// The number of routines.
pub(crate) const COUNT: usize = Routine::ALL.len();

impl Routine {
    pub(crate) const fn level(self) -> Level {
        match self {
            Self::GemvN | Self::GemvT | Self::Ger | Self::Symv => Level::Two,
            Self::Gemm | Self::Symm | Self::Syrk | Self::Trmm | Self::Trsm => Level::Three,
            _ => Level::One,
        }
    }

    /// The lengths or orders at which it is tried, from one that no team is worth to one that any team is.
    pub(crate) const fn ladder(self) -> &'static [usize] {
        const ONE: &[usize] = &[1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000, 12_000, 16_000, 24_000, 32_000, 48_000, 64_000];
        const TWO: &[usize] = &[48, 64, 80, 96, 112, 128, 160, 192, 256, 320, 384, 512];
        const THREE: &[usize] = &[16, 24, 32, 40, 48, 56, 64, 80, 96, 128, 160, 192];
        match (self, self.level()) {
            // Smaller ones have one cell.
            (Self::Symv, _) => &[512, 576, 640, 768],
            (_, Level::One) => ONE,
            (_, Level::Two) => TWO,
            (_, Level::Three) => THREE,
        }
    }

    /// The usual crossover, on two otherwise idle processors of 2024.
    pub(crate) fn usual(self) -> usize {
        match (self, self.level()) {
            (Self::Dot | Self::Nrm2 | Self::Asum | Self::Iamax, _) => 10_000,
            (Self::Symv, _) => 512,
            (Self::Gemm, _) => 40,
            (_, Level::One) => 4_000,
            (_, Level::Two) => 144,
            (_, Level::Three) => 80,
        }
    }

    /// The size of a call with vectors of `n`, or square matrices of order `n`, of `f64`.
    pub(crate) const fn size_of_order(self, n: usize) -> u64 {
        match self.level() {
            Level::One => memory::<f64>(n),
            Level::Two => memory::<f64>(n * n),
            Level::Three => work::<f64>(n, n, n),
        }
    }

    /// The length or order of an `f64` call of that size.
    pub(crate) fn order_of_size(self, size: u64) -> u64 {
        let elements = size as f64 / 8.0;
        let order = match self.level() {
            Level::One => elements,
            Level::Two => elements.sqrt(),
            Level::Three => elements.cbrt(),
        };
        order.round() as u64
    }
}

/// The size of a call of level 1 or 2: bytes of its longest operand.
#[inline(always)]
pub(crate) const fn memory<T: Scalar>(elements: usize) -> u64 {
    elements as u64 * size_of::<T>() as u64
}

/// The size of a call of level 3: its multiplications, in eighths of a real one in double precision.
#[inline(always)]
pub(crate) const fn work<T: Scalar>(m: usize, n: usize, k: usize) -> u64 {
    let each = size_of::<T>() * if T::COMPLEX { 2 } else { 1 };
    (m as u64).saturating_mul(n as u64).saturating_mul(k as u64).saturating_mul(each as u64)
}
