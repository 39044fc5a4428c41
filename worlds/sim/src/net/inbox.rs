//! What has come for a node and was not taken yet.
use super::parcel::Parcel;
use foregather_machine::Rank;
use std::collections::VecDeque;

/// Few entries at a time, so lists are searched from the front: that is also the order in which messages were sent.
#[derive(Default)]
pub(super) struct Inbox {
    /// Receives that were announced.
    pub(super) posts: Vec<(Rank, u32)>,
    pub(super) arrived: VecDeque<Parcel>,
    pub(super) requests: Vec<(Rank, u32)>,
    /// Forced messages that nobody had announced, and that are lost.
    pub(super) unposted: Vec<(Rank, u32)>,
}

fn take(list: &mut Vec<(Rank, u32)>, wanted: (Rank, u32)) -> bool {
    let place = list.iter().position(|&entry| entry == wanted);
    place.map(|place| list.remove(place)).is_some()
}

impl Inbox {
    /// Takes an announcement; was there one?
    pub(super) fn take_post(&mut self, from: Rank, tag: u32) -> bool {
        take(&mut self.posts, (from, tag))
    }

    /// Takes a REQUEST.
    pub(super) fn take_request(&mut self, from: Rank, tag: u32) -> bool {
        take(&mut self.requests, (from, tag))
    }

    /// Takes the news of a lost message.
    pub(super) fn take_unposted(&mut self, from: Rank, tag: u32) -> bool {
        take(&mut self.unposted, (from, tag))
    }

    /// Takes the first message from there with that tag.
    pub(super) fn take_message(&mut self, from: Rank, tag: u32) -> Option<Parcel> {
        let place = self.arrived.iter().position(|parcel| (parcel.from, parcel.tag) == (from, tag))?;
        self.arrived.remove(place)
    }
}
