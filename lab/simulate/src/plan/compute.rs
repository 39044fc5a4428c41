//! How long a job computes between its barriers: by its grain, by its mean and its shape, or by a
//! distribution.
use super::files::PlanFiles;
use super::read::{AnyValue, KEY, Span, Time, Variation, choice, real, span, table, values};
use super::tree::{ParseResult, mistake};
use foregather_machine::Nanos;
use foregather_sim::smp::{Distribution, Granularity};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::fmt;

/// Makes a job's distribution of its mean and the number of its threads.
type MakeOfMean = fn(Nanos, u32) -> Distribution;

/// The shapes of the space that hardware rows are drawn from (`foregather measure barriers`).
pub(super) const SHAPES: [(&str, MakeOfMean); 5] = [
    ("constant", |mean, _| Distribution::Constant(mean)),
    ("exponential", |mean, _| Distribution::Exponential { mean_ns: mean.0 as f64 }),
    ("lognormal", |mean, _| Distribution::LogNormal { mean_ns: mean.0 as f64, variation: 1.0 }),
    ("bimodal", |mean, _| Distribution::bimodal(mean)),
    ("slow-member", Distribution::slow_member),
];

/// A middling coefficient of variation; the plans of Tsafrir & Feitelson 2002's figures give their own,
/// fitted one (`plans/README.md`).
pub(super) const CV: f64 = 0.15;

values! {
    GrainName(Granularity) = |value| choice(value, &Granularity::ALL.map(|grain| (grain.name(), grain)));
    ShapeName(MakeOfMean) = |value| choice(value, &SHAPES);
    /// A variation or a shape that is not zero.
    Positive(f64) = |value| real(value, 0.01..=100.0);
    /// Times with their weights: `[["5 us", 3], ["9 us", 1]]`.
    Histogram(Vec<(Nanos, f64)>) = histogram;
}

/// The times and weights of a histogram.
fn histogram(value: &AnyValue) -> Result<Vec<(Nanos, f64)>, String> {
    let wrong = || format!("`{KEY}` is a list of times with weights: [[\"5 us\", 3], [\"9 us\", 1]]");
    let AnyValue::List(items) = value else { return Err(wrong()) };
    let pair = |item: &AnyValue| match item {
        AnyValue::List(pair) if pair.len() == 2 => Ok((span(&pair[0])?, real(&pair[1], 0.0..=1e12)?)),
        _ => Err(wrong()),
    };
    let pairs = items.iter().map(pair).collect::<Result<Vec<_>, String>>()?;
    let has_weight = pairs.iter().any(|(_, weight)| *weight > 0.0);
    if has_weight { Ok(pairs) } else { Err(format!("`{KEY}` needs a time whose weight is above 0")) }
}

/// `"5 us"`, always as long, or a table of one kind.
pub(super) struct ComputeTime(KindTable);

// Exactly one of these is given, such as `{ normal = { mean = "5 us", deviation = "1 us" } }`.
table! {
    "" KindTable {
        ;
        constant: Span, normal: Normal, uniform: (usize, Uniform), exponential: Exponential, lognormal: LogNormal,
        gamma: Gamma, weibull: Weibull, empirical: Histogram, trace: (usize, String)
    }
}

table! { "" Normal { mean: Span, deviation: Time; } }
table! { "" Uniform { from: Time, to: Span; } }
table! { "" Exponential { mean: Span; } }
table! { "" LogNormal { mean: Span, cv: Variation; } }
table! { "" Gamma { mean: Span, cv: Positive; } }
table! { "" Weibull { mean: Span, shape: Positive; } }

impl<'de> Deserialize<'de> for ComputeTime {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TimeOrTable)
    }
}

/// Reads [`ComputeTime`]; the parts of a table keep their lines.
struct TimeOrTable;

impl TimeOrTable {
    fn constant<E: Error>(value: AnyValue) -> Result<ComputeTime, E> {
        let constant = Some(Span(span(&value).map_err(E::custom)?));
        let (normal, uniform, exponential, lognormal) = (None, None, None, None);
        let (gamma, weibull, empirical, trace) = (None, None, None, None);
        Ok(ComputeTime(KindTable { constant, normal, uniform, exponential, lognormal, gamma, weibull, empirical, trace }))
    }
}

impl<'de> Visitor<'de> for TimeOrTable {
    type Value = ComputeTime;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time like \"5 us\", or a table like { exponential = { mean = \"5 us\" } }")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ComputeTime, E> {
        Self::constant(AnyValue::Text(text.to_owned()))
    }

    fn visit_i64<E: Error>(self, whole: i64) -> Result<ComputeTime, E> {
        Self::constant(AnyValue::Whole(whole))
    }

    fn visit_f64<E: Error>(self, real: f64) -> Result<ComputeTime, E> {
        Self::constant(AnyValue::Real(real))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<ComputeTime, A::Error> {
        KindTable::deserialize(MapAccessDeserializer::new(entries)).map(ComputeTime)
    }
}

impl ComputeTime {
    /// The distribution; `key` and `line` are where it is given.
    pub(super) fn distribution(self, key: &str, line: usize, files: &PlanFiles) -> ParseResult<Distribution> {
        self.0.distribution(key, line, files)
    }
}

impl KindTable {
    fn distribution(self, key: &str, line: usize, files: &PlanFiles) -> ParseResult<Distribution> {
        let ns = |time: Span| time.0.0 as f64;
        if let Some((line, Uniform { from: Time(from), to: Span(to) })) =
            self.uniform.as_ref().filter(|(_, of)| of.from.0 > of.to.0)
        {
            return mistake(*line, format!("{key}.uniform goes from {from} down to {to}: swap them"));
        }
        let trace = match self.trace {
            Some((line, path)) => Some(files.trace(&path).map_or_else(|error| mistake(line, error), Ok)?),
            None => None,
        };
        let normal = |of: Normal| Distribution::Normal { mean_ns: ns(of.mean), deviation_ns: of.deviation.0.0 as f64 };
        let all = [
            self.constant.map(|time| Distribution::Constant(time.0)),
            self.normal.map(normal),
            self.uniform.map(|(_, of)| Distribution::Uniform { from: of.from.0, to: of.to.0 }),
            self.exponential.map(|of| Distribution::Exponential { mean_ns: ns(of.mean) }),
            self.lognormal.map(|of| Distribution::LogNormal { mean_ns: ns(of.mean), variation: of.cv.0 }),
            self.gamma.map(|of| Distribution::Gamma { mean_ns: ns(of.mean), variation: of.cv.0 }),
            self.weibull.map(|of| Distribution::Weibull { mean_ns: ns(of.mean), shape: of.shape.0 }),
            self.empirical.map(|of| Distribution::Empirical(of.0.into())),
            trace.map(Distribution::Trace),
        ];
        let mut given = all.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(one), None) => Ok(one),
            _ => {
                let kinds = "constant, normal, uniform, exponential, lognormal, gamma, weibull, empirical, trace";
                mistake(line, format!("`{key}` is one of {kinds}"))
            }
        }
    }
}
