//! Every packet's way, written down: who asked for which port, who held it, and until when.
use super::parcel::{Kind, NONE, Parcel};
use foregather_machine::{Nanos, Rank};
use std::cell::RefCell;

/// One packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// Its sender.
    pub from: Rank,
    /// Its receiver.
    pub to: Rank,
    /// What it is.
    pub kind: Kind,
    /// Its slot or tag.
    pub tag: u32,
    /// Bytes of contents.
    pub bytes: u32,
    /// When it was sent.
    pub asked: Nanos,
    /// Since when it held the send port.
    pub began: Nanos,
    /// Since when it held the receive port, too.
    pub granted: Nanos,
    /// When it left the send port.
    pub left: Nanos,
    /// When its receiver had it, and the receive port was free again.
    pub arrived: Nanos,
}

/// The ways of all packets, in the order in which they were sent. Those still under way have [`Nanos::MAX`] for what has not happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record(pub Vec<Circuit>);

impl Record {
    /// What arrived between two moments.
    #[must_use]
    pub fn between(&self, from: Nanos, to: Nanos) -> Self {
        Self(self.0.iter().filter(|way| way.asked >= from && way.asked <= to).copied().collect())
    }
}

/// Writes them down.
#[derive(Default)]
pub(super) struct Recorder(RefCell<Vec<Circuit>>);

impl Recorder {
    /// A packet was sent; its number from now on.
    pub(super) fn asked(&self, parcel: &Parcel, now: Nanos) -> u32 {
        let Parcel { from, to, kind, tag, bytes, .. } = *parcel;
        let never = Nanos::MAX;
        let way = Circuit { from, to, kind, tag, bytes, asked: now, began: never, granted: never, left: never, arrived: never };
        let mut all = self.0.borrow_mut();
        all.push(way);
        all.len() as u32 - 1
    }

    fn note(&self, mark: u32, note: impl FnOnce(&mut Circuit)) {
        if mark != NONE {
            note(&mut self.0.borrow_mut()[mark as usize]);
        }
    }

    /// It has the send port.
    pub(super) fn began(&self, mark: u32, now: Nanos) {
        self.note(mark, |way| way.began = now);
    }

    /// It has everything, and this is when it will have left and arrived.
    pub(super) fn granted(&self, mark: u32, now: Nanos, left: Nanos, arrived: Nanos) {
        self.note(mark, |way| (way.began, way.granted, way.left, way.arrived) = (way.began.min(now), now, left, arrived));
    }

    /// It arrived, later than foreseen.
    pub(super) fn arrived(&self, mark: u32, now: Nanos) {
        self.note(mark, |way| way.arrived = now);
    }

    pub(super) fn record(&self) -> Record {
        Record(self.0.borrow().clone())
    }
}
