//! Planted faults: mistakes around a protocol, never in it, that the swarm must notice.
use crate::subjects::Subject;
use foregather_dsm::protocol::model::Fault;

/// One mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plant {
    /// A barrier leaves out the last slot that its members have: one round too few.
    RoundMissing,
    /// One null message of the run is swallowed.
    SignalSwallowed,
    /// A network loses packets.
    PacketsLost,
    /// A network delivers packets twice.
    PacketsTwice,
    /// A worker says that its part is done before it has begun it.
    DoneBefore,
    /// A worker takes a part and does nothing more.
    NeverDone,
    /// A frame is lost between protocol and card.
    FrameLost,
    /// A frame is posted twice.
    FrameTwice,
    /// Credits on a frame are removed.
    CreditLost,
    /// Credits on a frame become more.
    CreditTwice,
    /// A card does not resend a lost frame.
    NoResend,
    /// A card delivers a frame again that comes twice.
    ReplayDelivered,
    /// A lane of the victim reads a byte that a frame need not have.
    TrustsLengths,
    /// The victim waits without a deadline.
    WaitsForEver,
    /// A mistake of the coherence protocol's model.
    Model(Fault),
}

/// The plants by name, each with its subject.
pub(crate) const ALL: [(&str, Subject, Plant); 22] = [
    ("round-missing", Subject::Barrier, Plant::RoundMissing),
    ("signal-swallowed", Subject::Barrier, Plant::SignalSwallowed),
    ("packets-lost", Subject::Network, Plant::PacketsLost),
    ("packets-twice", Subject::Network, Plant::PacketsTwice),
    ("round-missing", Subject::Network, Plant::RoundMissing),
    ("done-before", Subject::Team, Plant::DoneBefore),
    ("never-done", Subject::Team, Plant::NeverDone),
    ("frame-lost", Subject::Messenger, Plant::FrameLost),
    ("frame-twice", Subject::Messenger, Plant::FrameTwice),
    ("credit-lost", Subject::Messenger, Plant::CreditLost),
    ("credit-twice", Subject::Messenger, Plant::CreditTwice),
    ("no-resend", Subject::Messenger, Plant::NoResend),
    ("replay-delivered", Subject::Messenger, Plant::ReplayDelivered),
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

/// Each of them must be found within this many seeds.
pub(crate) const WITHIN: u64 = 400;
