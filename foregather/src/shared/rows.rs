//! Rows of shared elements; each row is transferred as a unit.
use super::elements::Elements;
use super::plain::SharedElement;
use core::marker::PhantomData;

/// Rows of elements that all ranks can load and store, such as a field or a table.
/// [`Shared::rows`](crate::Shared::rows) creates it; a clone refers to the same elements.
///
/// It is like an [`Array`](crate::Array) whose unit of transfer is the row: processes fetch whole rows, and
/// ranks that write neighbouring rows cause no false sharing. The unit is fixed at allocation, so an array
/// cannot be viewed as rows.
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
/// Loads and stores of an element of 1, 2, 4 or 8 bytes are relaxed atomics. Accesses to a row may tear
/// unless a barrier or a lock separates them. [`Rows::update`] is not atomic: no other rank may write the row
/// at the same time.
///
/// # Cost
/// Between threads: 0.25 ns per element of a row. Between processes: 0.5 ns per element, and a page fault,
/// some microseconds within a host, for each row that another rank has written since.
pub struct Rows<T: SharedElement> {
    elements: Elements<T>,
    rows: usize,
    columns: usize,
    /// Not `Send`: between processes, only a rank's thread can access the elements.
    _here: PhantomData<*const ()>,
}

impl<T: SharedElement> Rows<T> {
    pub(super) fn of(elements: Elements<T>, (rows, columns): (usize, usize)) -> Self {
        Self { elements, rows, columns, _here: PhantomData }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of elements in a row.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Loads the element in `column` of `row`.
    ///
    /// # Panics
    /// If `row` or `column` is out of bounds.
    #[inline]
    #[track_caller]
    pub fn get(&self, row: usize, column: usize) -> T {
        self.elements.get(self.place(row, column))
    }

    /// Stores `value` in `column` of `row`.
    ///
    /// # Panics
    /// If `row` or `column` is out of bounds.
    #[inline]
    #[track_caller]
    pub fn set(&self, row: usize, column: usize, value: T) {
        self.elements.set(self.place(row, column), value);
    }

    /// Copies `row`, or its beginning if `into` is shorter, into `into`.
    ///
    /// # Panics
    /// If `row` is out of bounds, or `into` is longer than a row.
    #[track_caller]
    pub fn read(&self, row: usize, into: &mut [T]) {
        self.elements.read(self.beginning(row, into.len()), into);
    }

    /// Copies `from` into `row`, or into its beginning if `from` is shorter.
    ///
    /// # Panics
    /// If `row` is out of bounds, or `from` is longer than a row.
    #[track_caller]
    pub fn write(&self, row: usize, from: &[T]) {
        self.elements.write(self.beginning(row, from.len()), from);
    }

    /// Copies `row` out, lets `act` change the copy, and copies it back. Writes of other ranks to the row in
    /// between are lost. If `act` panics, nothing is stored.
    ///
    /// # Panics
    /// If `row` is out of bounds, or `act` panics.
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

foregather_machine::debug_by! { [T: SharedElement] Rows<T>, "Rows", |this| rows: this.rows, columns: this.columns }
