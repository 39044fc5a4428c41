//! The constants of the MPI that this process has loaded, from the tables of `worlds/mpi`.
use crate::next::{find, find_variable};
use core::ffi::c_int;
use foregather_host::dl::LoadedObject;
use foregather_mpi::abi::{Abi, Constant, MPICH, OPEN_MPI, STANDARD};
use std::ffi::CString;
use std::sync::OnceLock;

/// The constants that this layer needs, with handles as a program passes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MpiConstants {
    /// The size of a handle: that of an integer or of a pointer.
    pub(crate) handle_bytes: usize,
    pub(crate) any_source: c_int,
    pub(crate) any_tag: c_int,
    pub(crate) proc_null: c_int,
    pub(crate) world: usize,
    pub(crate) communicator_null: usize,
    pub(crate) request_null: usize,
    /// The same in Fortran.
    pub(crate) fortran_request_null: u32,
}

/// The constants of the MPI that this process has loaded.
#[inline]
pub(crate) fn constants() -> &'static MpiConstants {
    static FOUND: OnceLock<MpiConstants> = OnceLock::new();
    FOUND.get_or_init(|| of(interface()))
}

fn interface() -> &'static Abi {
    if value(OPEN_MPI.comm_world) != 0 {
        return &OPEN_MPI;
    }
    let is_standard = find(c"PMPI_Comm_rank")
        .and_then(|code| LoadedObject::of(code.addr()))
        .is_some_and(|object| object.file_name().starts_with("libmpi_abi"));
    if is_standard { &STANDARD } else { &MPICH }
}

/// A handle; 0 if no library has its variable.
fn value(constant: Constant) -> usize {
    match constant {
        Constant::Number(number) => number,
        Constant::Symbol(name) => CString::new(name).ok().and_then(|name| find_variable(&name)).map_or(0, |found| found.addr()),
    }
}

fn of(abi: &Abi) -> MpiConstants {
    MpiConstants {
        handle_bytes: abi.handle_bytes,
        any_source: abi.any_source,
        any_tag: abi.any_tag,
        proc_null: abi.proc_null,
        world: value(abi.comm_world),
        communicator_null: value(abi.comm_null),
        request_null: value(abi.request_null),
        fortran_request_null: abi.fortran_request_null,
    }
}
