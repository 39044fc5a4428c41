//! MPI 5's standard interface, which MPICH 5 provides in `libmpi_abi.so.1` and other libraries will provide.
use super::{Abi, Constant};

/// The interface of chapter 20 of MPI 5.0, version 1.
pub const STANDARD: Abi = Abi {
    name: "MPI's standard ABI",
    libraries: &["libmpi_abi.so.1"],
    comm_world: Constant::Number(0x101),
    comm_null: Constant::Number(0x100),
    byte: Constant::Number(0x247),
    request_null: Constant::Number(0x180),
    errors_return: Constant::Number(0x143),
    any_source: -1,
    any_tag: -2,
    proc_null: -3,
    thread_serialized: 2_048,
    thread_multiple: 4_096,
    status_ignore: 0,
    handle_bytes: 8,
    // Fortran has no standard interface yet.
    fortran_request_null: 0x180,
    loss_classes: &[],
    status_bytes: 32,
    status_source: 0,
    status_tag: 4,
    status_error: 8,
};
