//! Calls on a team: each member computes a run of cells of the result's grid; a cell's bits are the same for
//! any member.
use crate::crossover::{self, Routine};
use crate::parts::Parts;
use foregather_team::Team;

/// Computes a call on that team, however small it is. The result does not depend on the team; if it is busy,
/// the caller does all.
///
/// ```
/// use foregather_blas::{Gemm, Matrix, MatrixMut, Trans, on};
/// use foregather_team::Team;
///
/// let (a, mut c) = (vec![1.0; 100 * 100], vec![0.0; 100 * 100]);
/// let view = Matrix::columns(&a, 100, 100, 100)?;
/// let product = MatrixMut::columns(&mut c, 100, 100, 100)?;
/// on(Team::global(), Gemm::new(Trans::No, Trans::No, 1.0, view, view, 0.0, product)?);
/// assert!(c.iter().all(|&sum| sum == 100.0));
/// # Ok::<(), foregather_blas::Error>(())
/// ```
pub fn on<P: Parts>(team: &Team, call: P) -> P::Output {
    let cells = call.cells();
    if cells < 2 {
        return call.whole();
    }
    team.run(|member| {
        let mine = member.share(cells);
        if !mine.is_empty() {
            call.part(mine);
        }
    });
    call.finish()
}

/// Computes a call on the team of the process if its size is beyond the routine's crossover, else in the
/// caller.
#[inline]
pub(crate) fn done<P: Parts>(routine: Routine, size: u64, call: P) -> P::Output {
    if crossover::worth(routine, size) { shared(call) } else { call.whole() }
}

/// Computes a call that is worth it on the team of the process.
pub(crate) fn shared<P: Parts>(call: P) -> P::Output {
    let out = on(Team::global(), call);
    crossover::called();
    out
}
