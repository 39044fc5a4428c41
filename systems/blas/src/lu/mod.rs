//! The LU factorisation with partial pivoting, by blocks of columns from left to right.
//!
//! A factored block updates columns on its right: their rows are exchanged, the block's triangle is solved
//! with, and the product is subtracted.
mod check;
mod panel;

pub use check::residual;

use crate::crossover::{Routine, memory, worth_waking};
use crate::grid::Grid;
use crate::kernels::matrix::{Factor, Matrix, MatrixMut};
use crate::kernels::product::product;
use crate::kernels::shared::SharedPointer;
use crate::level3::triangular::Triangular;
use crate::options::{Diag, Side, Trans, Uplo};
use crate::parts::Parts;
use crate::scalar::Scalar;
use crate::sweep::{BLOCK, BlockFactorisation, sweep};
use crate::team::on;
use foregather_team::Team;
use std::ops::Range;

/// The pivots of a factorisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lu {
    /// Step `i` exchanged rows `i` and `pivots[i]`; from nought, one for each step.
    pub pivots: Vec<usize>,
    /// The first step whose pivot is nought, if any: then the matrix is singular, and nothing can be solved
    /// with the factors.
    pub singular: Option<usize>,
}

/// Replaces `a` by its factors: `P * A = L * U`, `L` with ones on its diagonal, which are not stored. Any
/// shape will do; Fortran's order is the fastest. The team of the process shares steps that are worth it.
///
/// ```
/// use foregather_blas::{MatrixMut, lu};
///
/// let mut a = [1.0, 2.0, 3.0, 4.0];
/// let found = lu(MatrixMut::columns(&mut a, 2, 2, 2)?);
/// assert_eq!((found.pivots, a), (vec![1, 1], [2.0, 0.5, 4.0, 1.0]));
/// # Ok::<(), foregather_blas::Error>(())
/// ```
pub fn lu<T: Scalar>(a: MatrixMut<'_, T>) -> Lu {
    // Members may fall asleep while a block is factored.
    factors(Team::global(), worth_waking, a)
}

/// [`lu`] with every step on that team, however small. The bits do not depend on the team.
pub fn lu_on<T: Scalar>(team: &Team, a: MatrixMut<'_, T>) -> Lu {
    factors(team, |_, _| true, a)
}

fn factors<T: Scalar>(team: &Team, worth: impl Fn(Routine, u64) -> bool, mut a: MatrixMut<'_, T>) -> Lu {
    let rows = a.row_count();
    let steps = rows.min(a.col_count());
    let (mut pivots, mut singular) = (Vec::with_capacity(steps), None);
    for (found, from) in sweep(&Eliminate, team, &worth, a.reborrow()).iter().zip((0..).step_by(BLOCK)) {
        singular = singular.or(found.singular.map(|at| from + at));
        pivots.extend(found.pivots.iter().map(|pivot| from + pivot));
    }
    let size = memory::<T>(rows * steps);
    share(team, worth(Routine::Swap, size), RowInterchanges::new(&pivots, a));
    Lu { pivots, singular }
}

/// Blocks are factored with pivots of their own; columns on their right are exchanged, solved and reduced.
struct Eliminate;

impl<T: Scalar> BlockFactorisation<T> for Eliminate {
    type Block = Lu;

    fn factor(&self, block: MatrixMut<'_, T>) -> Lu {
        let mut pivots = vec![0; block.col_count()];
        let singular = panel::factor(block, &mut pivots);
        Lu { pivots, singular }
    }

    fn update(&self, block: Matrix<'_, T>, known: &Lu, right: MatrixMut<'_, T>) {
        update(block, &known.pivots, right);
    }
}

/// Computes a call on the team if that is worth it.
fn share<P: Parts>(team: &Team, worth: bool, call: P) -> P::Output {
    if worth { on(team, call) } else { call.whole() }
}

/// Exchanges row `i` with row `pivots[i]`, in order.
fn exchange<T: Scalar>(pivots: &[usize], a: &mut MatrixMut<'_, T>) {
    for col in 0..a.col_count() {
        let mut column = a.reborrow().col(col);
        for (row, &pivot) in pivots.iter().enumerate().filter(|(row, pivot)| row != *pivot) {
            let held = column.get(row);
            column.set(row, column.get(pivot));
            column.set(pivot, held);
        }
    }
}

/// Subtracts a factored block's contribution from columns.
fn update<T: Scalar>(block: Matrix<'_, T>, pivots: &[usize], mut a: MatrixMut<'_, T>) {
    let (rows, width) = (block.row_count(), block.col_count());
    exchange(pivots, &mut a);
    let (mut above, below) = a.split_rows(width);
    let triangle = block.block(0..width, 0..width);
    let solve = Triangular::trsm(Side::Left, Uplo::Lower, Trans::No, Diag::Unit, T::ONE, triangle, above.reborrow());
    solve.expect("the triangle has as many rows as what stands above").whole();
    let rest = Factor::plain(block.block(width..rows, 0..width));
    product(-T::ONE, rest, Factor::plain(above.view()), T::ONE, below);
}

/// The exchanges of later steps in the columns of earlier blocks: not needed before the end.
struct RowInterchanges<'a, T> {
    pivots: &'a [usize],
    a: SharedPointer<MatrixMut<'a, T>>,
}

impl<'a, T: Scalar> RowInterchanges<'a, T> {
    fn new(pivots: &'a [usize], a: MatrixMut<'a, T>) -> Self {
        let (rows, cols) = (a.row_count(), pivots.len());
        let grid = Grid::even(cols, 8, 8);
        Self { pivots, a: SharedPointer::columns(a.block(0..rows, 0..cols), grid) }
    }

    fn work(&self, span: Range<usize>, mut a: MatrixMut<'_, T>) {
        for col in span.clone() {
            let done = (col / BLOCK * BLOCK + BLOCK).min(self.pivots.len());
            let mut column = a.reborrow().col(col - span.start);
            for (row, &pivot) in self.pivots.iter().enumerate().skip(done).filter(|(row, pivot)| row != *pivot) {
                let held = column.get(row);
                column.set(row, column.get(pivot));
                column.set(pivot, held);
            }
        }
    }
}

impl<T: Scalar> Parts for RowInterchanges<'_, T> {
    type Output = ();

    fn cells(&self) -> usize {
        self.a.cells()
    }

    fn part(&self, cells: Range<usize>) {
        let (a, span) = self.a.take(cells);
        self.work(span, a);
    }

    fn finish(self) {}
}
