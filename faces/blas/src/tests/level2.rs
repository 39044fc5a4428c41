//! Level 2: one routine for each way a matrix is stored, in both orders, against sums over the whole matrix.
use super::numbers;
use foregather_blas::c64;
use std::ffi::{c_char, c_int};

const ROWS: c_int = 101;
const COLUMNS: c_int = 102;
const NO: c_int = 111;
const CONJ: c_int = 113;
const UPPER: c_int = 121;
const LOWER: c_int = 122;

unsafe extern "C" {
    fn dgemv_(
        trans: *const c_char,
        m: *const c_int,
        n: *const c_int,
        alpha: *const f64,
        a: *const f64,
        lda: *const c_int,
        x: *const f64,
        incx: *const c_int,
        beta: *const f64,
        y: *mut f64,
        incy: *const c_int,
        trans_length: usize,
    );
    fn cblas_dgemv(
        order: c_int,
        trans: c_int,
        m: c_int,
        n: c_int,
        alpha: f64,
        a: *const f64,
        lda: c_int,
        x: *const f64,
        incx: c_int,
        beta: f64,
        y: *mut f64,
        incy: c_int,
    );
    fn cblas_dgbmv(
        order: c_int,
        trans: c_int,
        m: c_int,
        n: c_int,
        kl: c_int,
        ku: c_int,
        alpha: f64,
        a: *const f64,
        lda: c_int,
        x: *const f64,
        incx: c_int,
        beta: f64,
        y: *mut f64,
        incy: c_int,
    );
    fn cblas_zhpmv(
        order: c_int,
        uplo: c_int,
        n: c_int,
        alpha: *const c64,
        a: *const c64,
        x: *const c64,
        incx: c_int,
        beta: *const c64,
        y: *mut c64,
        incy: c_int,
    );
    fn cblas_dtbsv(
        order: c_int,
        uplo: c_int,
        trans: c_int,
        diag: c_int,
        n: c_int,
        k: c_int,
        a: *const f64,
        lda: c_int,
        x: *mut f64,
        incx: c_int,
    );
    fn cblas_zgerc(
        order: c_int,
        m: c_int,
        n: c_int,
        alpha: *const c64,
        x: *const c64,
        incx: c_int,
        y: *const c64,
        incy: c_int,
        a: *mut c64,
        lda: c_int,
    );
    fn cblas_zher(order: c_int, uplo: c_int, n: c_int, alpha: f64, x: *const c64, incx: c_int, a: *mut c64, lda: c_int);
}

/// The place of element `(row, col)`.
fn place(order: c_int, row: usize, col: usize, ld: usize) -> usize {
    if order == ROWS { row * ld + col } else { row + col * ld }
}

#[test]
fn a_product_with_a_vector_knows_both_orders() {
    let (m, n, ld) = (3, 4, 6);
    let (a, x) = (numbers(ld * ld), numbers(n));
    for order in [ROWS, COLUMNS] {
        let mut y = numbers(m);
        let old = y.clone();
        // SAFETY: six lines of six elements hold the matrix in either order.
        unsafe { cblas_dgemv(order, NO, 3, 4, 2.0, a.as_ptr(), 6, x.as_ptr(), 1, -1.0, y.as_mut_ptr(), 1) };
        let sum = |row: usize| (0..n).map(|col| a[place(order, row, col, ld)] * x[col]).sum::<f64>();
        assert_eq!(y, (0..m).map(|row| 2.0 * sum(row) - old[row]).collect::<Vec<_>>(), "order {order}");
    }
}

#[test]
fn fortran_letters_have_two_cases_and_a_hidden_length() {
    let (a, x) = (numbers(12), numbers(3));
    let results = [c"t", c"T", c"c", c"Transposed"].map(|trans| {
        let mut y = [f64::NAN; 4];
        // SAFETY: a matrix of 3 x 4 elements.
        unsafe { dgemv_(trans.as_ptr(), &3, &4, &1.0, a.as_ptr(), &3, x.as_ptr(), &1, &0.0, y.as_mut_ptr(), &1, 1) };
        y.to_vec()
    });
    let expected: Vec<f64> = (0..4).map(|col| (0..3).map(|row| a[row + 3 * col] * x[row]).sum()).collect();
    assert_eq!(results, [0; 4].map(|_| expected.clone()));
}

#[test]
fn bands_lie_by_lines_of_the_callers_order() {
    let (m, n, kl, ku, ld) = (5usize, 4usize, 2usize, 1usize, 5usize);
    let (a, x) = (numbers(ld * m.max(n)), numbers(n));
    for order in [ROWS, COLUMNS] {
        let mut y = vec![f64::NAN; m];
        let (pa, px, py) = (a.as_ptr(), x.as_ptr(), y.as_mut_ptr());
        // SAFETY: as many lines as the matrix has in either order.
        unsafe { cblas_dgbmv(order, NO, 5, 4, 2, 1, 1.0, pa, 5, px, 1, 0.0, py, 1) };
        let element = |row: usize, col: usize| match order {
            _ if row > col + kl || col > row + ku => 0.0,
            ROWS => a[row * ld + kl + col - row],
            _ => a[col * ld + ku + row - col],
        };
        let expected: Vec<f64> = (0..m).map(|row| (0..n).map(|col| element(row, col) * x[col]).sum()).collect();
        assert_eq!(y, expected, "order {order}");
    }
}

