//! The QR factorisation by Householder reflectors, in blocks of columns from left to right.
//!
//! The reflectors of a block are one matrix: `I - V * T * V^H`, `V` as stored below the diagonal with ones on
//! it, `T` an upper triangle. So applying them to other columns is a few products.
mod panel;

use crate::crossover::{Routine, worth_waking};
use crate::error::{Error, same};
use crate::kernels::matrix::{Factor, Matrix, MatrixMut};
use crate::kernels::product::product;
use crate::level3::triangular::Triangular;
use crate::options::{Diag, Side, Trans, Uplo};
use crate::parts::Parts;
use crate::scalar::Scalar;
use crate::sweep::{BLOCK, BlockFactorisation, sweep};
use foregather_team::Team;

/// Replaces `a` by its factors `Q * R`: `R` on and above the diagonal, and below it the reflectors whose
/// product `Q` is, `I - tau * v * v^H` each, `v` with a one on the diagonal. The diagonal of `R` is real. The
/// team of the process shares steps that are worth it.
///
/// ```
/// use foregather_blas::{MatrixMut, qr};
///
/// let (mut a, mut tau) = ([3.0, 4.0], [0.0]);
/// qr(MatrixMut::columns(&mut a, 2, 1, 2)?, &mut tau)?;
/// assert_eq!((a, tau), ([-5.0, 0.5], [1.6]));
/// # Ok::<(), foregather_blas::Error>(())
/// ```
///
/// # Errors
/// If `tau` has not one element for each reflector: as many as `a` has rows or columns, whichever are fewer.
pub fn qr<T: Scalar>(a: MatrixMut<'_, T>, tau: &mut [T]) -> Result<(), Error> {
    factors(Team::global(), worth_waking, a, tau)
}

/// [`qr`] with every step on that team, however small. The bits do not depend on the team.
///
/// # Errors
/// As [`qr`].
pub fn qr_on<T: Scalar>(team: &Team, a: MatrixMut<'_, T>, tau: &mut [T]) -> Result<(), Error> {
    factors(team, |_, _| true, a, tau)
}

fn factors<T: Scalar>(
    team: &Team,
    worth: impl Fn(Routine, u64) -> bool,
    a: MatrixMut<'_, T>,
    tau: &mut [T],
) -> Result<(), Error> {
    same("qr", 2, "tau", tau.len(), a.row_count().min(a.col_count()))?;
    for (tau, block) in tau.chunks_mut(BLOCK).zip(sweep(&Reflect, team, worth, a)) {
        let width = tau.len();
        tau.iter_mut().enumerate().for_each(|(at, tau)| *tau = block[at * width + at]);
    }
    Ok(())
}

/// Blocks are factored into reflectors, which are applied to the columns on their right.
struct Reflect;

impl<T: Scalar> BlockFactorisation<T> for Reflect {
    /// The triangle `T`, with the factors of the reflectors on its diagonal.
    type Block = Vec<T>;

    fn factor(&self, block: MatrixMut<'_, T>) -> Vec<T> {
        let width = block.col_count();
        let mut triangle = vec![T::ZERO; width * width];
        panel::factor(block, MatrixMut::columns(&mut triangle, width, width, width.max(1)).expect("a square of that width"));
        triangle
    }

    fn update(&self, block: Matrix<'_, T>, known: &Vec<T>, right: MatrixMut<'_, T>) {
        let width = block.col_count();
        let triangle = Matrix::columns(known, width, width, width.max(1)).expect("a square of that width");
        reflect(block, triangle, right);
    }
}

/// `c = (I - V * T^H * V^H) * c`
fn reflect<T: Scalar>(v: Matrix<'_, T>, triangle: Matrix<'_, T>, c: MatrixMut<'_, T>) {
    let (rows, width, cols) = (v.row_count(), v.col_count(), c.col_count());
    let (top, rest) = (v.block(0..width, 0..width), v.block(width..rows, 0..width));
    let (mut above, mut below) = c.split_rows(width);
    let mut sums = vec![T::ZERO; width * cols];
    let mut sums = MatrixMut::columns(&mut sums, width, cols, width.max(1)).expect("there is room for the sums");
    each(&mut sums, |row, col, _| above.get(row, col));
    times(Side::Left, Uplo::Lower, Trans::Conj, Diag::Unit, T::ONE, top, &mut sums);
    let adjoint = Factor { matrix: rest.t(), conj: true };
    product(T::ONE, adjoint, Factor::plain(below.view()), T::ONE, sums.reborrow());
    times(Side::Left, Uplo::Upper, Trans::Conj, Diag::Stored, T::ONE, triangle, &mut sums);
    product(-T::ONE, Factor::plain(rest), Factor::plain(sums.view()), T::ONE, below.reborrow());
    times(Side::Left, Uplo::Lower, Trans::No, Diag::Unit, T::ONE, top, &mut sums);
    each(&mut above, |row, col, value| value - sums.get(row, col));
}

/// Multiplies by a triangle, in the caller.
fn times<T: Scalar>(side: Side, uplo: Uplo, trans: Trans, diag: Diag, alpha: T, a: Matrix<'_, T>, b: &mut MatrixMut<'_, T>) {
    Triangular::trmm(side, uplo, trans, diag, alpha, a, b.reborrow()).expect("the triangle fits").whole();
}

/// Changes every element, given its place.
fn each<T: Scalar>(a: &mut MatrixMut<'_, T>, of: impl Fn(usize, usize, T) -> T) {
    for col in 0..a.col_count() {
        for row in 0..a.row_count() {
            a.set(row, col, of(row, col, a.get(row, col)));
        }
    }
}
