//! How long computations take: constant, or drawn from a distribution.
use super::random::Random;
use foregather_machine::Nanos;
use std::sync::Arc;

foregather_machine::named! {
    /// How fine a job is: the bound below which 90 % of its computations stay (Tsafrir & Feitelson 2002
    /// §2.1).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Granularity {
        /// The bound is one context switch.
        Fine = "fine",
        /// The bound is five context switches.
        Medium = "medium",
        /// The bound is fifteen context switches; the paper says only that it is more than five.
        Coarse = "coarse",
    }
}

impl Granularity {
    /// Computation intervals of that class, normally distributed with this coefficient of variation: `mu = B
    /// / (1 + 1.2816 CV)`, so nine in ten stay below the bound `B`.
    pub fn normal(self, context_switch: Nanos, variation: f64) -> Distribution {
        let switches = match self {
            Self::Fine => 1.0,
            Self::Medium => 5.0,
            Self::Coarse => 15.0,
        };
        let mean_ns = context_switch.0 as f64 * switches / (1.0 + 1.2816 * variation);
        Distribution::Normal { mean_ns, deviation_ns: mean_ns * variation }
    }
}

/// How long computations take.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same duration.
    Constant(Nanos),
    /// Normally distributed; never below the resolution.
    Normal {
        /// The mean, in nanoseconds.
        mean_ns: f64,
        /// The standard deviation, in nanoseconds.
        deviation_ns: f64,
    },
    /// Uniformly distributed between two bounds.
    Uniform {
        /// The lower bound.
        from: Nanos,
        /// The upper bound.
        to: Nanos,
    },
    /// Exponentially distributed.
    Exponential {
        /// The mean, in nanoseconds.
        mean_ns: f64,
    },
    /// Log-normally distributed.
    LogNormal {
        /// The mean in nanoseconds (not that of the logarithm).
        mean_ns: f64,
        /// The coefficient of variation: the standard deviation over the mean.
        variation: f64,
    },
    /// Gamma distributed: below a variation of 1 like a normal one with a longer tail, at 1 exponential.
    Gamma {
        /// The mean, in nanoseconds.
        mean_ns: f64,
        /// The coefficient of variation: 1 over the root of the shape.
        variation: f64,
    },
    /// Weibull distributed: at a shape of 1 exponential, below it with a heavy tail.
    Weibull {
        /// The mean in nanoseconds (not the scale).
        mean_ns: f64,
        /// The shape.
        shape: f64,
    },
    /// Some durations, each with the chance of its weight: a histogram.
    Empirical(Arc<[(Nanos, f64)]>),
    /// Measured values, drawn one after the other, each thread from a random place on.
    Trace(Arc<[Nanos]>),
    /// The thread of rank `i` draws from the one at `i % len`: work that is dealt unevenly.
    ByRank(Arc<[Self]>),
    /// All threads draw from one after the other, from the first one on: the phases of a region, which a
    /// barrier ends.
    InTurn(Arc<[Self]>),
}

impl Distribution {
    /// Half of `mean`, and in one draw of ten eleven times that.
    pub fn bimodal(mean: Nanos) -> Self {
        Self::Trace((0..10).map(|draw| mean.percent(if draw == 0 { 550 } else { 50 })).collect())
    }

    /// `span` for all of `threads` threads but rank 1, which takes three times as long.
    pub fn slow_member(span: Nanos, threads: u32) -> Self {
        Self::ByRank((0..threads).map(|rank| Self::Constant(if rank == 1 { span * 3 } else { span })).collect())
    }

    /// One duration of the thread of that rank: a multiple of `resolution`, and at least one.
    pub(super) fn draw(&self, rank: u32, random: &mut Random, resolution: Nanos) -> Nanos {
        let ns = match self {
            Self::Constant(span) => return *span,
            Self::Normal { mean_ns, deviation_ns } => mean_ns + deviation_ns * random.normal(),
            Self::Uniform { from, to } => from.0 as f64 + (to.0 - from.0) as f64 * random.unit(),
            Self::Exponential { mean_ns } => -mean_ns * random.unit().ln(),
            Self::LogNormal { mean_ns, variation } => {
                let variance = (variation * variation).ln_1p();
                mean_ns * (variance.sqrt() * random.normal() - variance / 2.0).exp()
            }
            Self::Gamma { mean_ns, variation } => mean_ns * gamma((variation * variation).recip(), random),
            Self::Weibull { mean_ns, shape } => {
                mean_ns / ln_gamma(1.0 + 1.0 / shape).exp() * (-random.unit().ln()).powf(1.0 / shape)
            }
            Self::Empirical(values) => return of_weights(values, random).max(resolution),
            Self::Trace(values) => return values[random.step(values.len() as u64) as usize].max(resolution),
            Self::ByRank(parts) => return parts[rank as usize % parts.len()].draw(rank, random, resolution),
            Self::InTurn(phases) => return phases[random.phase(phases.len() as u64) as usize].draw(rank, random, resolution),
        };
        let steps = (ns / resolution.0 as f64).round().max(1.0);
        Nanos((steps as u64).saturating_mul(resolution.0))
    }

