//! Receives that wait for a message, and messages that wait for a receive, in the order in which they came.
use super::format::ANY;
use std::collections::VecDeque;

/// One side's waiting messages or receives at a rank: a sender and a tag each, and a slot of the simulation.
#[derive(Default)]
pub(super) struct MatchQueue {
    waiting: VecDeque<(u64, u32)>,
    /// How many of them take any sender or any tag.
    wild: u32,
}

fn key(peer: u32, tag: u32) -> u64 {
    u64::from(peer) << 32 | u64::from(tag)
}

fn is_wild(key: u64) -> bool {
    (key >> 32) as u32 == ANY || key as u32 == ANY
}

fn matches(one: u64, other: u64) -> bool {
    let half = |one: u32, other: u32| one == other || one == ANY || other == ANY;
    half((one >> 32) as u32, (other >> 32) as u32) && half(one as u32, other as u32)
}

impl MatchQueue {
    pub(super) fn push(&mut self, peer: u32, tag: u32, slot: u32) {
        let key = key(peer, tag);
        self.wild += u32::from(is_wild(key));
        self.waiting.push_back((key, slot));
    }

    /// Takes the first that matches.
    #[inline]
    pub(super) fn take(&mut self, peer: u32, tag: u32) -> Option<u32> {
        let wanted = key(peer, tag);
        let at = if self.wild == 0 && !is_wild(wanted) {
            self.waiting.iter().position(|&(key, _)| key == wanted)
        } else {
            self.waiting.iter().position(|&(key, _)| matches(key, wanted))
        }?;
        let (key, slot) = self.waiting.remove(at)?;
        self.wild -= u32::from(is_wild(key));
        Some(slot)
    }

    /// The slots of those that wait.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> {
        self.waiting.iter().map(|&(_, slot)| slot)
    }
}
