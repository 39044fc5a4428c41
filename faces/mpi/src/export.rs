//! Makes symbols from lines of the table.
//!
//! `calls! { Name name(arguments of C) noted effect; .. }` exports the function in C, its form for large
//! counts, and those of Fortran: `mpi_name_`, and of the module `mpi_f08` in Open MPI and in MPICH.

/// Declares all functions.
macro_rules! calls {
    ($($name:ident $lower:ident($($argument:ident)*) $noted:ident $effect:expr;)*) => {$(
        const _: () = {
            const EFFECT: $crate::record::CallEffect = $effect;
            const CALL: Option<foregather_host::watched::calls::MpiCall> = $crate::export::noted!($noted $name);
            $crate::export::entry! { C "MPI_" "PMPI_" $name "" ($($argument)*) }
            $crate::export::entry! { C "MPI_" "PMPI_" $name "_c" ($($argument)*) }
            $crate::export::entry! { Fortran "mpi_" "pmpi_" $lower "_" ($($argument)* error) }
            $crate::export::entry! { Fortran "mpi_" "pmpi_" $lower "_f08_" ($($argument)* error) }
            $crate::export::entry! { Fortran "mpi_" "pmpi_" $lower "_f08ts_" ($($argument)* error) }
        };
    )*};
}

/// Whether the watcher sees that a thread is in the call.
macro_rules! noted {
    (waits $name:ident) => {
        Some(foregather_host::watched::calls::MpiCall::$name)
    };
    (returns $name:ident) => {
        None
    };
}

/// One symbol.
macro_rules! entry {
    ($language:ident $prefix:literal $profiling:literal $name:ident $suffix:literal ($($argument:ident)*)) => {
        const _: () = {
            #[inline(always)]
            #[allow(clippy::too_many_arguments, reason = "the standard's")]
            unsafe fn next(found: *mut core::ffi::c_void, $($argument: usize),*) -> usize {
                // SAFETY: the function that was found by this name takes these words and returns at most one.
                unsafe {
                    core::mem::transmute::<
                        *mut core::ffi::c_void,
                        unsafe extern "C-unwind" fn($($crate::export::word!($argument)),*) -> usize,
                    >(found)($($argument),*)
                }
            }
            #[unsafe(export_name = concat!($prefix, stringify!($name), $suffix))]
            #[allow(clippy::too_many_arguments, reason = "the standard's")]
            unsafe extern "C-unwind" fn call($($argument: usize),*) -> usize {
                static NEXT: $crate::next::NextCall = $crate::next::NextCall::new(
                    $crate::next::to_c(concat!($prefix, stringify!($name), $suffix, "\0")),
                    $crate::next::to_c(concat!($profiling, stringify!($name), $suffix, "\0")),
                );
                let values: &[usize] = &[$($argument),*];
                let arguments =
                    $crate::arguments::Arguments { language: $crate::arguments::Language::$language, values };
                // Only calls with requests keep them on the stack.
                if let $crate::record::CallEffect::Requests { count, requests } = EFFECT {
                    let noted = $crate::record::begin_requests(CALL, (count, requests), &arguments);
                    // SAFETY: the caller's promise is that of the function.
                    let result = unsafe { next(NEXT.get(), $($argument),*) };
                    if let Some((noted, open)) = &noted {
                        $crate::record::end_requests(noted, open, CALL, requests, &arguments);
                    }
                    return result;
                }
                let noted = $crate::record::begin(CALL, &EFFECT, &arguments);
                // SAFETY: the caller's promise is that of the function.
                let result = unsafe { next(NEXT.get(), $($argument),*) };
                if let Some(noted) = &noted {
                    $crate::record::end(noted, CALL, &EFFECT, &arguments, result);
                }
                result
            }
        };
    };
}

/// The kind of an argument.
macro_rules! word {
    ($argument:ident) => {
        usize
    };
}

pub(crate) use {calls, entry, noted, word};
