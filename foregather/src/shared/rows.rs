//! Elements in rows, each of which travels as one.
use super::elements::Elements;
use super::plain::SharedElement;
use core::fmt;
use core::marker::PhantomData;

/// Rows of elements that all ranks load and store: a field, a table. [`Shared::rows`](crate::Shared::rows)
/// makes them; a clone has the same elements.
///
/// Like an [`Array`](crate::Array) whose unit is the row: ranks of a launcher fetch a row as one, and ranks
/// that write neighbouring rows do not disturb each other. So the unit is fixed when they are made, and an
/// array cannot be viewed as rows.
///
/// ```
/// // Each rank makes its rows; then each looks at the first of the next one.
/// let edges = foregather::shared(3, |me| {
///     let field = me.rows::<f64>(30, 80)?;
///     for y in me.share(30) {
///         field.update(y, |row| row.fill(y as f64));
///     }
///     me.barrier()?;
///     let mut row = [0.0; 80];
///     field.read(me.share(30).end % 30, &mut row);
///     Ok(row[79])
/// })?;
/// assert_eq!(edges, [10.0, 20.0, 0.0]);
/// # Ok::<(), foregather::Error>(())
/// ```
///
/// # Memory model
/// An element of 1, 2, 4 or 8 bytes is loaded and stored whole, by relaxed atomics; a row is whole only
/// behind a barrier or a lock. [`Rows::update`] is not atomic: it is for a rank that is alone with the row.
///
/// # Cost
/// Threads: a quarter of a nanosecond an element of a row, as a copy. Ranks of a launcher: half a nanosecond,
/// and a fault, some microseconds within a host, for each row that another rank has written since.
pub struct Rows<T: SharedElement> {
    elements: Elements<T>,
    rows: usize,
    columns: usize,
    /// A thread that is no rank could not touch it behind views.
    _here: PhantomData<*const ()>,
}

impl<T: SharedElement> Rows<T> {
    pub(super) fn of(elements: Elements<T>, (rows, columns): (usize, usize)) -> Self {
        Self { elements, rows, columns, _here: PhantomData }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of elements of a row.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Loads one element.
    ///
    /// # Panics
    /// If there is no such row or column.
    #[inline]
    #[track_caller]
    pub fn get(&self, row: usize, column: usize) -> T {
        self.elements.get(self.place(row, column))
    }

    /// Stores one element.
    ///
    /// # Panics
    /// If there is no such row or column.
    #[inline]
    #[track_caller]
    pub fn set(&self, row: usize, column: usize, value: T) {
        self.elements.set(self.place(row, column), value);
    }

    /// Copies a row out, or its beginning, as much as `into` has room for.
    ///
    /// # Panics
    /// If there is no such row, or `into` is longer than it.
    #[track_caller]
    pub fn read(&self, row: usize, into: &mut [T]) {
        self.elements.read(self.beginning(row, into.len()), into);
    }

    /// Copies a row in, or its beginning.
    ///
    /// # Panics
    /// If there is no such row, or `from` is longer than it.
    #[track_caller]
    pub fn write(&self, row: usize, from: &[T]) {
        self.elements.write(self.beginning(row, from.len()), from);
    }

    /// Copies a row out, lets `act` change the copy, and copies it in. What other ranks write to the row
    /// meanwhile is lost. If `act` panics nothing is stored.
    ///
    /// # Panics
    /// If there is no such row, or `act` panics.
    #[track_caller]
    pub fn update<R>(&self, row: usize, act: impl FnOnce(&mut [T]) -> R) -> R {
        let first = self.beginning(row, self.columns);
        let mut own = vec![T::zeroed(); self.columns];
        self.elements.read_for_update(first, &mut own);
        let result = act(&mut own);
        self.elements.write(first, &own);
        result
    }

    #[inline]
    #[track_caller]
    fn place(&self, row: usize, column: usize) -> usize {
        let Self { rows, columns, .. } = *self;
        assert!(row < rows, "there is no row {row} of {rows}");
        assert!(column < columns, "there is no column {column} of {columns}");
        row * columns + column
    }

    #[track_caller]
    fn beginning(&self, row: usize, len: usize) -> usize {
        let Self { rows, columns, .. } = *self;
        assert!(row < rows, "there is no row {row} of {rows}");
        assert!(len <= columns, "{len} elements are more than a row of {columns}");
        row * columns
    }
}

impl<T: SharedElement> Clone for Rows<T> {
    fn clone(&self) -> Self {
        Self::of(self.elements.clone(), (self.rows, self.columns))
    }
}

impl<T: SharedElement> fmt::Debug for Rows<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("rows", &self.rows).field("columns", &self.columns).finish_non_exhaustive()
    }
}
