//! A call as parts of its result, which a team can share.
use std::ops::Range;

/// A call whose result lies on a fixed grid of cells.
///
/// Any number of members may compute runs of cells at the same time; when all cells have been computed once,
/// [`finish`] gives the result. [`whole`] does it all in the caller, with the same bits and without a shared
/// word.
///
/// [`finish`]: Parts::finish
/// [`whole`]: Parts::whole
pub trait Parts: Sync + Sized {
    /// The result of the call.
    type Output;

    /// The number of cells of the result, at least one. Depends on the shape alone.
    fn cells(&self) -> usize;

    /// Computes a run of cells.
    ///
    /// # Panics
    /// If a cell is out of range or has been given out before.
    fn part(&self, cells: Range<usize>);

    /// Combines the parts, after all of them have been computed.
    ///
    /// # Panics
    /// If the routine is a reduction and a cell is missing.
    fn finish(self) -> Self::Output;

    /// Computes everything in the caller.
    fn whole(self) -> Self::Output {
        self.part(0..self.cells());
        self.finish()
    }
}
