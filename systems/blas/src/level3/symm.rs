//! The product of a symmetric or Hermitian matrix and a general one. The grid is that of the columns that
//! stay together.
use super::{runs, with_square};
use crate::crossover::{Routine, work, worth};
use crate::error::{Error, same};
use crate::kernels::matrix::{Factor, Matrix, MatrixMut};
use crate::kernels::product::{columns, product, scale};
use crate::kernels::shared::SharedPointer;
use crate::options::{Order, Side, Uplo};
use crate::parts::Parts;
use crate::scalar::Scalar;
use crate::team::shared;
use std::ops::Range;

/// Rows of a block on the diagonal, which is written out in full.
const BLOCK: usize = 128;

/// `c = alpha * a * b + beta * c`, or `b * a`, as parts, `a` symmetric or Hermitian.
#[derive(Debug)]
pub struct Symm<'a, T> {
    product: Product<'a, T>,
    c: SharedPointer<MatrixMut<'a, T>>,
}

/// Whether `a` is Hermitian, its side and its triangle.
type SymmetricFactor = (bool, Side, Uplo);

/// All of it but the result.
#[derive(Debug)]
struct Product<'a, T> {
    hermitian: bool,
    alpha: T,
    /// The lower triangle, always on the left side.
    a: Factor<'a, T>,
    b: Matrix<'a, T>,
    beta: T,
}

impl<'a, T: Scalar> Symm<'a, T> {
    /// Makes the call with the arguments of the function `symm`, after the kind of matrix.
    ///
    /// # Errors
    /// If the shapes do not fit.
    #[allow(clippy::too_many_arguments)] // The standard has these.
    pub fn new(
        hermitian: bool,
        side: Side,
        uplo: Uplo,
        alpha: T,
        a: Matrix<'a, T>,
        b: Matrix<'a, T>,
        beta: T,
        c: MatrixMut<'a, T>,
    ) -> Result<Self, Error> {
        let (product, c) = Product::new((hermitian, side, uplo), alpha, a, b, beta, c)?;
        let grid = columns::<T>(c.row_count().min(16), c.layout);
        Ok(Self { product, c: SharedPointer::columns(c, grid) })
    }
}

impl<'a, T: Scalar> Product<'a, T> {
    /// What is asked for with everything on the left side, and the result.
    fn new(
        (hermitian, side, uplo): SymmetricFactor,
        alpha: T,
        a: Matrix<'a, T>,
        b: Matrix<'a, T>,
        beta: T,
        c: MatrixMut<'a, T>,
    ) -> Result<(Self, MatrixMut<'a, T>), Error> {
        let order = if side == Side::Left { c.row_count() } else { c.col_count() };
        same("symm", 7, "a", a.row_count(), order)?;
        same("symm", 7, "a", a.col_count(), order)?;
        same("symm", 9, "b", b.row_count(), c.row_count())?;
        same("symm", 9, "b", b.col_count(), c.col_count())?;
        let hermitian = hermitian && T::COMPLEX;
        // For the right side all is transposed. The transposed upper triangle is a lower one, of the
        // transposed matrix. A Hermitian matrix, transposed, is conjugated: once for the side, once for the
        // triangle.
        let right = side == Side::Right;
        let (b, c) = if right { (b.t(), c.t()) } else { (b, c) };
        let matrix = if uplo == Uplo::Lower { a } else { a.t() };
        let conj = hermitian && (right != (uplo == Uplo::Upper));
        Ok((Self { hermitian, alpha, a: Factor { matrix, conj }, b, beta }, c))
    }

    /// Writes a block on the diagonal, both triangles of it, column by column into a square of noughts.
    fn diagonal(&self, at: Range<usize>, full: &mut [T]) {
        let order = at.len();
        let stored = self.a.matrix.block(at.clone(), at);
        // Columns of the triangle if they lie side by side, else its rows: columns of the upper triangle of
        // the transposed matrix.
        let by_columns = stored.layout.down == 1;
        let lines = if by_columns { stored } else { stored.t() };
        for line in 0..order {
            let others = if by_columns { line..order } else { 0..line + 1 };
            let elements = lines.col(line).range(others.clone()).as_slice().expect("lines lie side by side in memory");
            for (other, value) in others.zip(elements) {
                let (row, col) = if by_columns { (other, line) } else { (line, other) };
                let value = value.conj_if(self.a.conj);
                let value = if self.hermitian && row == col { T::real(value.re()) } else { value };
                full[row + col * order] = value;
                full[col + row * order] = value.conj_if(self.hermitian);
            }
        }
    }

    fn compute(&self, span: Range<usize>, mut c: MatrixMut<'_, T>) {
        let (order, cols) = (c.row_count(), 0..c.col_count());
        if self.alpha == T::ZERO || cols.is_empty() {
            return scale(self.beta, &mut c);
        }
        let b = |rows: Range<usize>| Factor::plain(self.b.block(rows, span.clone()));
        for at in runs(order, BLOCK) {
            let mut c = c.reborrow().block(at.clone(), cols.clone());
            with_square(at.len(), &mut |full| {
                self.diagonal(at.clone(), full);
                let full = Matrix::new(Order::Columns, full, at.len(), at.len(), at.len()).expect("a square was written out");
                product(self.alpha, Factor::plain(full), b(at.clone()), self.beta, c.reborrow());
            });
            if at.start > 0 {
                let left = Factor { matrix: self.a.matrix.block(at.clone(), 0..at.start), ..self.a };
                product(self.alpha, left, b(0..at.start), T::ONE, c.reborrow());
            }
            if at.end < order {
                let below = self.a.matrix.block(at.end..order, at.clone()).t();
                let below = Factor { matrix: below, conj: self.a.conj != self.hermitian };
                product(self.alpha, below, b(at.end..order), T::ONE, c);
            }
        }
    }
}

impl<T: Scalar> Parts for Symm<'_, T> {
    type Output = ();

    fn cells(&self) -> usize {
        self.c.cells()
    }

    fn part(&self, cells: Range<usize>) {
        let (c, span) = self.c.take(cells);
        self.product.compute(span, c);
    }

    fn finish(self) {}
}

/// The function of a kind of matrix: it makes the call and computes it.
macro_rules! functions {
    ($($(#[$about:meta])* $name:ident = $hermitian:literal;)+) => {
        $($(#[$about])*
        ///
        /// # Errors
        /// If the shapes do not fit.
        pub fn $name<T: Scalar>(
            side: Side,
            uplo: Uplo,
            alpha: T,
            a: Matrix<'_, T>,
            b: Matrix<'_, T>,
            beta: T,
            c: MatrixMut<'_, T>,
        ) -> Result<(), Error> {
            let size = work::<T>(c.row_count(), c.col_count(), a.row_count());
            if worth(Routine::Symm, size) {
                return Symm::new($hermitian, side, uplo, alpha, a, b, beta, c).map(shared);
            }
            let (product, c) = Product::new(($hermitian, side, uplo), alpha, a, b, beta, c)?;
            product.compute(0..c.col_count(), c);
            Ok(())
        })+
    };
}

functions! {
    /// `c = alpha * a * b + beta * c`, or `b * a` with `a` on the right side, for a symmetric `a`.
    ///
    /// If `beta` is nought `c` is not read; if `alpha` is nought `a` and `b` are not.
    symm = false;

    /// `c = alpha * a * b + beta * c`, or `b * a` with `a` on the right side, for a Hermitian `a`.
    ///
    /// If `beta` is nought `c` is not read; if `alpha` is nought `a` and `b` are not. Imaginary parts on the
    /// diagonal are not read.
    hemm = true;
}
