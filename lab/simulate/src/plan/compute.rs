//! How long a job computes between its barriers: by its grain, by its mean and its shape, or by a distribution.
use super::files::Files;
use super::section::{Section, choice, real, span, text, time};
use super::tree::{Located, ParseResult, mistake};
use foregather_machine::Nanos;
use foregather_sim::smp::{Distribution, Granularity, MachineSpec};

/// The kinds of `compute`, each with what it takes.
pub(super) const KINDS: [(&str, &[&str]); 6] = [
    ("constant", &[]),
    ("normal", &["mean", "deviation"]),
    ("uniform", &["from", "to"]),
    ("exponential", &["mean"]),
    ("lognormal", &["mean", "cv"]),
    ("trace", &[]),
];
/// A distribution of so many threads, by its mean.
type MakeOfMean = fn(Nanos, u32) -> Distribution;

/// The shapes of the space that hardware rows are drawn from (`foregather measure barriers`).
pub(super) const SHAPES: [(&str, MakeOfMean); 5] = [
    ("constant", |mean, _| Distribution::Constant(mean)),
    ("exponential", |mean, _| Distribution::Exponential { mean_ns: mean.0 as f64 }),
    ("lognormal", |mean, _| Distribution::LogNormal { mean_ns: mean.0 as f64, variation: 1.0 }),
    ("bimodal", |mean, _| Distribution::bimodal(mean)),
    ("slow-member", Distribution::slow_member),
];

/// A middling spread; the plans of Tsafrir & Feitelson 2002's figures give their own, fitted one (`plans/README.md`).
pub(super) const CV: f64 = 0.15;

/// The names of the grains.
pub(super) fn grains() -> [(&'static str, Granularity); 3] {
    Granularity::ALL.map(|grain| (grain.name(), grain))
}

pub(super) fn cv(section: &Section<'_>) -> ParseResult<f64> {
    section.real("cv", 0.0..=10.0, CV)
}

/// `grain` with `cv`, `mean` with `shape`, or `compute`, for so many threads.
pub(super) fn read(section: &Section<'_>, threads: u32, machine: &MachineSpec, files: &Files) -> ParseResult<Distribution> {
    let ways = ["grain", "mean", "compute"].map(|key| section.get(key).map(|node| (key, node)));
    let mut given = ways.into_iter().flatten();
    let Some((way, node)) = given.next() else {
        return mistake(section.line(), "[[job]] needs `grain`, `mean` or `compute`: how long it computes between barriers");
    };
    if let Some((other, node)) = given.next() {
        return mistake(node.line, format!("`{other}` takes the place of `{way}`: give one of them"));
    }
    for (key, of) in [("cv", "grain"), ("shape", "mean")] {
        if let Some(node) = section.get(key).filter(|_| way != of) {
            return mistake(node.line, format!("`{key}` belongs to `{of}`: `{way}` says all by itself"));
        }
    }
    match way {
        "grain" => Ok(choice("grain", node, &grains())?.normal(machine.prices.switch, cv(section)?)),
        "mean" => Ok(section.choice("shape", &SHAPES, SHAPES[0].1)?(span("mean", node)?, threads)),
        _ => distribution("compute", node, files),
    }
}

/// `{ normal = { mean = "5 us", deviation = "1 us" } }` and its like.
pub(super) fn distribution(key: &str, node: &Located, files: &Files) -> ParseResult<Distribution> {
    let names = KINDS.map(|(name, _)| name);
    Section::new(key, node, &names)?;
    let Some([(kind, inner)]) = node.entries() else {
        return mistake(node.line, format!("`{key}` is one of {}", names.join(", ")));
    };
    if kind == "constant" {
        return Ok(Distribution::Constant(span(kind, inner)?));
    }
    if kind == "trace" {
        let path = text(kind, inner)?;
        return files.trace(path).map_or_else(|error| mistake(inner.line, error), |times| Ok(Distribution::Trace(times)));
    }
    let keys = KINDS.iter().find(|(name, _)| name == kind).map_or(&[][..], |(_, keys)| keys);
    let what = format!("{key}.{kind}");
    let section = Section::new(&what, inner, keys)?;
    let mean_ns = |key| Ok(span(key, section.need(key)?)?.0 as f64);
    match kind.as_str() {
        "normal" => {
            let deviation = time("deviation", section.need("deviation")?)?;
            Ok(Distribution::Normal { mean_ns: mean_ns("mean")?, deviation_ns: deviation.0 as f64 })
        }
        "uniform" => {
            let (from, to): (Nanos, Nanos) = (time("from", section.need("from")?)?, span("to", section.need("to")?)?);
            if from > to {
                return mistake(section.line(), format!("{what} goes from {from} down to {to}: swap them"));
            }
            Ok(Distribution::Uniform { from, to })
        }
        "exponential" => Ok(Distribution::Exponential { mean_ns: mean_ns("mean")? }),
        _ => {
            let variation = real("cv", section.need("cv")?, 0.0..=10.0)?;
            Ok(Distribution::LogNormal { mean_ns: mean_ns("mean")?, variation })
        }
    }
}
