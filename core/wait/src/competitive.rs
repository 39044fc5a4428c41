//! The cost of a spin bound relative to the best choice in hindsight.
//!
//! All times are in context switches. With bound `b`, a wait of length `w` costs `w` if `w <= b`, and
//! otherwise `b + 1` (the failed spin plus the switch). A waiter that knew `w` would pay `min(w, 1)`. For a
//! distribution of waits, the competitive factor is the ratio of the two expected costs. Its worst case is
//! taken over all means, because the bound is chosen for a kind of distribution without knowing its mean (Lim
//! & Agarwal 1993, as Tsafrir & Feitelson 2002 §1 quote it).
//!
//! | bound | waits | worst factor |
//! |---|---|---|
//! | [`BOUND_EXPONENTIAL`], 0.54 | exponential (locks) | e / (e - 1), 1.58 |
//! | [`BOUND_UNIFORM`], 0.62 | uniform (barriers with uniform arrivals) | (sqrt 5 + 1) / 2, 1.62 |
//! | 1 | any | 2 |
//! | random ([`Policy::Randomised`](crate::Policy)) | any | [`RANDOMISED_FACTOR`], 1.58 |
use crate::strategies::randomised::Randomised;
use crate::{Strategy, Waited};
use core::f64::consts::E;
use foregather_machine::Nanos;

/// `ln (e - 1)`: the best bound for exponential waits.
pub const BOUND_EXPONENTIAL: f64 = 0.541_324_854_612_918_1;
/// `(sqrt 5 - 1) / 2`: the best bound for uniform waits.
pub const BOUND_UNIFORM: f64 = 0.618_033_988_749_894_9;
/// `e / (e - 1)`: the expected cost of a random bound relative to the best choice, for every wait of at most
/// one context switch. It is an upper bound for longer waits (Karlin, Manasse, McGeoch & Owicki 1990).
pub const RANDOMISED_FACTOR: f64 = E / (E - 1.0);

/// How the lengths of waits are distributed around their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distribution {
    /// All waits have the same length, which an adversary that knows the bound chooses.
    Constant,
    /// Exponential, as at a lock with Poisson arrivals.
    Exponential,
    /// Uniform between zero and twice the mean, as at a barrier with Poisson arrivals.
    Uniform,
}

impl Distribution {
    /// All distributions.
    pub const ALL: [Self; 3] = [Self::Constant, Self::Exponential, Self::Uniform];

    /// Returns the share of waits that are longer than `length`.
    fn longer(self, mean: f64, length: f64) -> f64 {
        match self {
            Self::Constant => f64::from(u8::from(mean > length)),
            Self::Exponential => (-length / mean).exp(),
            Self::Uniform => (1.0 - length / (2.0 * mean)).max(0.0),
        }
    }

    /// Returns the expectation of `min(w, length)`, which is the time that a spinner with the bound `length`
    /// spins.
    fn spun(self, mean: f64, length: f64) -> f64 {
        match self {
            Self::Constant => mean.min(length),
            // Also accurate for very large means, for which the two terms of the plain formula would cancel.
            Self::Exponential => -mean * (-length / mean).exp_m1(),
            Self::Uniform if length < 2.0 * mean => length - length * length / (4.0 * mean),
            Self::Uniform => mean,
        }
    }
}

/// Returns the average cost of a wait with spin bound `bound`, in context switches. `mean`, the mean length
/// of the waits, must be above 0.
pub fn expected_cost(distribution: Distribution, mean: f64, bound: f64) -> f64 {
    distribution.spun(mean, bound) + distribution.longer(mean, bound)
}

/// Returns the average cost of the best choice in hindsight, in context switches.
pub fn offline_cost(distribution: Distribution, mean: f64) -> f64 {
    distribution.spun(mean, 1.0)
}

/// Returns the cost of a wait of this length with this bound.
fn cost(wait: f64, bound: f64) -> f64 {
    if wait <= bound { wait } else { bound + 1.0 }
}

/// Returns the mean cost of a wait over `draws` bounds that [`Policy::Randomised`](crate::Policy) draws.
/// `wait` and the cost are in context switches.
pub fn drawn_cost(wait: f64, draws: u32) -> f64 {
    const SWITCH: Nanos = Nanos::from_ms(1);
    let mut policy = Randomised::new(SWITCH, 5);
    let costs = core::iter::repeat_with(|| {
        let bound = policy.bound().0 as f64 / SWITCH.0 as f64;
        policy.learn(Waited::first_look(true));
        cost(wait, bound)
    });
    costs.take(draws as usize).sum::<f64>() / f64::from(draws)
}

/// Returns the worst-case ratio, over all means of the distribution, of the cost of a spin bound (in context
/// switches) to the cost of the best choice in hindsight. It is infinite for a bound of zero, because a
/// policy that always blocks pays a switch for arbitrarily short waits.
pub fn worst_factor(bound: f64, distribution: Distribution) -> f64 {
    match distribution {
        _ if bound <= 0.0 => f64::INFINITY,
        // The worst wait is just longer than the bound.
        Distribution::Constant => (1.0 + bound) / bound.min(1.0),
        // Below the golden section, some mean between the extremes is the worst; above it, arbitrarily long
        // waits are.
        Distribution::Uniform if bound < BOUND_UNIFORM => (1.0 + bound).powi(2) / (bound * (2.0 + bound)),
        Distribution::Uniform => 1.0 + bound,
        Distribution::Exponential => worst_exponential(bound),
    }
}

