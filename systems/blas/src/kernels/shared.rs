//! A result that members of a team write at the same time, each cell of its grid given out once.
//!
//! Here exclusive access to the whole turns into exclusive access to parts, in several threads. It costs one
//! exchange on a word for each run of cells that a member takes, and nothing at all if the caller takes the
//! whole.
use super::matrix::MatrixMut;
use super::vector::VectorMut;
use crate::grid::{CELLS_MAX, Grid};
use crate::scalar::Scalar;
use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

const WORDS: usize = CELLS_MAX.div_ceil(64);

/// Runs of cells, each of which can be taken once.
#[derive(Debug)]
pub(crate) struct Claims {
    taken: [AtomicU64; WORDS],
}

impl Claims {
    pub(crate) fn new() -> Self {
        Self { taken: [const { AtomicU64::new(0) }; WORDS] }
    }

    /// Takes a run of cells.
    ///
    /// # Panics
    /// If one of them is out of range or has been taken before.
    pub(crate) fn take(&self, cells: Range<usize>, count: usize) {
        assert!(cells.start <= cells.end && cells.end <= count, "cells {cells:?} of {count}");
        for (word, taken) in self.taken.iter().enumerate() {
            let mask = mask(word, &cells);
            if mask != 0 {
                // Relaxed: the words only decide which member writes what; the fork and the join order the
                // data.
                let before = taken.fetch_or(mask, Ordering::Relaxed);
                assert!(before & mask == 0, "some of the cells {cells:?} have been given out before");
            }
        }
    }

    /// Whether all of `count` cells have been taken.
    fn are_taken(&mut self, count: usize) -> bool {
        self.taken.iter_mut().enumerate().all(|(word, taken)| *taken.get_mut() == mask(word, &(0..count)))
    }
}

/// The bits of the cells among `cells` that a word has.
fn mask(word: usize, cells: &Range<usize>) -> u64 {
    let (start, end) = (cells.start.max(word * 64), cells.end.min(word * 64 + 64));
    if start < end { (u64::MAX >> (64 - (end - start))) << (start - word * 64) } else { 0 }
}

/// A vector, or a matrix by columns, on a grid.
#[derive(Debug)]
pub(crate) struct SharedPointer<W> {
    whole: W,
    grid: Grid,
    claims: Claims,
}

// SAFETY: a shared reference gives out each element at most once, so it does no more than to send elements to
// other threads.
unsafe impl<W: Send> Sync for SharedPointer<W> {}

impl<W> SharedPointer<W> {
    pub(crate) fn cells(&self) -> usize {
        self.grid.cells()
    }

    pub(crate) fn into_whole(self) -> W {
        self.whole
    }
}

impl<'a, T: Scalar> SharedPointer<VectorMut<'a, T>> {
    /// A vector on a grid. If all elements share one place, there is one cell.
    pub(crate) fn vector(whole: VectorMut<'a, T>, grid: Grid) -> Self {
        let grid = if whole.is_spread() { grid } else { Grid::single(whole.len) };
        assert_eq!(grid.span(0..grid.cells()), 0..whole.len);
        Self { whole, grid, claims: Claims::new() }
    }

    /// The elements of a run of cells, and their indices.
    pub(crate) fn take(&self, cells: Range<usize>) -> (VectorMut<'_, T>, Range<usize>) {
        self.claims.take(cells.clone(), self.grid.cells());
        let span = self.grid.span(cells);
        // These elements belong to cells that have been taken here and for the first time; others share no
        // place with them.
        (VectorMut::from_parts(self.whole.first, self.whole.len, self.whole.inc).range(span.clone()), span)
    }
}

impl<'a, T: Scalar> SharedPointer<MatrixMut<'a, T>> {
    /// A matrix on a grid of columns.
    pub(crate) fn columns(whole: MatrixMut<'a, T>, grid: Grid) -> Self {
        assert_eq!(grid.span(0..grid.cells()), 0..whole.col_count());
        Self { whole, grid, claims: Claims::new() }
    }

    /// The columns of a run of cells, and their indices.
    pub(crate) fn take(&self, cells: Range<usize>) -> (MatrixMut<'_, T>, Range<usize>) {
        self.claims.take(cells.clone(), self.grid.cells());
        let span = self.grid.span(cells);
        // SAFETY: these columns belong to cells that have been taken here and for the first time.
        let whole = unsafe { self.whole.alias() };
        let rows = whole.row_count();
        (whole.block(0..rows, span.clone()), span)
    }
}

/// The sums that the cells of a reduction gave, each at its place.
#[derive(Debug)]
pub(crate) struct Sums<N> {
    of_cells: Box<[UnsafeCell<N>]>,
    claims: Claims,
}

// SAFETY: a shared reference lets each cell be written at most once, by the thread that takes it, and none be
// read.
unsafe impl<N: Send> Sync for Sums<N> {}

impl<N: Copy> Sums<N> {
    /// Room for the sums of `cells` cells, each of which is `nothing` at first.
    pub(crate) fn new(cells: usize, nothing: N) -> Self {
        Self { of_cells: (0..cells).map(|_| UnsafeCell::new(nothing)).collect(), claims: Claims::new() }
    }

    pub(crate) fn cells(&self) -> usize {
        self.of_cells.len()
    }

    /// Computes a run of cells.
    pub(crate) fn fill(&self, cells: Range<usize>, of: impl Fn(usize) -> N) {
        self.claims.take(cells.clone(), self.cells());
        for cell in cells {
            let value = of(cell);
            // SAFETY: this cell has been taken here and for the first time, so no other thread has it.
            unsafe { *self.of_cells[cell].get() = value };
        }
    }

    /// The sums of all cells.
    ///
    /// # Panics
    /// If one has not been taken.
    pub(crate) fn all(mut self) -> Vec<N> {
        assert!(self.claims.are_taken(self.of_cells.len()), "every cell has been computed");
        self.of_cells.into_vec().into_iter().map(UnsafeCell::into_inner).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_can_be_taken_once_across_words() {
        let claims = Claims::new();
        claims.take(60..130, 200);
        claims.take(0..60, 200);
        claims.take(130..200, 200);
        let again = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| claims.take(129..131, 200)));
        assert!(again.is_err());
    }

    #[test]
    fn a_cell_outside_the_grid_is_refused() {
        let claims = Claims::new();
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| claims.take(3..5, 4))).is_err());
    }

    #[test]
    fn sums_are_read_when_all_cells_have_been_computed() {
        let some = || {
            let sums = Sums::new(200, 0);
            sums.fill(70..200, |cell| cell);
            sums
        };
        assert!(std::panic::catch_unwind(|| some().all()).is_err(), "70 are missing");
        let sums = some();
        sums.fill(0..70, |cell| cell);
        assert!(sums.all().into_iter().eq(0..200));
    }

    #[test]
    fn elements_in_one_place_are_one_cell() {
        let mut slice = [0.0_f64; 1];
        let shared = SharedPointer::vector(VectorMut::new(&mut slice, 100, 0).unwrap(), Grid::even(100, 1, 1));
        assert_eq!(shared.cells(), 1);
    }
}
