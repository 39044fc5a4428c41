//! Updates of a symmetric or Hermitian matrix by one vector or two.
use super::dense;
use super::triangle::TriangleMut;
use crate::error::{Error, same};
use crate::kernels::level1::axpy;
use crate::kernels::vector::Vector;
use crate::scalar::Scalar;
use std::borrow::Cow;

/// The elements side by side, or their conjugates.
fn elements<T: Scalar>(conj: bool, x: Vector<'_, T>) -> Cow<'_, [T]> {
    if conj { Cow::Owned(dense::map(x, T::conj)) } else { dense::read(x) }
}

/// A vector, and its factor for each column.
type Term<'a, T> = (&'a [T], &'a dyn Fn(usize) -> T);

/// Adds multiples of vectors to every column: the first vector times its factor for the column, and so on.
fn update<T: Scalar>(hermitian: bool, mut a: TriangleMut<'_, T>, terms: &[Term<'_, T>]) {
    for col in 0..a.order() {
        let (rows, column) = a.column(col);
        // As the reference has it, and all others: noughts add nothing, not even times what is not a number.
        let adds = terms.iter().any(|(vector, _)| vector[col] != T::ZERO);
        for (vector, factor) in terms.iter().filter(|_| adds) {
            axpy(factor(col), &vector[rows.clone()], column);
        }
        if hermitian {
            let at = col - rows.start;
            column[at] = T::real(column[at].re());
        }
    }
}

/// `a += alpha * x * x^T`: `syr` and `spr`.
///
/// # Errors
/// If the lengths differ.
pub fn syr<T: Scalar>(alpha: T, x: Vector<'_, T>, a: TriangleMut<'_, T>) -> Result<(), Error> {
    same("syr", 4, "x", x.len(), a.order())?;
    if alpha != T::ZERO {
        let x = dense::read(x);
        update(false, a, &[(&x, &|col| alpha * x[col])]);
    }
    Ok(())
}

/// `a += alpha * x * x^H`, `alpha` real: `her` and `hpr`. The diagonal becomes real.
///
/// # Errors
/// If the lengths differ.
pub fn her<T: Scalar>(alpha: T::Real, x: Vector<'_, T>, a: TriangleMut<'_, T>) -> Result<(), Error> {
    same("her", 4, "x", x.len(), a.order())?;
    if alpha != T::Real::ZERO {
        // The columns in memory of the transposed matrix are multiples of the conjugated vector.
        let x = elements(a.transposed, x);
        update(true, a, &[(&x, &|col| x[col].conj().scale(alpha))]);
    }
    Ok(())
}

/// `a += alpha * x * y^T + alpha * y * x^T`: `syr2` and `spr2`.
///
/// # Errors
/// If the lengths differ.
pub fn syr2<T: Scalar>(alpha: T, x: Vector<'_, T>, y: Vector<'_, T>, a: TriangleMut<'_, T>) -> Result<(), Error> {
    same("syr2", 4, "x", x.len(), a.order())?;
    same("syr2", 6, "y", y.len(), a.order())?;
    if alpha != T::ZERO {
        let (x, y) = (dense::read(x), dense::read(y));
        update(false, a, &[(&x, &|col| alpha * y[col]), (&y, &|col| alpha * x[col])]);
    }
    Ok(())
}

/// `a += alpha * x * y^H + conj(alpha) * y * x^H`: `her2` and `hpr2`. The diagonal becomes real.
///
/// # Errors
/// If the lengths differ.
pub fn her2<T: Scalar>(alpha: T, x: Vector<'_, T>, y: Vector<'_, T>, a: TriangleMut<'_, T>) -> Result<(), Error> {
    same("her2", 4, "x", x.len(), a.order())?;
    same("her2", 6, "y", y.len(), a.order())?;
    if alpha != T::ZERO {
        let alpha = alpha.conj_if(a.transposed);
        let (x, y) = (elements(a.transposed, x), elements(a.transposed, y));
        let factors = (|col: usize| alpha * y[col].conj(), |col: usize| alpha.conj() * x[col].conj());
        update(true, a, &[(&x, &factors.0), (&y, &factors.1)]);
    }
    Ok(())
}
