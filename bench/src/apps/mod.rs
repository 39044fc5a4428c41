//! Five parallel programs on shared memory (Itzkovitz & Schuster 1999 §4): ordinary programs, one file each,
//! with the proof of their results beside them.

mod app;
pub mod is;
pub mod lu;
mod run;
pub mod sor;
pub mod tsp;
pub mod water;

pub use app::App;
pub use run::{AppResult, ThreadResult, run_app};
