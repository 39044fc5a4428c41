//! The experiments of Seidel & Davis 1992, on the simulated iPSC/860.
//!
//! - `tables`: Tables I to III, figures 2-1 to 2-7, crossovers. `barriers`: §3.1 to §3.3. `disturbed`: §3.4,
//!   figures 3-9 and 3-10. `shifts`: §4. `scenes`: the timing diagrams as timelines.
//! - `directed`: cases that are set up to the microsecond, and what the nodes do in them.

mod barriers;
mod directed;
mod disturbed;
pub mod scenes;
mod shifts;
mod tables;

use super::{Answer, Experiment, experiment};
use foregather_machine::Nanos;

/// All of them, by their names in `papers/seidel-davis1992.toml`.
pub const EXPERIMENTS: [Experiment; 14] = [
    experiment("table1", tables::table1),
    experiment("table2", tables::table2),
    experiment("fig2", tables::fig2),
    experiment("table3", tables::table3),
    experiment("crossover", tables::crossover),
    experiment("gsync", barriers::gsync),
    experiment("sync0", barriers::sync0),
    experiment("rds", barriers::rds),
    experiment("lateness", barriers::lateness),
    experiment("noise", disturbed::noise),
    experiment("interrupt", disturbed::interrupt),
    experiment("shift-cost", shifts::shift_cost),
    experiment("success", shifts::success),
    experiment("success-sizes", shifts::sizes),
];

fn number(got: f64, why: impl Into<String>) -> Answer {
    Answer::Number(got, why.into())
}

fn us(got: Nanos) -> Answer {
    number(got.as_us(), "simulated")
}

fn ratio(one: Nanos, other: Nanos) -> Answer {
    number(one.0 as f64 / other.0 as f64, format!("{one} to {other}"))
}

/// How many things are not as claimed.
fn count(got: usize, why: impl Into<String>) -> Answer {
    number(got as f64, why)
}
