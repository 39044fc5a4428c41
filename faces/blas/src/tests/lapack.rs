//! LAPACK's factorisations: pivots from 1, outcomes, queries, and reports of wrong arguments.
use super::{again, case};
use foregather_blas::c64;
use std::ffi::{c_char, c_int};
use std::ptr::{null, null_mut};

unsafe extern "C" {
    fn dgetrf_(m: *const c_int, n: *const c_int, a: *mut f64, lda: *const c_int, pivots: *mut c_int, info: *mut c_int);
    fn scipy_dgetrf_64_(m: *const i64, n: *const i64, a: *mut f64, lda: *const i64, pivots: *mut i64, info: *mut i64);
    fn zpotrf_(uplo: *const c_char, n: *const c_int, a: *mut c64, lda: *const c_int, info: *mut c_int, length: usize);
    fn dpotrf_64_(uplo: *const c_char, n: *const i64, a: *mut f64, lda: *const i64, info: *mut i64, length: usize);
    fn sgeqrf_(
        m: *const c_int,
        n: *const c_int,
        a: *mut f32,
        lda: *const c_int,
        tau: *mut f32,
        work: *mut f32,
        lwork: *const c_int,
        info: *mut c_int,
    );
}

#[test]
fn pivots_count_from_one_and_the_outcome_names_the_first_pivot_of_nought() {
    // Two rows of three; what lies between columns stays.
    let (mut a, mut pivots, mut info) = ([1.0, 4.0, -7.0, 2.0, 8.0, -7.0, 3.0, 9.0], [0; 3], 99);
    // SAFETY: the standard's arguments.
    unsafe { dgetrf_(&2, &3, a.as_mut_ptr(), &3, pivots.as_mut_ptr(), &mut info) };
    assert_eq!((a, pivots, info), ([4.0, 0.25, -7.0, 8.0, 0.0, -7.0, 9.0, 0.75], [2, 2, 0], 2));
    let (mut a, mut pivots, mut info) = ([0.0, 2.0, 3.0, 4.0], [0; 2], 99);
    // SAFETY: the standard's arguments.
    unsafe { scipy_dgetrf_64_(&2, &2, a.as_mut_ptr(), &2, pivots.as_mut_ptr(), &mut info) };
    assert_eq!((a, pivots, info), ([2.0, 0.0, 4.0, 3.0], [2, 2], 0));
    let mut info = 99;
    // SAFETY: there are no elements.
    unsafe { dgetrf_(&0, &5, null_mut(), &1, null_mut(), &mut info) };
    assert_eq!(info, 0);
}

#[test]
fn the_outcome_names_the_first_minor_that_is_not_positive() {
    let number = |re: f64| c64::new(re, 0.0);
    // The imaginary part on the diagonal is not read, nor is the lower triangle.
    let trap = c64::new(f64::NAN, 0.0);
    let (mut a, mut info) = ([c64::new(4.0, 5.0), trap, c64::new(0.0, 2.0), number(5.0)], 99);
    // SAFETY: the standard's arguments.
    unsafe { zpotrf_(c"u".as_ptr(), &2, a.as_mut_ptr(), &2, &mut info, 1) };
    assert_eq!((a[0], a[2], a[3], info), (number(2.0), c64::new(0.0, 1.0), number(2.0), 0));
    let (mut a, mut info) = ([4.0, 2.0, f64::NAN, 1.0], 99);
    // SAFETY: the standard's arguments.
    unsafe { dpotrf_64_(c"L".as_ptr(), &2, a.as_mut_ptr(), &2, &mut info, 1) };
    assert_eq!(info, 2);
}

#[test]
fn a_query_says_how_much_room_to_give_and_reads_nothing_else() {
    let (mut work, mut info) = ([0.0; 2], 99);
    // SAFETY: a query: matrices are neither read nor written.
    unsafe { sgeqrf_(&7, &5, null_mut(), &7, null_mut(), work.as_mut_ptr(), &-1, &mut info) };
    assert_eq!((work, info), ([160.0, 0.0], 0));
    let (mut a, mut tau) = ([3.0, 4.0], [0.0]);
    // The least room that the standard allows.
    // SAFETY: the standard's arguments.
    unsafe { sgeqrf_(&2, &1, a.as_mut_ptr(), &2, tau.as_mut_ptr(), work.as_mut_ptr(), &1, &mut info) };
    assert_eq!((a, tau, work, info), ([-5.0, 0.5], [1.6], [32.0, 0.0], 0));
    // SAFETY: there are no elements.
    unsafe { sgeqrf_(&0, &4, null_mut(), &1, null_mut(), work.as_mut_ptr(), &1, &mut info) };
    assert_eq!((work[0], info), (1.0, 0));
}

/// A wrong call, and the routine and position that it must report.
type Case = (&'static str, fn(), &'static str, u32);

fn qr(m: c_int, n: c_int, lda: c_int, lwork: c_int) {
    let mut info = 0;
    // SAFETY: every call of this test has a wrong argument, so nothing else is read.
    unsafe { sgeqrf_(&m, &n, null_mut(), &lda, null_mut(), null::<f32>().cast_mut(), &lwork, &mut info) }
}

fn lu(m: c_int, n: c_int, lda: c_int) {
    let mut info = 0;
    // SAFETY: every call of this test has a wrong argument, so nothing else is read.
    unsafe { dgetrf_(&m, &n, null_mut(), &lda, null_mut(), &mut info) }
}

fn triangle(uplo: &'static std::ffi::CStr, n: c_int, lda: c_int) {
    let mut info = 0;
    // SAFETY: every call of this test has a wrong argument, so nothing else is read.
    unsafe { zpotrf_(uplo.as_ptr(), &n, null_mut(), &lda, &mut info, 1) }
}

const CASES: [Case; 9] = [
    ("rows", || lu(-1, -1, 0), "DGETRF", 1),
    ("columns", || lu(2, -1, 0), "DGETRF", 2),
    ("lda", || lu(2, 1, 1), "DGETRF", 4),
    ("letter", || triangle(c"X", -1, 0), "ZPOTRF", 1),
    ("order", || triangle(c"L", -1, 0), "ZPOTRF", 2),
    ("lead", || triangle(c"U", 3, 2), "ZPOTRF", 4),
    ("query", || qr(2, 1, 1, -1), "SGEQRF", 4),
    ("work", || qr(1, 2, 1, 1), "SGEQRF", 7),
    ("no work", || qr(0, 2, 1, 0), "SGEQRF", 7),
];

#[test]
fn a_wrong_argument_of_a_factorisation_is_named_by_its_position() {
    if let Some(case) = case() {
        let (_, call, ..) = CASES.iter().find(|(name, ..)| *name == case).expect("a case of this test");
        call();
        unreachable!("{case} returned");
    }
    for (name, _, routine, position) in CASES {
        let test = "tests::lapack::a_wrong_argument_of_a_factorisation_is_named_by_its_position";
        let output = again(test, name, &[]);
        let text = String::from_utf8_lossy(&output.stderr);
        let expected = format!(" ** On entry to {routine} parameter number {position} had an illegal value\n");
        assert!(text.contains(&expected) && output.status.code() == Some(1), "{name}: {output:?}");
    }
}