/// Returns the worst factor for exponential waits. There is no closed form, so a search finds the worst mean.
/// Arbitrarily long waits cost `1 + bound` times the best choice.
fn worst_exponential(bound: f64) -> f64 {
    let factor = |log_mean: f64| {
        let mean = log_mean.exp();
        expected_cost(Distribution::Exponential, mean, bound) / offline_cost(Distribution::Exponential, mean)
    };
    // Waits far shorter than the bound hardly ever exceed it; far longer ones are the limit above.
    const STEPS: u32 = 2_000;
    let (shortest, longest) = (bound.min(1.0).ln() - 5.0, 15.0);
    let step = (longest - shortest) / f64::from(STEPS);
    let at = |i: u32| shortest + step * f64::from(i);
    let best = (0..=STEPS).max_by(|&a, &b| factor(at(a)).total_cmp(&factor(at(b)))).unwrap_or(0);
    let (mut low, mut high) = (at(best) - step, at(best) + step);
    for _ in 0..60 {
        let third = (high - low) / 3.0;
        if factor(low + third) < factor(high - third) {
            low += third;
        } else {
            high -= third;
        }
    }
    factor(low).max(1.0 + bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEANS: [f64; 7] = [0.01, 0.2, 0.5, 0.8, 1.0, 3.0, 50.0];

    fn near(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance * b.abs(), "{a} is not {b} within {tolerance}");
    }

    /// Returns the mean of `f` over waits of this distribution, from the midpoints of equally likely slices.
    fn integrate(distribution: Distribution, mean: f64, f: impl Fn(f64) -> f64) -> f64 {
        const SLICES: u32 = 100_000;
        let wait = |share: f64| match distribution {
            Distribution::Constant => mean,
            Distribution::Exponential => -mean * (1.0 - share).ln(),
            Distribution::Uniform => 2.0 * mean * share,
        };
        (0..SLICES).map(|i| f(wait((f64::from(i) + 0.5) / f64::from(SLICES)))).sum::<f64>() / f64::from(SLICES)
    }

    #[test]
    fn expected_costs_are_what_integration_says() {
        for distribution in Distribution::ALL {
            for mean in MEANS {
                near(offline_cost(distribution, mean), integrate(distribution, mean, |wait| wait.min(1.0)), 1e-3);
                for bound in [0.0, 0.3, BOUND_EXPONENTIAL, 1.0, 2.5] {
                    let integral = integrate(distribution, mean, |wait| cost(wait, bound));
                    near(expected_cost(distribution, mean, bound), integral, 1e-3);
                }
            }
        }
    }

    #[test]
    fn the_bounds_of_the_literature_have_its_factors() {
        near(worst_factor(BOUND_EXPONENTIAL, Distribution::Exponential), E / (E - 1.0), 1e-9);
        near(worst_factor(BOUND_UNIFORM, Distribution::Uniform), (5_f64.sqrt() + 1.0) / 2.0, 1e-9);
        assert_eq!(worst_factor(1.0, Distribution::Constant), 2.0);
        near(BOUND_EXPONENTIAL, (E - 1.0).ln(), 1e-15);
        near(BOUND_UNIFORM, (5_f64.sqrt() - 1.0) / 2.0, 1e-15);
    }

    #[test]
    fn no_other_bound_is_better() {
        for (distribution, best) in [
            (Distribution::Exponential, BOUND_EXPONENTIAL),
            (Distribution::Uniform, BOUND_UNIFORM),
            (Distribution::Constant, 1.0),
        ] {
            for other in [0.0, 0.05, 0.3, best - 0.01, best + 0.01, 1.4, 5.0] {
                assert!(worst_factor(other, distribution) > worst_factor(best, distribution) + 1e-6, "{other} {distribution:?}");
            }
        }
    }

    #[test]
    fn no_mean_is_worse_than_the_worst_and_some_come_near() {
        let means = || (-1_600..1_600).map(|i| (f64::from(i) / 100.0).exp());
        for distribution in Distribution::ALL {
            for bound in [0.01, 0.1, BOUND_EXPONENTIAL, 0.6, BOUND_UNIFORM, 0.7, 0.999, 1.0, 1.2, 2.5, 40.0] {
                let factors = means().map(|mean| expected_cost(distribution, mean, bound) / offline_cost(distribution, mean));
                let (worst, seen) = (worst_factor(bound, distribution), factors.fold(0.0, f64::max));
                assert!(seen <= worst * (1.0 + 1e-9), "{distribution:?} {bound}: {seen} > {worst}");
                near(seen, worst, 0.011);
            }
        }
    }

    /// The real draws of the real policy, against every kind of wait.
    #[test]
    fn random_bounds_cost_the_same_multiple_of_the_best_choice_for_every_wait() {
        for single in [0.05, 0.25, 0.5, 0.75, 0.99, 1.5, 100.0] {
            near(drawn_cost(single, 200_000), RANDOMISED_FACTOR * single.min(1.0), 0.015);
        }
    }
}
