//! Arguments that do not fit are refused with their position, and what must not be read does no harm.
#![allow(missing_docs)]
use foregather_blas::*;

fn cause<N: std::fmt::Debug>(result: Result<N, Error>) -> (&'static str, u32) {
    let error = result.unwrap_err();
    (error.routine, error.position)
}

#[test]
fn views_that_leave_their_slice_are_refused() {
    let five = [0.0; 5];
    assert!(Vector::new(&five, 3, 2).is_ok() && Vector::new(&five, 3, -2).is_ok() && Vector::new(&five, 0, 9).is_ok());
    assert_eq!(cause(Vector::new(&five, 3, 3)), ("vector", 1));
    assert_eq!(cause(Vector::new(&five, 3, isize::MIN)), ("vector", 1));
    assert_eq!(cause(Vector::new(&five[..0], 1, 1)), ("vector", 1));
    assert!(Matrix::columns(&five, 2, 2, 3).is_ok() && Matrix::columns(&five, 0, 7, 1).is_ok());
    assert_eq!(cause(Matrix::columns(&five, 2, 2, 1)), ("matrix", 4));
    assert_eq!(cause(Matrix::columns(&five, 2, 2, 4)), ("matrix", 1));
    assert_eq!(cause(Matrix::rows(&five, 2, 3, 3)), ("matrix", 1));
    assert_eq!(cause(Matrix::columns(&five, 1, usize::MAX, usize::MAX)), ("matrix", 4));
    assert_eq!(cause(Matrix::columns(&five, 1, usize::MAX, 1 << 62)), ("matrix", 1));
    let elements = Vector::from(&five[..]);
    assert_eq!(cause(Triangle::packed(Order::Columns, Uplo::Upper, elements, 3)), ("triangle", 3));
    assert_eq!(cause(Triangle::band(Order::Columns, Uplo::Upper, elements, 3, 2, 2)), ("triangle", 6));
    assert_eq!(cause(Triangle::band(Order::Rows, Uplo::Lower, elements, 3, 1, 2)), ("triangle", 3));
    assert_eq!(cause(Band::new(Order::Columns, elements, [3, 3], [1, 1], 2)), ("band", 5));
    assert_eq!(cause(Band::new(Order::Columns, elements, [3, 3], [1, 1], 3)), ("band", 2));
}

fn result(c: &mut [f64]) -> MatrixMut<'_, f64> {
    MatrixMut::columns(c, 3, 2, 3).unwrap()
}

#[test]
fn shapes_that_do_not_fit_are_refused_by_position() {
    let (a, mut c, mut d) = ([0.0; 6], [0.0; 6], [0.0; 4]);
    let tall = Matrix::columns(&a, 3, 2, 3).unwrap();
    let wide = Matrix::columns(&a, 2, 3, 2).unwrap();
    let two = Vector::from(&a[..2]);
    let (no, yes) = (Trans::No, Trans::Yes);
    assert_eq!(cause(gemm(no, no, 1.0, wide, wide, 0.0, result(&mut c))), ("gemm", 7));
    assert_eq!(cause(gemm(no, no, 1.0, tall, tall, 0.0, result(&mut c))), ("gemm", 9));
    assert_eq!(cause(trsm(Side::Left, Uplo::Upper, no, Diag::Unit, 1.0, tall, result(&mut c))), ("trsm", 9));
    assert_eq!(cause(syrk(Uplo::Upper, no, 1.0, tall, 0.0, result(&mut c))), ("syrk", 10));
    assert_eq!(cause(gemv(yes, 1.0, tall, two, 0.0, VectorMut::from(&mut d[..2]))), ("gemv", 7));
    assert_eq!(cause(gemv(no, 1.0, tall, two, 0.0, VectorMut::from(&mut d[..2]))), ("gemv", 10));
    assert_eq!(cause(dot(two, Vector::from(&a[..3]))), ("dot", 4));
    let error = axpy(1.0, two, VectorMut::from(&mut d[..3])).unwrap_err();
    assert_eq!(error.to_string(), "axpy: argument 5 (y) has extent 3 where the other arguments ask for 2");
}

#[test]
fn an_infinity_reaches_only_what_it_is_multiplied_into() {
    // Zeros of the other triangle would make it a NaN.
    let n = 70;
    let (a, infinity) = (vec![1.0; n * n], f64::INFINITY);
    let matrix = Matrix::columns(&a, n, n, n).unwrap();
    let mut b = vec![1.0; n * 3];
    b[40] = infinity;
    trmm(Side::Left, Uplo::Lower, Trans::No, Diag::Stored, 1.0, matrix, MatrixMut::columns(&mut b, n, 3, n).unwrap()).unwrap();
    assert!((0..40).all(|row| b[row] == row as f64 + 1.0) && (40..n).all(|row| b[row] == infinity));
    assert!((n..3 * n).all(|at| b[at] == (at % n) as f64 + 1.0));
    let mut x = vec![1.0; n];
    x[40] = infinity;
    let triangle = Triangle::full(Uplo::Upper, matrix).unwrap();
    trmv(Trans::No, Diag::Stored, triangle, VectorMut::from(&mut x[..])).unwrap();
    assert!((0..=40).all(|row| x[row] == infinity) && (41..n).all(|row| x[row] == (n - row) as f64));
}

#[test]
fn a_nan_in_a_factor_reaches_the_whole_row_of_the_product() {
    let (mut a, b, mut c) = ([1.0; 9], [0.0; 9], [5.0; 9]);
    a[1] = f64::NAN;
    let view = |of| Matrix::columns(of, 3, 3, 3).unwrap();
    gemm(Trans::No, Trans::No, 1.0, view(&a), view(&b), 0.0, MatrixMut::columns(&mut c, 3, 3, 3).unwrap()).unwrap();
    assert!((0..9).all(|at| c[at].is_nan() == (at % 3 == 1)), "{c:?}");
    // A factor of nought reads nothing.
    gemm(Trans::No, Trans::No, 0.0, view(&a), view(&a), 0.0, MatrixMut::columns(&mut c, 3, 3, 3).unwrap()).unwrap();
    assert_eq!(c, [0.0; 9]);
}
