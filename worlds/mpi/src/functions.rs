//! The functions of MPI that this world calls, by their addresses in the library that was found.
use core::ffi::{c_char, c_int, c_void};
use foregather_host::dl::Library;
use foregather_machine::Error;

/// Any handle of MPI. Where handles are C's `int` (MPICH's own interface), the callee reads the low half of
/// the register, and writes the low half of a zeroed word: so it is on little-endian machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Handle(pub(crate) usize);

/// Declares the table and how it is filled. All functions return an error number.
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
                        // SAFETY: MPI's standard declares the function with these parameters, but for the width of
                        // handles, which `Handle` explains.
                        unsafe {
                            core::mem::transmute::<*mut c_void, unsafe extern "C" fn($($parameter),*) -> c_int>(address)
                        }
                    },)*
                })
            }
        }
    };
}

type Out<T> = *mut T;
/// An `MPI_Status`, whose layout is in the table of the interface.
type Status = *mut u8;

functions! {
    initialized = "MPI_Initialized"(Out<c_int>);
    finalized = "MPI_Finalized"(Out<c_int>);
    init_thread = "MPI_Init_thread"(Out<c_int>, Out<c_void>, c_int, Out<c_int>);
    query_thread = "MPI_Query_thread"(Out<c_int>);
    finalize = "MPI_Finalize"();
    library_version = "MPI_Get_library_version"(Out<c_char>, Out<c_int>);
    comm_dup = "MPI_Comm_dup"(Handle, Out<Handle>);
    comm_rank = "MPI_Comm_rank"(Handle, Out<c_int>);
    comm_size = "MPI_Comm_size"(Handle, Out<c_int>);
    comm_set_errhandler = "MPI_Comm_set_errhandler"(Handle, Handle);
    error_class = "MPI_Error_class"(c_int, Out<c_int>);
    error_string = "MPI_Error_string"(c_int, Out<c_char>, Out<c_int>);
    isend = "MPI_Isend"(*const c_void, c_int, Handle, c_int, c_int, Handle, Out<Handle>);
    irecv = "MPI_Irecv"(Out<c_void>, c_int, Handle, c_int, c_int, Handle, Out<Handle>);
    test = "MPI_Test"(Out<Handle>, Out<c_int>, Status);
    cancel = "MPI_Cancel"(Out<Handle>);
    test_cancelled = "MPI_Test_cancelled"(Status, Out<c_int>);
    iprobe = "MPI_Iprobe"(c_int, c_int, Handle, Out<c_int>, Status);
    get_count = "MPI_Get_count"(Status, Handle, Out<c_int>);
    bcast = "MPI_Bcast"(Out<c_void>, c_int, Handle, c_int, Handle);
    ibarrier = "MPI_Ibarrier"(Handle, Out<Handle>);
    type_create_hindexed = "MPI_Type_create_hindexed"(c_int, *const c_int, *const isize, Handle, Out<Handle>);
    type_commit = "MPI_Type_commit"(Out<Handle>);
    type_free = "MPI_Type_free"(Out<Handle>);
}
