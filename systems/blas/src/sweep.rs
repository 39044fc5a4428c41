//! Factorisations by blocks of columns, from left to right: each block is factored, then all columns to its
//! right are updated by it.
//!
//! A team shares each update. Its first member updates and factors the next block before it helps with the
//! other columns, so that the others need not wait while a block is factored. Members take runs of the
//! columns that are left; a column's numbers are the same whichever member computes it.
use crate::crossover::{Routine, work};
use crate::grid::Grid;
use crate::kernels::matrix::{Matrix, MatrixMut};
use crate::kernels::product::columns;
use crate::kernels::shared::SharedPointer;
use crate::scalar::Scalar;
use foregather_team::Team;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Columns of a block: deep enough for the product's kernels, and few enough that the block itself takes a
/// small part of the time.
pub(crate) const BLOCK: usize = 64;

/// A factorisation that can be made block by block.
pub(crate) trait BlockFactorisation<T: Scalar>: Sync {
    /// What a factored block holds beside its elements.
    type Block: Send + Sync;

    /// Factors a block, which has at least as many rows as columns.
    fn factor(&self, block: MatrixMut<'_, T>) -> Self::Block;

    /// Applies a factored block to columns on its right.
    fn update(&self, block: Matrix<'_, T>, known: &Self::Block, right: MatrixMut<'_, T>);
}

/// The columns before `col`, and the others.
pub(crate) fn split_columns<T: Scalar>(a: MatrixMut<'_, T>, col: usize) -> (MatrixMut<'_, T>, MatrixMut<'_, T>) {
    let (left, right) = a.t().split_rows(col);
    (left.t(), right.t())
}

/// Factors `a` in its place, on that team where the size of an update is `worth` it. Returns what each block
/// holds beside its elements, in order.
pub(crate) fn sweep<T: Scalar, F: BlockFactorisation<T>>(
    how: &F,
    team: &Team,
    worth: impl Fn(Routine, u64) -> bool,
    a: MatrixMut<'_, T>,
) -> Vec<F::Block> {
    let mut left = a.row_count().min(a.col_count());
    let mut blocks = Vec::with_capacity(left.div_ceil(BLOCK));
    let mut width = BLOCK.min(left);
    if width == 0 {
        return blocks;
    }
    // Its first `width` columns are a factored block.
    let mut rest = a;
    blocks.push(how.factor(split_columns(rest.reborrow(), width).0));
    loop {
        let (block, mut right) = split_columns(rest, width);
        if right.col_count() == 0 {
            return blocks;
        }
        left -= width;
        let next = BLOCK.min(left);
        let size = work::<T>(right.row_count(), right.col_count(), width);
        let step = BlockUpdate::new(how, block.view(), &blocks[blocks.len() - 1], next, right.reborrow());
        if worth(Routine::Gemm, size) {
            team.run(|member| step.work(member.rank() == 0, member.size()));
        }
        // Alone, or if the first member's part was left out.
        let found = step.finish();
        let Some(found) = found else { return blocks };
        blocks.push(found);
        rest = right.split_rows(width).1;
        width = next;
    }
}

/// The update by one block, and the factorisation of the next.
struct BlockUpdate<'a, T, F: BlockFactorisation<T>>
where
    T: Scalar,
{
    how: &'a F,
    block: Matrix<'a, T>,
    known: &'a F::Block,
    /// The columns of the next block, until a member takes them.
    next: Mutex<Option<MatrixMut<'a, T>>>,
    found: Mutex<Option<F::Block>>,
    others: SharedPointer<MatrixMut<'a, T>>,
    /// The cells of the other columns that have been taken.
    taken: AtomicUsize,
}

impl<'a, T: Scalar, F: BlockFactorisation<T>> BlockUpdate<'a, T, F> {
    fn new(how: &'a F, block: Matrix<'a, T>, known: &'a F::Block, next: usize, right: MatrixMut<'a, T>) -> Self {
        // Cells wide enough for the smallest product that a run of columns goes through.
        let below = block.row_count() - block.col_count();
        let least = if below == 0 { block.col_count() } else { below.min(block.col_count()) };
        let (next, others) = split_columns(right, next);
        // A single row goes its own way through the kernels.
        let alone = below == 1 || others.col_count() == 0;
        let grid = if alone { Grid::single(others.col_count()) } else { columns::<T>(least.min(16), others.layout) };
        let next = (next.col_count() > 0).then_some(next);
        let others = SharedPointer::columns(others, grid);
        Self { how, block, known, next: Mutex::new(next), found: Mutex::new(None), others, taken: AtomicUsize::new(0) }
    }

    /// A member's part: the first one begins with the next block.
    fn work(&self, is_first: bool, members: u32) {
        if is_first {
            self.lead();
        }
        let cells = self.others.cells();
        loop {
            // A fair share of what is left: large runs first, small ones to be done at the same time.
            let left = cells.saturating_sub(self.taken.load(Ordering::Relaxed));
            let run = left.div_ceil(members.max(1) as usize).max(1);
            let from = self.taken.fetch_add(run, Ordering::Relaxed);
            if from >= cells {
                return;
            }
            let (right, _) = self.others.take(from..cells.min(from + run));
            if right.col_count() > 0 {
                self.how.update(self.block, self.known, right);
            }
        }
    }

    /// Updates and factors the next block.
    fn lead(&self) {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut next) = next {
            self.how.update(self.block, self.known, next.reborrow());
            let block = next.split_rows(self.block.col_count()).1;
            let found = self.how.factor(block);
            *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        }
    }

    /// Does what has not been done, and returns what the next block holds, if there is one.
    fn finish(self) -> Option<F::Block> {
        self.work(true, 1);
        self.found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