    /// The mean of what is drawn, in nanoseconds; the mean over its parts if it goes by rank.
    pub fn mean_ns(&self) -> f64 {
        match self {
            Self::Constant(span) => span.0 as f64,
            Self::Normal { mean_ns, .. } | Self::Exponential { mean_ns } | Self::LogNormal { mean_ns, .. } => *mean_ns,
            Self::Gamma { mean_ns, .. } | Self::Weibull { mean_ns, .. } => *mean_ns,
            Self::Empirical(values) => values.iter().map(|(v, weight)| v.0 as f64 * weight).sum::<f64>() / weight(values),
            Self::Uniform { from, to } => (from.0 + to.0) as f64 / 2.0,
            Self::Trace(values) => values.iter().map(|v| v.0 as f64).sum::<f64>() / values.len() as f64,
            Self::ByRank(parts) | Self::InTurn(parts) => parts.iter().map(Self::mean_ns).sum::<f64>() / parts.len() as f64,
        }
    }

    /// Can durations be drawn from it? Only a job that never meets may compute forever.
    pub(super) fn is_sound(&self, meets: bool) -> bool {
        match self {
            Self::Constant(span) => !meets || *span > Nanos::ZERO && *span < Nanos::MAX,
            Self::Normal { mean_ns, deviation_ns } => *mean_ns > 0.0 && *deviation_ns >= 0.0,
            Self::Uniform { from, to } => from <= to && *to > Nanos::ZERO,
            Self::Exponential { mean_ns } => *mean_ns > 0.0,
            Self::LogNormal { mean_ns, variation } => *mean_ns > 0.0 && *variation >= 0.0,
            Self::Gamma { mean_ns, variation } => *mean_ns > 0.0 && *variation > 0.0,
            Self::Weibull { mean_ns, shape } => *mean_ns > 0.0 && *shape > 0.0,
            Self::Empirical(values) => weight(values) > 0.0 && values.iter().all(|(_, weight)| *weight >= 0.0),
            Self::Trace(values) => !values.is_empty(),
            Self::ByRank(parts) | Self::InTurn(parts) => !parts.is_empty() && parts.iter().all(|part| part.is_sound(meets)),
        }
    }
}

/// The sum of all weights.
fn weight(values: &[(Nanos, f64)]) -> f64 {
    values.iter().map(|(_, weight)| weight).sum()
}

/// One of the values, by their weights.
fn of_weights(values: &[(Nanos, f64)], random: &mut Random) -> Nanos {
    let mut rest = weight(values) * random.unit();
    let drawn = values.iter().find(|(_, weight)| {
        rest -= weight;
        rest <= 0.0
    });
    // Rounding may leave a rest after the last one.
    drawn.or(values.last()).map_or(Nanos::ZERO, |(value, _)| *value)
}

/// A gamma distributed number of mean 1 (Marsaglia & Tsang 2000). A shape below 1 is that of the next larger
/// one, times a power of a uniform number.
fn gamma(shape: f64, random: &mut Random) -> f64 {
    let (raised, boost) = if shape < 1.0 { (shape + 1.0, random.unit().powf(1.0 / shape)) } else { (shape, 1.0) };
    let d = raised - 1.0 / 3.0;
    let c = (9.0 * d).sqrt().recip();
    loop {
        let (x, u) = (random.normal(), random.unit());
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && u.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v * boost / shape;
        }
    }
}

