//! The `foregather` command.
//!
//! - [`verbs`]: what answers what was asked for. [`worker`]: what child processes of this program do.
//! - [`demo`]: a tour of it all. [`doctor`]: what this machine has and what it lacks. `exec`: a program on
//!   this project's runtimes. `advise`: why a program waits. `top`: which programs wait now.
//!   `plans`: simulations. `screen`: what the terminal can show.
#![forbid(unsafe_code)]

mod advise;
pub mod demo;
pub mod doctor;
mod exec;
mod finish;
mod plans;
mod screen;
mod top;
pub mod verbs;
pub mod worker;
