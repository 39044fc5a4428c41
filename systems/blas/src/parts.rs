//! A call as parts of its result, which is how a team shares it.
use std::ops::Range;

/// A call whose result lies on a fixed grid of cells.
///
/// Any number of members may compute runs of cells at the same time; when all cells have been computed once, [`finish`] gives the
/// result. [`whole`] does it all in the caller, to the same bits and without a word that is shared.
///
/// [`finish`]: Parts::finish
/// [`whole`]: Parts::whole
pub trait Parts: Sync + Sized {
    /// What the call returns.
    type Output;

    /// How many cells the result has, at least one. Depends on the shape alone.
    fn cells(&self) -> usize;

    /// Computes a run of cells.
    ///
    /// # Panics
    /// If a cell is out of range or has been given out before.
    fn part(&self, cells: Range<usize>);

    /// Puts the parts together, after all of them have been computed.
    ///
    /// # Panics
    /// If the routine is a reduction and a cell is missing.
    fn finish(self) -> Self::Output;

    /// Computes everything here.
    fn whole(self) -> Self::Output;
}
