//! Level 1, by its Fortran and C symbols.
use foregather_blas::{c32, c64};
use std::ffi::c_int;
use std::ptr::{null, null_mut};

unsafe extern "C" {
    fn daxpy_(n: *const c_int, alpha: *const f64, x: *const f64, incx: *const c_int, y: *mut f64, incy: *const c_int);
    fn dcopy_(n: *const c_int, x: *const f64, incx: *const c_int, y: *mut f64, incy: *const c_int);
    fn dscal_(n: *const c_int, alpha: *const f64, x: *mut f64, incx: *const c_int);
    fn cblas_daxpy(n: c_int, alpha: f64, x: *const f64, incx: c_int, y: *mut f64, incy: c_int);
    fn cblas_zaxpy(n: c_int, alpha: *const c64, x: *const c64, incx: c_int, y: *mut c64, incy: c_int);
    fn cblas_zdscal(n: c_int, alpha: f64, x: *mut c64, incx: c_int);
    fn sdot_(n: *const c_int, x: *const f32, incx: *const c_int, y: *const f32, incy: *const c_int) -> f32;
    fn cblas_dsdot(n: c_int, x: *const f32, incx: c_int, y: *const f32, incy: c_int) -> f64;
    fn cblas_sdsdot(n: c_int, b: f32, x: *const f32, incx: c_int, y: *const f32, incy: c_int) -> f32;
    fn cdotu_(n: *const c_int, x: *const c32, incx: *const c_int, y: *const c32, incy: *const c_int) -> c32;
    fn zdotc_(n: *const c_int, x: *const c64, incx: *const c_int, y: *const c64, incy: *const c_int) -> c64;
    fn cblas_zdotc_sub(n: c_int, x: *const c64, incx: c_int, y: *const c64, incy: c_int, into: *mut c64);
    fn dnrm2_(n: *const c_int, x: *const f64, incx: *const c_int) -> f64;
    fn scasum_(n: *const c_int, x: *const c32, incx: *const c_int) -> f32;
    fn idamax_(n: *const c_int, x: *const f64, incx: *const c_int) -> c_int;
    fn idamax_64_(n: *const i64, x: *const f64, incx: *const i64) -> i64;
    fn cblas_idamax(n: c_int, x: *const f64, incx: c_int) -> usize;
    fn drotg_(a: *mut f64, b: *mut f64, c: *mut f64, s: *mut f64);
    fn zrotg_(a: *mut c64, b: *const c64, c: *mut f64, s: *mut c64);
    fn cblas_drotmg(d1: *mut f64, d2: *mut f64, x1: *mut f64, y1: f64, param: *mut f64);
    fn drotm_(n: *const c_int, x: *mut f64, incx: *const c_int, y: *mut f64, incy: *const c_int, param: *const f64);
    fn dcabs1_(z: *const c64) -> f64;
}

#[test]
fn updates_follow_increments_of_either_sign() {
    let x = [1.0, 9.0, 2.0, 9.0, 3.0];
    let mut y = [10.0, 20.0, 30.0];
    // SAFETY: three elements each, within their arrays.
    unsafe { daxpy_(&3, &2.0, x.as_ptr(), &2, y.as_mut_ptr(), &-1) };
    assert_eq!(y, [16.0, 24.0, 32.0]);
    // SAFETY: three elements each, within their arrays.
    unsafe { cblas_daxpy(3, -2.0, x.as_ptr(), -2, y.as_mut_ptr(), 1) };
    assert_eq!(y, [10.0, 20.0, 30.0]);
    // SAFETY: within their arrays; an increment of nought reads one element again and again.
    unsafe { dcopy_(&3, x.as_ptr(), &0, y.as_mut_ptr(), &1) };
    assert_eq!(y, [1.0; 3]);
}

#[test]
fn complex_factors_come_by_reference_and_real_ones_by_value() {
    let x = [c64::new(1.0, 2.0), c64::new(3.0, -1.0)];
    let mut y = [c64::new(0.0, 1.0); 2];
    // SAFETY: two elements each.
    unsafe { cblas_zaxpy(2, &c64::new(0.0, 1.0), x.as_ptr(), 1, y.as_mut_ptr(), 1) };
    assert_eq!(y, [c64::new(-2.0, 2.0), c64::new(1.0, 4.0)]);
    // SAFETY: two elements.
    unsafe { cblas_zdscal(2, 0.5, y.as_mut_ptr(), 1) };
    assert_eq!(y, [c64::new(-1.0, 1.0), c64::new(0.5, 2.0)]);
}

#[test]
fn sums_are_returned_as_their_own_kind() {
    let (x, y) = ([1.0f32, 2.0, 3.0], [4.0f32, -5.0, 6.0]);
    // SAFETY: three elements each.
    let all = unsafe {
        let (x, y) = (x.as_ptr(), y.as_ptr());
        (sdot_(&3, x, &1, y, &1), cblas_dsdot(3, x, 1, y, -1), cblas_sdsdot(3, 0.5, x, 1, y, 1))
    };
    assert_eq!(all, (12.0, 8.0, 12.5));
}

