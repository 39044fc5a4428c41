//! Our own BLAS in a cell.
use super::{BlasCell, BlasResult, Operands, Routine, Side, measure};
use foregather_blas::{
    Axpy, Dot, Gemm, Gemv, Matrix, MatrixMut, Parts, Trans, Vector, VectorMut, axpy, dot, gemm, gemv, lu, lu_on, on,
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
            Side::Alone => By::Caller,
            Side::Shared if always => By::Team,
            Side::Shared => By::Itself,
        };
        call(cell.routine, by, operands, &alone);
    }))
}

/// Who decides how a call is done.
#[derive(Clone, Copy)]
enum By {
    Caller,
    Team,
    Itself,
}

/// A call by its caller or by the team.
fn given<P: Parts>(way: By, call: P) -> P::Output {
    if matches!(way, By::Team) { on(Team::global(), call) } else { call.whole() }
}

fn call(routine: Routine, way: By, operands: &mut Operands, alone: &Team) {
    let fits = "operands have the extents of their cell";
    let n = operands.n;
    let Operands { a, b, c, .. } = operands;
    let itself = matches!(way, By::Itself);
    if routine == Routine::Lu {
        let a = MatrixMut::columns(c, n, n, n).expect(fits);
        match way {
            By::Caller => black_box(lu_on(alone, a)),
            By::Team => black_box(lu_on(Team::global(), a)),
            By::Itself => black_box(lu(a)),
        };
        return;
    }
    let x = Vector::from(&b[..]);
    match routine {
        Routine::Daxpy => {
            let y = VectorMut::from(&mut c[..]);
            if itself { axpy(1e-9, x, y) } else { Axpy::new(1e-9, x, y).map(|call| given(way, call)) }.expect(fits);
        }
        Routine::Ddot => {
            let y = Vector::from(&c[..]);
            let sum = if itself { dot(x, y) } else { Dot::new(false, x, y).map(|call| given(way, call)) };
            black_box(sum.expect(fits));
        }
        Routine::Dgemv => {
            let (a, y) = (Matrix::columns(a, n, n, n).expect(fits), VectorMut::from(&mut c[..]));
            let no = Trans::No;
            if itself { gemv(no, 1.0, a, x, 0.0, y) } else { Gemv::new(no, 1.0, a, x, 0.0, y).map(|call| given(way, call)) }
                .expect(fits);
        }
        _ => {
            let (a, b) = (Matrix::columns(a, n, n, n).expect(fits), Matrix::columns(b, n, n, n).expect(fits));
            let (c, no) = (MatrixMut::columns(c, n, n, n).expect(fits), Trans::No);
            if itself {
                gemm(no, no, 1.0, a, b, 0.0, c)
            } else {
                Gemm::new(no, no, 1.0, a, b, 0.0, c).map(|call| given(way, call))
            }
            .expect(fits);
        }
    }
}
