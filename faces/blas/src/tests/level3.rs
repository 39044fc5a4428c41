//! Level 3: orders, sides, triangles, and elements that must not be read.
use super::numbers;
use foregather_blas::c64;
use std::ffi::c_int;

const ROWS: c_int = 101;
const COLUMNS: c_int = 102;
const NO: c_int = 111;
const YES: c_int = 112;
const CONJ: c_int = 113;
const UPPER: c_int = 121;
const LOWER: c_int = 122;
const LEFT: c_int = 141;
const RIGHT: c_int = 142;

unsafe extern "C" {
    fn cblas_dgemm(
        order: c_int,
        transa: c_int,
        transb: c_int,
        m: c_int,
        n: c_int,
        k: c_int,
        alpha: f64,
        a: *const f64,
        lda: c_int,
        b: *const f64,
        ldb: c_int,
        beta: f64,
        c: *mut f64,
        ldc: c_int,
    );
    fn cblas_dsymm(
        order: c_int,
        side: c_int,
        uplo: c_int,
        m: c_int,
        n: c_int,
        alpha: f64,
        a: *const f64,
        lda: c_int,
        b: *const f64,
        ldb: c_int,
        beta: f64,
        c: *mut f64,
        ldc: c_int,
    );
    fn cblas_zherk(
        order: c_int,
        uplo: c_int,
        trans: c_int,
        n: c_int,
        k: c_int,
        alpha: f64,
        a: *const c64,
        lda: c_int,
        beta: f64,
        c: *mut c64,
        ldc: c_int,
    );
    fn cblas_dtrsm(
        order: c_int,
        side: c_int,
        uplo: c_int,
        trans: c_int,
        diag: c_int,
        m: c_int,
        n: c_int,
        alpha: f64,
        a: *const f64,
        lda: c_int,
        b: *mut f64,
        ldb: c_int,
    );
}

fn place(order: c_int, row: usize, col: usize, ld: usize) -> usize {
    if order == ROWS { row * ld + col } else { row + col * ld }
}

#[test]
fn products_of_either_order_and_transposition_are_right() {
    let (m, n, k, ld) = (3, 5, 4, 7);
    let (a, b) = (numbers(ld * ld), numbers(2 * ld * ld).split_off(ld * ld));
    for order in [ROWS, COLUMNS] {
        for (transa, transb) in [(NO, NO), (YES, NO), (NO, CONJ), (YES, YES)] {
            let mut c = numbers(ld * ld);
            let old = c.clone();
            let (pa, pb, pc) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
            // SAFETY: seven lines of seven elements hold every matrix.
            unsafe { cblas_dgemm(order, transa, transb, 3, 5, 4, 2.0, pa, 7, pb, 7, -1.0, pc, 7) };
            let at = |trans, row, col| if trans == NO { place(order, row, col, ld) } else { place(order, col, row, ld) };
            let mut expected = old.clone();
            for (row, col) in (0..m).flat_map(|row| (0..n).map(move |col| (row, col))) {
                let sum: f64 = (0..k).map(|l| a[at(transa, row, l)] * b[at(transb, l, col)]).sum();
                expected[place(order, row, col, ld)] = 2.0 * sum - old[place(order, row, col, ld)];
            }
            assert_eq!(c, expected, "order {order}, {transa} {transb}");
        }
    }
}

/// As the reference: empty sums are multiplied by `alpha` only if the factor that is first by columns is
/// transposed.
#[test]
fn an_alpha_that_is_no_number_reaches_empty_sums_of_a_transposed_factor() {
    for (order, transa, transb, is_nan) in
        [(COLUMNS, YES, NO, true), (COLUMNS, NO, YES, false), (ROWS, YES, NO, false), (ROWS, NO, YES, true)]
    {
        let result = |alpha, beta| {
            let mut c = [2.0];
            // SAFETY: the result has one element; with nothing to sum the factors are not read.
            unsafe {
                cblas_dgemm(order, transa, transb, 1, 1, 0, alpha, [0.0].as_ptr(), 1, [0.0].as_ptr(), 1, beta, c.as_mut_ptr(), 1)
            };
            c[0]
        };
        assert_eq!(result(f64::NAN, 0.5).is_nan(), is_nan, "{order} {transa} {transb}");
        assert_eq!([result(f64::NAN, 1.0), result(3.0, 0.5), result(0.0, 0.5)], [2.0, 1.0, 1.0]);
    }
}

