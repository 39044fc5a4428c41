//! Why a program waits forever: for what, since when, from which node, and whether it was lost on its way.
use super::packet::PacketKind;
use super::programs::{Wait, WaitFor};
use super::record::{Circuit, Record};
use foregather_machine::{Nanos, Rank};
use std::fmt;

/// A program that never went on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlocked {
    /// The wait, and its beginning.
    pub wait: Wait,
    /// The node that would have to send it, if known: null messages are known by their slots only, so it is
    /// the node that sent the last one to that slot.
    pub peer: Option<Rank>,
    /// The packet that was sent to it and never came.
    pub lost: Option<Circuit>,
    /// The peer's own wait.
    pub peer_waits: Option<Wait>,
}

impl Record {
    /// The last wait of `node`, if it waits.
    pub fn waits_for(&self, node: Rank) -> Option<Deadlocked> {
        let wait = self.open(node)?;
        let mut awaited = self.0.iter().rev().filter(|circuit| circuit.to == node && wait.awaited.is(circuit));
        let last = awaited.next();
        let lost = last.filter(|circuit| circuit.left < Nanos::MAX && circuit.arrived == Nanos::MAX).copied();
        let peer = match wait.awaited {
            WaitFor::Null(_) => last.map(|circuit| circuit.from),
            WaitFor::Message(from, _) | WaitFor::Request(from, _) | WaitFor::Buffer(from) => Some(from),
        };
        Some(Deadlocked { wait, peer, lost, peer_waits: peer.and_then(|peer| self.open(peer)) })
    }

    fn open(&self, node: Rank) -> Option<Wait> {
        self.1.waits.iter().rev().find(|wait| wait.node == node && wait.until == Nanos::MAX).copied()
    }
}

impl fmt::Display for WaitFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null(slot) => write!(f, "a {} message in slot {slot}", PacketKind::Null.name()),
            Self::Message(from, tag) => write!(f, "a message of {from} with tag {tag}"),
            Self::Request(from, tag) => write!(f, "the REQUEST of {from} with tag {tag}"),
            Self::Buffer(from) => write!(f, "a header buffer of {from}"),
        }
    }
}

impl fmt::Display for Deadlocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Wait { node, awaited, since, .. } = self.wait;
        write!(f, "{node} waits for {awaited} since {:.1} us", since.as_us())?;
        match (self.lost, self.peer) {
            (Some(circuit), _) => write!(f, "; {circuit}, sent at {:.1} us, was lost", circuit.asked.as_us()),
            (None, Some(peer)) => match self.peer_waits {
                Some(wait) => {
                    write!(f, "; {peer}, who sends it, waits for {} itself since {:.1} us", wait.awaited, wait.since.as_us())
                }
                None => write!(f, "; {peer} is who sends it"),
            },
            (None, None) => Ok(()),
        }
    }
}
