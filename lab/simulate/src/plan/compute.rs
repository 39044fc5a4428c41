//! How long a job computes between its barriers: by its grain, or by a distribution.
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
/// A middling spread; the plans of Tsafrir & Feitelson 2002's figures give their own, fitted one (`plans/README.md`).
pub(super) const CV: f64 = 0.15;

/// The names of the grains.
pub(super) fn grains() -> [(&'static str, Granularity); 3] {
    Granularity::ALL.map(|grain| (grain.name(), grain))
}

pub(super) fn cv(section: &Section<'_>) -> ParseResult<f64> {
    section.real("cv", 0.0..=10.0, CV)
}

/// `grain` with `cv`, or `compute`.
pub(super) fn read(section: &Section<'_>, machine: &MachineSpec, files: &Files) -> ParseResult<Distribution> {
    match (section.get("grain"), section.get("compute")) {
        (Some(node), None) => Ok(choice("grain", node, &grains())?.normal(machine.prices.switch, cv(section)?)),
        (None, Some(node)) => match section.get("cv") {
            None => distribution(node, files),
            Some(cv) => mistake(cv.line, "`cv` belongs to `grain`: `compute` says all by itself"),
        },
        (None, None) => mistake(section.line(), "[[job]] needs `grain` or `compute`: how long it computes between barriers"),
        (Some(_), Some(node)) => mistake(node.line, "`compute` takes the place of `grain`: give one of them"),
    }
}

/// `{ normal = { mean = "5 us", deviation = "1 us" } }` and its like.
fn distribution(node: &Located, files: &Files) -> ParseResult<Distribution> {
    let names = KINDS.map(|(name, _)| name);
    Section::new("compute", node, &names)?;
    let Some([(kind, inner)]) = node.entries() else {
        return mistake(node.line, format!("`compute` is one of {}", names.join(", ")));
    };
    if kind == "constant" {
        return Ok(Distribution::Constant(span(kind, inner)?));
    }
    if kind == "trace" {
        let path = text(kind, inner)?;
        return files.trace(path).map_or_else(|error| mistake(inner.line, error), |times| Ok(Distribution::Trace(times)));
    }
    let keys = KINDS.iter().find(|(name, _)| name == kind).map_or(&[][..], |(_, keys)| keys);
    let what = format!("compute.{kind}");
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
                return mistake(section.line(), format!("compute.uniform goes from {from} down to {to}: swap them"));
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