#[test]
fn what_a_factor_of_nought_forbids_is_not_read() {
    let nan = [f64::NAN; 4];
    let one = [1.0, 0.0, 0.0, 1.0];
    let mut c = nan;
    // SAFETY: two lines of two elements.
    unsafe { cblas_dgemm(ROWS, NO, NO, 2, 2, 2, 3.0, one.as_ptr(), 2, one.as_ptr(), 2, 0.0, c.as_mut_ptr(), 2) };
    assert_eq!(c, [3.0, 0.0, 0.0, 3.0]);
    // SAFETY: the result has two lines of two elements; with `alpha` nought the factors are not read.
    unsafe { cblas_dgemm(ROWS, NO, NO, 2, 2, 2, 0.0, std::ptr::null(), 2, std::ptr::null(), 2, 2.0, c.as_mut_ptr(), 2) };
    assert_eq!(c, [6.0, 0.0, 0.0, 6.0]);
    // SAFETY: the result has two lines of two elements; with nothing to sum the factors are not read.
    unsafe { cblas_dgemm(COLUMNS, NO, NO, 2, 2, 0, 1.0, std::ptr::null(), 2, std::ptr::null(), 1, 0.5, c.as_mut_ptr(), 2) };
    assert_eq!(c, [3.0, 0.0, 0.0, 3.0]);
}

#[test]
fn a_symmetric_factor_is_one_triangle_on_either_side() {
    let (m, n) = (3usize, 2usize);
    for (order, side, uplo) in [(ROWS, LEFT, UPPER), (ROWS, RIGHT, LOWER), (COLUMNS, LEFT, LOWER), (COLUMNS, RIGHT, UPPER)] {
        let order_of_a = if side == LEFT { m } else { n };
        let mut a = [f64::NAN; 16];
        let element = |row: usize, col: usize| (row.min(col) * 3 + row.max(col) * 2) as f64 - 4.0;
        for (row, col) in (0..order_of_a).flat_map(|row| (0..order_of_a).map(move |col| (row, col))) {
            if row == col || (row < col) == (uplo == UPPER) {
                a[place(order, row, col, 4)] = element(row, col);
            }
        }
        let (b, mut c) = (numbers(16), vec![f64::NAN; 16]);
        let (pa, pb, pc) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        // SAFETY: four lines of four elements hold every matrix.
        unsafe { cblas_dsymm(order, side, uplo, 3, 2, 1.0, pa, 4, pb, 4, 0.0, pc, 4) };
        for (row, col) in (0..m).flat_map(|row| (0..n).map(move |col| (row, col))) {
            let b = |row, col| b[place(order, row, col, 4)];
            let sum: f64 = match side {
                LEFT => (0..m).map(|l| element(row, l) * b(l, col)).sum(),
                _ => (0..n).map(|l| b(row, l) * element(l, col)).sum(),
            };
            assert_eq!(c[place(order, row, col, 4)], sum, "order {order}, side {side}, triangle {uplo}");
        }
    }
}

