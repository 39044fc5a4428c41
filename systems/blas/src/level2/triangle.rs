//! The stored triangle of a symmetric, Hermitian or triangular matrix, in any of the three ways to store it.
//!
//! In each way the stored elements of a column lie side by side, and level 2 needs no more; so `symv`, `sbmv`
//! and `spmv` are one routine here. A triangle in C's order is the other triangle of the transposed matrix.
use crate::error::{Cause, Error};
use crate::kernels::matrix::{Matrix, MatrixMut};
use crate::kernels::vector::{Vector, VectorMut};
use crate::options::{Order, Uplo};
use crate::scalar::Scalar;
use std::ops::Range;

/// Where the stored elements of each column lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TriangleStorage {
    pub(crate) n: usize,
    pub(crate) uplo: Uplo,
    kind: Storage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Storage {
    Full,
    Band { k: usize, ld: usize },
    Packed,
}

impl TriangleStorage {
    /// The stored rows of a column.
    pub(crate) fn rows(&self, col: usize) -> Range<usize> {
        let width = if let Storage::Band { k, .. } = self.kind { k } else { self.n };
        match self.uplo {
            Uplo::Upper => col.saturating_sub(width)..col + 1,
            Uplo::Lower => col..col.saturating_add(width).saturating_add(1).min(self.n),
        }
    }

    /// Where the first of them lies in memory that is not a matrix.
    fn offset(&self, col: usize) -> usize {
        match (self.kind, self.uplo) {
            (Storage::Full, _) => 0,
            (Storage::Band { k, ld }, Uplo::Upper) => col * ld + k - (col - self.rows(col).start),
            (Storage::Band { ld, .. }, Uplo::Lower) => col * ld,
            (Storage::Packed, Uplo::Upper) => col * (col + 1) / 2,
            (Storage::Packed, Uplo::Lower) => col * (2 * self.n + 1 - col) / 2,
        }
    }

    /// Fails unless the memory holds the triangle.
    fn fit(self, name: &'static str, inc: bool, given: usize) -> Result<Self, Error> {
        let error = |position, name, cause| Err(Error { routine: "triangle", position, name, cause });
        if !inc {
            return error(3, "increment of the elements", Cause::Stride { given: 0, least: 1 });
        }
        if let Storage::Band { k, ld } = self.kind
            && ld < k.saturating_add(1)
        {
            return error(6, "ld", Cause::Stride { given: ld, least: k.saturating_add(1) });
        }
        let wanted = self.n.checked_sub(1).map_or(0, |last| self.offset(last) + self.rows(last).len());
        if given < wanted {
            return error(3, name, Cause::Short { given, wanted });
        }
        Ok(self)
    }
}

#[derive(Clone, Copy, Debug)]
enum Memory<'a, T> {
    Full(Matrix<'a, T>),
    Flat(Vector<'a, T>),
}

/// A stored triangle that is read.
#[derive(Clone, Copy, Debug)]
pub struct Triangle<'a, T> {
    pub(crate) shape: TriangleStorage,
    /// Whether the columns in memory are the matrix's rows.
    pub(crate) transposed: bool,
    memory: Memory<'a, T>,
}

#[derive(Debug)]
enum MemoryMut<'a, T> {
    Full(MatrixMut<'a, T>),
    Flat(VectorMut<'a, T>),
}

/// A stored triangle that is written.
#[derive(Debug)]
pub struct TriangleMut<'a, T> {
    pub(crate) shape: TriangleStorage,
    /// Whether the columns in memory are the matrix's rows.
    pub(crate) transposed: bool,
    memory: MemoryMut<'a, T>,
}

/// What memory holds column by column, for a caller's triangle in this order.
fn stored(order: Order, uplo: Uplo) -> (Uplo, bool) {
    if order == Order::Columns { (uplo, false) } else { (uplo.flip(), true) }
}

fn square(rows: usize, cols: usize) -> Result<(), Error> {
    crate::error::same("triangle", 2, "matrix", cols, rows)
}

impl<'a, T: Scalar> Triangle<'a, T> {
    /// A triangle of a square matrix; the other triangle is not read.
    ///
    /// # Errors
    /// If the matrix is not square.
    #[inline]
    pub fn full(uplo: Uplo, matrix: Matrix<'a, T>) -> Result<Self, Error> {
        square(matrix.row_count(), matrix.col_count())?;
        let transposed = matrix.layout.down != 1;
        let (uplo, matrix) = if transposed { (uplo.flip(), matrix.t()) } else { (uplo, matrix) };
        let shape = TriangleStorage { n: matrix.row_count(), uplo, kind: Storage::Full };
        Ok(Self { shape, transposed, memory: Memory::Full(matrix) })
    }

