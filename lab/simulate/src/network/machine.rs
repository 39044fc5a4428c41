//! A network of either kind, as a plan asks for one: with ports in the way, or by LogGP.
use super::{Study, StudyResults, study};
use anyhow::Result;
use foregather_machine::{LogGp, Nanos};
use foregather_message::Protocol;
use foregather_sim::net::{Circuits, Model};

/// What lies between the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interconnect {
    /// One send port and one receive port a node.
    Circuits(Circuits),
    /// Parameters alone: no links, so only its sender and its receiver hold up a message.
    LogGp(LogGp),
}

impl Study<Interconnect> {
    /// Runs the study.
    ///
    /// # Errors
    /// If the machine cannot be as described, or some node waits forever.
    pub fn run(&self) -> Result<StudyResults> {
        match self.model {
            Interconnect::Circuits(model) => study::run(&self.on(model)),
            Interconnect::LogGp(model) => study::run(&self.on(model)),
        }
    }

    /// Runs the study, and writes every packet down.
    ///
    /// # Errors
    /// As [`Study::run`].
    pub fn run_recorded(&self) -> Result<StudyResults> {
        match self.model {
            Interconnect::Circuits(model) => study::run_recorded(&self.on(model)),
            Interconnect::LogGp(model) => study::run_recorded(&self.on(model)),
        }
    }

    /// The same study on that model.
    pub fn on<M: Model>(&self, model: M) -> Study<M> {
        let Self { nodes, interrupts, barrier, shift, skew, resynchronised, trials, skipped, seed, .. } = *self;
        let faults = self.faults.clone();
        Study { model, nodes, interrupts, faults, barrier, shift, skew, resynchronised, trials, skipped, seed }
    }

    /// What a shift takes if all nodes begin it together and nothing disturbs them (Seidel & Davis 1992
    /// §2.3).
    pub fn least_shift(&self) -> Option<Nanos> {
        let shift = self.shift?;
        Some(match self.model {
            Interconnect::Circuits(model) => {
                let latency = if shift.protocol == Protocol::Long { model.long } else { model.null };
                model.bytes(shift.bytes) + latency
            }
            Interconnect::LogGp(model) => {
                // PROBE and REQUEST go from system to system.
                let before = if shift.protocol == Protocol::Long { 2 } else { 0 };
                model.bytes(shift.bytes.into()) + model.null() + (model.send_overhead + model.latency) * before
            }
        })
    }
}