#[test]
fn complex_sums_are_returned_in_registers_to_fortran_and_in_memory_to_c() {
    let (x, y) = ([c32::new(1.0, 2.0), c32::new(0.0, 1.0)], [c32::new(3.0, 1.0), c32::new(2.0, -1.0)]);
    // SAFETY: two elements each.
    assert_eq!(unsafe { cdotu_(&2, x.as_ptr(), &1, y.as_ptr(), &1) }, c32::new(2.0, 9.0));
    let (x, y) = (x.map(|x| c64::new(x.re.into(), x.im.into())), y.map(|y| c64::new(y.re.into(), y.im.into())));
    let mut into = c64::new(f64::NAN, f64::NAN);
    // SAFETY: two elements each, and a place for the result.
    let fortran = unsafe {
        cblas_zdotc_sub(2, x.as_ptr(), 1, y.as_ptr(), 1, &mut into);
        zdotc_(&2, x.as_ptr(), &1, y.as_ptr(), &1)
    };
    assert_eq!((fortran, into), (c64::new(4.0, -7.0), c64::new(4.0, -7.0)));
}

#[test]
fn norms_take_any_increment_and_sums_only_positive_ones() {
    let x = [3.0, 7.0, 4.0];
    let z = [c32::new(1.0, -2.0), c32::new(-3.0, 4.0)];
    // SAFETY: within the arrays.
    unsafe {
        assert_eq!(dnrm2_(&2, x.as_ptr(), &-2), 5.0);
        assert_eq!(dnrm2_(&2, [3e300, 4e300].as_ptr(), &1), 5e300);
        assert_eq!(scasum_(&2, z.as_ptr(), &1), 10.0);
        assert_eq!(scasum_(&2, z.as_ptr(), &-1), 0.0);
        assert_eq!(dcabs1_(&c64::new(-1.5, 2.0)), 3.5);
    }
}

#[test]
fn the_greatest_is_counted_from_one_in_fortran_and_from_nought_in_c() {
    let x = [1.0, -8.0, 8.0];
    // SAFETY: within the array; with no elements nothing is read.
    unsafe {
        assert_eq!(idamax_(&3, x.as_ptr(), &1), 2);
        assert_eq!(idamax_64_(&3, x.as_ptr(), &1), 2);
        assert_eq!(cblas_idamax(3, x.as_ptr(), 1), 1);
        assert_eq!((idamax_(&0, null(), &1), idamax_(&3, x.as_ptr(), &0), cblas_idamax(0, null(), 1)), (0, 0, 0));
    }
}

#[test]
fn rotations_write_what_the_standard_says_and_nothing_else() {
    let (mut a, mut b, mut c, mut s) = (3.0, 4.0, 0.0, 0.0);
    // SAFETY: four places.
    unsafe { drotg_(&mut a, &mut b, &mut c, &mut s) };
    assert!((a - 5.0).abs() < 1e-14 && (b - 1.0 / 0.6).abs() < 1e-14 && (c - 0.6).abs() < 1e-14 && (s - 0.8).abs() < 1e-14);
    let (mut a, b, mut s) = (c64::new(0.0, 0.0), c64::new(0.0, 2.0), c64::new(0.0, 0.0));
    // SAFETY: `b` is only read.
    unsafe { zrotg_(&mut a, &b, &mut c, &mut s) };
    assert_eq!((a.norm_sqr(), b, c), (4.0, c64::new(0.0, 2.0), 0.0));
    // The second coordinate is already nought: flag -2, nothing else is written.
    let (mut d1, mut d2, mut x1, mut param) = (1.0, 1.0, 1.0, [7.0; 5]);
    // SAFETY: three places and five.
    unsafe { cblas_drotmg(&mut d1, &mut d2, &mut x1, 0.0, param.as_mut_ptr()) };
    assert_eq!((d1, d2, x1, param), (1.0, 1.0, 1.0, [-2.0, 7.0, 7.0, 7.0, 7.0]));
    // Flag 0: h11 and h22 are one, whatever the array holds.
    let (mut x, mut y) = ([1.0, 2.0], [3.0, 4.0]);
    // SAFETY: two elements each and five parameters.
    unsafe { drotm_(&2, x.as_mut_ptr(), &1, y.as_mut_ptr(), &1, [0.0, f64::NAN, 2.0, 10.0, f64::NAN].as_ptr()) };
    assert_eq!((x, y), ([31.0, 42.0], [5.0, 8.0]));
}

#[test]
fn the_sum_of_no_elements_is_positive_zero() {
    // SAFETY: with no elements nothing is read.
    let sums = unsafe {
        [
            sdot_(&0, null(), &1, null(), &1).into(),
            cblas_dsdot(0, null(), 1, null(), 1),
            cblas_sdsdot(0, 0.0, null(), 1, null(), 1).into(),
            cdotu_(&0, null(), &1, null(), &1).re.into(),
            zdotc_(&0, null(), &1, null(), &1).re,
            zdotc_(&0, null(), &1, null(), &1).im,
            dnrm2_(&0, null(), &1),
            scasum_(&0, null(), &1).into(),
        ]
    };
    assert_eq!(sums.map(f64::to_bits), [0; 8], "{sums:?}");
}

#[test]
fn without_elements_nothing_is_touched() {
    for n in [0, -3] {
        // SAFETY: no element, hence no access.
        unsafe {
            daxpy_(&n, &2.0, null(), &1, null_mut(), &1);
            dscal_(&n, &2.0, null_mut(), &1);
            dcopy_(&n, null(), &-1, null_mut(), &-1);
            assert_eq!(dnrm2_(&n, null(), &1), 0.0);
            assert_eq!(sdot_(&n, null(), &1, null(), &1), 0.0);
        }
    }
    // The standard wants a positive increment here.
    let mut x = [1.0];
    // SAFETY: one element.
    unsafe { dscal_(&1, &2.0, x.as_mut_ptr(), &-1) };
    assert_eq!(x, [1.0]);
}
