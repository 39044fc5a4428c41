//! Simulated and measured points as the figures of a report: it draws every name as a plan of curves.
use foregather_results::Measurement;

/// A figure of curves over one magnitude.
pub(super) struct Points {
    /// The figure's name.
    pub(super) name: &'static str,
    /// What it shows.
    pub(super) title: &'static str,
    /// What its values are.
    pub(super) what: &'static str,
    pub(super) unit: &'static str,
    /// What they are over: `bytes`.
    pub(super) over: &'static str,
    /// What the curves differ in: `series`.
    pub(super) series: &'static str,
}

impl Points {
    /// One point: of which curve, where, and the values there.
    pub(super) fn point(&self, series: &str, at: usize, values: Vec<f64>) -> Measurement {
        let Self { name, title, what, unit, over, series: axis } = self;
        Measurement::from_values(format!("namyst1999/{name}/{series}/{at}"), format!("{title}: {what}"), *unit, values)
            .label("plan", format!("namyst-{name}"))
            .label("x-axis", *over)
            .label("series-axis", *axis)
            .label(over, at.to_string())
            .label(axis, series)
    }
}

/// Megabytes a second.
pub(super) fn rate(bytes: usize, half: foregather_machine::Nanos) -> f64 {
    bytes as f64 * 1e3 / half.0.max(1) as f64
}
