//! What only the page of the demo shows: machines that exist in simulation, and the papers' claims about
//! them.
use anyhow::Result;
use foregather_host::interrupt;
use foregather_machine::Nanos;
use foregather_reproduce::{self as reproduce, TrialOptions, Tried};
use foregather_results::{Measurement, Timeline};
use foregather_simulate::{self as simulate, ReadOptions, RunnerSettings, points, shipped};

/// What was simulated.
#[derive(Default)]
pub(super) struct PageSimulations {
    pub(super) measurements: Vec<Measurement>,
    pub(super) timelines: Vec<Timeline>,
    pub(super) tried: Vec<Tried>,
}

/// Simulates one part; `true` for no progress.
type SimulatePart = fn(&mut PageSimulations, bool) -> Result<()>;

/// Each part, and about how long it takes on a quiet machine.
const PARTS: [(Nanos, SimulatePart); 3] = [
    (Nanos::from_ms(800), cube),
    (Nanos::from_ms(800), |all, quiet| all.claims("tsafrir-feitelson2002", "fig3", quiet)),
    (Nanos::from_ms(800), |all, quiet| all.claims("tsafrir-feitelson2002", "fig4", quiet)),
];

/// How long all parts take.
pub(super) fn planned() -> Nanos {
    PARTS.iter().fold(Nanos::ZERO, |sum, (planned, _)| sum + *planned)
}

/// Runs the parts for which there is time; `left` says how much there is.
///
/// # Errors
/// None, unless the program was built with a broken plan.
pub(super) fn run(quiet: bool, left: impl Fn() -> Nanos) -> Result<PageSimulations> {
    let mut all = PageSimulations::default();
    for (planned, part) in PARTS {
        if !interrupt::requested() && left() >= planned {
            part(&mut all, quiet)?;
        }
    }
    Ok(all)
}

/// A hypercube: what barriers cost, how often a shift behind them succeeds, and what one interrupt does.
fn cube(all: &mut PageSimulations, quiet: bool) -> Result<()> {
    all.measurements.extend(simulate::barriers_over_nodes(14)?);
    let plan = shipped::open("seidel-success-calibrated", &ReadOptions::default())?;
    let points = simulate::run(&plan, RunnerSettings { workers: 0, quiet })?;
    all.measurements.extend(points::measurements(&plan, &points));
    if interrupt::requested() { Ok(()) } else { all.claims("seidel-davis1992", "interrupt", quiet) }
}

impl PageSimulations {
    fn claims(&mut self, paper: &str, figure: &str, quiet: bool) -> Result<()> {
        let found = reproduce::run(Some(paper), Some(figure), &TrialOptions { quiet, ..TrialOptions::default() })?;
        self.tried.extend(found.tried);
        self.measurements.extend(found.measurements);
        self.timelines.extend(found.timelines);
        Ok(())
    }
}
