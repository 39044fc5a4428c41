//! Our own BLAS in a cell.
use super::{BlasCell, BlasResult, BlasVariant, Operands, Routine, measure};
use foregather_blas::Side::Left;
use foregather_blas::Uplo::Lower;
use foregather_blas::{
    Axpy, Diag, Dot, Error, Gemm, Gemv, Matrix, MatrixMut, Parts, Rank, Symm, Symv, Trans, Triangle, Triangular, Vector,
    VectorMut, axpy, dot, gemm, gemv, lu, lu_on, on, symm, symv, syrk, trmm, trsm,
};
use foregather_team::Team;
use std::hint::black_box;

/// `foregather` decides by its crossovers, `foregather-always` shares every call.
pub const RUNNERS: [&str; 2] = ["foregather", "foregather-always"];

/// Runs one cell. The process has as many threads as `FOREGATHER_THREADS` allows, which the caller has set.
///
/// # Errors
/// If there is no such runner.
pub fn run(cell: &BlasCell) -> Result<BlasResult, String> {
    let always = match RUNNERS.iter().position(|runner| *runner == cell.runner) {
        Some(at) => at == 1,
        None => return Err(format!("`{}` is no BLAS; there are {}", cell.runner, RUNNERS.join(", "))),
    };
    let alone = Team::new(1).map_err(|error| error.to_string())?;
    let mut operands = Operands::new(cell.routine, cell.n);
    Ok(measure(cell, &mut operands, |side, operands| {
        let by = match side {
            BlasVariant::Alone => Executor::Caller,
            BlasVariant::Shared if always => Executor::Team,
            BlasVariant::Shared => Executor::Itself,
        };
        call(cell.routine, by, operands, &alone);
    }))
}

/// What decides how a call is done.
#[derive(Clone, Copy)]
enum Executor {
    Caller,
    Team,
    Itself,
}

/// A call by its caller or by the team.
fn given<P: Parts>(by: Executor, call: P) -> P::Output {
    if matches!(by, Executor::Team) { on(Team::global(), call) } else { call.whole() }
}

fn call(routine: Routine, by: Executor, operands: &mut Operands, alone: &Team) {
    let fits = "operands have the extents of their cell";
    let n = operands.n;
    let Operands { a, b, c, .. } = operands;
    if routine == Routine::Lu {
        let a = MatrixMut::columns(c, n, n, n).expect(fits);
        match by {
            Executor::Caller => black_box(lu_on(alone, a)),
            Executor::Team => black_box(lu_on(Team::global(), a)),
            Executor::Itself => black_box(lu(a)),
        };
        return;
    }
    if matches!(routine, Routine::Daxpy | Routine::Ddot) {
        vectors(routine, by, b, c)
    } else {
        matrices(routine, by, n, a, b, c)
    }
    .expect(fits);
}

fn vectors(routine: Routine, by: Executor, x: &[f64], y: &mut [f64]) -> Result<(), Error> {
    let (x, itself) = (Vector::from(x), matches!(by, Executor::Itself));
    if routine == Routine::Daxpy {
        let y = VectorMut::from(y);
        return if itself { axpy(1e-9, x, y) } else { Axpy::new(1e-9, x, y).map(|call| given(by, call)) };
    }
    let y = Vector::from(&*y);
    let sum = if itself { dot(x, y) } else { Dot::new(false, x, y).map(|call| given(by, call)) };
    sum.map(|sum| {
        black_box(sum);
    })
}

fn matrices(routine: Routine, by: Executor, n: usize, a: &[f64], b: &[f64], c: &mut [f64]) -> Result<(), Error> {
    let a = Matrix::columns(a, n, n, n)?;
    let (itself, no, diag) = (matches!(by, Executor::Itself), Trans::No, Diag::Stored);
    if matches!(routine, Routine::Dgemv | Routine::Dsymv) {
        let (x, y) = (Vector::from(b), VectorMut::from(c));
        let half = || Triangle::full(Lower, a);
        return match (routine, itself) {
            (Routine::Dgemv, true) => gemv(no, 1.0, a, x, 0.0, y),
            (Routine::Dgemv, false) => Gemv::new(no, 1.0, a, x, 0.0, y).map(|call| given(by, call)),
            (_, true) => symv(1.0, half()?, x, 0.0, y),
            (_, false) => Symv::new(false, 1.0, half()?, x, 0.0, y).map(|call| given(by, call)),
        };
    }
    let c = MatrixMut::columns(c, n, n, n)?;
    let b = || Matrix::columns(b, n, n, n);
    match (routine, itself) {
        (Routine::Dsymm, true) => symm(Left, Lower, 1.0, a, b()?, 0.0, c),
        (Routine::Dsymm, false) => Symm::new(false, Left, Lower, 1.0, a, b()?, 0.0, c).map(|call| given(by, call)),
        (Routine::Dsyrk, true) => syrk(Lower, no, 1.0, a, 0.0, c),
        (Routine::Dsyrk, false) => Rank::syrk(Lower, no, 1.0, a, 0.0, c).map(|call| given(by, call)),
        (Routine::Dtrmm, true) => trmm(Left, Lower, no, diag, 1.0, a, c),
        (Routine::Dtrmm, false) => Triangular::trmm(Left, Lower, no, diag, 1.0, a, c).map(|call| given(by, call)),
        (Routine::Dtrsm, true) => trsm(Left, Lower, no, diag, 1.0, a, c),
        (Routine::Dtrsm, false) => Triangular::trsm(Left, Lower, no, diag, 1.0, a, c).map(|call| given(by, call)),
        (_, true) => gemm(no, no, 1.0, a, b()?, 0.0, c),
        (_, false) => Gemm::new(no, no, 1.0, a, b()?, 0.0, c).map(|call| given(by, call)),
    }
}
