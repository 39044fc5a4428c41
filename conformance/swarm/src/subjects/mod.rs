//! The subjects: a protocol each, with a world, a program and faults from one seed.

mod barrier;
mod coherence;
mod hostile;
mod memory;
mod messenger;
mod network;
mod served;
mod tamper;
mod team;

use crate::draw::Draw;
use crate::plant::Plant;
use foregather_machine::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// Barriers among threads, of all kinds, with members that leave or give up.
    Barrier,
    /// Barriers over null messages, on simulated networks.
    Network,
    /// Fork and join.
    Team,
    /// Messages, null messages, packets and collective operations over the lanes of a cluster.
    Messenger,
    /// A rank that sends nonsense.
    Hostile,
    /// The coherence protocol in its model.
    Coherence,
    /// Shared memory over the lanes of a cluster.
    Memory,
}

/// The result of a run.
pub(crate) struct RunReport {
    /// A hash of all events.
    pub(crate) trace: u64,
    /// The mistake found, if any.
    pub(crate) end: Result<(), String>,
    /// The drawn run, in words.
    pub(crate) drawn: String,
}

impl Subject {
    /// All of them.
    pub(crate) const ALL: [Self; 7] =
        [Self::Barrier, Self::Network, Self::Team, Self::Messenger, Self::Hostile, Self::Coherence, Self::Memory];

    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Network => "network",
            Self::Team => "team",
            Self::Messenger => "messenger",
            Self::Hostile => "hostile",
            Self::Coherence => "coherence",
            Self::Memory => "memory",
        }
    }

    /// The subject of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.name() == name)
    }

    /// Does one run. A panic is a failure like others.
    pub(crate) fn run(self, seed: u64, plant: Option<Plant>) -> RunReport {
        let mut draw = Draw::new(seed, self.name());
        let run = match self {
            Self::Barrier => barrier::run,
            Self::Network => network::run,
            Self::Team => team::run,
            Self::Messenger => messenger::run,
            Self::Hostile => hostile::run,
            Self::Coherence => coherence::run,
            Self::Memory => memory::run,
        };
        catch_unwind(AssertUnwindSafe(|| run(&mut draw, plant))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            RunReport { trace: 0, end: Err(format!("panicked: {}", text.unwrap_or("without a word"))), drawn: String::new() }
        })
    }
}

/// The first bad verdict; stuck threads come before all others.
fn verdict(stuck: Vec<String>, ends: impl IntoIterator<Item = Result<(), String>>) -> Result<(), String> {
    let first = ends.into_iter().find_map(Result::err);
    match (stuck.is_empty(), first) {
        (true, None) => Ok(()),
        (true, Some(wrong)) => Err(wrong),
        (false, None) => Err(format!("stuck: {}", stuck.join("; "))),
        (false, Some(wrong)) => Err(format!("{wrong}; stuck: {}", stuck.join("; "))),
    }
}

/// Why a rank's program ends early: an error of the subject, or a violation, such as bytes that were never
/// sent.
enum Bad {
    Ends(Error),
    Wrong(String),
}

impl From<Error> for Bad {
    fn from(error: Error) -> Self {
        Self::Ends(error)
    }
}

/// # Errors
/// `what`, if it does not hold.
fn must(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}
