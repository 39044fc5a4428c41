//! The `foregather` command.
//!
//! - [`cli`]: the command line. [`verbs`]: what each verb does. [`worker`]: what child processes of this
//!   program do.
//! - [`demo`]: a tour of it all. [`doctor`]: what this machine has and what it lacks. `exec`: a program on
//!   this project's runtimes. `advise`: why a program waits. `top`: which programs wait now. `hang`: which
//!   rank of a job waits for which. [`jobs`]: ranks, and programs on them. `plans`, `traces`: simulations.
//!   `screen`: what the terminal can show.
#![forbid(unsafe_code)]

mod advise;
pub mod cli;
pub mod demo;
pub mod doctor;
mod exec;
mod finish;
mod hang;
pub mod jobs;
mod plans;
mod repeated;
mod screen;
mod top;
mod traces;
pub mod verbs;
pub mod worker;
mod workloads;
