//! One routine under all its names.
use super::{again, case, numbers};
use std::ffi::{c_char, c_int};

type Fortran<I> = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const I,
    *const I,
    *const I,
    *const f64,
    *const f64,
    *const I,
    *const f64,
    *const I,
    *const f64,
    *mut f64,
    *const I,
    usize,
    usize,
);
type C<I> = unsafe extern "C" fn(c_int, c_int, c_int, I, I, I, f64, *const f64, I, *const f64, I, f64, *mut f64, I);

macro_rules! symbols {
    ($($name:ident: ($($argument:ty),*);)*) => {
        unsafe extern "C" { $( fn $name($(_: $argument),*); )* }
    };
}

macro_rules! fortran {
    ($int:ty: $($name:ident)*) => {
        symbols! { $(
            $name: (
                *const c_char, *const c_char, *const $int, *const $int, *const $int, *const f64, *const f64, *const $int,
                *const f64, *const $int, *const f64, *mut f64, *const $int, usize, usize
            );
        )* }
    };
}

macro_rules! c {
    ($int:ty: $($name:ident)*) => {
        symbols! { $(
            $name: (
                c_int, c_int, c_int, $int, $int, $int, f64, *const f64, $int, *const f64, $int, f64, *mut f64, $int
            );
        )* }
    };
}

fortran! { i32: dgemm_ scipy_dgemm_ }
fortran! { i64: dgemm_64_ scipy_dgemm_64_ }
c! { i32: cblas_dgemm scipy_cblas_dgemm }
c! { i64: cblas_dgemm_64 cblas_dgemm64_ scipy_cblas_dgemm64_ }

unsafe extern "C" {
    fn cblas_ddot(n: c_int, x: *const f64, incx: c_int, y: *const f64, incy: c_int) -> f64;
}

/// A product of 2 x 3 and 3 x 2 by a Fortran symbol. Integers lie between others, so that reading too wide an
/// integer fails.
fn by_fortran<I: From<u8> + Copy>(routine: Fortran<I>) -> [f64; 4] {
    let (a, b) = (numbers(6), numbers(6));
    let mut c = [f64::NAN; 4];
    let sizes = [2u8, 255, 3, 255].map(I::from);
    let (two, three) = (&raw const sizes[0], &raw const sizes[2]);
    let (pa, pb, pc, no) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr(), c"N".as_ptr());
    // SAFETY: the standard's arguments, with the lengths of both strings at the end.
    unsafe { routine(no, no, two, two, three, &1.0, pa, two, pb, three, &0.0, pc, two, 1, 1) };
    c
}

/// The product by a C symbol.
fn by_c<I: From<u8>>(routine: C<I>) -> [f64; 4] {
    let (a, b) = (numbers(6), numbers(6));
    let mut c = [f64::NAN; 4];
    let int = I::from;
    let (pa, pb, pc) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
    // SAFETY: the standard's arguments.
    unsafe { routine(102, 111, 111, int(2), int(2), int(3), 1.0, pa, int(2), pb, int(3), 0.0, pc, int(2)) };
    c
}

#[test]
fn all_names_of_a_routine_compute_the_same() {
    let (a, b) = (numbers(6), numbers(6));
    let expected =
        [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(row, col)| (0..3).map(|l| a[row + 2 * l] * b[l + 3 * col]).sum::<f64>());
    assert_eq!([dgemm_, scipy_dgemm_].map(by_fortran::<i32>), [expected; 2]);
    assert_eq!([dgemm_64_, scipy_dgemm_64_].map(by_fortran::<i64>), [expected; 2]);
    assert_eq!([cblas_dgemm, scipy_cblas_dgemm].map(by_c::<i32>), [expected; 2]);
    assert_eq!([cblas_dgemm_64, cblas_dgemm64_, scipy_cblas_dgemm64_].map(by_c::<i64>), [expected; 3]);
}

#[test]
fn a_trace_counts_the_symbols_that_were_called() {
    if case().is_some() {
        let x = numbers(8);
        // SAFETY: eight elements.
        let _ = (0..3).map(|_| unsafe { cblas_ddot(8, x.as_ptr(), 1, x.as_ptr(), 1) }).sum::<f64>();
        by_c(scipy_cblas_dgemm64_);
        return;
    }
    let name = "tests::names::a_trace_counts_the_symbols_that_were_called";
    let lines = |trace| {
        let output = again(name, "calls", &[("FOREGATHER_BLAS_TRACE", trace)]);
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stderr).expect("a trace is text");
        text.lines()
            .filter_map(|line| line.strip_prefix("foregather_blas[")?.split_once("]: "))
            .map(|(_, line)| line.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(lines("1"), ["cblas_ddot 3", "scipy_cblas_dgemm64_ 1"]);
    assert_eq!(lines("0"), [""; 0]);
}
