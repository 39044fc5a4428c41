//! Simulated and measured points as the figures of a report: it draws every name as a plan of curves.
use foregather_results::Measurement;
use foregather_results::ids::MEASURED;

/// A figure of curves over one magnitude.
pub(super) struct Points {
    /// The paper, and how names of its plans begin.
    pub(super) paper: (&'static str, &'static str),
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
    /// Whether it was measured on this machine.
    pub(super) measured: bool,
}

impl Points {
    /// Of Namyst et al. 1999, over the length of messages: name, title, what and unit.
    pub(super) const fn namyst([name, title, what, unit]: [&'static str; 4]) -> Self {
        Self { paper: ("namyst1999", "namyst"), name, title, what, unit, over: "bytes", series: "series", measured: false }
    }

    /// The same over the number of working threads.
    pub(super) const fn beside_workers(words: [&'static str; 4]) -> Self {
        Self { over: "workers", ..Self::namyst(words) }
    }

    /// Of Itzkovitz & Schuster 1999, in the same order; over something, in series that differ in something.
    pub(super) const fn itzkovitz([name, title, what, unit]: [&'static str; 4], [over, series]: [&'static str; 2]) -> Self {
        Self { paper: ("itzkovitz-schuster1999", "millipage"), name, title, what, unit, over, series, measured: false }
    }

    /// Of Seidel & Davis 1992, of one curve over something.
    pub(super) const fn seidel([name, title, what, unit]: [&'static str; 4], over: &'static str) -> Self {
        let paper = ("seidel-davis1992", "seidel");
        Self { paper, name, title, what, unit, over, series: "series", measured: false }
    }

    /// As something measured on this machine.
    pub(super) const fn here(self) -> Self {
        Self { measured: true, ..self }
    }

    /// One point: of which curve, where, and the values there.
    pub(super) fn point(&self, series: &str, at: usize, values: Vec<f64>) -> Measurement {
        let Self { paper: (paper, plan), name, title, what, unit, over, series: axis, measured } = self;
        let point = Measurement::from_values(format!("{paper}/{name}/{series}/{at}"), format!("{title}: {what}"), *unit, values)
            .label("plan", format!("{plan}-{name}"))
            .label("x-axis", *over)
            .label("series-axis", *axis)
            .label(over, at.to_string())
            .label(axis, series);
        if *measured { point.label(MEASURED, "here") } else { point }
    }
}
