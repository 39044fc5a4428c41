//! The list of all routines. A routine exists once: its line names the shape of its arguments, the function
//! of `systems/blas` that computes it, its arguments by the standard's Fortran list, its result, and its
//! types.
mod lapack;
mod level1;
mod level2;
mod level3;
