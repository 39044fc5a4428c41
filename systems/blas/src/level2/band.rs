//! A general matrix with a few diagonals, stored as a band, times a vector.
use super::dense;
use crate::error::{Cause, Error, same};
use crate::kernels::level1::dot;
use crate::kernels::vector::{Vector, VectorMut};
use crate::level1::update::scale;
use crate::options::{Order, Trans};
use crate::scalar::Scalar;
use std::ops::Range;

/// A matrix with `kl` diagonals below the main one and `ku` above it. The elements of a line lie side by
/// side.
#[derive(Clone, Copy, Debug)]
pub struct Band<'a, T> {
    elements: Vector<'a, T>,
    rows: usize,
    cols: usize,
    kl: usize,
    ku: usize,
    ld: usize,
    /// Whether all of the above describes the transposed matrix.
    transposed: bool,
}

impl<'a, T: Scalar> Band<'a, T> {
    /// A band as the standard stores it, its lines `ld` elements apart; `shape` is rows and columns,
    /// `diagonals` `kl` and `ku`.
    ///
    /// # Errors
    /// If the elements are too few or `ld` is less than `kl + ku + 1`.
    pub fn new(
        order: Order,
        elements: Vector<'a, T>,
        shape: [usize; 2],
        diagonals: [usize; 2],
        ld: usize,
    ) -> Result<Self, Error> {
        let ([rows, cols], [kl, ku]) = (shape, diagonals);
        let transposed = order == Order::Rows;
        let (rows, cols, kl, ku) = if transposed { (cols, rows, ku, kl) } else { (rows, cols, kl, ku) };
        let error = |position, name, cause| Err(Error { routine: "band", position, name, cause });
        let least = kl.saturating_add(ku).saturating_add(1);
        if ld < least {
            return error(5, "ld", Cause::Stride { given: ld, least });
        }
        if elements.as_slice().is_none() {
            return error(2, "increment of the elements", Cause::Stride { given: 0, least: 1 });
        }
        let band = Self { elements, rows, cols, kl, ku, ld, transposed };
        let end = |col| Some(band.place(col)).filter(|place: &Range<usize>| !place.is_empty()).map_or(0, |place| place.end);
        let wanted = (0..cols).map(end).max().unwrap_or(0);
        if elements.len() < wanted {
            return error(2, "elements", Cause::Short { given: elements.len(), wanted });
        }
        Ok(band)
    }

    /// The stored rows of a column in memory.
    fn stored(&self, col: usize) -> Range<usize> {
        let end = col.saturating_add(self.kl).saturating_add(1).min(self.rows);
        col.saturating_sub(self.ku).min(end)..end
    }

    /// The places of a column's stored elements.
    fn place(&self, col: usize) -> Range<usize> {
        let rows = self.stored(col);
        if rows.is_empty() {
            return 0..0;
        }
        let start = col * self.ld + self.ku + rows.start - col;
        start..start + rows.len()
    }

    fn column(&self, col: usize) -> (Range<usize>, &'a [T]) {
        let column = self.elements.range(self.place(col)).as_slice();
        (self.stored(col), column.expect("columns lie side by side in memory"))
    }
}

/// `y = alpha * op(a) * x + beta * y`. If `beta` is nought `y` is not read; if `alpha` is nought `a` and `x`
/// are not.
///
/// # Errors
/// If the shapes do not fit.
pub fn gbmv<T: Scalar>(
    trans: Trans,
    alpha: T,
    a: Band<'_, T>,
    x: Vector<'_, T>,
    beta: T,
    mut y: VectorMut<'_, T>,
) -> Result<(), Error> {
    let by_rows = (trans != Trans::No) != a.transposed;
    let (rows, cols) = if by_rows { (a.cols, a.rows) } else { (a.rows, a.cols) };
    same("gbmv", 9, "x", x.len(), cols)?;
    same("gbmv", 12, "y", y.len(), rows)?;
    scale(beta, y.reborrow());
    if alpha == T::ZERO {
        return Ok(());
    }
    let conj = trans == Trans::Conj && T::COMPLEX;
    let x = dense::read(x);
    dense::write(y, |y| {
        for col in 0..a.cols {
            let (span, column) = a.column(col);
            if by_rows {
                y[col] += alpha * dot(conj, column, &x[span]);
            } else {
                dense::add(conj, alpha * x[col], column, &mut y[span]);
            }
        }
    });
    Ok(())
}
