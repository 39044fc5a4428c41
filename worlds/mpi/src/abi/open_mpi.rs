//! The interface of Open MPI 4 and 5.
use super::{Abi, Constant};

/// The interface of `libmpi.so.40`: handles are addresses of the library's variables.
pub const OPEN_MPI: Abi = Abi {
    name: "Open MPI",
    libraries: &["libmpi.so.40"],
    comm_world: Constant::Symbol("ompi_mpi_comm_world"),
    comm_null: Constant::Symbol("ompi_mpi_comm_null"),
    byte: Constant::Symbol("ompi_mpi_byte"),
    request_null: Constant::Symbol("ompi_request_null"),
    errors_return: Constant::Symbol("ompi_mpi_errors_return"),
    any_source: -1,
    any_tag: -1,
    proc_null: -2,
    thread_serialized: 2,
    thread_multiple: 3,
    status_ignore: 0,
    handle_bytes: 8,
    fortran_request_null: 0,
    // These exist in version 5 only; version 4 does not report process failures.
    loss_classes: &[75, 76],
    status_bytes: 24,
    status_source: 0,
    status_tag: 4,
    status_error: 8,
};
