//! `libforegather_blas.so`: the BLAS of `systems/blas` under the names that existing programs call.
//!
//! A routine is one line of [`table`]; the macros of [`export`] make its Fortran and C symbols for 32-bit and
//! 64-bit integers from it. [`argument`] says how each face passes an argument, [`level1`] to [`level3`]
//! and [`lapack`] check arguments in the standard's order and make views of the caller's memory, [`xerbla`]
//! reports a wrong argument.
//!
//! A panic here is an error of this library: it ends the process with its message, as in every `extern "C"`
//! function.
#![allow(clippy::too_many_arguments, reason = "the argument lists are the standard's")]

mod argument;
mod export;
mod lapack;
mod level1;
mod level2;
mod level3;
mod settings;
mod shape;
mod site;
mod table;
#[cfg(test)]
mod tests;
mod threads;
mod trace;
mod xerbla;
