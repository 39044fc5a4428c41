//! Programs in GOAL (Hoefler, Siebert & Lumsdaine 2009): each rank is a graph of sends, receives and
//! calculations, as tracers of MPI programs write them.
//!
//! - [`GoalTrace`]: a trace in the binary form, checked, read block by block; [`BlockSource`]: where its
//!   bytes come from.
//! - [`convert`]: the text form into the binary one, rank by rank. [`GoalWriter`]: the same for generators.
//! - [`GoalNetwork`]: what a message costs, in one of two [`GoalVariant`]s.
//! - [`simulate`](fn@simulate): runs all ranks; gives a [`GoalOutcome`], or [`GoalError`] with the place.
//!
//! Memory: 4 bytes an operation, and what is under way. The forms, rules and differences from LogGOPSim are
//! in `README.md`.

mod account;
mod blocks;
mod deadlocked;
mod error;
mod format;
mod loggopsim;
mod loggp;
mod matching;
mod network;
mod noise;
mod outcome;
mod queue;
mod simulation;
mod text;
mod trace;
mod write;

pub use account::{RankAccount, RankWait};
pub use blocks::{BlockSource, GoalBytes};
pub use error::{GoalError, GoalPlace};
pub use format::{ANY, GoalKind, GoalOperation};
pub use network::{GoalNetwork, GoalVariant};
pub use noise::GoalNoise;
pub use outcome::GoalOutcome;
pub use simulation::{GoalRun, simulate};
pub use text::{Converted, convert};
pub use trace::{GoalTrace, is_binary};
pub use write::GoalWriter;
