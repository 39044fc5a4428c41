//! libforegather: the library for C, C++ and Fortran, as `include/foregather.h` describes it.
//!
//! - [`slots`]: handles, which are numbers of slots and never addresses, so that a null, destroyed or foreign
//!   one is an error. [`border`]: what each function does where C begins: panics, nulls, time limits, texts,
//!   versions. [`failure`]: codes, and the last error of a thread. [`kinds`]: what
//!   handles may stand for.
//! - [`barrier`], [`team`], [`queue`] with [`ends`], [`shared`], [`job`], [`memory`]: the functions, each in
//!   the order of the header. [`lent`]: what the function of a rank has while it runs.
//!
//! The symbols carry versions: `cargo xtask install` links the static library with `foregather.map`.
#![cfg(not(loom))]

mod barrier;
mod border;
mod ends;
mod failure;
mod job;
mod kinds;
mod lent;
mod memory;
mod queue;
mod shared;
mod slots;
mod team;
#[cfg(test)]
mod tests;
