//! A document as figures read it: of very many measurements the first, and times as times, not as cycles.
use foregather_results::{Measurement, Results, Summary, TrustLevel};
use std::borrow::Cow;

/// The most measurements of a document that figures show; its page and its data say how many there are.
pub(crate) const SHOWN: usize = 20_000;

/// A document, and what figures show of it.
pub(crate) struct Document<'a> {
    pub(crate) results: &'a Results,
    /// Its first measurements, under the numbers that they have in the document.
    pub(crate) all: Cow<'a, [Measurement]>,
}

impl<'a> Document<'a> {
    pub(crate) fn of(results: &'a Results) -> Self {
        let shown = &results.measurements[..results.measurements.len().min(SHOWN)];
        let ns = 1e9 / results.provenance.clock_hz;
        let counts_cycles = shown.iter().any(|m| m.unit == CYCLES) && ns.is_finite() && ns > 0.0;
        let in_time = |m: &Measurement| if m.unit == CYCLES { in_nanoseconds(m, ns) } else { m.clone() };
        let all = if counts_cycles { shown.iter().map(in_time).collect::<Vec<_>>().into() } else { shown.into() };
        Self { results, all }
    }

    /// Returns whether background load makes the measurements unusable.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.results.noise.verdict == TrustLevel::Unusable
    }
}

/// The unit that the clock counts in.
const CYCLES: &str = "cycles";

/// The same in nanoseconds, `ns` of which a cycle takes.
fn in_nanoseconds(m: &Measurement, ns: f64) -> Measurement {
    let scaled = |value: Option<f64>| value.map(|cycles| cycles * ns);
    let Summary { n, min, mean, max, p50, p90, p99 } = m.summary;
    let histogram =
        m.histogram.as_ref().map(|all| all.iter().map(|&(cycles, n)| ((cycles as f64 * ns).round() as u64, n)).collect());
    Measurement {
        unit: "ns".to_owned(),
        values: m.values.as_ref().map(|all| all.iter().map(|cycles| cycles * ns).collect()),
        histogram,
        summary: Summary {
            n,
            min: scaled(min),
            mean: scaled(mean),
            max: scaled(max),
            p50: scaled(p50),
            p90: scaled(p90),
            p99: scaled(p99),
        },
        ..m.clone()
    }
}
