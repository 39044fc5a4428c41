//! Matrices in a caller's memory: a pointer, a shape and two strides, so that transposing and C's order cost
//! nothing.
use super::vector::{Vector, VectorMut};
use crate::error::{Cause, Error};
use crate::options::{Order, Trans};
use crate::scalar::Scalar;
use std::marker::PhantomData;
use std::ops::Range;

/// Where the elements of a matrix lie: `(i, j)` at `i * down + j * right` from the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MatrixLayout {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) down: isize,
    pub(crate) right: isize,
}

impl MatrixLayout {
    pub(crate) fn new(order: Order, rows: usize, cols: usize, ld: usize) -> Self {
        match order {
            Order::Columns => Self { rows, cols, down: 1, right: ld as isize },
            Order::Rows => Self { rows, cols, down: ld as isize, right: 1 },
        }
    }

    /// Fails unless the leading dimension is at least the length of a line, and a slice of `given` elements
    /// holds the matrix.
    fn fit(order: Order, rows: usize, cols: usize, ld: usize, given: usize) -> Result<Self, Error> {
        let (lines, line) = if order == Order::Columns { (cols, rows) } else { (rows, cols) };
        let error = |position, name, cause| Err(Error { routine: "matrix", position, name, cause });
        if ld < line.max(1) || isize::try_from(ld).is_err() {
            return error(4, "ld", Cause::Stride { given: ld, least: line.max(1) });
        }
        let before = lines.saturating_sub(1).checked_mul(ld).and_then(|before| before.checked_add(line));
        let wanted = if lines == 0 || line == 0 { 0 } else { before.unwrap_or(usize::MAX) };
        if given < wanted {
            return error(1, "slice", Cause::Short { given, wanted });
        }
        Ok(Self::new(order, rows, cols, ld))
    }

    fn transposed(self) -> Self {
        Self { rows: self.cols, cols: self.rows, down: self.right, right: self.down }
    }

    #[inline(always)]
    fn offset(&self, row: usize, col: usize) -> isize {
        row as isize * self.down + col as isize * self.right
    }

    #[inline(always)]
    fn check(&self, rows: &Range<usize>, cols: &Range<usize>) {
        let inside = rows.start <= rows.end && rows.end <= self.rows && cols.start <= cols.end && cols.end <= self.cols;
        assert!(inside, "rows {rows:?} and columns {cols:?} of a {} x {} matrix", self.rows, self.cols);
    }
}

/// A matrix that is read.
#[derive(Debug)]
pub struct Matrix<'a, T> {
    pub(super) first: *const T,
    pub(crate) layout: MatrixLayout,
    held: PhantomData<&'a [T]>,
}

/// A matrix that is written. All its elements have places of their own.
#[derive(Debug)]
pub struct MatrixMut<'a, T> {
    pub(super) first: *mut T,
    pub(crate) layout: MatrixLayout,
    held: PhantomData<&'a mut [T]>,
}

// SAFETY: it gives out no more than a shared slice does, which can be sent if `T: Sync`.
unsafe impl<T: Sync> Send for Matrix<'_, T> {}
// SAFETY: it gives out no more than a shared slice does, which can be shared if `T: Sync`.
unsafe impl<T: Sync> Sync for Matrix<'_, T> {}
// SAFETY: it gives out no more than an exclusive slice does, which can be sent if `T: Send`.
unsafe impl<T: Send> Send for MatrixMut<'_, T> {}
// SAFETY: through a shared reference it only reads, as a shared reference to an exclusive slice does.
unsafe impl<T: Sync> Sync for MatrixMut<'_, T> {}

impl<T> Clone for Matrix<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Matrix<'_, T> {}

impl<'a, T: Scalar> Matrix<'a, T> {
    /// A matrix in Fortran's order, its columns `ld` elements apart.
    ///
    /// # Errors
    /// If the slice is too short or `ld` less than `rows` or 1.
    pub fn columns(slice: &'a [T], rows: usize, cols: usize, ld: usize) -> Result<Self, Error> {
        Self::new(Order::Columns, slice, rows, cols, ld)
    }

    /// A matrix in C's order, its rows `ld` elements apart.
    ///
    /// # Errors
    /// If the slice is too short or `ld` less than `cols` or 1.
    pub fn rows(slice: &'a [T], rows: usize, cols: usize, ld: usize) -> Result<Self, Error> {
        Self::new(Order::Rows, slice, rows, cols, ld)
    }

    /// A matrix in either order.
    ///
    /// # Errors
    /// As [`columns`](Self::columns) and [`rows`](Self::rows).
    pub fn new(order: Order, slice: &'a [T], rows: usize, cols: usize, ld: usize) -> Result<Self, Error> {
        let layout = MatrixLayout::fit(order, rows, cols, ld, slice.len())?;
        Ok(Self { first: slice.as_ptr(), layout, held: PhantomData })
    }

