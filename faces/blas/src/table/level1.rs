//! Level 1: vectors.
use crate::argument::{ArgumentKind, By, C, Fortran, Index, Int, Nothing, ReturnKind};
use crate::export::routines;
use crate::{level1, site::CallSite, trace};
use foregather_blas as blas;
use foregather_blas::{c32, c64};

routines! {
    plain: level1::copy => blas::copy::<T>, (n: Int, x: *const T, incx: Int, y: *mut T, incy: Int) -> Nothing,
        [scopy f32, dcopy f64, ccopy c32, zcopy c64];
    plain: level1::swap => blas::swap::<T>, (n: Int, x: *mut T, incx: Int, y: *mut T, incy: Int) -> Nothing,
        [sswap f32, dswap f64, cswap c32, zswap c64];
    plain: level1::axpy => blas::axpy::<T>, (n: Int, alpha: By<T>, x: *const T, incx: Int, y: *mut T, incy: Int) -> Nothing,
        [saxpy f32, daxpy f64, caxpy c32, zaxpy c64];
    plain: level1::axpby => blas::axpby::<T>,
        (n: Int, alpha: By<T>, x: *const T, incx: Int, beta: By<T>, y: *mut T, incy: Int) -> Nothing,
        [saxpby f32, daxpby f64, caxpby c32, zaxpby c64];
    plain: level1::scal => blas::scal::<T>, (n: Int, alpha: By<T>, x: *mut T, incx: Int) -> Nothing,
        [sscal f32, dscal f64, cscal c32, zscal c64];
    plain: level1::scal => blas::scal_real::<T>, (n: Int, alpha: By<R>, x: *mut T, incx: Int) -> Nothing,
        [csscal c32, zdscal c64];
    plain: level1::rot => blas::rot::<T>,
        (n: Int, x: *mut T, incx: Int, y: *mut T, incy: Int, c: By<R>, s: By<R>) -> Nothing,
        [srot f32, drot f64, csrot c32, zdrot c64];
    plain: level1::rotg => blas::rotg::<T>, (a: *mut T, b: *mut T, c: *mut R, s: *mut T) -> Nothing,
        [srotg f32, drotg f64, crotg c32, zrotg c64];
    plain: level1::rotm => blas::rotm::<T>,
        (n: Int, x: *mut T, incx: Int, y: *mut T, incy: Int, param: *const T) -> Nothing,
        [srotm f32, drotm f64];
    plain: level1::rotmg => blas::rotmg::<T>, (d1: *mut T, d2: *mut T, x1: *mut T, y1: By<T>, param: *mut T) -> Nothing,
        [srotmg f32, drotmg f64];
    plain: level1::nrm2 => blas::nrm2::<T>, (n: Int, x: *const T, incx: Int) -> R,
        [snrm2 f32, dnrm2 f64, scnrm2 c32, dznrm2 c64];
    plain: level1::asum => blas::asum::<T>, (n: Int, x: *const T, incx: Int) -> R,
        [sasum f32, dasum f64, scasum c32, dzasum c64];
    plain: level1::iamax => blas::iamax::<T>, (n: Int, x: *const T, incx: Int) -> Index,
        [isamax f32, idamax f64, icamax c32, izamax c64];
    plain: level1::cabs1 => blas::Scalar::abs1, (z: By<T>) -> R,
        [scabs1 c32, dcabs1 c64];
    plain: level1::dot => blas::dot::<T>, (n: Int, x: *const T, incx: Int, y: *const T, incy: Int) -> T,
        [sdot f32, ddot f64];
    plain: level1::dot => blas::dsdot, (n: Int, x: *const T, incx: Int, y: *const T, incy: Int) -> f64,
        [dsdot f32];
    plain: level1::dot_plus => blas::sdsdot, (n: Int, b: By<T>, x: *const T, incx: Int, y: *const T, incy: Int) -> T,
        [sdsdot f32];

    // Fortran returns complex numbers in registers, as gfortran does; a C caller passes the place for them.
    fortran: level1::dot => blas::dotu::<T>, (n: Int, x: *const T, incx: Int, y: *const T, incy: Int) -> T,
        [cdotu c32, zdotu c64];
    fortran: level1::dot => blas::dotc::<T>, (n: Int, x: *const T, incx: Int, y: *const T, incy: Int) -> T,
        [cdotc c32, zdotc c64];
    c: level1::dot_into => blas::dotu::<T>,
        (n: Int, x: *const T, incx: Int, y: *const T, incy: Int, into: *mut T) -> Nothing,
        [cdotu_sub c32, zdotu_sub c64];
    c: level1::dot_into => blas::dotc::<T>,
        (n: Int, x: *const T, incx: Int, y: *const T, incy: Int, into: *mut T) -> Nothing,
        [cdotc_sub c32, zdotc_sub c64];
}
