//! Measuring barriers and hand-overs under load: the cells of which the lab and its peers make their tables.
//!
//! - [`Cell`]: what a process measures for another: one line of JSON in, one line out. All below that are
//!   cells implement it.
//! - [`BarrierCell`] and [`CellResult`]: one team, one grain, one waiter, some milliseconds. [`barriers`]: by
//!   our barriers, and by Rust's.
//! - [`Episodes`]: what every member does, in any barrier. [`side_by_side`]: several teams at once.
//! - [`Work`]: computation of a known length that no compiler removes. [`disturb`]: background load.
//! - [`prices`]: what switching costs on this machine, as [`Costs`](foregather_machine::Costs).
//! - [`skew`]: what a barrier costs and how unevenly its members leave it. [`loggp`]: what a null message
//!   costs.
//! - [`shift`]: what a shift around a ring costs, alone and behind a synchronisation.
//! - [`teams`]: what a fork and a join cost. [`blas`]: what calls of a BLAS cost alone and shared.
//! - [`messages`]: what messages cost, on an idle machine and under load. [`dsm`]: what faults of shared
//!   memory cost.
//! - [`apps`]: five programs on shared memory. [`programs`]: the same, compiled once for each fabric.
//! - [`openmp`]: what the constructs of an OpenMP runtime cost.
//! - [`queues`]: what the reader of a queue pays for rare messages.
//! - [`schedules`]: what the kernel's scheduler decides about a few threads that run and sleep.
//! - [`python`]: programs of Python that measure.
//! - [`noise`]: what disturbs a busy processor, and a line in spite of that.
//! - [`ping_pong`]: the experiment of Guignon 2000. [`victim`]: its caveat.
#![forbid(unsafe_code)]

#[cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
pub mod apps;
pub mod barriers;
pub mod blas;
mod cell;
pub mod dsm;
mod episodes;
pub mod loggp;
pub mod messages;
pub mod noise;
pub mod openmp;
pub mod ping_pong;
pub mod prices;
pub mod programs;
pub mod python;
pub mod queues;
pub mod schedules;
mod several;
pub mod shift;
pub mod skew;
pub mod teams;
pub mod victim;
mod work;

pub use barriers::{BarrierCell, CellResult};
pub use cell::{Cell, answer, own_verb};
pub use episodes::{Episodes, Meeting};
pub use foregather_results::load::{BackgroundLoad, WorkDistribution};
pub use several::side_by_side;
pub use work::{Work, compute, disturb, hog};