    /// A matrix in memory that the caller owns.
    ///
    /// # Safety
    /// For `'a` all its elements can be read and no thread writes them; `ld` is no less than the length of a
    /// line. `first` may be anything if there are no elements.
    pub unsafe fn from_raw(order: Order, first: *const T, rows: usize, cols: usize, ld: usize) -> Self {
        Self { first, layout: MatrixLayout::new(order, rows, cols, ld), held: PhantomData }
    }

    /// Its number of rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.layout.rows
    }

    /// Its number of columns.
    #[must_use]
    pub fn col_count(&self) -> usize {
        self.layout.cols
    }

    /// The transposed matrix, in the same memory.
    #[inline(always)]
    #[must_use]
    pub fn t(self) -> Self {
        Self { layout: self.layout.transposed(), ..self }
    }

    /// The matrix, transposed if `trans` says so; for [`Trans::Conj`] the caller must conjugate it besides.
    #[inline(always)]
    #[must_use]
    pub fn op(self, trans: Trans) -> Self {
        // Field by field, so that they stay in registers.
        let MatrixLayout { rows, cols, down, right } = self.layout;
        let as_it_is = trans == Trans::No;
        let pick = |one, other| if as_it_is { one } else { other };
        let (rows, cols) = if as_it_is { (rows, cols) } else { (cols, rows) };
        Self { layout: MatrixLayout { rows, cols, down: pick(down, right), right: pick(right, down) }, ..self }
    }

    /// An element.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, row: usize, col: usize) -> T {
        let MatrixLayout { rows, cols, .. } = self.layout;
        assert!(row < rows && col < cols, "element ({row}, {col}) of a {rows} x {cols} matrix");
        // SAFETY: the constructors have seen to it that all elements can be read; `get` asserts that this is
        // one.
        unsafe { *self.first.offset(self.layout.offset(row, col)) }
    }

    /// The elements in some rows and columns that lie together.
    ///
    /// # Panics
    /// If they leave the matrix.
    #[inline(always)]
    #[must_use]
    pub fn block(self, rows: Range<usize>, cols: Range<usize>) -> Self {
        self.layout.check(&rows, &cols);
        let first = self.first.wrapping_offset(self.layout.offset(rows.start, cols.start));
        Self { first, layout: MatrixLayout { rows: rows.len(), cols: cols.len(), ..self.layout }, held: PhantomData }
    }

    /// A column.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    #[must_use]
    pub fn col(self, col: usize) -> Vector<'a, T> {
        let MatrixLayout { rows, cols, down, .. } = self.layout;
        assert!(col < cols, "column {col} of a {rows} x {cols} matrix");
        Vector::from_parts(self.first.wrapping_offset(self.layout.offset(0, col)), rows, down)
    }

    /// `LEN` elements of a column from `row` on, without the look at bounds that [`col`](Self::col) takes.
    ///
    /// # Safety
    /// Columns lie side by side, and the matrix has these elements.
    #[inline(always)]
    pub(super) unsafe fn piece<const LEN: usize>(&self, row: usize, col: usize) -> &'a [T; LEN] {
        debug_assert!(self.layout.down == 1 && row + LEN <= self.layout.rows && col < self.layout.cols);
        // SAFETY: this function's `# Safety`; and the constructors have seen to it that all elements can be
        // read.
        unsafe { &*self.first.offset(self.layout.offset(row, col)).cast() }
    }

    /// An element, without the look at bounds that [`get`](Self::get) takes.
    ///
    /// # Safety
    /// The matrix has this element.
    #[inline(always)]
    pub(super) unsafe fn element(&self, row: usize, col: usize) -> T {
        debug_assert!(row < self.layout.rows && col < self.layout.cols);
        // SAFETY: this function's `# Safety`; and the constructors have seen to it that all elements can be
        // read.
        unsafe { *self.first.offset(self.layout.offset(row, col)) }
    }
}

impl<'a, T: Scalar> MatrixMut<'a, T> {
    /// A matrix in Fortran's order, its columns `ld` elements apart.
    ///
    /// # Errors
    /// If the slice is too short or `ld` less than `rows` or 1.
    pub fn columns(slice: &'a mut [T], rows: usize, cols: usize, ld: usize) -> Result<Self, Error> {
        Self::new(Order::Columns, slice, rows, cols, ld)
    }

    /// A matrix in C's order, its rows `ld` elements apart.
    ///
    /// # Errors
    /// If the slice is too short or `ld` less than `cols` or 1.
    pub fn rows(slice: &'a mut [T], rows: usize, cols: usize, ld: usize) -> Result<Self, Error> {
        Self::new(Order::Rows, slice, rows, cols, ld)
    }

