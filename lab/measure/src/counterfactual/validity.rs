//! Which models of waits are good enough to be used, on an idle machine and under background load: those
//! whose predictions of drawn situations were right on this machine (`measure teams --predict`), or, before
//! that was measured here, on another one.
use super::PeerModel;
use foregather_host::kept::{self, Numbers};

/// The file of verdicts by model, and its values.
const KEPT: (&str, &str) = ("models", "foregather.models/1");
const VALID: u64 = 1;
const NOT_VALID: u64 = 2;
/// The verdicts on all models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValidModels(Numbers);

impl ValidModels {
    /// The kept ones. Without them, or if they cannot be read, those of another machine count.
    pub fn load() -> Self {
        Self(kept::load(KEPT.0, KEPT.1).unwrap_or_default())
    }

    /// Adds a verdict, which counts from now on.
    pub fn add(&mut self, model: PeerModel, under_load: bool, is_valid: bool) {
        self.0.entry(name(model, under_load)).or_default().add(if is_valid { VALID } else { NOT_VALID });
    }

    /// Keeps them for this machine. Where nothing can be kept, those of another machine count.
    pub fn store(&self) {
        let _ = kept::store(KEPT.0, KEPT.1, &self.0);
    }

    /// Returns whether predictions by this model may be used.
    pub fn allow(&self, model: PeerModel, under_load: bool) -> bool {
        // On two virtual processors (AMD EPYC under KVM, Linux 6.18) all models were valid on the idle
        // machine, but only a few under load: the numbers are in this crate's README.
        self.0.get(&name(model, under_load)).map_or(!under_load, |kept| kept.newest() == VALID)
    }
}

/// `libgomp`, or `libgomp under load`.
pub(crate) fn name(model: PeerModel, under_load: bool) -> String {
    format!("{}{}", model.name(), if under_load { " under load" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_of_this_machine_counts_more_than_one_of_another() {
        let mut models = ValidModels::default();
        assert!(models.allow(PeerModel::Libgomp, false) && !models.allow(PeerModel::OpenBlas, true));
        models.add(PeerModel::Libgomp, false, false);
        models.add(PeerModel::OpenBlas, true, true);
        assert!(!models.allow(PeerModel::Libgomp, false) && models.allow(PeerModel::OpenBlas, true));
        models.add(PeerModel::Libgomp, false, true);
        assert!(models.allow(PeerModel::Libgomp, false), "the newest one counts");
    }
}
