//! QR and Cholesky factors reproduce their matrix, whatever the shape; failures name their step; a team does
//! not change a bit.
mod common;
use common::*;
use foregather_blas::*;
use foregather_team::Team;

const SHAPES: [(usize, usize); 12] =
    [(0, 3), (3, 0), (1, 1), (1, 4), (5, 2), (9, 9), (40, 70), (64, 64), (65, 65), (66, 130), (200, 150), (150, 260)];

fn reflected<T: Number>(a: &Table<T>, members: u32) -> (Table<T>, Vec<T>) {
    let (mut factors, mut tau) = (a.clone(), vec![T::ZERO; a.rows.min(a.cols)]);
    qr_on(&Team::new(members).unwrap(), factors.write(), &mut tau).unwrap();
    (factors, tau)
}

/// `Q * R`: the reflectors applied to the triangle, the last one first.
fn restored<T: Number>(factors: &Table<T>, tau: &[T]) -> Plain {
    let zero = c64::new(0.0, 0.0);
    let factors = factors.wide();
    let mut all = Plain::of(factors.rows, factors.cols, |row, col| if row <= col { factors.get(row, col) } else { zero });
    for (step, tau) in tau.iter().enumerate().rev() {
        let v = |row: usize| if row == step { c64::new(1.0, 0.0) } else { factors.get(row, step) };
        for col in 0..all.cols {
            let sum: c64 = (step..all.rows).map(|row| v(row).conj() * all.get(row, col)).sum();
            for row in step..all.rows {
                all.at[row + col * all.rows] -= tau.wide() * v(row) * sum;
            }
        }
    }
    all
}

fn reflectors_stand_for_the_matrix<T: Number>(order: Order) {
    for (rows, cols) in SHAPES {
        let a = Table::<T>::new(&mut Random((rows * 1000 + cols) as u64), rows, cols, order);
        let (factors, tau) = reflected(&a, 2);
        // Norms are kept, so errors are judged by the size of the columns.
        let mut wanted = a.wide();
        wanted.size.fill(2.0 * (rows.max(1) as f64).sqrt());
        wanted.explains::<T>(&restored(&factors, &tau), 4 * rows.min(cols), |_, _| true);
        assert!((0..tau.len()).all(|step| factors.view().get(step, step).im() == T::Real::ZERO), "{rows} x {cols}");
        for members in [1, 3, 4] {
            let (others, again) = reflected(&a, members);
            assert!(again == tau && others.bits() == factors.bits(), "{rows} x {cols} by {members} members");
        }
    }
}

#[test]
fn reflectors_and_the_triangle_are_the_matrix_and_have_the_same_bits_on_any_team() {
    for order in ORDERS {
        for_all!(reflectors_stand_for_the_matrix(order));
    }
}

#[test]
fn columns_of_any_size_have_reflectors() {
    for by in [1e-310, 1e-160, 1e160, 1e305] {
        let mut a = Table::<c64>::new(&mut Random(7), 30, 20, Order::Columns);
        a.change(|_, _, value| value * by);
        let (factors, tau) = reflected(&a, 2);
        let scaled = |all: Plain| Plain::of(30, 20, |row, col| all.get(row, col) / by);
        let mut wanted = scaled(a.wide());
        // The smallest numbers have few digits.
        wanted.size.fill(if by < 1e-300 { 1e6 } else { 20.0 });
        let mut small = factors.clone();
        small.change(|row, col, value| if row <= col { value / by } else { value });
        wanted.explains::<c64>(&restored(&small, &tau), 80, |_, _| true);
    }
}

#[test]
fn a_column_of_noughts_needs_no_reflector() {
    let mut a = Table::<f64>::new(&mut Random(9), 6, 4, Order::Columns);
    a.change(|_, col, value| if col == 0 { 0.0 } else { value });
    let (factors, tau) = reflected(&a, 1);
    assert_eq!((tau[0], factors.view().get(0, 0)), (0.0, 0.0));
    let one = Table::<c64>::new(&mut Random(9), 1, 1, Order::Columns);
    let (factors, tau) = reflected(&one, 1);
    assert!(tau[0] != c64::ZERO && factors.view().get(0, 0).im == 0.0, "a complex number is turned to be real");
    assert!(qr(MatrixMut::columns(&mut [1.0, 2.0], 2, 1, 2).unwrap(), &mut [0.0; 2]).is_err());
}

/// A positive definite matrix, of which a triangle is stored.
fn definite<T: Number>(n: usize, order: Order, uplo: Uplo) -> Table<T> {
    let mut a = Table::<T>::new(&mut Random(n as u64 + 5), n, n, order);
    a.change(|row, col, value| match stored(uplo, row, col) {
        true if row == col => T::narrow(c64::new(n as f64 + 1.0, 0.25)),
        true => value,
        false => trap(),
    });
    a
}

fn triangles_are_factored<T: Number>(order: Order) {
    for n in [0, 1, 2, 15, 16, 17, 33, 64, 100, 257] {
        for uplo in UPLO {
            let a = definite::<T>(n, order, uplo);
            let mut factor = a.clone();
            assert_eq!(cholesky(uplo, factor.write()), Ok(None), "{n}");
            let triangle = factor.wide().triangular(uplo, Diag::Stored);
            let (l, r) = (triangle.op(Trans::Conj), triangle);
            let product = if uplo == Uplo::Upper { l.times(&r) } else { r.times(&l) };
            let mut wanted = a.wide().symmetric(uplo, true);
            wanted.size.clone_from(&product.size);
            wanted.explains::<T>(&product, 2 * n, |_, _| true);
            assert!((0..n).all(|at| factor.view().get(at, at).im() == T::Real::ZERO));
            factor.change(|row, col, value| if stored(uplo, row, col) { trap() } else { value });
            assert!(factor.wide().at.iter().all(|value| value.re.is_nan()), "the other triangle is not written");
        }
    }
}

#[test]
fn a_factor_times_its_adjoint_is_the_matrix() {
    for order in ORDERS {
        for_all!(triangles_are_factored(order));
    }
}

#[test]
fn the_first_pivot_that_is_not_positive_is_named() {
    for (n, at) in [(1, 0), (40, 0), (40, 15), (40, 16), (40, 39), (200, 150)] {
        for (uplo, pivot) in UPLO.into_iter().flat_map(|uplo| [(uplo, 0.0), (uplo, -1e3), (uplo, f64::NAN)]) {
            let mut a = definite::<f64>(n, Order::Columns, uplo);
            // Without elements beside it, the pivot is what is stored.
            a.change(|row, col, value| match (row == at, col == at) {
                (true, true) => pivot,
                (true, false) | (false, true) if stored(uplo, row, col) => 0.0,
                _ => value,
            });
            assert_eq!(cholesky(uplo, a.write()), Ok(Some(at)), "{n} {pivot}");
        }
    }
    assert!(cholesky(Uplo::Upper, MatrixMut::columns(&mut [1.0, 2.0], 2, 1, 2).unwrap()).is_err());
}
