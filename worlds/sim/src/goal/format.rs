//! The binary form of LogGOPSim: little-endian numbers without padding. A header, two words a rank that say
//! where its block lies, and the blocks.
use foregather_machine::Rank;

/// The first eight bytes.
pub(super) const COOKIE: u64 = 4223;
/// LogGOPSim leaves this in a file that it has used up.
pub(super) const COOKIE_SPENT: u64 = 2342;
/// Cookie, number of ranks, highest processor, highest NIC; places of blocks count from the end of the
/// cookie.
pub(super) const HEADER: u64 = COOKIE_BYTES + 6;
pub(super) const COOKIE_BYTES: u64 = 8;
/// Start and end of a block.
pub(super) const PLACE: u64 = 16;
/// Bytes of an operation.
pub(super) const NODE: usize = 39;
/// The most ranks: as many as a simulated network has nodes.
pub(super) const RANKS_MAX: u32 = 1 << 24;
/// Any sender, or any tag: -1 in the text.
pub const ANY: u32 = u32::MAX;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GoalKind {
    /// Sends a message.
    Send = 1,
    /// Receives a message.
    Recv = 2,
    /// Computes.
    Calc = 3,
}

/// An operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoalOperation {
    /// What it does.
    pub kind: GoalKind,
    /// Bytes of a message, or nanoseconds of a calculation.
    pub size: u64,
    /// The other rank of a message; [`ANY`] for a receive from any.
    pub peer: Rank,
    /// The tag of a message; [`ANY`] matches any.
    pub tag: u32,
    /// The processor of the rank that it runs on.
    pub cpu: u8,
    /// The NIC of the rank that it uses.
    pub nic: u8,
}

/// The operations that depend on one: a run of the block's appendix.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dependents {
    pub(super) count: u32,
    pub(super) start: u32,
}

/// An operation as the file has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) dependencies: u32,
    pub(super) operation: GoalOperation,
    /// Wait for its end,
    pub(super) on_end: Dependents,
    /// or for its start.
    pub(super) on_start: Dependents,
}

#[inline(always)]
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[inline(always)]
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

impl Node {
    /// The operation, or the type that there is not.
    #[inline(always)]
    pub(super) fn decode(bytes: &[u8; NODE]) -> Result<Self, u8> {
        let kind = match bytes[4] {
            1 => GoalKind::Send,
            2 => GoalKind::Recv,
            3 => GoalKind::Calc,
            other => return Err(other),
        };
        let dependents = |at| Dependents { count: u32_at(bytes, at), start: u32_at(bytes, at + 4) };
        Ok(Self {
            dependencies: u32_at(bytes, 0),
            operation: GoalOperation {
                kind,
                peer: u32_at(bytes, 5),
                size: u64_at(bytes, 9),
                tag: u32_at(bytes, 17),
                cpu: bytes[21],
                nic: bytes[22],
            },
            on_end: dependents(23),
            on_start: dependents(31),
        })
    }

    pub(super) fn encode(&self) -> [u8; NODE] {
        let mut bytes = [0; NODE];
        let GoalOperation { kind, size, peer, tag, cpu, nic } = self.operation;
        bytes[..4].copy_from_slice(&self.dependencies.to_le_bytes());
        bytes[4] = kind as u8;
        bytes[5..9].copy_from_slice(&peer.to_le_bytes());
        bytes[9..17].copy_from_slice(&size.to_le_bytes());
        bytes[17..21].copy_from_slice(&tag.to_le_bytes());
        (bytes[21], bytes[22]) = (cpu, nic);
        for (at, dependents) in [(23, self.on_end), (31, self.on_start)] {
            bytes[at..at + 4].copy_from_slice(&dependents.count.to_le_bytes());
            bytes[at + 4..at + 8].copy_from_slice(&dependents.start.to_le_bytes());
        }
        bytes
    }
}

impl GoalOperation {
    /// The operation in the words of the text form.
    pub fn described(&self) -> String {
        let any = |number: u32| if number == ANY { "-1".to_owned() } else { number.to_string() };
        match self.kind {
            GoalKind::Send => format!("send {}b to {} tag {}", self.size, self.peer, any(self.tag)),
            GoalKind::Recv => format!("recv {}b from {} tag {}", self.size, any(self.peer), any(self.tag)),
            GoalKind::Calc => format!("calc {}", self.size),
        }
    }
}
