//! The interface that MPICH and its relatives have had since 2014 (the "MPICH ABI initiative").
use super::{Abi, Constant};

/// The interface of `libmpi.so.12`: handles are C's `int`, passed in the low half of a word.
pub const MPICH: Abi = Abi {
    name: "MPICH",
    libraries: &["libmpi.so.12", "libmpich.so.12"],
    comm_world: Constant::Number(0x4400_0000),
    comm_null: Constant::Number(0x0400_0000),
    byte: Constant::Number(0x4c00_010d),
    request_null: Constant::Number(0x2c00_0000),
    errors_return: Constant::Number(0x5400_0001),
    any_source: -2,
    any_tag: -1,
    proc_null: -1,
    thread_serialized: 2,
    thread_multiple: 3,
    status_ignore: 1,
    handle_bytes: 4,
    fortran_request_null: 0x2c00_0000,
    loss_classes: &[101, 102],
    status_bytes: 20,
    status_source: 8,
    status_tag: 12,
    status_error: 16,
};