/// The logarithm of the gamma function for `x` of 1 or more (Lanczos 1964, with the coefficients of g = 5).
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        1.208_650_973_866_179e-3,
        -5.395_239_384_953e-6,
    ];
    let base = x + 5.5;
    let series = TERMS.iter().zip(1..).fold(1.000_000_000_190_015, |sum, (term, n)| sum + term / (x + f64::from(n)));
    (2.506_628_274_631_000_5 * series / x).ln() - (base - (x + 0.5) * base.ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Nanos = Nanos::from_us(1);

    fn draws(of: &Distribution) -> Vec<f64> {
        let mut random = Random::new(7, 0);
        (0..20_000).map(|i| of.draw(i, &mut random, Nanos(10)).0 as f64).collect()
    }

    /// Tsafrir & Feitelson 2002 §2.1: 90 % of a class's computations are shorter than its bound.
    #[test]
    fn nine_in_ten_fine_computations_are_shorter_than_a_switch() {
        for (granularity, bound) in [(Granularity::Fine, 6e3), (Granularity::Medium, 30e3)] {
            let all = draws(&granularity.normal(US * 6, 0.15));
            let below = all.iter().filter(|&&ns| ns < bound).count() as f64 / all.len() as f64;
            assert!((0.89..0.91).contains(&below), "{granularity:?}: {below}");
        }
    }

    #[test]
    fn draws_have_the_mean_they_should() {
        for of in [
            Distribution::Uniform { from: US, to: US * 3 },
            Distribution::Exponential { mean_ns: 2e3 },
            Distribution::LogNormal { mean_ns: 2e3, variation: 0.5 },
            Distribution::Gamma { mean_ns: 2e3, variation: 0.5 },
            Distribution::Gamma { mean_ns: 2e3, variation: 1.5 },
            Distribution::Weibull { mean_ns: 2e3, shape: 0.7 },
            Distribution::Weibull { mean_ns: 2e3, shape: 3.0 },
            Distribution::Empirical([(US, 3.0), (US * 5, 1.0)].into()),
            Distribution::Trace([US, US * 3].into()),
            Distribution::bimodal(US * 2),
            Distribution::slow_member(US * 2, 4),
            Distribution::ByRank([Distribution::Constant(US), Distribution::Exponential { mean_ns: 3e3 }].into()),
        ] {
            let all = draws(&of);
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            assert!((mean / of.mean_ns() - 1.0).abs() < 0.03, "{of:?}: {mean}");
        }
    }

    /// Variances in closed form: a gamma of variation `v` has `v^2`, a Weibull of shape 2 has `4 / pi - 1`.
    #[test]
    fn draws_vary_as_they_should() {
        for (of, squared) in [
            (Distribution::Gamma { mean_ns: 2e4, variation: 0.5 }, 0.25),
            (Distribution::Gamma { mean_ns: 2e4, variation: 1.4 }, 1.96),
            (Distribution::Weibull { mean_ns: 2e4, shape: 2.0 }, 4.0 / std::f64::consts::PI - 1.0),
            (Distribution::Empirical([(US * 10, 1.0), (US * 30, 1.0)].into()), 0.25),
        ] {
            let all = draws(&of);
            let variance = all.iter().map(|ns| (ns / of.mean_ns() - 1.0).powi(2)).sum::<f64>() / all.len() as f64;
            assert!((variance / squared - 1.0).abs() < 0.06, "{of:?}: {variance}");
        }
        assert!((ln_gamma(5.0).exp() - 24.0).abs() < 1e-6 && (ln_gamma(1.5).exp() - 0.886_226_925).abs() < 1e-8);
    }

    #[test]
    fn who_computes_for_how_long_may_go_by_rank() {
        let parts: Vec<Distribution> = [1, 3].map(|us| Distribution::Constant(US * us)).into();
        let (uneven, mut random) = (Distribution::ByRank(parts.into()), Random::new(1, 2));
        assert_eq!([0, 1, 2, 3].map(|rank| uneven.draw(rank, &mut random, US)), [US, US * 3, US, US * 3]);
        let nobody: Vec<Distribution> = vec![];
        assert!(uneven.is_sound(true) && !Distribution::ByRank(nobody.into()).is_sound(true));
        assert!(!Distribution::ByRank([Distribution::Constant(Nanos::MAX)].into()).is_sound(true));
    }

    #[test]
    fn phases_come_in_turn_from_the_first_one_on() {
        let alone = Distribution::ByRank([Distribution::Constant(US * 5), Distribution::Constant(Nanos(1))].into());
        let (region, mut random) = (Distribution::InTurn([alone, Distribution::Constant(US)].into()), Random::new(1, 2));
        assert_eq!([0, 0, 1, 1].map(|rank| region.draw(rank, &mut random, Nanos(1))), [US * 5, US, Nanos(1), US]);
        assert_eq!((region.mean_ns(), region.is_sound(true)), ((2_500.5 + 1_000.0) / 2.0, true));
    }

    #[test]
    fn durations_are_multiples_of_the_resolution() {
        let mut random = Random::new(1, 2);
        let fine = Granularity::Fine.normal(US * 6, 0.3);
        assert!((0..1_000).map(|_| fine.draw(0, &mut random, US)).all(|d| d >= US && d.0 % US.0 == 0));
    }
}
