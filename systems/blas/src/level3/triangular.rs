//! Multiplying by a triangular matrix and solving with it: the same steps in different order.
//!
//! The operator is always on the left side here, as a triangle of a factor: for the right side, all is
//! transposed.
use crate::crossover::{Routine, work, worth};
use crate::error::{Error, same};
use crate::kernels::matrix::{Factor, Matrix, MatrixMut};
use crate::kernels::multiply::{self, multiply};
use crate::kernels::product::{columns, product, scale};
use crate::kernels::shared::SharedPointer;
use crate::kernels::tile::{self, solve};
use crate::options::{Diag, Side, Trans, TriangleOp, Uplo};
use crate::parts::Parts;
use crate::scalar::Scalar;
use crate::team::shared;
use std::ops::Range;

/// `trmm` or `trsm` as parts.
#[derive(Debug)]
pub struct Triangular<'a, T> {
    task: TriangleOp,
    operator: Operator<'a, T>,
    alpha: T,
    b: SharedPointer<MatrixMut<'a, T>>,
}

#[derive(Clone, Copy, Debug)]
struct Operator<'a, T> {
    a: Factor<'a, T>,
    uplo: Uplo,
    diag: Diag,
}

/// The options of `trmm` and `trsm`.
type TriangularFactor = (Side, Uplo, Trans, Diag);

impl<'a, T: Scalar> Triangular<'a, T> {
    fn new(task: TriangleOp, options: TriangularFactor, alpha: T, a: Matrix<'a, T>, b: MatrixMut<'a, T>) -> Result<Self, Error> {
        let (operator, b) = prepare(task, options, a, b)?;
        let grid = columns::<T>(b.row_count().min(16), b.layout);
        Ok(Self { task, operator, alpha, b: SharedPointer::columns(b, grid) })
    }
}

impl<T: Scalar> Parts for Triangular<'_, T> {
    type Output = ();

    fn cells(&self) -> usize {
        self.b.cells()
    }

    fn part(&self, cells: Range<usize>) {
        compute(self.task, self.operator, self.alpha, self.b.take(cells).0);
    }

    fn finish(self) {}

    fn whole(self) {
        compute(self.task, self.operator, self.alpha, self.b.into_whole());
    }
}

/// The operator on the left side, and what it stands beside.
fn prepare<'a, T: Scalar>(
    task: TriangleOp,
    options: TriangularFactor,
    a: Matrix<'a, T>,
    b: MatrixMut<'a, T>,
) -> Result<(Operator<'a, T>, MatrixMut<'a, T>), Error> {
    let (side, uplo, trans, diag) = options;
    let routine = if task == TriangleOp::Solve { "trsm" } else { "trmm" };
    let order = if side == Side::Left { b.row_count() } else { b.col_count() };
    same(routine, 9, "a", a.row_count(), order)?;
    same(routine, 9, "a", a.col_count(), order)?;
    let transposed = (trans != Trans::No) != (side == Side::Right);
    let (matrix, uplo) = if transposed { (a.t(), uplo.flip()) } else { (a, uplo) };
    let b = if side == Side::Right { b.t() } else { b };
    Ok((Operator { a: Factor { matrix, conj: trans == Trans::Conj }, uplo, diag }, b))
}

/// On the team of the process if that is worth it, else in the caller, without a grid.
fn call<T: Scalar>(
    task: TriangleOp,
    options: TriangularFactor,
    alpha: T,
    a: Matrix<'_, T>,
    b: MatrixMut<'_, T>,
) -> Result<(), Error> {
    let routine = if task == TriangleOp::Solve { Routine::Trsm } else { Routine::Trmm };
    if worth(routine, work::<T>(b.row_count(), b.col_count(), a.row_count())) {
        return Triangular::new(task, options, alpha, a, b).map(shared);
    }
    let (operator, b) = prepare(task, options, a, b)?;
    compute(task, operator, alpha, b);
    Ok(())
}

fn compute<T: Scalar>(task: TriangleOp, operator: Operator<'_, T>, alpha: T, mut b: MatrixMut<'_, T>) {
    scale(alpha, &mut b);
    if alpha != T::ZERO && b.row_count() > 0 && b.col_count() > 0 {
        apply(task, operator, b);
    }
}

/// Halves the triangle until it is small; what is left of it is a rectangle.
fn apply<T: Scalar>(task: TriangleOp, operator: Operator<'_, T>, b: MatrixMut<'_, T>) {
    let Operator { a, uplo, diag } = operator;
    let order = a.matrix.row_count();
    match task {
        TriangleOp::Multiply if order <= multiply::ORDER => return multiply(a, uplo, diag, b),
        TriangleOp::Solve if order <= tile::ORDER => return solve(a, uplo, diag, b),
        _ => {}
    }
    let half = order / 2;
    let cut = |rows: Range<usize>, cols: Range<usize>| Factor { matrix: a.matrix.block(rows, cols), ..a };
    let upper = Operator { a: cut(0..half, 0..half), ..operator };
    let lower = Operator { a: cut(half..order, half..order), ..operator };
    let (above, below) = b.split_rows(half);
    // The half that the other one depends on, and the rectangle between them.
    let (free, mut free_rows, bound, mut bound_rows, rectangle) = match uplo {
        Uplo::Lower => (upper, above, lower, below, cut(half..order, 0..half)),
        Uplo::Upper => (lower, below, upper, above, cut(0..half, half..order)),
    };
    match task {
        TriangleOp::Solve => {
            apply(task, free, free_rows.reborrow());
            product(-T::ONE, rectangle, Factor::plain(free_rows.view()), T::ONE, bound_rows.reborrow());
            apply(task, bound, bound_rows);
        }
        TriangleOp::Multiply => {
            apply(task, bound, bound_rows.reborrow());
            product(T::ONE, rectangle, Factor::plain(free_rows.view()), T::ONE, bound_rows);
            apply(task, free, free_rows);
        }
    }
}

/// A task twice: as a constructor of the call, and as a function that makes the call and computes it.
macro_rules! calls {
    ($($(#[$about:meta])* $name:ident = $task:expr;)+) => {
        impl<'a, T: Scalar> Triangular<'a, T> {
            $($(#[$about])*
            ///
            /// # Errors
            /// If the shapes do not fit.
            pub fn $name(
                side: Side,
                uplo: Uplo,
                trans: Trans,
                diag: Diag,
                alpha: T,
                a: Matrix<'a, T>,
                b: MatrixMut<'a, T>,
            ) -> Result<Self, Error> {
                Self::new($task, (side, uplo, trans, diag), alpha, a, b)
            })+
        }

        $($(#[$about])*
        ///
        /// # Errors
        /// If the shapes do not fit.
        pub fn $name<T: Scalar>(
            side: Side,
            uplo: Uplo,
            trans: Trans,
            diag: Diag,
            alpha: T,
            a: Matrix<'_, T>,
            b: MatrixMut<'_, T>,
        ) -> Result<(), Error> {
            call($task, (side, uplo, trans, diag), alpha, a, b)
        })+
    };
}

calls! {
    /// `b = alpha * op(a) * b`, or `alpha * b * op(a)` with `a` on the right side.
    ///
    /// If `alpha` is nought `a` is not read.
    trmm = TriangleOp::Multiply;

    /// `op(a) * X = alpha * b`, or `X * op(a) = alpha * b` with `a` on the right side; `X` is returned in
    /// `b`.
    ///
    /// If `alpha` is nought `a` is not read. A singular matrix is not detected.
    trsm = TriangleOp::Solve;
}
