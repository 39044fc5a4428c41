//! Random arguments with traps around them, and the plain definitions in double precision that results are
//! compared with.
#![allow(dead_code, missing_docs, unreachable_pub)] // Each test uses a part of it.
use foregather_blas::{
    Diag, Matrix, MatrixMut, Order, Real, Scalar, Side, Trans, Triangle, TriangleMut, Uplo, Vector, VectorMut, c64,
};

pub const TRANS: [Trans; 3] = [Trans::No, Trans::Yes, Trans::Conj];
pub const UPLO: [Uplo; 2] = [Uplo::Upper, Uplo::Lower];
pub const ORDERS: [Order; 2] = [Order::Columns, Order::Rows];
pub const SIDES: [Side; 2] = [Side::Left, Side::Right];
pub const DIAGS: [Diag; 2] = [Diag::Stored, Diag::Unit];

/// Runs a generic test for all four kinds of numbers.
#[macro_export]
macro_rules! for_all {
    ($test:ident($($arg:expr),*)) => {
        $test::<f32>($($arg),*);
        $test::<f64>($($arg),*);
        $test::<foregather_blas::c32>($($arg),*);
        $test::<foregather_blas::c64>($($arg),*);
    };
}

pub trait Number: Scalar {
    fn wide(self) -> c64;
    fn narrow(value: c64) -> Self;
    const EPSILON: f64;
}

macro_rules! number {
    ($t:ty, $real:ty) => {
        impl Number for $t {
            fn wide(self) -> c64 {
                c64::new(self.re() as f64, self.im() as f64)
            }
            fn narrow(value: c64) -> Self {
                Self::new(value.re as $real, value.im as $real)
            }
            const EPSILON: f64 = <$real>::EPSILON as f64;
        }
    };
}
number!(f32, f32);
number!(f64, f64);
number!(foregather_blas::c32, f32);
number!(c64, f64);

/// The bits of a number, by which a NaN equals itself.
pub fn bits<T: Number>(value: T) -> [u64; 2] {
    let value = value.wide();
    [value.re.to_bits(), value.im.to_bits()]
}

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }
    pub fn pick<N: Copy>(&mut self, of: &[N]) -> N {
        of[self.below(of.len())]
    }
    pub fn real<R: Real>(&mut self) -> R {
        R::from_f64(self.below(1 << 20) as f64 / f64::from(1 << 19) - 1.0)
    }
    pub fn number<T: Number>(&mut self) -> T {
        T::new(self.real(), self.real())
    }
    /// A factor: often one with rules of its own.
    pub fn factor<T: Number>(&mut self) -> T {
        match self.below(5) {
            0 => T::ZERO,
            1 => T::ONE,
            2 => -T::ONE,
            _ => self.number(),
        }
    }
    pub fn increment(&mut self) -> isize {
        self.pick(&[1, 1, 1, 2, 3, -1, -2])
    }
}

pub fn trap<T: Number>() -> T {
    T::narrow(c64::new(f64::NAN, f64::NAN))
}

/// A vector whose gaps are not numbers.
#[derive(Clone)]
pub struct Line<T> {
    pub memory: Vec<T>,
    pub len: usize,
    pub inc: isize,
}

impl<T: Number> Line<T> {
    pub fn new(random: &mut Random, len: usize, inc: isize) -> Self {
        let mut line = Self { memory: vec![trap(); len.max(1) * inc.unsigned_abs().max(1) + 1], len, inc };
        let mut view = line.write();
        for at in 0..len {
            view.set(at, random.number());
        }
        line
    }
    pub fn view(&self) -> Vector<'_, T> {
        Vector::new(&self.memory, self.len, self.inc).unwrap()
    }
    pub fn write(&mut self) -> VectorMut<'_, T> {
        VectorMut::new(&mut self.memory, self.len, self.inc).unwrap()
    }
    pub fn fill(&mut self, value: T) {
        for at in 0..self.len {
            self.write().set(at, value);
        }
    }
    /// The vector as a matrix of one column.
    pub fn wide(&self) -> Plain {
        Plain::of(self.len, 1, |row, _| self.view().get(row).wide())
    }
    pub fn bits(&self) -> Vec<[u64; 2]> {
        self.memory.iter().copied().map(bits).collect()
    }
    /// Asserts that the gaps between the elements are unchanged.
    pub fn gaps_are_untouched(&self) {
        let numbers = self.memory.iter().filter(|value| !value.wide().re.is_nan()).count();
        assert!(numbers <= self.len, "gaps of a vector were written");
    }
}

