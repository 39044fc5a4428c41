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
                let arguments = $crate::arguments::Arguments::new($crate::arguments::Binding::$language, values);
                $crate::export::noting!(CALL, EFFECT, arguments, result, {
                    // SAFETY: the caller's promise is that of the function.
                    unsafe { next(NEXT.get(), $($argument),*) }
                });
                result
            }
        };
    };
}

/// Makes a call between the notes of its beginning and its end, by the shortest way for its effect.
macro_rules! noting {
    ($call:expr, $effect:expr, $arguments:ident, $result:ident, $make:block) => {
        use $crate::record::{self, CallEffect};
        let $result = match $effect {
            CallEffect::Messages { send, receive, communicator } => {
                let noted = record::begin_messages($call, send, receive, communicator, &$arguments);
                let result = $make;
                if let Some(noted) = &noted {
                    noted.leave($call);
                }
                result
            }
            CallEffect::Starts { send, receive, communicator, request } => {
                let noted = record::begin_start(send, receive, communicator, &$arguments);
                let result = $make;
                if let Some(noted) = &noted {
                    record::end_start(noted, request, &$arguments, result);
                }
                result
            }
            CallEffect::Requests { count, requests } => {
                let noted = record::begin_requests($call, (count, requests), &$arguments);
                let result = $make;
                if let Some((noted, open)) = &noted {
                    record::end_requests(noted, open, $call, requests, &$arguments);
                }
                result
            }
            _ => {
                let noted = record::begin($call, &$effect, &$arguments);
                let result = $make;
                if let Some(noted) = &noted {
                    record::end(noted, $call, &$effect, &$arguments, result);
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

pub(crate) use {calls, entry, noted, noting, word};
