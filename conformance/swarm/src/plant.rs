//! Planted faults: mistakes around a protocol, never in it, that the swarm must notice.
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
    /// Members of a region meet as if there were no tasks.
    TasksLeft,
    /// A task may be found before it has its body.
    BodyLater,
    /// The bytes of a record are there only when the next one is written.
    BytesLate,
    /// A reader gives a record back before it has copied it.
    PassedFirst,
    /// A frame is lost between protocol and NIC.
    FrameLost,
    /// A frame is posted twice.
    FrameTwice,
    /// Credits on a frame are removed.
    CreditLost,
    /// Credits on a frame become more.
    CreditTwice,
    /// A NIC does not resend a lost frame.
    NoResend,
    /// A NIC delivers a frame again that comes twice.
    ReplayDelivered,
    /// A lane that wakes no owner lets it sleep without a limit.
    NapsForEver,
    /// A lane of the victim reads a byte that a frame need not have.
    TrustsLengths,
    /// The victim waits without a deadline.
    WaitsForEver,
    /// A mistake of the coherence protocol's model.
    Model(Fault),
}

/// Each mistake must be found within this many seeds.
pub(crate) const WITHIN: u64 = 400;