/// A matrix whose lines have a tail of NaNs.
#[derive(Clone)]
pub struct Table<T> {
    pub memory: Vec<T>,
    pub rows: usize,
    pub cols: usize,
    pub ld: usize,
    pub order: Order,
}

impl<T: Number> Table<T> {
    pub fn new(random: &mut Random, rows: usize, cols: usize, order: Order) -> Self {
        let (lines, line) = if order == Order::Columns { (cols, rows) } else { (rows, cols) };
        let ld = line.max(1) + random.below(3);
        let mut table = Self { memory: vec![trap(); lines * ld], rows, cols, ld, order };
        for col in 0..cols {
            for row in 0..rows {
                let value = random.number();
                table.write().set(row, col, value);
            }
        }
        table
    }
    pub fn any(random: &mut Random, rows: usize, cols: usize) -> Self {
        let order = random.pick(&ORDERS);
        Self::new(random, rows, cols, order)
    }
    pub fn view(&self) -> Matrix<'_, T> {
        Matrix::new(self.order, &self.memory, self.rows, self.cols, self.ld).unwrap()
    }
    pub fn write(&mut self) -> MatrixMut<'_, T> {
        MatrixMut::new(self.order, &mut self.memory, self.rows, self.cols, self.ld).unwrap()
    }
    pub fn change(&mut self, change: impl Fn(usize, usize, T) -> T) {
        for col in 0..self.cols {
            for row in 0..self.rows {
                let value = change(row, col, self.view().get(row, col));
                self.write().set(row, col, value);
            }
        }
    }
    pub fn wide(&self) -> Plain {
        Plain::of(self.rows, self.cols, |row, col| self.view().get(row, col).wide())
    }
    pub fn bits(&self) -> Vec<[u64; 2]> {
        self.memory.iter().copied().map(bits).collect()
    }
    /// Sets traps where the other triangle would be stored, and on the diagonal if that is not read.
    pub fn keep(&mut self, uplo: Uplo, diag: Diag) {
        self.change(|row, col, value| {
            let kept = stored(uplo, row, col) && (row != col || diag == Diag::Stored);
            if kept { value } else { trap() }
        });
    }
    /// Makes systems with it harmless: small beside the diagonal.
    pub fn tame(&mut self) {
        let by = 1.0 / self.rows.max(1) as f64;
        self.change(|row, col, value| {
            let wide = value.wide();
            T::narrow(if row == col { wide + 2.0 } else { wide * by })
        });
    }
}

pub fn stored(uplo: Uplo, row: usize, col: usize) -> bool {
    if uplo == Uplo::Upper { row <= col } else { row >= col }
}

/// A matrix in double precision, and the size by which each element's rounding errors are judged.
#[derive(Clone, Debug)]
pub struct Plain {
    pub rows: usize,
    pub cols: usize,
    pub at: Vec<c64>,
    pub size: Vec<f64>,
}

