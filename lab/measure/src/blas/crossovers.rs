//! From which size on each routine is shared on this machine.
use super::output::CROSSOVERS;
use crate::Measured;
use foregather_blas::{Crossover, crossovers};
use foregather_results::Measurement;

/// All of them, those measured now that were not known.
pub(super) fn run() -> Measured {
    let (all, notes) = crossovers();
    let mut notes = notes;
    if all.iter().all(|crossover| crossover.warm.is_none()) {
        notes
            .push("this process may use one processor, so every call is serial (affinity, quota, FOREGATHER_THREADS)".to_owned());
    }
    Measured { measurements: all.into_iter().flat_map(both).collect(), notes }
}

fn both(crossover: Crossover) -> [Measurement; 2] {
    let routine = crossover.routine.name();
    [("warm", crossover.warm), ("cold", crossover.cold)].map(|(after, n)| {
        let what = "the length of vectors, or order of square matrices, from which on double precision is shared";
        let values = n.map(|n| n as f64).into_iter().collect();
        let id = format!("{CROSSOVERS}{routine}/{after}");
        Measurement::from_values(id, what, "elements", values).label("routine", routine).label("after", after)
    })
}
