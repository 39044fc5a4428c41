//! The experiments of Namyst et al. 1999: `core/message` over the simulated VIA on Fast Ethernet, beside raw VIA, and over shared memory.
//!
//! - `play`: one message, ping-pongs, and how they are simulated. `points`: what they came to, as figures of the report.
//! - `scenes`: figures 4 and 5, stroke by stroke, and their claims. `credits`: flow control.
//! - `figure6`, `figure7`: over the length, against raw VIA. `threads`: several threads of a node. `conjecture`: working threads.
//! - `here`, `beside`: the same figures and the conjecture on this machine. `pair`: two of its threads that exchange messages.

mod beside;
mod conjecture;
mod credits;
mod figure6;
mod figure7;
mod here;
mod pair;
mod play;
mod points;
mod scenes;
mod threads;

use super::{Answer, Experiment, experiment};

/// All of them, by their names in `papers/namyst1999.toml`.
pub const EXPERIMENTS: [Experiment; 9] = [
    experiment("fig4", scenes::figure4),
    experiment("credits", credits::credits),
    experiment("fig5", scenes::figure5),
    experiment("fig6", figure6::figure6),
    experiment("fig7", figure7::figure7),
    experiment("overlap", threads::overlap),
    experiment("conjecture", conjecture::conjecture),
    experiment("conjecture-here", beside::conjecture_here).measured(),
    experiment("here", here::here).measured(),
];

fn number(got: f64, why: impl Into<String>) -> Answer {
    Answer::Number(got, why.into())
}

fn count(got: usize, why: impl Into<String>) -> Answer {
    Answer::Number(got as f64, why.into())
}

#[cfg(test)]
mod tests {
    #[test]
    fn simulated_claims_come_out_as_they_are_known_to() {
        crate::as_known("namyst1999", &[("fig4", 5), ("credits", 4), ("fig5", 3), ("fig6", 9), ("fig7", 5), ("overlap", 4)]);
    }
}
