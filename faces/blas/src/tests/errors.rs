//! Wrong arguments: the routine and position that are reported, and the end of the process.
use super::{again, case};
use std::ffi::{c_char, c_int};
use std::ptr::{null, null_mut};

unsafe extern "C" {
    fn dtrsm_(
        side: *const c_char,
        uplo: *const c_char,
        trans: *const c_char,
        diag: *const c_char,
        m: *const c_int,
        n: *const c_int,
        alpha: *const f64,
        a: *const f64,
        lda: *const c_int,
        b: *mut f64,
        ldb: *const c_int,
    );
    fn ssyrk_64_(
        uplo: *const c_char,
        trans: *const c_char,
        n: *const i64,
        k: *const i64,
        alpha: *const f32,
        a: *const f32,
        lda: *const i64,
        beta: *const f32,
        c: *mut f32,
        ldc: *const i64,
    );
    fn cblas_dger(
        order: c_int,
        m: c_int,
        n: c_int,
        alpha: f64,
        x: *const f64,
        incx: c_int,
        y: *const f64,
        incy: c_int,
        a: *mut f64,
        lda: c_int,
    );
    fn cblas_csyrk(
        order: c_int,
        uplo: c_int,
        trans: c_int,
        n: c_int,
        k: c_int,
        alpha: *const f32,
        a: *const f32,
        lda: c_int,
        beta: *const f32,
        c: *mut f32,
        ldc: c_int,
    );
    fn xerbla_array_(name: *const u8, length: *const c_int, position: *const c_int);
    fn lsame_(one: *const u8, other: *const u8, one_length: usize, other_length: usize) -> c_int;
}

fn trsm(side: &'static std::ffi::CStr, m: c_int, lda: c_int, ldb: c_int) {
    let [u, n] = [c"U", c"N"].map(|letter| letter.as_ptr());
    // SAFETY: every call of this test has a wrong argument, so no matrix is read.
    unsafe { dtrsm_(side.as_ptr(), u, n, n, &m, &2, &1.0, null(), &lda, null_mut(), &ldb) }
}

fn ger(order: c_int, m: c_int, n: c_int, incx: c_int, lda: c_int) {
    // SAFETY: every call of this test has a wrong argument, so no matrix is read.
    unsafe { cblas_dger(order, m, n, 1.0, null(), incx, null(), 1, null_mut(), lda) }
}

fn wide() {
    // SAFETY: no matrix is read; a transposed factor has two rows, so a leading dimension of one is wrong.
    unsafe { ssyrk_64_(c"L".as_ptr(), c"C".as_ptr(), &4, &2, &1.0, null(), &1, &0.0, null_mut(), &4) }
}

fn conjugated() {
    let (one, nought) = ([1.0, 0.0], [0.0; 2]);
    // SAFETY: no matrix is read; complex symmetric updates conjugate nothing, so that option is wrong.
    unsafe { cblas_csyrk(101, 121, 113, 1, 1, one.as_ptr(), null(), 1, nought.as_ptr(), null_mut(), 1) }
}

fn array() {
    // SAFETY: five characters.
    unsafe { xerbla_array_(c"HELPER".as_ptr().cast(), &5, &2) }
}

/// A wrong call, and its message.
struct Case {
    name: &'static str,
    call: fn(),
    routine: &'static str,
    position: u32,
}

const fn wrong(name: &'static str, call: fn(), routine: &'static str, position: u32) -> Case {
    Case { name, call, routine, position }
}

const CASES: [Case; 11] = [
    wrong("letter", || trsm(c"x", 3, 3, 3), "DTRSM", 1),
    // Of two wrong arguments the first is reported.
    wrong("first", || trsm(c"L", -1, 3, 0), "DTRSM", 5),
    wrong("lda left", || trsm(c"L", 3, 2, 3), "DTRSM", 9),
    wrong("ldb", || trsm(c"r", 3, 2, 2), "DTRSM", 11),
    wrong("wide", wide, "SSYRK", 7),
    wrong("no order", || ger(100, 1, 1, 1, 1), "cblas_dger", 1),
    wrong("increment", || ger(102, 3, 2, 0, 3), "cblas_dger", 6),
    // Three rows of two: two is enough in C's order only.
    wrong("column", || ger(102, 3, 2, 1, 2), "cblas_dger", 10),
    wrong("row", || ger(101, 3, 2, 1, 1), "cblas_dger", 10),
    wrong("conjugated", conjugated, "cblas_csyrk", 3),
    wrong("array", array, "HELPE", 2),
];

#[test]
fn a_wrong_argument_ends_the_process_and_is_named_by_its_position() {
    if let Some(case) = case() {
        let wrong = CASES.iter().find(|wrong| wrong.name == case).expect("a case of this test");
        (wrong.call)();
        unreachable!("{case} returned");
    }
    for Case { name: case, routine, position, .. } in CASES {
        let output = again("tests::errors::a_wrong_argument_ends_the_process_and_is_named_by_its_position", case, &[]);
        let text = String::from_utf8_lossy(&output.stderr);
        let expected = format!(" ** On entry to {routine} parameter number {position} had an illegal value\n");
        assert!(text.contains(&expected) && output.status.code() == Some(1), "{case}: {output:?}");
    }
}

#[test]
fn a_leading_dimension_may_be_shorter_in_the_other_order() {
    let (x, y) = ([1.0, 2.0, 3.0], [1.0, 10.0]);
    let mut a = [0.0; 6];
    // SAFETY: three rows of two.
    unsafe { cblas_dger(101, 3, 2, 1.0, x.as_ptr(), 1, y.as_ptr(), 1, a.as_mut_ptr(), 2) };
    assert_eq!(a, [1.0, 10.0, 2.0, 20.0, 3.0, 30.0]);
}

#[test]
fn letters_are_compared_without_their_case() {
    let same = |one: &[u8; 1], other: &[u8; 1]| {
        // SAFETY: a character each.
        unsafe { lsame_(one.as_ptr(), other.as_ptr(), 1, 1) }
    };
    assert_eq!((same(b"n", b"N"), same(b"N", b"N"), same(b"n", b"T")), (1, 1, 0));
}
