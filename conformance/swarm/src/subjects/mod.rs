//! The subjects: a protocol each, with a world, a program and faults from one seed.

mod barrier;
mod broadcast;
mod coherence;
mod hostile;
mod memory;
mod messenger;
mod napping;
mod network;
mod report;
mod tamper;
mod task;
mod team;

use crate::draw::Draw;
use crate::plant::Plant;
use foregather_dsm::protocol::model::Fault;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) use report::RunReport;

foregather_machine::named! {
    /// One protocol.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum Subject {
        /// Barriers among threads, of all kinds, with members that leave or give up.
        Barrier = "barrier",
        /// Barriers over null messages, on simulated networks.
        Network = "network",
        /// Fork and join.
        Team = "team",
        /// Tasks, and the meetings that wait for them.
        Task = "task",
        /// Broadcasts among threads, at either pace.
        Broadcast = "broadcast",
        /// Messages, null messages, packets and collective operations over the lanes of a cluster.
        Messenger = "messenger",
        /// As `Messenger`, over lanes that wake no owner, as MPI's are.
        Napping = "napping",
        /// A rank that sends nonsense.
        Hostile = "hostile",
        /// The coherence protocol in its model.
        Coherence = "coherence",
        /// Shared memory over the lanes of a cluster.
        Memory = "memory",
    }
}

impl Subject {
    /// Does one run. A panic is a failure like others.
    pub(crate) fn run(self, seed: u64, plant: Option<Plant>) -> RunReport {
        let mut draw = Draw::new(seed, self.name());
        let run = match self {
            Self::Barrier => barrier::run,
            Self::Network => network::run,
            Self::Team => team::run,
            Self::Task => task::run,
            Self::Broadcast => broadcast::run,
            Self::Messenger => messenger::run,
            Self::Napping => messenger::run_napping,
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

/// The planted mistakes by name, each with its subject.
pub(crate) const PLANTS: [(&str, Subject, Plant); 28] = [
    ("round-missing", Subject::Barrier, Plant::RoundMissing),
    ("signal-swallowed", Subject::Barrier, Plant::SignalSwallowed),
    ("packets-lost", Subject::Network, Plant::PacketsLost),
    ("packets-twice", Subject::Network, Plant::PacketsTwice),
    ("round-missing", Subject::Network, Plant::RoundMissing),
    ("done-before", Subject::Team, Plant::DoneBefore),
    ("never-done", Subject::Team, Plant::NeverDone),
    ("tasks-left", Subject::Task, Plant::TasksLeft),
    ("body-later", Subject::Task, Plant::BodyLater),
    ("bytes-late", Subject::Broadcast, Plant::BytesLate),
    ("passed-first", Subject::Broadcast, Plant::PassedFirst),
    ("frame-lost", Subject::Messenger, Plant::FrameLost),
    ("frame-twice", Subject::Messenger, Plant::FrameTwice),
    ("credit-lost", Subject::Messenger, Plant::CreditLost),
    ("credit-twice", Subject::Messenger, Plant::CreditTwice),
    ("no-resend", Subject::Messenger, Plant::NoResend),
    ("replay-delivered", Subject::Messenger, Plant::ReplayDelivered),
    ("frame-lost", Subject::Napping, Plant::FrameLost),
    ("naps-for-ever", Subject::Napping, Plant::NapsForEver),
    ("trusts-lengths", Subject::Hostile, Plant::TrustsLengths),
    ("waits-for-ever", Subject::Hostile, Plant::WaitsForEver),
    ("open-before-install", Subject::Coherence, Plant::Model(Fault::OpenBeforeInstall)),
    ("not-busy", Subject::Coherence, Plant::Model(Fault::NotBusyUntilAcknowledged)),
    ("sleepers-forgotten", Subject::Coherence, Plant::Model(Fault::SleepersForgotten)),
    ("lock-granted-twice", Subject::Coherence, Plant::Model(Fault::LockGrantedTwice)),
    ("frame-lost", Subject::Memory, Plant::FrameLost),
    ("frame-twice", Subject::Memory, Plant::FrameTwice),
    ("no-resend", Subject::Memory, Plant::NoResend),
];