    /// A triangle with `k` diagonals beside the main one, stored as the standard stores bands, its lines `ld`
    /// elements apart.
    ///
    /// # Errors
    /// If the elements are too few or `ld` is less than `k + 1`.
    pub fn band(order: Order, uplo: Uplo, elements: Vector<'a, T>, n: usize, k: usize, ld: usize) -> Result<Self, Error> {
        let (uplo, transposed) = stored(order, uplo);
        let inc = elements.as_slice().is_some();
        let shape = TriangleStorage { n, uplo, kind: Storage::Band { k, ld } }.fit("band", inc, elements.len())?;
        Ok(Self { shape, transposed, memory: Memory::Flat(elements) })
    }

    /// A triangle whose lines follow each other without gaps: `n * (n + 1) / 2` elements.
    ///
    /// # Errors
    /// If the elements are too few.
    pub fn packed(order: Order, uplo: Uplo, elements: Vector<'a, T>, n: usize) -> Result<Self, Error> {
        let (uplo, transposed) = stored(order, uplo);
        let inc = elements.as_slice().is_some();
        let shape = TriangleStorage { n, uplo, kind: Storage::Packed }.fit("packed", inc, elements.len())?;
        Ok(Self { shape, transposed, memory: Memory::Flat(elements) })
    }

    /// Its number of rows and of columns.
    #[must_use]
    pub fn order(&self) -> usize {
        self.shape.n
    }

    /// The matrix in memory, unless it is a band or packed.
    #[inline(always)]
    pub(crate) fn matrix(&self) -> Option<Matrix<'a, T>> {
        if let Memory::Full(matrix) = self.memory { Some(matrix) } else { None }
    }

    /// Whether all elements of the triangle are stored, so that work grows with the square of its order.
    pub(crate) fn is_dense(&self) -> bool {
        !matches!(self.shape.kind, Storage::Band { .. })
    }

    /// The stored rows of a column in memory, and their elements.
    pub(crate) fn column(&self, col: usize) -> (Range<usize>, &'a [T]) {
        let rows = self.shape.rows(col);
        let column = match self.memory {
            Memory::Full(matrix) => matrix.col(col).range(rows.clone()),
            Memory::Flat(elements) => {
                let at = self.shape.offset(col);
                elements.range(at..at + rows.len())
            }
        };
        (rows, column.as_slice().expect("columns lie side by side in memory"))
    }

    /// The element on the diagonal, and the rows and the elements beside it.
    pub(crate) fn split(&self, col: usize) -> (T, Range<usize>, &'a [T]) {
        let (rows, column) = self.column(col);
        let last = column.len() - 1;
        match self.shape.uplo {
            Uplo::Upper => (column[last], rows.start..rows.end - 1, &column[..last]),
            Uplo::Lower => (column[0], rows.start + 1..rows.end, &column[1..]),
        }
    }
}

impl<'a, T: Scalar> TriangleMut<'a, T> {
    /// A triangle of a square matrix; the other triangle is not touched.
    ///
    /// # Errors
    /// If the matrix is not square.
    pub fn full(uplo: Uplo, matrix: MatrixMut<'a, T>) -> Result<Self, Error> {
        square(matrix.row_count(), matrix.col_count())?;
        let transposed = matrix.layout.down != 1;
        let (uplo, matrix) = if transposed { (uplo.flip(), matrix.t()) } else { (uplo, matrix) };
        let shape = TriangleStorage { n: matrix.row_count(), uplo, kind: Storage::Full };
        Ok(Self { shape, transposed, memory: MemoryMut::Full(matrix) })
    }

    /// A triangle whose lines follow each other without gaps: `n * (n + 1) / 2` elements.
    ///
    /// # Errors
    /// If the elements are too few.
    pub fn packed(order: Order, uplo: Uplo, mut elements: VectorMut<'a, T>, n: usize) -> Result<Self, Error> {
        let (uplo, transposed) = stored(order, uplo);
        let inc = elements.reborrow().into_slice().is_some();
        let shape = TriangleStorage { n, uplo, kind: Storage::Packed }.fit("packed", inc, elements.len())?;
        Ok(Self { shape, transposed, memory: MemoryMut::Flat(elements) })
    }

    /// Its number of rows and of columns.
    #[must_use]
    pub fn order(&self) -> usize {
        self.shape.n
    }

    /// The stored rows of a column in memory, and their elements.
    pub(crate) fn column(&mut self, col: usize) -> (Range<usize>, &mut [T]) {
        let rows = self.shape.rows(col);
        let at = self.shape.offset(col);
        let column = match &mut self.memory {
            MemoryMut::Full(matrix) => matrix.reborrow().col(col).range(rows.clone()),
            MemoryMut::Flat(elements) => elements.reborrow().range(at..at + rows.len()),
        };
        (rows, column.into_slice().expect("columns lie side by side in memory"))
    }
}
