//! Made-up results of `app`, and of a simulation of it.
use super::empty;
use foregather_results::apps::{self, PARTS, SPEEDUP};
use foregather_results::{Measurement, Results};

pub(crate) fn apps() -> Results {
    let mut results = empty("app sor");
    for (app, ms, waits) in [("sor", 40.0, 0.02), ("lu", 900.0, 0.1), ("tsp", 300.0, 0.3)] {
        for series in ["1999", "modern"] {
            for ranks in [1_u32, 2, 4, 8] {
                let n = f64::from(ranks);
                let waits = if series == "1999" { waits } else { waits / 5.0 } * (n - 1.0);
                let span = ms / n * (1.0 + waits);
                let share = [0.4, 0.1, 0.1, 0.05, 0.15, 0.2].map(|share| share * ms / n * waits);
                let mut parts = [ms / n; PARTS.len()];
                parts[1..].copy_from_slice(&share);
                results.measurements.push(apps::run(app, series, ranks, vec![span], parts));
                results.measurements.push(apps::rank(app, series, (ranks, 0), vec![span], parts));
            }
        }
    }
    apps::speedups(&mut results.measurements);
    results
}

/// Measurements of `app` with labels that try to be markup.
pub(crate) fn hostile(evil: &str) -> Vec<Measurement> {
    let run = |ranks| apps::run(evil, evil, ranks, vec![1.0], [1.0; PARTS.len()]).figure(SPEEDUP, f64::from(ranks));
    vec![run(1), run(2), apps::run("no", "number", 3, vec![1.0], [f64::NAN; PARTS.len()]).label(apps::RANKS, evil)]
}
