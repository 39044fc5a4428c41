//! The Cholesky factorisation, by halves: so that most of the work is solving with a triangle and products,
//! which a team shares.
use crate::error::{Error, same};
use crate::kernels::matrix::MatrixMut;
use crate::level3::rank::herk;
use crate::level3::triangular::trsm;
use crate::options::{Diag, Side, Trans, Uplo};
use crate::scalar::{Real, Scalar};
use crate::sweep::split_columns;

/// Triangles of at most this order are factored column by column.
const SMALL: usize = 16;

/// Replaces the triangle `uplo` of a symmetric or Hermitian matrix by its factor: `A = L * L^H`, or
/// `A = U^H * U`. The other triangle and imaginary parts on the diagonal are not read. The team of the
/// process shares steps that are worth it.
///
/// Returns the first step, from nought, whose pivot is not positive, if there is one: then the matrix is not
/// positive definite, and from that column on nothing is factored.
///
/// ```
/// use foregather_blas::{MatrixMut, Uplo, cholesky};
///
/// let mut a = [4.0, 2.0, f64::NAN, 5.0];
/// assert_eq!(cholesky(Uplo::Lower, MatrixMut::columns(&mut a, 2, 2, 2)?)?, None);
/// assert_eq!((a[0], a[1], a[3]), (2.0, 1.0, 2.0));
/// # Ok::<(), foregather_blas::Error>(())
/// ```
///
/// # Errors
/// If the matrix is not square.
pub fn cholesky<T: Scalar>(uplo: Uplo, a: MatrixMut<'_, T>) -> Result<Option<usize>, Error> {
    same("cholesky", 2, "a", a.col_count(), a.row_count())?;
    // The transposed matrix is its own conjugate, and `U^T` its lower factor.
    let a = if uplo == Uplo::Lower { a } else { a.t() };
    factor(a)
}

/// Factors a lower triangle.
fn factor<T: Scalar>(a: MatrixMut<'_, T>) -> Result<Option<usize>, Error> {
    let order = a.row_count();
    if order <= SMALL {
        return Ok(factor_small(a));
    }
    let half = (order / 2).next_multiple_of(SMALL / 2);
    let (above, below) = a.split_rows(half);
    let (mut first, _) = split_columns(above, half);
    let (mut left, mut last) = split_columns(below, half);
    let found = factor(first.reborrow())?;
    if found.is_some() {
        return Ok(found);
    }
    trsm(Side::Right, Uplo::Lower, Trans::Conj, Diag::Stored, T::ONE, first.view(), left.reborrow())?;
    herk(Uplo::Lower, Trans::No, -T::Real::ONE, left.view(), T::Real::ONE, last.reborrow())?;
    Ok(factor(last)?.map(|at| half + at))
}

/// Factors column by column.
fn factor_small<T: Scalar>(mut a: MatrixMut<'_, T>) -> Option<usize> {
    let order = a.row_count();
    let mut columns = [[T::ZERO; SMALL]; SMALL];
    for (col, column) in columns[..order].iter_mut().enumerate() {
        (col..order).for_each(|row| column[row] = a.get(row, col));
    }
    let mut failed = None;
    for step in 0..order {
        let pivot = columns[step][step].re();
        // Not a number is not positive, either.
        if pivot.is_nan() || pivot <= T::Real::ZERO {
            columns[step][step] = T::real(pivot);
            failed = Some(step);
            break;
        }
        let root = pivot.sqrt();
        let mut column = columns[step].map(|value| value.scale(T::Real::ONE / root));
        column[step] = T::real(root);
        columns[step] = column;
        for (col, line) in columns.iter_mut().enumerate().take(order).skip(step + 1) {
            let factor = -column[col].conj();
            for row in col..order {
                line[row] += factor * column[row];
            }
        }
    }
    for (col, column) in columns[..order].iter().enumerate() {
        (col..order).for_each(|row| a.set(row, col, column[row]));
    }
    failed
}
