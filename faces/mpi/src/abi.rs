//! The constants of the MPI libraries, as far as this layer needs them.
use crate::next::{file_of, find, find_variable};
use core::ffi::c_int;
use std::sync::OnceLock;

/// The constants of one binary interface.
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
    /// The same two in Fortran.
    pub(crate) fortran_world: u32,
    pub(crate) fortran_request_null: u32,
}

/// MPICH 3 to 5 and the libraries that share its interface, among them Intel's.
const MPICH: MpiConstants = MpiConstants {
    handle_bytes: 4,
    any_source: -2,
    any_tag: -1,
    proc_null: -1,
    world: 0x4400_0000,
    communicator_null: 0x0400_0000,
    request_null: 0x2c00_0000,
    fortran_world: 0x4400_0000,
    fortran_request_null: 0x2c00_0000,
};

/// The standard interface of MPI 5, which Fortran does not have yet.
const STANDARD: MpiConstants = MpiConstants {
    handle_bytes: 8,
    any_source: -1,
    any_tag: -2,
    proc_null: -3,
    world: 0x101,
    communicator_null: 0x100,
    request_null: 0x180,
    fortran_world: 0x101,
    fortran_request_null: 0x180,
};

/// The constants of the MPI that this process has loaded.
#[inline]
pub(crate) fn constants() -> &'static MpiConstants {
    static FOUND: OnceLock<MpiConstants> = OnceLock::new();
    FOUND.get_or_init(detect)
}

fn detect() -> MpiConstants {
    let address = |name| find_variable(name).map_or(0, |found| found.addr());
    let world = address(c"ompi_mpi_comm_world");
    if world != 0 {
        return MpiConstants {
            handle_bytes: 8,
            any_source: -1,
            any_tag: -1,
            proc_null: -2,
            world,
            communicator_null: address(c"ompi_mpi_comm_null"),
            request_null: address(c"ompi_request_null"),
            fortran_world: 0,
            fortran_request_null: 0,
        };
    }
    let is_standard = find(c"PMPI_Comm_rank").is_some_and(|code| file_of(code).starts_with("libmpi_abi"));
    if is_standard { STANDARD } else { MPICH }
}
