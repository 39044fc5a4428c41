//! Makes symbols from lines of the table.
//!
//! `routines! { ordered: SHAPE => ROUTINE, (ARGUMENT: KIND, ...) -> RESULT, [NAME TYPE, ...]; ... }` exports
//! each name under
//!
//! | face | 32-bit integers | 64-bit integers |
//! |---|---|---|
//! | Fortran | `dgemm_` | `dgemm_64_` |
//! | C | `cblas_dgemm` | `cblas_dgemm_64`, `cblas_dgemm64_` |
//!
//! and each of those with `scipy_` before it, the names in the wheels of NumPy and SciPy. In C, `ordered`
//! routines take the order first, `plain` ones take none; `fortran` and `c` make one face only. In kinds, `T`
//! is the type and `R` its real numbers.

/// The lines of a table.
macro_rules! routines {
    ($($mode:ident: $shape:path => $routine:expr, $arguments:tt -> $result:ty, [$($name:ident $number:ty),+];)+) => {
        $( $( $crate::export::$mode! { $name $number, $shape, $routine, $arguments, $result } )+ )+
    };
}

/// Both faces, no order.
macro_rules! plain {
    ($($line:tt)*) => {
        $crate::export::fortran! { $($line)* }
        $crate::export::c! { $($line)* }
    };
}

/// Both faces, an order first in C.
macro_rules! ordered {
    ($($line:tt)*) => {
        $crate::export::fortran! { $($line)* }
        $crate::export::c_ordered! { $($line)* }
    };
}

macro_rules! fortran {
    ($($line:tt)*) => {
        $crate::export::fortran_symbol! { "" "_" i32, $($line)* }
        $crate::export::fortran_symbol! { "scipy_" "_" i32, $($line)* }
        $crate::export::fortran_symbol! { "" "_64_" i64, $($line)* }
        $crate::export::fortran_symbol! { "scipy_" "_64_" i64, $($line)* }
    };
}

macro_rules! c {
    ($($line:tt)*) => { $crate::export::c_names! { c_symbol, $($line)* } };
}

macro_rules! c_ordered {
    ($($line:tt)*) => { $crate::export::c_names! { c_ordered_symbol, $($line)* } };
}

macro_rules! c_names {
    ($symbol:ident, $($line:tt)*) => {
        $crate::export::$symbol! { "cblas_" "" i32, $($line)* }
        $crate::export::$symbol! { "scipy_cblas_" "" i32, $($line)* }
        $crate::export::$symbol! { "cblas_" "_64" i64, $($line)* }
        $crate::export::$symbol! { "cblas_" "64_" i64, $($line)* }
        $crate::export::$symbol! { "scipy_cblas_" "64_" i64, $($line)* }
    };
}

macro_rules! fortran_symbol {
    ($before:literal $after:literal $int:ty, $name:ident $number:ty, $shape:path, $routine:expr,
     ($($argument:ident: $kind:ty),*), $result:ty) => {
        const _: () = {
            type T = $number;
            #[allow(dead_code, reason = "not every routine has real arguments")]
            type R = <T as foregather_blas::Scalar>::Real;
            type F = Fortran<$int>;
            static COUNTER: trace::Counter = trace::Counter::new(concat!($before, stringify!($name), $after));
            #[unsafe(export_name = concat!($before, stringify!($name), $after))]
            unsafe extern "C" fn call($($argument: <$kind as Argument<F>>::Raw),*) -> <$result as ReturnKind<F>>::Raw {
                COUNTER.note();
                let site = Site::fortran(stringify!($name), size_of::<$int>());
                // SAFETY: the caller passes these arguments by the standard's rules, which are the contract
                // of `value` and of the shape.
                <$result as ReturnKind<F>>::raw(unsafe { $shape(site, $routine, $(<$kind as Argument<F>>::value($argument)),*) })
            }
        };
    };
}

macro_rules! c_symbol {
    ($before:literal $after:literal $int:ty, $name:ident $number:ty, $shape:path, $routine:expr,
     ($($argument:ident: $kind:ty),*), $result:ty) => {
        const _: () = {
            type T = $number;
            #[allow(dead_code, reason = "not every routine has real arguments")]
            type R = <T as foregather_blas::Scalar>::Real;
            type F = C<$int>;
            static COUNTER: trace::Counter = trace::Counter::new(concat!($before, stringify!($name), $after));
            #[unsafe(export_name = concat!($before, stringify!($name), $after))]
            unsafe extern "C" fn call($($argument: <$kind as Argument<F>>::Raw),*) -> <$result as ReturnKind<F>>::Raw {
                COUNTER.note();
                let site = Site::c(concat!("cblas_", stringify!($name), "\0"));
                // SAFETY: the caller passes these arguments by the standard's rules, which are the contract
                // of `value` and of the shape.
                <$result as ReturnKind<F>>::raw(unsafe { $shape(site, $routine, $(<$kind as Argument<F>>::value($argument)),*) })
            }
        };
    };
}

macro_rules! c_ordered_symbol {
    ($before:literal $after:literal $int:ty, $name:ident $number:ty, $shape:path, $routine:expr,
     ($($argument:ident: $kind:ty),*), $result:ty) => {
        const _: () = {
            type T = $number;
            #[allow(dead_code, reason = "not every routine has real arguments")]
            type R = <T as foregather_blas::Scalar>::Real;
            type F = C<$int>;
            static COUNTER: trace::Counter = trace::Counter::new(concat!($before, stringify!($name), $after));
            #[unsafe(export_name = concat!($before, stringify!($name), $after))]
            unsafe extern "C" fn call(order: std::ffi::c_int, $($argument: <$kind as Argument<F>>::Raw),*) {
                COUNTER.note();
                let Some(site) = Site::ordered(concat!("cblas_", stringify!($name), "\0"), Letter::of_code(order)) else {
                    return;
                };
                // SAFETY: the caller passes these arguments by the standard's rules, which are the contract
                // of `value` and of the shape.
                <$result as ReturnKind<F>>::raw(unsafe { $shape(site, $routine, $(<$kind as Argument<F>>::value($argument)),*) })
            }
        };
    };
}

pub(crate) use {c, c_names, c_ordered, c_ordered_symbol, c_symbol, fortran, fortran_symbol, ordered, plain, routines};