    /// A matrix in either order.
    ///
    /// # Errors
    /// As [`columns`](Self::columns) and [`rows`](Self::rows).
    pub fn new(order: Order, slice: &'a mut [T], rows: usize, cols: usize, ld: usize) -> Result<Self, Error> {
        let layout = MatrixLayout::fit(order, rows, cols, ld, slice.len())?;
        Ok(Self { first: slice.as_mut_ptr(), layout, held: PhantomData })
    }

    /// A matrix in memory that the caller owns.
    ///
    /// # Safety
    /// For `'a` all its elements can be read and written, and no other thread or view does; `ld` is no less
    /// than the length of a line. `first` may be anything if there are no elements.
    pub unsafe fn from_raw(order: Order, first: *mut T, rows: usize, cols: usize, ld: usize) -> Self {
        Self { first, layout: MatrixLayout::new(order, rows, cols, ld), held: PhantomData }
    }

    /// A second view of the same elements.
    ///
    /// # Safety
    /// The two views must not be used for the same elements at a time.
    pub(super) unsafe fn alias(&self) -> MatrixMut<'_, T> {
        MatrixMut { first: self.first, layout: self.layout, held: PhantomData }
    }

    /// Its number of rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.layout.rows
    }

    /// Its number of columns.
    #[must_use]
    pub fn col_count(&self) -> usize {
        self.layout.cols
    }

    /// The same elements, to read.
    #[must_use]
    pub fn view(&self) -> Matrix<'_, T> {
        Matrix { first: self.first, layout: self.layout, held: PhantomData }
    }

    /// The same elements, for a shorter time.
    #[inline(always)]
    pub fn reborrow(&mut self) -> MatrixMut<'_, T> {
        MatrixMut { first: self.first, layout: self.layout, held: PhantomData }
    }

    /// The transposed matrix, in the same memory.
    #[inline(always)]
    #[must_use]
    pub fn t(self) -> Self {
        Self { layout: self.layout.transposed(), ..self }
    }

    /// An element.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, row: usize, col: usize) -> T {
        self.view().get(row, col)
    }

    /// Writes an element.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    pub fn set(&mut self, row: usize, col: usize, value: T) {
        let MatrixLayout { rows, cols, .. } = self.layout;
        assert!(row < rows && col < cols, "element ({row}, {col}) of a {rows} x {cols} matrix");
        // SAFETY: the constructors have seen to it that all elements can be written, and this borrow is
        // exclusive.
        unsafe { *self.first.offset(self.layout.offset(row, col)) = value }
    }

    /// The elements in some rows and columns that lie together.
    ///
    /// # Panics
    /// If they leave the matrix.
    #[inline(always)]
    #[must_use]
    pub fn block(self, rows: Range<usize>, cols: Range<usize>) -> Self {
        self.layout.check(&rows, &cols);
        let first = self.first.wrapping_offset(self.layout.offset(rows.start, cols.start));
        Self { first, layout: MatrixLayout { rows: rows.len(), cols: cols.len(), ..self.layout }, held: PhantomData }
    }

    /// The rows before `row`, and the others.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn split_rows(self, row: usize) -> (Self, Self) {
        let MatrixLayout { rows, cols, .. } = self.layout;
        let above = Self { ..self };
        (above.block(0..row, 0..cols), self.block(row..rows, 0..cols))
    }

    /// A column.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    #[must_use]
    pub fn col(self, col: usize) -> VectorMut<'a, T> {
        let MatrixLayout { rows, cols, down, .. } = self.layout;
        assert!(col < cols, "column {col} of a {rows} x {cols} matrix");
        VectorMut::from_parts(self.first.wrapping_offset(self.layout.offset(0, col)), rows, down)
    }

    /// `LEN` elements of a column from `row` on, without the look at bounds that [`col`](Self::col) takes.
    ///
    /// # Safety
    /// Columns lie side by side, and the matrix has these elements.
    #[inline(always)]
    pub(super) unsafe fn piece_mut<const LEN: usize>(&mut self, row: usize, col: usize) -> &mut [T; LEN] {
        debug_assert!(self.layout.down == 1 && row + LEN <= self.layout.rows && col < self.layout.cols);
        // SAFETY: this function's `# Safety`; the constructors have seen to it that all elements can be
        // written, and this borrow is exclusive.
        unsafe { &mut *self.first.offset(self.layout.offset(row, col)).cast() }
    }
}

/// A factor of a product: a matrix, and whether its conjugate is meant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factor<'a, T> {
    pub(crate) matrix: Matrix<'a, T>,
    pub(crate) conj: bool,
}

impl<'a, T: Scalar> Factor<'a, T> {
    /// A matrix as it is.
    pub(crate) fn plain(matrix: Matrix<'a, T>) -> Self {
        Self { matrix, conj: false }
    }

    pub(crate) fn t(self) -> Self {
        Self { matrix: self.matrix.t(), conj: self.conj }
    }
}