#[test]
fn a_hermitian_update_touches_one_triangle_and_makes_its_diagonal_real() {
    let (n, k) = (2usize, 3usize);
    let a: Vec<c64> = numbers(18).chunks(2).map(|pair| c64::new(pair[0], pair[1])).collect();
    for (order, uplo, trans) in [(ROWS, UPPER, NO), (ROWS, LOWER, CONJ), (COLUMNS, LOWER, NO), (COLUMNS, UPPER, CONJ)] {
        let mut c = [c64::new(1.0, 9.0); 4];
        // SAFETY: three lines of three elements hold the factor, two of two the result.
        unsafe { cblas_zherk(order, uplo, trans, 2, 3, 2.0, a.as_ptr(), 3, 1.0, c.as_mut_ptr(), 2) };
        let entering = |row, l| if trans == NO { a[place(order, row, l, 3)] } else { a[place(order, l, row, 3)].conj() };
        for (row, col) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let old = c64::new(1.0, if row == col { 0.0 } else { 9.0 });
            let stored = row == col || (row < col) == (uplo == UPPER);
            let sum: c64 = (0..k).map(|l| entering(row, l) * entering(col, l).conj()).sum();
            let expected = if stored { old + sum * 2.0 } else { old };
            assert_eq!(c[place(order, row, col, n)], expected, "order {order}, triangle {uplo}, {trans}, ({row}, {col})");
        }
    }
}

#[test]
fn solving_with_a_triangle_undoes_its_product() {
    let (m, n) = (3usize, 4usize);
    for (order, side, uplo, trans) in [(ROWS, LEFT, LOWER, NO), (ROWS, RIGHT, UPPER, YES), (COLUMNS, RIGHT, LOWER, NO)] {
        let order_of_a = if side == LEFT { m } else { n };
        // The other triangle is never read. Powers of two on the diagonal: the divisions are exact.
        let element = |row: usize, col: usize| match (row < col) == (uplo == UPPER) {
            _ if row == col => 2.0,
            true => (row * 2 + col) as f64 - 3.0,
            false => 0.0,
        };
        let mut a = [f64::NAN; 25];
        for (row, col) in (0..order_of_a).flat_map(|row| (0..order_of_a).map(move |col| (row, col))) {
            if row == col || (row < col) == (uplo == UPPER) {
                a[place(order, row, col, 5)] = element(row, col);
            }
        }
        let entering = |row: usize, col: usize| if trans == NO { element(row, col) } else { element(col, row) };
        let x = numbers(25);
        let mut b = x.clone();
        for (row, col) in (0..m).flat_map(|row| (0..n).map(move |col| (row, col))) {
            let x = |row, col| x[place(order, row, col, 5)];
            b[place(order, row, col, 5)] = match side {
                LEFT => (0..m).map(|l| entering(row, l) * x(l, col)).sum(),
                _ => (0..n).map(|l| x(row, l) * entering(l, col)).sum(),
            };
        }
        // SAFETY: five lines of five elements hold every matrix.
        unsafe { cblas_dtrsm(order, side, uplo, trans, 131, 3, 4, 1.0, a.as_ptr(), 5, b.as_mut_ptr(), 5) };
        assert_eq!(b, x, "order {order}, side {side}, triangle {uplo}, {trans}");
    }
}

#[test]
fn many_callers_at_once_get_their_own_results() {
    let n = 24usize;
    let reference = {
        let a = numbers(n * n);
        let mut c = vec![0.0; n * n];
        // SAFETY: square matrices of order 24.
        unsafe { cblas_dgemm(ROWS, NO, NO, 24, 24, 24, 1.0, a.as_ptr(), 24, a.as_ptr(), 24, 0.0, c.as_mut_ptr(), 24) };
        c
    };
    std::thread::scope(|scope| {
        for caller in 1..=6 {
            let reference = &reference;
            scope.spawn(move || {
                let a = numbers(n * n);
                for _ in 0..50 {
                    let mut c = vec![f64::NAN; n * n];
                    let (pa, pc) = (a.as_ptr(), c.as_mut_ptr());
                    // SAFETY: square matrices of order 24.
                    unsafe { cblas_dgemm(ROWS, NO, NO, 24, 24, 24, caller.into(), pa, 24, pa, 24, 0.0, pc, 24) };
                    assert!(c.iter().zip(reference).all(|(c, one)| *c == f64::from(caller) * one));
                }
            });
        }
    });
}
