//! The experiments of Tsafrir & Feitelson 2002: each runs a shipped plan (`plans/`) and answers the claims of one figure.
//!
//! - `alternation`: figures 1 and 2, homogeneous sets, the start (§3, §5.1). `transition`: figures 3 and 4 (§4.1).
//! - `durations`: figures 5 and 7, quanta, allotments (§4.2, §5.2). `mixes`: figures 6, 8 and 9 (§5). `wakeups`: §4.3.
//! - `baselines`: the policies that the paper argues with (§1, §6).
mod alternation;
#[cfg(test)]
mod bands;
mod baselines;
mod durations;
mod mixes;
mod transition;
mod wakeups;

use super::{Experiment, experiment};

/// All of them, by their names in `papers/tsafrir-feitelson2002.toml`.
pub const EXPERIMENTS: [Experiment; 18] = [
    experiment("competitive", baselines::competitive),
    experiment("gang", baselines::gang),
    experiment("quantum", durations::quantum),
    experiment("initial-placement", alternation::initial_placement),
    experiment("fig1", alternation::fig1),
    experiment("fig2", alternation::fig2),
    experiment("fig3", transition::fig3),
    experiment("divisors", transition::divisors),
    experiment("fig4", transition::fig4),
    experiment("fig5", durations::fig5),
    experiment("wake", wakeups::wake),
    experiment("six", alternation::six),
    experiment("fig6", mixes::fig6),
    experiment("fig7", durations::fig7),
    experiment("fig8", mixes::fig8),
    experiment("fig9", mixes::fig9),
    experiment("baselines", baselines::baselines),
    experiment("allocation", durations::allocation),
];
