//! From the beginning of an experiment to its results.
use super::{Measurement, NoiseMeter, Provenance, Results, SCHEMA, Verdict};
use foregather_host::clock;
use foregather_machine::Nanos;

/// An experiment that is going on: what has to be noted before the first measurement.
pub struct Run {
    experiment: String,
    seed: Option<u64>,
    started_unix_s: u64,
    provenance: Provenance,
    began: Nanos,
    meter: NoiseMeter,
}

impl Run {
    /// Looks around, and starts watching for noise.
    pub fn begin(experiment: &str, seed: Option<u64>) -> Self {
        let (experiment, started_unix_s) = (experiment.to_owned(), clock::unix_seconds());
        let provenance = Provenance::gather();
        Self { experiment, seed, started_unix_s, provenance, began: clock::now(), meter: NoiseMeter::start() }
    }

    /// The results, complete or, if the run was interrupted, what there is of them.
    pub fn end(self, interrupted: bool, measurements: Vec<Measurement>, verdicts: Vec<Verdict>, notes: Vec<String>) -> Results {
        let mut provenance = self.provenance;
        provenance.finish();
        Results {
            schema: SCHEMA.to_owned(),
            experiment: self.experiment,
            argv: std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect(),
            started_unix_s: self.started_unix_s,
            seconds: (clock::now() - self.began).as_secs(),
            seed: self.seed,
            interrupted,
            provenance,
            noise: self.meter.stop(&measurements),
            measurements,
            timelines: Vec::new(),
            verdicts,
            notes,
        }
    }
}
