//! The fixed grid of a result: its cells depend on its shape alone, never on which thread computes them.
use std::ops::Range;

/// The most cells of a grid. More members than this get nothing to do; more cells only cost.
pub(crate) const CELLS_MAX: usize = 256;

/// The numbers `0..len` in runs of `step`; the last run may be shorter or longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    len: usize,
    step: usize,
    cells: usize,
}

impl Grid {
    /// Runs of about equal length, at least `least` if there are that many elements, each but the last a
    /// multiple of `multiple`.
    pub(crate) fn even(len: usize, least: usize, multiple: usize) -> Self {
        let wanted = (len / least.max(1)).clamp(1, CELLS_MAX);
        if wanted == 1 {
            return Self::single(len);
        }
        let step = len.div_ceil(wanted).next_multiple_of(multiple).max(1);
        Self { len, step, cells: len.div_ceil(step).max(1) }
    }

    /// Runs that are never shorter than `least`: the last takes what is left over.
    pub(crate) fn coarse(len: usize, least: usize, multiple: usize) -> Self {
        let step = len.div_ceil(CELLS_MAX).max(least).next_multiple_of(multiple).max(1);
        Self { len, step, cells: (len / step).max(1) }
    }

    /// One cell that has all elements.
    pub(crate) fn single(len: usize) -> Self {
        Self { len, step: len.max(1), cells: 1 }
    }

    /// The number of cells, at least one.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The elements of a run of cells.
    pub(crate) fn span(&self, cells: Range<usize>) -> Range<usize> {
        let at = |cell: usize| if cell >= self.cells { self.len } else { cell * self.step };
        at(cells.start)..at(cells.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cover_everything_once_and_in_order() {
        for len in [0, 1, 2, 7, 8, 100, 255, 256, 257, 1000, 100_000] {
            for grid in [Grid::even(len, 16, 8), Grid::coarse(len, 24, 8), Grid::single(len)] {
                let spans: Vec<_> = (0..grid.cells()).map(|cell| grid.span(cell..cell + 1)).collect();
                assert!(grid.cells() <= CELLS_MAX);
                assert_eq!((spans[0].start, spans[spans.len() - 1].end), (0, len));
                assert!(spans.windows(2).all(|pair| pair[0].end == pair[1].start && pair[0].end % 8 == 0));
            }
            let coarse = Grid::coarse(len, 24, 8);
            assert!(len < 24 || (0..coarse.cells()).all(|cell| coarse.span(cell..cell + 1).len() >= 24));
        }
    }
}
