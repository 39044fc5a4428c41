//! `libforegather_blas.so`: the BLAS of `systems/blas` under the names that existing programs call.
//!
//! A routine is one line of [`table`]; the macros of [`export`] make its Fortran and C symbols for 32-bit and 64-bit integers
//! out of it. [`argument`] says how an argument is passed in each, [`level1`] to [`level3`] check arguments in the standard's
//! order and make views of the caller's memory, [`xerbla`] is where a wrong argument ends.
//!
//! A panic here would be an error of ours: it ends the process with its message, as every `extern "C"` function sees to.
#![allow(clippy::too_many_arguments, reason = "the argument lists are the standard's")]

mod argument;
mod export;
mod level1;
mod level2;
mod level3;
mod settings;
mod site;
mod table;
#[cfg(test)]
mod tests;
mod trace;
mod xerbla;
