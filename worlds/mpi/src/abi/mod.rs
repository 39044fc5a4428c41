//! The binary interfaces of MPI libraries: one table per interface, with the numbers and layouts that its
//! header fixes at compile time.
//!
//! MPI 5 has a standard interface ([`STANDARD`]); older libraries have their own. `tests/layout.rs` checks
//! each table against the installed headers with a C compiler.
mod mpich;
mod open_mpi;
mod standard;

pub use mpich::MPICH;
pub use open_mpi::OPEN_MPI;
pub use standard::STANDARD;

use core::ffi::c_int;

/// A handle that is a constant in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    /// The handle is this number.
    Number(usize),
    /// The handle is the address of this variable of the library.
    Symbol(&'static str),
}

/// One binary interface. All handles fit into a machine word: they are pointers, or C's `int` in MPICH's own
/// interface. The library that `foregather hang` preloads uses the same tables.
#[derive(Debug, PartialEq, Eq)]
pub struct Abi {
    /// The name of the interface, for messages.
    pub name: &'static str,
    /// File names by which the loader finds such a library.
    pub libraries: &'static [&'static str],
    /// `MPI_COMM_WORLD`.
    pub comm_world: Constant,
    /// `MPI_COMM_NULL`.
    pub comm_null: Constant,
    /// `MPI_BYTE`.
    pub byte: Constant,
    /// `MPI_REQUEST_NULL`.
    pub request_null: Constant,
    /// `MPI_ERRORS_RETURN`.
    pub errors_return: Constant,
    /// `MPI_ANY_SOURCE`.
    pub any_source: c_int,
    /// `MPI_ANY_TAG`.
    pub any_tag: c_int,
    /// `MPI_PROC_NULL`.
    pub proc_null: c_int,
    /// `MPI_THREAD_SERIALIZED`.
    pub thread_serialized: c_int,
    /// `MPI_THREAD_MULTIPLE`.
    pub thread_multiple: c_int,
    /// `MPI_STATUS_IGNORE`, as a number.
    pub status_ignore: usize,
    /// Size of a handle in bytes: that of a pointer or of C's `int`.
    pub handle_bytes: usize,
    /// Fortran's `MPI_REQUEST_NULL`.
    pub fortran_request_null: u32,
    /// Error classes that report the loss of a process: `MPI_ERR_PROC_FAILED` and
    /// `MPI_ERR_PROC_FAILED_PENDING` of User Level Failure Mitigation.
    pub loss_classes: &'static [c_int],
    /// Size of `MPI_Status` in bytes.
    pub status_bytes: usize,
    /// Byte offset of `MPI_SOURCE` in `MPI_Status`.
    pub status_source: usize,
    /// Byte offset of `MPI_TAG`.
    pub status_tag: usize,
    /// Byte offset of `MPI_ERROR`.
    pub status_error: usize,
}

/// All known interfaces.
pub const ALL: [&Abi; 3] = [&STANDARD, &OPEN_MPI, &MPICH];

/// A size in bytes that is sufficient for an `MPI_Status` of any interface.
pub const STATUS_ROOM: usize = 64;
/// A size in bytes that is sufficient for an error text and for the version text of a library.
pub const TEXT_ROOM: usize = 8_192;

impl Abi {
    /// Returns C expressions, and the values that they have if this table agrees with the header.
    #[doc(hidden)]
    pub fn expectations(&self) -> Vec<(String, i64)> {
        let mut all: Vec<(String, i64)> = Vec::new();
        let handles = [
            ("MPI_COMM_WORLD", self.comm_world),
            ("MPI_COMM_NULL", self.comm_null),
            ("MPI_BYTE", self.byte),
            ("MPI_REQUEST_NULL", self.request_null),
            ("MPI_ERRORS_RETURN", self.errors_return),
        ];
        for (name, constant) in handles {
            all.push(match constant {
                Constant::Number(number) => (format!("(unsigned long){name} & 0xffffffffUL"), number as i64),
                Constant::Symbol(symbol) => (format!("(void *){name} == (void *)&{symbol}"), 1),
            });
        }
        let numbers = [
            ("MPI_SUCCESS", 0),
            ("MPI_ANY_SOURCE", self.any_source.into()),
            ("MPI_ANY_TAG", self.any_tag.into()),
            ("MPI_PROC_NULL", self.proc_null.into()),
            ("MPI_THREAD_SERIALIZED", self.thread_serialized.into()),
            ("MPI_THREAD_MULTIPLE", self.thread_multiple.into()),
            ("(long)MPI_STATUS_IGNORE", self.status_ignore as i64),
            ("(long)MPI_BOTTOM", 0),
            ("sizeof(MPI_Status)", self.status_bytes as i64),
            ("offsetof(MPI_Status, MPI_SOURCE)", self.status_source as i64),
            ("offsetof(MPI_Status, MPI_TAG)", self.status_tag as i64),
            ("offsetof(MPI_Status, MPI_ERROR)", self.status_error as i64),
            ("sizeof(MPI_Aint)", size_of::<isize>() as i64),
            ("sizeof(MPI_Comm)", self.handle_bytes as i64),
            ("sizeof(MPI_Request)", self.handle_bytes as i64),
            ("sizeof(MPI_Datatype)", self.handle_bytes as i64),
            ("MPI_MAX_ERROR_STRING <= 8192", 1),
            ("MPI_MAX_LIBRARY_VERSION_STRING <= 8192", 1),
        ];
        all.extend(numbers.map(|(expression, number)| (expression.to_owned(), number)));
        // The headers of Open MPI 4 and of the standard interface have no such class.
        if self.handle_bytes == size_of::<c_int>() {
            let classes = ["MPIX_ERR_PROC_FAILED", "MPIX_ERR_PROC_FAILED_PENDING"];
            all.extend(classes.into_iter().zip(self.loss_classes).map(|(name, &class)| (name.to_owned(), class.into())));
        }
        all
    }
}
