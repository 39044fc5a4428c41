//! Products of which only a triangle is computed: `syrk`, `syr2k`, their Hermitian kin and `gemmtr`.
//!
//! The grid is that of blocks of columns. A long one and a short one make a cell, so that all cells cost the
//! same.
use super::gemm::factors;
use super::with_square;
use crate::crossover::{Routine, work, worth};
use crate::error::{Error, same};
use crate::grid::Grid;
use crate::kernels::direct::{self, direct};
use crate::kernels::matrix::{Factor, Matrix, MatrixMut};
use crate::kernels::product::product;
use crate::kernels::shared::SharedPointer;
use crate::options::{Order, Trans, Uplo};
use crate::parts::Parts;
use crate::scalar::Scalar;
use crate::team::done;
use std::ops::Range;

/// One product `alpha * a * b`.
#[derive(Clone, Copy, Debug)]
struct Term<'a, T> {
    alpha: T,
    a: Factor<'a, T>,
    b: Factor<'a, T>,
}

/// A triangle of `c = sum of products + beta * c` as parts.
#[derive(Debug)]
pub struct Rank<'a, T> {
    /// One or two.
    terms: [Option<Term<'a, T>>; 2],
    beta: T,
    /// Whether the diagonal is to be real.
    hermitian: bool,
    /// The result, whose lower triangle is computed; each column of blocks is a cell of the grid.
    c: SharedPointer<MatrixMut<'a, T>>,
    blocks: Grid,
}

/// The grid of blocks of columns: enough of them to share, each large enough for a product.
fn blocks(order: usize) -> Grid {
    Grid::even(order, (order / 16).clamp(32, 128), 8)
}

