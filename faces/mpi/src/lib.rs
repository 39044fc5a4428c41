//! `libforegather_mpi.so`: notes in which calls of MPI the ranks of a program are, for `foregather hang`.
//!
//! Each function here has the name of one of MPI, in C or in Fortran. It notes what its caller begins, calls
//! the function that the program would have called without this library, with the same arguments, and notes
//! its end. Without the page that `hang` names in the environment it only passes calls on.
//!
//! [`table`]: the functions, and what their arguments mean. [`export`]: makes symbols of them. [`record`]:
//! the page and this thread's slot. [`requests`] and [`communicators`]: what their handles stand for.
//! [`abi`]: the constants of the MPI libraries. [`arguments`]: those of a call, in C or in Fortran.
//! [`next`]: functions that the program would have called.
//!
//! All arguments are passed on as words of a pointer's size: the calling conventions of Linux on x86-64 and
//! AArch64 give an `int`, a handle and a pointer a register or a word of the stack each.

mod abi;
mod arguments;
mod communicators;
mod export;
mod next;
mod record;
mod requests;
mod table;
