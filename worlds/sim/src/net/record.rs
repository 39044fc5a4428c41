//! Every packet's way, recorded: which port it asked for, which it held, and until when.
use super::noise::Noise;
use super::packet::{NONE, PacketKind, Parcel};
use super::programs::{Programs, WaitFor};
use foregather_machine::{Nanos, Rank};
use std::cell::RefCell;

/// One packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// Its sender.
    pub from: Rank,
    /// Its receiver.
    pub to: Rank,
    /// Its kind.
    pub kind: PacketKind,
    /// Its slot or tag.
    pub tag: u32,
    /// Bytes of contents.
    pub bytes: u32,
    /// When it was sent.
    pub asked: Nanos,
    /// When it got the send port.
    pub began: Nanos,
    /// When it got the receive port, too.
    pub granted: Nanos,
    /// When it left the send port.
    pub left: Nanos,
    /// When its receiver had it, and the receive port was free again; [`Nanos::MAX`] if it was lost.
    pub arrived: Nanos,
}

/// The ways of all packets, in the order in which they were sent, and the acts of the programs meanwhile. An
/// event that has not happened yet has [`Nanos::MAX`] for its time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record(pub Vec<Circuit>, pub Programs);

impl Record {
    /// The packets that were sent between two moments.
    pub fn between(&self, from: Nanos, to: Nanos) -> impl Iterator<Item = &Circuit> {
        self.0.iter().filter(move |circuit| circuit.asked >= from && circuit.asked <= to)
    }
}

/// Writes the record.
#[derive(Default)]
pub(super) struct Recorder {
    circuits: RefCell<Vec<Circuit>>,
    programs: RefCell<Programs>,
}

impl Recorder {
    /// A packet was sent; returns its number from now on.
    pub(super) fn asked(&self, parcel: &Parcel, now: Nanos) -> u32 {
        let Parcel { from, to, kind, tag, bytes, .. } = *parcel;
        let never = Nanos::MAX;
        let circuit =
            Circuit { from, to, kind, tag, bytes, asked: now, began: never, granted: never, left: never, arrived: never };
        let mut all = self.circuits.borrow_mut();
        all.push(circuit);
        all.len() as u32 - 1
    }

    fn note(&self, mark: u32, note: impl FnOnce(&mut Circuit)) {
        if mark != NONE {
            note(&mut self.circuits.borrow_mut()[mark as usize]);
        }
    }

    /// It has the send port.
    pub(super) fn began(&self, mark: u32, now: Nanos) {
        self.note(mark, |circuit| circuit.began = now);
    }

    /// It has both ports, and this is when it will have left and arrived.
    pub(super) fn granted(&self, mark: u32, now: Nanos, left: Nanos, arrived: Nanos) {
        self.note(mark, |circuit| {
            (circuit.began, circuit.granted, circuit.left, circuit.arrived) = (circuit.began.min(now), now, left, arrived)
        });
    }

    /// It arrived, later than foreseen; never, if it was lost.
    pub(super) fn arrived(&self, mark: u32, when: Nanos) {
        self.note(mark, |circuit| circuit.arrived = when);
    }

    /// A program begins to wait.
    pub(super) fn waits(&self, node: Rank, awaited: WaitFor, now: Nanos) {
        self.programs.borrow_mut().waits(node, awaited, now);
    }

    /// It has what it waited for.
    pub(super) fn got(&self, node: Rank, now: Nanos) {
        self.programs.borrow_mut().got(node, now);
    }

    /// A program computes.
    pub(super) fn computes(&self, node: Rank, from: Nanos, to: Nanos) {
        self.programs.borrow_mut().computes(node, from, to);
    }

    pub(super) fn record(&self, noise: &Noise) -> Record {
        let mut programs = self.programs.borrow().clone();
        programs.noise = noise.clone();
        Record(self.circuits.borrow().clone(), programs)
    }
}
