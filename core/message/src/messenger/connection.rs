//! What one side knows of its connection with one peer, room by room.
use super::chase::Pursuit;
use super::loan::Loans;
use super::port::Packets;
use super::receive::Unpacking;
use super::rendezvous::Offers;
use super::send::Packing;
use crate::link::{Link, Terms};
use core::cell::Cell;

pub(super) struct Connection {
    /// Credits, and why it has ended. Credits of frames that were kept beyond what may be kept are owed when the program has read them.
    pub(super) link: Link,
    /// The message that goes out.
    pub(super) packing: Packing,
    /// The message that comes in.
    pub(super) unpacking: Unpacking,
    /// Pieces that wait in the memory of either side.
    pub(super) offers: Offers,
    /// Packets that have come in part, and what is to be answered.
    pub(super) packets: Packets,
    /// Packets that wait in the memory of either side.
    pub(super) loans: Loans,
    /// Who waits for whom.
    pub(super) pursuit: Pursuit,
    /// The peer's messenger has gone away without leaving.
    pub(super) gone: Cell<bool>,
}

impl Connection {
    pub(super) fn new(terms: Terms) -> Self {
        Self {
            link: Link::new(terms),
            packing: Packing::default(),
            unpacking: Unpacking::default(),
            offers: Offers::default(),
            packets: Packets::default(),
            loans: Loans::default(),
            pursuit: Pursuit::default(),
            gone: Cell::new(false),
        }
    }

    /// Is anything still to be sent there that could end a wait, as soon as there is room?
    pub(super) fn is_behind(&self, terms: Terms) -> bool {
        let offers = self.offers.untold() > 0 || self.loans.is_untold();
        offers || self.link.is_untold() || self.packets.has_requests() || self.link.overdue(terms)
    }
}