#[test]
fn a_packed_hermitian_matrix_has_a_real_diagonal_and_a_conjugated_triangle() {
    let n = 3;
    let packed: Vec<c64> = numbers(12).chunks(2).map(|pair| c64::new(pair[0], pair[1] + 1.0)).collect();
    let x = [c64::new(1.0, 2.0), c64::new(-1.0, 0.0), c64::new(3.0, 1.0)];
    for (order, uplo) in [(ROWS, UPPER), (ROWS, LOWER), (COLUMNS, UPPER), (COLUMNS, LOWER)] {
        let mut y = [c64::new(f64::NAN, f64::NAN); 3];
        let (one, zero) = (c64::new(1.0, 0.0), c64::new(0.0, 0.0));
        // SAFETY: six elements are the triangle of order three.
        unsafe { cblas_zhpmv(order, uplo, 3, &one, packed.as_ptr(), x.as_ptr(), 1, &zero, y.as_mut_ptr(), 1) };
        // Lines that become shorter are rows of the upper or columns of the lower triangle.
        let shrinking = (order == ROWS) == (uplo == UPPER);
        let stored = |row: usize, col: usize| {
            let (first, last) = (row.min(col), row.max(col));
            packed[if shrinking { first * n - first * (first + 1) / 2 + last } else { last * (last + 1) / 2 + first }]
        };
        let element = |row: usize, col: usize| match (row < col) == (uplo == UPPER) {
            _ if row == col => c64::new(stored(row, col).re, 0.0),
            true => stored(row, col),
            false => stored(row, col).conj(),
        };
        let expected = [0, 1, 2].map(|row| (0..n).map(|col| element(row, col) * x[col]).sum::<c64>());
        assert_eq!(y, expected, "order {order}, triangle {uplo}");
    }
}

#[test]
fn solving_a_triangular_band_undoes_its_product() {
    let (n, k, ld) = (5usize, 2usize, 3usize);
    // Ones on the diagonal by option: the stored elements there are never read.
    for (order, uplo, trans) in [(ROWS, UPPER, NO), (ROWS, LOWER, CONJ), (COLUMNS, UPPER, CONJ), (COLUMNS, LOWER, NO)] {
        let diagonal = if (order == ROWS) == (uplo == UPPER) { 0 } else { k };
        let mut a = numbers(ld * n);
        a.iter_mut().skip(diagonal).step_by(ld).for_each(|element| *element = f64::NAN);
        let element = |row: usize, col: usize| match (row < col) == (uplo == UPPER) {
            _ if row == col => 1.0,
            true if row.abs_diff(col) <= k && order == ROWS => a[row * ld + diagonal + col - row],
            true if row.abs_diff(col) <= k => a[col * ld + diagonal + row - col],
            _ => 0.0,
        };
        let x = numbers(n);
        let entering = |row: usize, col: usize| if trans == NO { element(row, col) } else { element(col, row) };
        let mut b: Vec<f64> = (0..n).map(|row| (0..n).map(|col| entering(row, col) * x[col]).sum()).collect();
        // SAFETY: five lines of three elements.
        unsafe { cblas_dtbsv(order, uplo, trans, 132, 5, 2, a.as_ptr(), 3, b.as_mut_ptr(), 1) };
        assert_eq!(b, x, "order {order}, triangle {uplo}, {trans}");
    }
}

#[test]
fn outer_products_conjugate_the_second_vector_and_keep_to_their_triangle() {
    let (x, y) = ([c64::new(1.0, 2.0), c64::new(3.0, 0.0)], [c64::new(0.0, 1.0), c64::new(2.0, 2.0)]);
    for order in [ROWS, COLUMNS] {
        let mut a = [c64::new(0.0, 0.0); 4];
        // SAFETY: two lines of two elements.
        unsafe { cblas_zgerc(order, 2, 2, &c64::new(0.0, 1.0), x.as_ptr(), 1, y.as_ptr(), 1, a.as_mut_ptr(), 2) };
        for (row, col) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            assert_eq!(a[place(order, row, col, 2)], c64::new(0.0, 1.0) * x[row] * y[col].conj(), "order {order}");
        }
        // The imaginary part of the diagonal becomes nought.
        let mut a = [c64::new(5.0, 7.0); 4];
        // SAFETY: two lines of two elements.
        unsafe { cblas_zher(order, LOWER, 2, 2.0, x.as_ptr(), 1, a.as_mut_ptr(), 2) };
        let expected =
            [(0, 0, c64::new(15.0, 0.0)), (0, 1, c64::new(5.0, 7.0)), (1, 0, c64::new(11.0, -5.0)), (1, 1, c64::new(23.0, 0.0))];
        for (row, col, value) in expected {
            assert_eq!(a[place(order, row, col, 2)], value, "order {order}, ({row}, {col})");
        }
    }
}
