//! Messages that have come for a member and were not taken yet: which packets meet which receives, the same
//! in every world.
use foregather_machine::{Packet, Rank};
use std::collections::VecDeque;

/// The sender, and the tag.
pub type MatchKey = (Rank, u32);

/// Messages of a kind `M` that have come, and receives that were announced.
///
/// Entries are few at a time, so lists are searched from the front: that is also the order in which messages
/// were sent.
pub struct Inbox<M> {
    /// Receives that were announced.
    posts: Vec<MatchKey>,
    arrived: VecDeque<(MatchKey, M)>,
    requests: Vec<MatchKey>,
    /// Forced messages without an announced receive, which are lost.
    unposted: Vec<MatchKey>,
}

impl<M> Default for Inbox<M> {
    fn default() -> Self {
        Self { posts: Vec::new(), arrived: VecDeque::new(), requests: Vec::new(), unposted: Vec::new() }
    }
}

fn take(list: &mut Vec<MatchKey>, wanted: MatchKey) -> bool {
    let place = list.iter().position(|&entry| entry == wanted);
    place.map(|place| list.remove(place)).is_some()
}

impl<M> Inbox<M> {
    /// Announces a receive.
    pub fn post(&mut self, key: MatchKey) {
        self.posts.push(key);
    }

    /// Returns whether to keep the bytes of a packet that begins to arrive. A forced packet without a receive
    /// is lost, and the loss is recorded.
    pub fn admits(&mut self, packet: Packet, key: MatchKey) -> bool {
        match packet {
            Packet::Probe | Packet::Request => true,
            Packet::Short | Packet::Data => {
                take(&mut self.posts, key);
                true
            }
            Packet::Forced => {
                let posted = take(&mut self.posts, key);
                if !posted {
                    self.unposted.push(key);
                }
                posted
            }
        }
    }

    /// A packet that [`Inbox::admits`] has admitted is there as a whole. A PROBE leaves nothing:
    /// [`crate::long::answer`] says what to do about it.
    pub fn arrive(&mut self, packet: Packet, key: MatchKey, message: M) {
        match packet {
            Packet::Probe => {}
            Packet::Request => self.requests.push(key),
            Packet::Short | Packet::Forced | Packet::Data => self.arrived.push_back((key, message)),
        }
    }

    /// Takes a REQUEST.
    pub fn take_request(&mut self, key: MatchKey) -> bool {
        take(&mut self.requests, key)
    }

    /// Takes the record of a lost message.
    pub fn take_unposted(&mut self, key: MatchKey) -> bool {
        take(&mut self.unposted, key)
    }

    /// Takes the first message of that sender with that tag.
    pub fn take_message(&mut self, key: MatchKey) -> Option<M> {
        let place = self.arrived.iter().position(|(of, _)| *of == key)?;
        self.arrived.remove(place).map(|(_, message)| message)
    }
}
