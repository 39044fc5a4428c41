//! The parts of the `foregather` command.
//!
//! - [`cli`]: what can be asked for; [`verbs`]: what answers; [`failure`]: how it ends.
//! - [`demo`]: a tour of it all. [`doctor`]: what this machine has and what it lacks. [`machine_file`]: its costs, kept from run to run.
//! - [`measure`]: waits and barriers on this machine. [`simulate`]: machines one does not have.
//! - [`reproduce`]: the papers' claims, each with its verdict.
//! - [`results`], [`report`], [`compare`](mod@compare): what measurements are made into.
//! - [`app`](mod@app): programs on shared memory, their ranks and their reports. [`run`](mod@run): the ranks of a job. [`worker`]: what child processes of this program do.
#![forbid(unsafe_code)]

pub mod app;
pub mod cli;
pub mod compare;
pub mod demo;
pub mod doctor;
pub mod failure;
pub mod machine_file;
pub mod measure;
pub mod progress;
pub mod report;
pub mod reproduce;
pub mod results;
pub mod run;
pub mod simulate;
pub mod verbs;
pub mod worker;
