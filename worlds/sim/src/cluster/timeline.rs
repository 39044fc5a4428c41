//! Who did what when, in a cluster: the strokes of a timeline like figures 4 and 5 of Namyst et al. 1999.
use foregather_machine::{Address, Nanos};
use std::cell::RefCell;

/// Who did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    /// The thread itself, on a processor.
    Thread,
    /// The card of its node.
    Card,
    /// The wire from its node.
    Wire,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activity {
    /// Memory was made known to the card.
    Register,
    /// That was taken back.
    Forget,
    /// Data were copied to or from a static buffer or a descriptor.
    Copy,
    /// A descriptor was posted and the doorbell rung.
    Post,
    /// A receive was posted.
    Receive,
    /// The thread offered its processor.
    Yield,
    /// Bytes were on the wire.
    Wire,
    /// A descriptor had been served: its memory is the program's again.
    Sent,
    /// A message had arrived.
    Arrive,
    /// A completion was taken.
    Complete,
    /// An interrupt on behalf of a sleeping waiter.
    Interrupt,
    /// A message found no posted receive.
    Drop,
    /// The thread did something else that it owed time for.
    Owed,
}

impl Activity {
    /// In one word, for figures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::Forget => "deregister",
            Self::Copy => "copy",
            Self::Post => "post",
            Self::Receive => "receive",
            Self::Yield => "yield",
            Self::Wire => "wire",
            Self::Sent => "sent",
            Self::Arrive => "arrive",
            Self::Complete => "complete",
            Self::Interrupt => "interrupt",
            Self::Drop => "drop",
            Self::Owed => "owed",
        }
    }
}

/// One thing that was done. What a thread does for a price is put where it will be if nobody takes its processor meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stroke {
    /// For which thread.
    pub at: Address,
    /// By whom.
    pub place: Actor,
    /// What.
    pub what: Activity,
    /// Of how many pieces of memory.
    pub pieces: u32,
    /// Of how many bytes.
    pub bytes: u32,
    /// Since when.
    pub from: Nanos,
    /// Until when; the same for what takes no time.
    pub to: Nanos,
}

/// Keeps the first strokes.
pub(super) struct Timeline {
    most: usize,
    strokes: RefCell<Vec<Stroke>>,
}

impl Timeline {
    pub(super) fn new(most: usize) -> Self {
        Self { most, strokes: RefCell::default() }
    }

    pub(super) fn note(&self, stroke: Stroke) {
        let mut strokes = self.strokes.borrow_mut();
        if strokes.len() < self.most {
            strokes.push(stroke);
        }
    }

    /// All of them, by their beginnings.
    pub(super) fn take(&self) -> Vec<Stroke> {
        let mut strokes = self.strokes.take();
        strokes.sort_by_key(|stroke| (stroke.from, stroke.to));
        strokes
    }
}