impl Plain {
    pub fn of(rows: usize, cols: usize, element: impl Fn(usize, usize) -> c64) -> Self {
        let at: Vec<c64> = (0..rows * cols).map(|at| element(at % rows, at / rows)).collect();
        let size = at.iter().map(|value| value.re.abs() + value.im.abs()).collect();
        Self { rows, cols, at, size }
    }
    pub fn get(&self, row: usize, col: usize) -> c64 {
        self.at[row + col * self.rows]
    }
    fn size_of(&self, row: usize, col: usize) -> f64 {
        self.size[row + col * self.rows]
    }
    pub fn op(&self, trans: Trans) -> Self {
        match trans {
            Trans::No => self.clone(),
            Trans::Yes => Self::of(self.cols, self.rows, |row, col| self.get(col, row)),
            Trans::Conj => Self::of(self.cols, self.rows, |row, col| self.get(col, row).conj()),
        }
    }
    pub fn times(&self, other: &Self) -> Self {
        assert_eq!(self.cols, other.rows);
        let sum = |row, col| (0..self.cols).map(|k| self.get(row, k) * other.get(k, col)).sum::<c64>();
        let mut product = Self::of(self.rows, other.cols, sum);
        for at in 0..product.size.len() {
            let (row, col) = (at % self.rows, at / self.rows);
            product.size[at] = (0..self.cols).map(|k| self.size_of(row, k) * other.size_of(k, col)).sum();
        }
        product
    }
    pub fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        for at in 0..sum.at.len() {
            sum.at[at] += other.at[at];
            sum.size[at] += other.size[at];
        }
        sum
    }
    pub fn scaled(&self, by: c64) -> Self {
        let mut scaled = self.clone();
        scaled.at.iter_mut().for_each(|value| *value *= by);
        scaled.size.iter_mut().for_each(|size| *size *= by.re.abs() + by.im.abs());
        scaled
    }
    /// `alpha * self + beta * c`, by the rule that a factor of nought reads nothing.
    pub fn combined(&self, alpha: c64, beta: c64, c: &Self) -> Self {
        let nothing = Self::of(c.rows, c.cols, |_, _| c64::new(0.0, 0.0));
        let zero = c64::new(0.0, 0.0);
        let first = if alpha == zero { nothing.clone() } else { self.scaled(alpha) };
        first.plus(&if beta == zero { nothing } else { c.scaled(beta) })
    }
    /// The symmetric or Hermitian matrix of which a triangle is stored.
    pub fn symmetric(&self, uplo: Uplo, hermitian: bool) -> Self {
        Self::of(self.rows, self.cols, |row, col| match (stored(uplo, row, col), row == col && hermitian) {
            (true, true) => c64::new(self.get(row, col).re, 0.0),
            (true, false) => self.get(row, col),
            (false, _) if hermitian => self.get(col, row).conj(),
            (false, _) => self.get(col, row),
        })
    }
    /// The triangular matrix.
    pub fn triangular(&self, uplo: Uplo, diag: Diag) -> Self {
        Self::of(self.rows, self.cols, |row, col| match (stored(uplo, row, col), row == col && diag == Diag::Unit) {
            (true, true) => c64::new(1.0, 0.0),
            (true, false) => self.get(row, col),
            (false, _) => c64::new(0.0, 0.0),
        })
    }
    /// Asserts that a result differs by no more than `roundings` roundings explain, where `counts` says so.
    pub fn explains<T: Number>(&self, got: &Self, roundings: usize, counts: impl Fn(usize, usize) -> bool) {
        assert_eq!((self.rows, self.cols), (got.rows, got.cols));
        for at in 0..self.at.len() {
            let (row, col) = (at % self.rows, at / self.rows);
            if !counts(row, col) {
                continue;
            }
            let bound = <T as Number>::EPSILON * (roundings + 8) as f64 * self.size[at];
            let apart = (self.at[at] - got.at[at]).l1_norm();
            assert!(apart <= bound, "({row}, {col}): {} where {} was expected, {apart:e} > {bound:e}", got.at[at], self.at[at]);
        }
    }
}

/// A triangle of a matrix in packed form, in the given order.
pub fn packed<T: Number>(table: &Table<T>, order: Order, uplo: Uplo) -> Vec<T> {
    let n = table.rows;
    let get =
        |line: usize, at: usize| if order == Order::Columns { table.view().get(at, line) } else { table.view().get(line, at) };
    let leading = (uplo == Uplo::Upper) == (order == Order::Columns);
    (0..n)
        .flat_map(|line| if leading { 0..line + 1 } else { line..n }.map(move |at| (line, at)))
        .map(|(line, at)| get(line, at))
        .collect()
}

/// A band of a matrix as the standard stores it: diagonal `ku` above to `kl` below.
pub fn banded<T: Number>(table: &Table<T>, order: Order, kl: usize, ku: usize, ld: usize) -> Vec<T> {
    let (lines, before) = if order == Order::Columns { (table.cols, ku) } else { (table.rows, kl) };
    let mut memory = vec![trap(); lines * ld];
    for row in 0..table.rows {
        for col in (0..table.cols).filter(|col| row <= col + kl && *col <= row + ku) {
            let (line, at) = if order == Order::Columns { (col, before + row - col) } else { (row, before + col - row) };
            memory[line * ld + at] = table.view().get(row, col);
        }
    }
    memory
}

/// The matrix with nothing outside the band.
pub fn cut<T: Number>(table: &Table<T>, kl: usize, ku: usize) -> Plain {
    let zero = c64::new(0.0, 0.0);
    Plain::of(
        table.rows,
        table.cols,
        |row, col| {
            if row <= col + kl && col <= row + ku { table.view().get(row, col).wide() } else { zero }
        },
    )
}

pub fn full<T: Number>(table: &Table<T>, uplo: Uplo) -> Triangle<'_, T> {
    Triangle::full(uplo, table.view()).unwrap()
}

pub fn full_mut<T: Number>(table: &mut Table<T>, uplo: Uplo) -> TriangleMut<'_, T> {
    TriangleMut::full(uplo, table.write()).unwrap()
}
