//! One side's state of its connection with one peer, room by room.
use super::chase::Pursuit;
use super::loan::Loans;
use super::port::Packets;
use super::receive::Unpacking;
use super::rendezvous::Offers;
use super::send::Packing;
use crate::link::{Link, Terms};
use core::cell::Cell;

pub(super) struct Connection {
    /// Credits, and why the link has ended. Credits of frames kept beyond the limit are owed when the program
    /// has read them.
    pub(super) link: Link,
    /// The message that goes out.
    pub(super) packing: Packing,
    /// The message that comes in.
    pub(super) unpacking: Unpacking,
    /// Pieces that wait in the memory of either side.
    pub(super) offers: Offers,
    /// Packets that have come in part, and answers to send.
    pub(super) packets: Packets,
    /// Packets that wait in the memory of either side.
    pub(super) loans: Loans,
    /// Chases of ranks that wait for each other.
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

    /// Is a frame still to be sent there, as soon as there is room, that could end a wait?
    pub(super) fn is_behind(&self, terms: Terms) -> bool {
        let offers = self.offers.untold() > 0 || self.loans.is_untold();
        offers || self.link.is_untold() || self.packets.has_requests() || self.link.overdue(terms)
    }
}
