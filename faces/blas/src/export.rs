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
        $crate::export::symbol! { "" "_" Fortran i32 [], $($line)* }
        $crate::export::symbol! { "scipy_" "_" Fortran i32 [], $($line)* }
        $crate::export::symbol! { "" "_64_" Fortran i64 [], $($line)* }
        $crate::export::symbol! { "scipy_" "_64_" Fortran i64 [], $($line)* }
    };
}

macro_rules! c {
    ($($line:tt)*) => { $crate::export::c_names! { [], $($line)* } };
}

macro_rules! c_ordered {
    ($($line:tt)*) => { $crate::export::c_names! { [order], $($line)* } };
}

macro_rules! c_names {
    ($order:tt, $($line:tt)*) => {
        $crate::export::symbol! { "cblas_" "" C i32 $order, $($line)* }
        $crate::export::symbol! { "scipy_cblas_" "" C i32 $order, $($line)* }
        $crate::export::symbol! { "cblas_" "_64" C i64 $order, $($line)* }
        $crate::export::symbol! { "cblas_" "64_" C i64 $order, $($line)* }
        $crate::export::symbol! { "scipy_cblas_" "64_" C i64 $order, $($line)* }
    };
}

/// One symbol, with an order as its first argument if that has a name here.
macro_rules! symbol {
    ($before:literal $after:literal $face:ident $int:ident [$($order:ident)?], $name:ident $number:ty, $shape:path, $routine:expr,
     ($($argument:ident: $kind:ty),*), $result:ty) => {
        const _: () = {
            type T = $number;
            #[allow(dead_code, reason = "not every routine has real arguments")]
            type R = <T as foregather_blas::Scalar>::Real;
            type F = $face<$int>;
            static COUNTER: trace::SymbolCount = trace::SymbolCount::new(concat!($before, stringify!($name), $after));
            #[unsafe(export_name = concat!($before, stringify!($name), $after))]
            unsafe extern "C" fn call(
                $($order: std::ffi::c_int,)?
                $($argument: <$kind as ArgumentKind<F>>::Raw),*
            ) -> <$result as ReturnKind<F>>::Raw {
                COUNTER.note();
                let site = $crate::export::site!($face $int, $name $($order)?);
                // SAFETY: the caller passes these arguments by the standard's rules, which are the contract
                // of `value` and of the shape.
                <$result as ReturnKind<F>>::raw(unsafe { $shape(site, $routine, $(<$kind as ArgumentKind<F>>::value($argument)),*) })
            }
        };
    };
}

/// Where a call comes from. An order that there is none of ends it.
macro_rules! site {
    (Fortran $int:ident, $name:ident) => {
        CallSite::fortran(stringify!($name), size_of::<$int>())
    };
    (C $int:ident, $name:ident) => {
        CallSite::c(concat!("cblas_", stringify!($name), "\0"))
    };
    (C $int:ident, $name:ident $order:ident) => {
        match CallSite::ordered(concat!("cblas_", stringify!($name), "\0"), Letter::of_code($order)) {
            Some(site) => site,
            None => return,
        }
    };
}

pub(crate) use {c, c_names, c_ordered, fortran, ordered, plain, routines, site, symbol};