impl<'a, T: Scalar> Rank<'a, T> {
    fn new(uplo: Uplo, terms: [Option<Term<'a, T>>; 2], beta: T, hermitian: bool, c: MatrixMut<'a, T>) -> Self {
        // A product of nothing adds nothing, whatever its factor.
        let added = |term: Term<'a, T>| Term { alpha: if term.a.matrix.col_count() == 0 { T::ZERO } else { term.alpha }, ..term };
        let terms = terms.map(|term| term.map(added));
        // The upper triangle of a product is the lower one of the transposed product.
        let upper = uplo == Uplo::Upper;
        let transposed = |term: Term<'a, T>| Term { alpha: term.alpha, a: term.b.t(), b: term.a.t() };
        let terms = if upper { terms.map(|term| term.map(transposed)) } else { terms };
        let c = if upper { c.t() } else { c };
        // Nothing to do, not even on the diagonal.
        let idle = beta == T::ONE && terms.iter().flatten().all(|term| term.alpha == T::ZERO || term.a.matrix.col_count() == 0);
        let order = if idle { 0 } else { c.col_count() };
        let blocks = blocks(order);
        Self {
            terms,
            beta,
            hermitian: hermitian && T::COMPLEX,
            c: SharedPointer::columns(c.block(0..order, 0..order), blocks),
            blocks,
        }
    }

    /// `c = alpha * op(a) * op(a)^T + beta * c`
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn syrk(uplo: Uplo, trans: Trans, alpha: T, a: Matrix<'a, T>, beta: T, c: MatrixMut<'a, T>) -> Result<Self, Error> {
        let a = Factor { matrix: a.op(trans), conj: false };
        shapes("syrk", &[(7, "a", a)], &c)?;
        Ok(Self::new(uplo, [Some(Term { alpha, a, b: a.t() }), None], beta, false, c))
    }

    /// `c = alpha * op(a) * op(a)^H + beta * c`, `alpha` and `beta` real
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn herk(
        uplo: Uplo,
        trans: Trans,
        alpha: T::Real,
        a: Matrix<'a, T>,
        beta: T::Real,
        c: MatrixMut<'a, T>,
    ) -> Result<Self, Error> {
        let [a, adjoint] = hermitian_pair(a, trans);
        shapes("herk", &[(7, "a", a)], &c)?;
        Ok(Self::new(uplo, [Some(Term { alpha: T::real(alpha), a, b: adjoint }), None], T::real(beta), true, c))
    }

    /// `c = alpha * op(a) * op(b)^T + alpha * op(b) * op(a)^T + beta * c`
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn syr2k(
        uplo: Uplo,
        trans: Trans,
        alpha: T,
        a: Matrix<'a, T>,
        b: Matrix<'a, T>,
        beta: T,
        c: MatrixMut<'a, T>,
    ) -> Result<Self, Error> {
        let [a, b] = [a, b].map(|matrix| Factor { matrix: matrix.op(trans), conj: false });
        shapes("syr2k", &[(7, "a", a), (9, "b", b)], &c)?;
        let terms = [Term { alpha, a, b: b.t() }, Term { alpha, a: b, b: a.t() }].map(Some);
        Ok(Self::new(uplo, terms, beta, false, c))
    }

    /// `c = alpha * op(a) * op(b)^H + conj(alpha) * op(b) * op(a)^H + beta * c`, `beta` real
    ///
    /// # Errors
    /// If the shapes do not fit.
    pub fn her2k(
        uplo: Uplo,
        trans: Trans,
        alpha: T,
        a: Matrix<'a, T>,
        b: Matrix<'a, T>,
        beta: T::Real,
        c: MatrixMut<'a, T>,
    ) -> Result<Self, Error> {
        let ([a, a_adjoint], [b, b_adjoint]) = (hermitian_pair(a, trans), hermitian_pair(b, trans));
        shapes("her2k", &[(7, "a", a), (9, "b", b)], &c)?;
        let terms = [Term { alpha, a, b: b_adjoint }, Term { alpha: alpha.conj(), a: b, b: a_adjoint }].map(Some);
        Ok(Self::new(uplo, terms, T::real(beta), true, c))
    }

    /// A triangle of `c = alpha * op(a) * op(b) + beta * c`
    ///
    /// # Errors
    /// If the shapes do not fit.
    #[allow(clippy::too_many_arguments)] // The standard has these.
    pub fn gemmtr(
        uplo: Uplo,
        transa: Trans,
        transb: Trans,
        alpha: T,
        a: Matrix<'a, T>,
        b: Matrix<'a, T>,
        beta: T,
        c: MatrixMut<'a, T>,
    ) -> Result<Self, Error> {
        same("gemmtr", 12, "c", c.col_count(), c.row_count())?;
        let (a, b) = factors("gemmtr", (a, transa), (b, transb), &c)?;
        Ok(Self::new(uplo, [Some(Term { alpha, a, b }), None], beta, false, c))
    }

    /// Computes the call, on the team of the process if that is worth it.
    fn done(self) {
        let order = self.blocks.len();
        let depth: usize = self.terms.iter().flatten().map(|term| term.a.matrix.col_count()).sum();
        let size = work::<T>(order, order, depth);
        if is_small(order, &self.terms) && !worth(Routine::Syrk, size) {
            // To the bits of its blocks: each element is one chain of sums.
            return small(&self.terms, self.beta, self.hermitian, 0..order, self.c.into_whole());
        }
        done(Routine::Syrk, size, self);
    }

    /// The blocks of a cell: one from either end, or the one in the middle.
    fn pair(&self, cell: usize) -> (usize, Option<usize>) {
        let other = self.blocks.cells() - 1 - cell;
        (cell, (other != cell).then_some(other))
    }

    /// One block of columns, from the diagonal down.
    fn block(&self, block: usize) {
        let (c, cols) = self.c.take(block..block + 1);
        let (order, width) = (c.row_count(), cols.len());
        if width == 0 {
            return;
        }
        let (_, c) = c.split_rows(cols.start);
        let (triangle, below) = c.split_rows(width);
        self.diagonal(cols.clone(), triangle);
        self.add(cols.end..order, cols, self.beta, below);
    }

    /// The sum of the products at these rows and columns.
    fn add(&self, rows: Range<usize>, cols: Range<usize>, beta: T, mut c: MatrixMut<'_, T>) {
        if rows.is_empty() {
            return;
        }
        let mut beta = beta;
        for Term { alpha, a, b } in self.terms.iter().flatten() {
            let a = Factor { matrix: a.matrix.block(rows.clone(), 0..a.matrix.col_count()), ..*a };
            let b = Factor { matrix: b.matrix.block(0..b.matrix.row_count(), cols.clone()), ..*b };
            // As a small call that is not cut into blocks has it.
            if is_small(self.blocks.len(), &self.terms) {
                direct(*alpha, a, b, beta, None, c.reborrow());
            } else {
                product(*alpha, a, b, beta, c.reborrow());
            }
            beta = T::ONE;
        }
    }

    /// A block on the diagonal: computed as a square, of which a triangle is kept.
    fn diagonal(&self, at: Range<usize>, mut c: MatrixMut<'_, T>) {
        let order = at.len();
        if is_small(order, &self.terms) {
            return small(&self.terms, self.beta, self.hermitian, at, c);
        }
        with_square(order, &mut |square| self.triangle_of(square, at.clone(), c.reborrow()));
    }

    /// The triangle at `at`, computed in the square that is given.
    fn triangle_of(&self, square: &mut [T], at: Range<usize>, c: MatrixMut<'_, T>) {
        let order = at.len();
        // Line by line as the result lies in memory: columns of its lower triangle, or rows.
        let by_columns = c.layout.down == 1;
        let lines = if by_columns { Order::Columns } else { Order::Rows };
        let whole = MatrixMut::new(lines, square, order, order, order.max(1)).expect("there is room for the square");
        self.add(at.clone(), at, T::ZERO, whole);
        let mut c = if by_columns { c } else { c.t() };
        for line in 0..order {
            let kept = if by_columns { line..order } else { 0..line + 1 };
            let values = c.reborrow().col(line).range(kept.clone()).into_slice().expect("lines lie side by side in memory");
            let sums = &square[line * order..][kept.clone()];
            let diagonal = line - kept.start;
            if self.hermitian {
                values[diagonal] = T::real(values[diagonal].re());
            }
            for (value, &sum) in values.iter_mut().zip(sums) {
                *value = sum + if self.beta == T::ZERO { T::ZERO } else { self.beta * *value };
            }
            if self.hermitian {
                values[diagonal] = T::real(values[diagonal].re());
            }
        }
    }
}

/// Whether a block on the diagonal is better computed in its place.
fn is_small<T: Scalar>(order: usize, terms: &[Option<Term<'_, T>>]) -> bool {
    let small = |term: &Term<'_, T>| term.a.matrix.col_count().max(order) <= direct::ORDER && term.alpha != T::ZERO;
    terms.iter().flatten().all(small)
}

/// A block on the diagonal, in its place.
fn small<T: Scalar>(terms: &[Option<Term<'_, T>>], beta: T, hermitian: bool, at: Range<usize>, mut c: MatrixMut<'_, T>) {
    // Its imaginary parts are nought by definition, whatever is stored: before, and after rounding.
    let make_real = |c: &mut MatrixMut<'_, T>| {
        for at in 0..if hermitian { c.col_count() } else { 0 } {
            c.set(at, at, T::real(c.get(at, at).re()));
        }
    };
    make_real(&mut c);
    let mut beta = beta;
    for Term { alpha, a, b } in terms.iter().flatten() {
        let a = Factor { matrix: a.matrix.block(at.clone(), 0..a.matrix.col_count()), ..*a };
        let b = Factor { matrix: b.matrix.block(0..b.matrix.row_count(), at.clone()), ..*b };
        direct(*alpha, a, b, beta, Some(Uplo::Lower), c.reborrow());
        beta = T::ONE;
    }
    make_real(&mut c);
}

/// `op(a)` and its adjoint, if `op` is either nothing or the adjoint.
fn hermitian_pair<T: Scalar>(a: Matrix<'_, T>, trans: Trans) -> [Factor<'_, T>; 2] {
    let conj = trans != Trans::No;
    let matrix = a.op(trans);
    [Factor { matrix, conj }, Factor { matrix: matrix.t(), conj: !conj }]
}

/// Fails unless the factors have as many rows as `c`, which is square, and all the same number of columns.
fn shapes<T: Scalar>(
    routine: &'static str,
    factors: &[(u32, &'static str, Factor<'_, T>)],
    c: &MatrixMut<'_, T>,
) -> Result<(), Error> {
    same(routine, if factors.len() == 1 { 10 } else { 12 }, "c", c.col_count(), c.row_count())?;
    for (position, name, factor) in factors {
        same(routine, *position, name, factor.matrix.row_count(), c.row_count())?;
        same(routine, *position, name, factor.matrix.col_count(), factors[0].2.matrix.col_count())?;
    }
    Ok(())
}

impl<T: Scalar> Parts for Rank<'_, T> {
    type Output = ();

    fn cells(&self) -> usize {
        self.blocks.cells().div_ceil(2)
    }

    fn part(&self, cells: Range<usize>) {
        assert!(cells.end <= self.cells(), "cells {cells:?} of {}", self.cells());
        for (one, other) in cells.map(|cell| self.pair(cell)) {
            self.block(one);
            other.into_iter().for_each(|other| self.block(other));
        }
    }

    fn finish(self) {}
}

/// The functions of these constructors: each makes the call and computes it.
macro_rules! functions {
    ($($(#[$meta:meta])* $name:ident($($argument:ident: $kind:ty),+);)+) => {
        $($(#[$meta])*
        ///
        /// # Errors
        /// If the shapes do not fit.
        pub fn $name<T: Scalar>($($argument: $kind),+) -> Result<(), Error> {
            Rank::$name($($argument),+).map(Rank::done)
        })+
    };
}

functions! {
    /// A triangle of `c = alpha * op(a) * op(a)^T + beta * c`. If `beta` is nought `c` is not read.
    syrk(uplo: Uplo, trans: Trans, alpha: T, a: Matrix<'_, T>, beta: T, c: MatrixMut<'_, T>);

    /// A triangle of `c = alpha * op(a) * op(a)^H + beta * c`. If `beta` is nought `c` is not read; its
    /// diagonal becomes real.
    herk(uplo: Uplo, trans: Trans, alpha: T::Real, a: Matrix<'_, T>, beta: T::Real, c: MatrixMut<'_, T>);

    /// A triangle of `c = alpha * op(a) * op(b)^T + alpha * op(b) * op(a)^T + beta * c`. If `beta` is nought
    /// `c` is not read.
    syr2k(uplo: Uplo, trans: Trans, alpha: T, a: Matrix<'_, T>, b: Matrix<'_, T>, beta: T, c: MatrixMut<'_, T>);

    /// A triangle of `c = alpha * op(a) * op(b)^H + conj(alpha) * op(b) * op(a)^H + beta * c`. If `beta` is
    /// nought `c` is not read; its diagonal becomes real.
    her2k(uplo: Uplo, trans: Trans, alpha: T, a: Matrix<'_, T>, b: Matrix<'_, T>, beta: T::Real, c: MatrixMut<'_, T>);

    /// A triangle of `c = alpha * op(a) * op(b) + beta * c`. If `beta` is nought `c` is not read.
    #[allow(clippy::too_many_arguments)] // The standard has these.
    gemmtr(uplo: Uplo, transa: Trans, transb: Trans, alpha: T, a: Matrix<'_, T>, b: Matrix<'_, T>, beta: T, c: MatrixMut<'_, T>);
}
