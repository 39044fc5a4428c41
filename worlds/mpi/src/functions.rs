//! The MPI functions that this world calls, as addresses in the loaded library.
use core::ffi::{c_char, c_int, c_void};
use foregather_host::dl::Library;
use foregather_machine::Error;

/// Any MPI handle. If handles are C's `int` (MPICH's own interface), the callee reads the low half of the
/// register and writes the low half of a zeroed word. This requires a little-endian machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct MpiHandle(pub(crate) usize);

/// Declares the table of functions and fills it from a library. All functions return an error code.
macro_rules! functions {
    ($($field:ident = $symbol:literal($($parameter:ty),*);)*) => {
        /// The address of each function.
        #[derive(Debug)]
        pub(crate) struct Functions {
            $(pub(crate) $field: unsafe extern "C" fn($($parameter),*) -> c_int,)*
        }

        impl Functions {
            /// Finds all of them.
            pub(crate) fn of(library: &Library) -> Result<Self, Error> {
                Ok(Self {
                    $($field: {
                        let address = library.symbol($symbol)?;
                        // SAFETY: the MPI standard declares the function with these parameters, except for
                        // the width of handles, which `MpiHandle` explains.
                        unsafe {
                            core::mem::transmute::<*mut c_void, unsafe extern "C" fn($($parameter),*) -> c_int>(address)
                        }
                    },)*
                })
            }
        }
    };
}

/// A pointer to an `MPI_Status`, whose layout is in the table of the interface.
type Status = *mut u8;

functions! {
    initialized = "MPI_Initialized"(*mut c_int);
    finalized = "MPI_Finalized"(*mut c_int);
    init_thread = "MPI_Init_thread"(*mut c_int, *mut c_void, c_int, *mut c_int);
    query_thread = "MPI_Query_thread"(*mut c_int);
    finalize = "MPI_Finalize"();
    library_version = "MPI_Get_library_version"(*mut c_char, *mut c_int);
    comm_dup = "MPI_Comm_dup"(MpiHandle, *mut MpiHandle);
    comm_rank = "MPI_Comm_rank"(MpiHandle, *mut c_int);
    comm_size = "MPI_Comm_size"(MpiHandle, *mut c_int);
    comm_set_errhandler = "MPI_Comm_set_errhandler"(MpiHandle, MpiHandle);
    error_class = "MPI_Error_class"(c_int, *mut c_int);
    error_string = "MPI_Error_string"(c_int, *mut c_char, *mut c_int);
    isend = "MPI_Isend"(*const c_void, c_int, MpiHandle, c_int, c_int, MpiHandle, *mut MpiHandle);
    irecv = "MPI_Irecv"(*mut c_void, c_int, MpiHandle, c_int, c_int, MpiHandle, *mut MpiHandle);
    test = "MPI_Test"(*mut MpiHandle, *mut c_int, Status);
    cancel = "MPI_Cancel"(*mut MpiHandle);
    test_cancelled = "MPI_Test_cancelled"(Status, *mut c_int);
    iprobe = "MPI_Iprobe"(c_int, c_int, MpiHandle, *mut c_int, Status);
    get_count = "MPI_Get_count"(Status, MpiHandle, *mut c_int);
    bcast = "MPI_Bcast"(*mut c_void, c_int, MpiHandle, c_int, MpiHandle);
    ibarrier = "MPI_Ibarrier"(MpiHandle, *mut MpiHandle);
    type_create_hindexed = "MPI_Type_create_hindexed"(c_int, *const c_int, *const isize, MpiHandle, *mut MpiHandle);
    type_commit = "MPI_Type_commit"(*mut MpiHandle);
    type_free = "MPI_Type_free"(*mut MpiHandle);
}
