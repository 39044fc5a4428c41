//! The experiments of Tsafrir & Feitelson 2002: each runs a shipped plan (`plans/`) and answers the claims of
//! one figure.
//!
//! `alternation`: figures 1 to 4, the start (§3, §4.1, §5.1). `waits`: figures 5 to 9, quanta, allotments,
//! wake-ups, the policies that the paper argues with.

mod alternation;
#[cfg(test)]
mod tests;
mod waits;

use super::{Experiment, experiment};

/// All of them, by their names in `papers/tsafrir-feitelson2002.toml`.
pub const EXPERIMENTS: [Experiment; 18] = [
    experiment("competitive", waits::competitive),
    experiment("gang", waits::gang),
    experiment("quantum", waits::quantum),
    experiment("initial-placement", alternation::initial_placement),
    experiment("fig1", alternation::fig1),
    experiment("fig2", alternation::fig2),
    experiment("fig3", alternation::fig3),
    experiment("divisors", alternation::divisors),
    experiment("fig4", alternation::fig4),
    experiment("fig5", waits::fig5),
    experiment("wake", waits::wake),
    experiment("six", alternation::six),
    experiment("fig6", waits::fig6),
    experiment("fig7", waits::fig7),
    experiment("fig8", waits::fig8),
    experiment("fig9", waits::fig9),
    experiment("baselines", waits::baselines),
    experiment("allocation", waits::allocation),
];
