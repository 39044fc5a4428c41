//! The experiments of Namyst et al. 1999: `core/message` over the simulated VIA on Fast Ethernet, beside raw
//! VIA, and over shared memory.
//!
//! - `play`: one message, ping-pongs, and how they are simulated. `strokes`: figures 4 and 5, their claims,
//!   flow control.
//! - `lengths`: figures 6 and 7. `several`: several threads of a node, and working threads.
//! - `here`: the same figures and the conjecture on this machine. `pair`: two of its threads that exchange
//!   messages.

mod here;
mod lengths;
mod pair;
mod play;
mod several;
mod strokes;

use super::{Answer, Experiment, experiment};

/// All of them, by their names in `papers/namyst1999.toml`.
pub const EXPERIMENTS: [Experiment; 9] = [
    experiment("fig4", strokes::figure4),
    experiment("credits", strokes::credits),
    experiment("fig5", strokes::figure5),
    experiment("fig6", lengths::figure6),
    experiment("fig7", lengths::figure7),
    experiment("overlap", several::overlap),
    experiment("conjecture", several::conjecture),
    experiment("conjecture-here", here::conjecture_here).measured().between_processors(),
    experiment("here", here::here).measured().between_processors(),
];

fn number(got: f64, why: impl Into<String>) -> Answer {
    Answer::Number(got, why.into())
}

fn count(got: usize, why: impl Into<String>) -> Answer {
    Answer::Number(got as f64, why.into())
}

/// The one farthest from 1.
fn farthest(values: impl Iterator<Item = f64>) -> f64 {
    values.max_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs())).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    #[test]
    fn simulated_claims_come_out_as_they_are_known_to() {
        crate::as_known("namyst1999", &[("fig4", 5), ("credits", 4), ("fig5", 3), ("fig6", 9), ("fig7", 5), ("overlap", 4)]);
    }
}
