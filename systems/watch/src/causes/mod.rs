//! Causes of waits, a function each, from an observation to a verdict with its evidence.
//!
//! A cause states the time of threads that it explains. One that explains less than a tenth of the time of
//! all threads is left out, so a program that is well gets no advice. The largest comes first, but a cause
//! that brings about another one stands above it.
mod partners;
mod pools;
mod processors;
mod sampled;
mod stuck;

pub use stuck::hang_of;

use crate::{Observation, Remedy};
use foregather_machine::Nanos;
use serde::Serialize;
use std::collections::BTreeSet;

foregather_machine::named! {
    /// Why threads wait.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum WaitCause {
        /// No thread moves any more.
        Hang = "hang",
        /// The system refused threads.
        RefusedThreads = "refused threads",
        /// The control group's quota is used up.
        Quota = "quota",
        /// The hypervisor ran other machines.
        Steal = "steal",
        /// Masks leave processors unused.
        Mask = "mask",
        /// Several processes of one program each have a pool.
        Processes = "processes x threads",
        /// Workers of a pool have pools of their own.
        NestedPools = "nested pools",
        /// Two pools of a process run at the same time.
        TwoPools = "two pools",
        /// One pool has more threads than processors.
        LargePool = "large pool",
        /// Another program has a processor.
        OtherProgram = "other program",
        /// A member sleeps in a file or a device while others wait for it.
        IoBehindBarrier = "I/O behind a barrier",
        /// A mutex is held most of the time.
        LockConvoy = "lock convoy",
        /// Members arrive late because their parts take longer.
        LateThread = "late thread",
        /// Regions are shorter than it takes to begin and end them.
        TinyRegions = "tiny regions",
        /// Workers spin while there is nothing to do.
        IdleSpin = "idle spin",
    }
}

impl WaitCause {
    /// Returns whether its time is known only from what looks found.
    fn rests_on_looks(self) -> bool {
        matches!(self, Self::IoBehindBarrier | Self::LockConvoy | Self::LateThread | Self::IdleSpin)
    }

    /// Causes that this one brings about.
    fn brings_about(self) -> &'static [Self] {
        use WaitCause::*;
        match self {
            Hang | RefusedThreads => &Self::ALL,
            Quota | Mask => &[OtherProgram, LargePool, LateThread, LockConvoy, TinyRegions, IdleSpin],
            Processes | NestedPools => &[TwoPools, LargePool, LateThread, TinyRegions, IdleSpin, OtherProgram],
            TwoPools | LargePool => &[LateThread, TinyRegions, IdleSpin, OtherProgram],
            Steal | OtherProgram => &[LateThread, TinyRegions],
            IoBehindBarrier | LockConvoy => &[LateThread, IdleSpin],
            LateThread | TinyRegions => &[IdleSpin],
            IdleSpin => &[],
        }
    }
}

/// How certain a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// The evidence leaves no other cause.
    Sure,
    /// Other causes would look alike.
    Likely,
}

impl Certainty {
    /// As it is printed.
    pub fn label(self) -> &'static str {
        match self {
            Self::Sure => "sure",
            Self::Likely => "likely",
        }
    }
}

/// A cause that holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedCause {
    /// Which one.
    pub cause: WaitCause,
    /// How certain.
    pub certainty: Certainty,
    /// The time of threads that it explains.
    #[serde(rename = "explains_ns", serialize_with = "nanos")]
    pub explains: Nanos,
    /// The verdict in a sentence.
    pub verdict: String,
    /// What was seen that decides.
    pub evidence: String,
    /// What mends it.
    pub remedy: Remedy,
}

fn nanos<S: serde::Serializer>(time: &Nanos, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(time.0)
}

/// The least share of the time of all threads that a cause explains.
const LEAST: f64 = 0.1;

/// With fewer looks than that, what looks found is a hint.
const LOOKS: u64 = 50;

/// Judges an observation by one cause.
type CauseJudge = fn(&Observation) -> Option<NamedCause>;

const JUDGES: [CauseJudge; 13] = [
    stuck::hang,
    stuck::refused,
    processors::quota,
    processors::steal,
    processors::mask,
    pools::crowded,
    processors::other_program,
    partners::io,
    partners::convoy,
    partners::late,
    partners::tiny,
    partners::idle_spin,
    sampled::pool_spin,
];

/// All causes that hold, the one to mend first first.
pub fn judge(seen: &Observation) -> Vec<NamedCause> {
    let least = Nanos((seen.spent().total().0 as f64 * LEAST) as u64).max(Nanos((seen.elapsed().0 as f64 * 0.05) as u64));
    let holds = |found: &NamedCause| found.explains > Nanos::ZERO && found.explains >= least;
    let mut causes: Vec<NamedCause> = JUDGES.iter().filter_map(|judge| judge(seen)).filter(holds).collect();
    for found in causes.iter_mut().filter(|found| found.cause.rests_on_looks() && seen.ledger.looks < LOOKS) {
        found.certainty = Certainty::Likely;
    }
    causes.sort_by_key(|found| (core::cmp::Reverse(found.explains), found.cause));
    // Two judges may find the same one by different evidence: the one that explains more stays.
    let mut known = BTreeSet::new();
    causes.retain(|found| known.insert(found.cause));
    // Each cause goes above the first of those that it brings about.
    let order: Vec<WaitCause> = causes.iter().map(|found| found.cause).collect();
    for cause in order.into_iter().rev() {
        let at = causes.iter().position(|found| found.cause == cause);
        let below = causes.iter().position(|found| found.cause != cause && cause.brings_about().contains(&found.cause));
        if let (Some(at), Some(below)) = (at, below)
            && below < at
        {
            let found = causes.remove(at);
            causes.insert(below, found);
        }
    }
    causes
}

#[cfg(test)]
mod tests;
