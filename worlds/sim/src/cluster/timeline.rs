//! Which thread, NIC or wire did what when in a cluster: the strokes of a timeline like figures 4 and 5 of
//! Namyst et al. 1999.
use foregather_machine::{Address, Nanos};
use std::cell::RefCell;

/// The actor of a stroke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    /// The thread itself, on a processor.
    Thread,
    /// The NIC of its node.
    Nic,
    /// The wire from its node.
    Wire,
}

foregather_machine::named! {
    /// The activity of a stroke.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Activity {
        /// Memory was made known to the NIC.
        Register = "register",
        /// Memory was forgotten by the NIC.
        Forget = "deregister",
        /// Data were copied to or from a static buffer or a descriptor.
        Copy = "copy",
        /// A descriptor was posted and the doorbell rung.
        Post = "post",
        /// A receive was posted.
        Receive = "receive",
        /// The thread offered its processor.
        Yield = "yield",
        /// Bytes were on the wire.
        Wire = "wire",
        /// A descriptor had been served: its memory is the program's again.
        Sent = "sent",
        /// A message had arrived.
        Arrive = "arrive",
        /// A completion was taken.
        Complete = "complete",
        /// An interrupt on behalf of a sleeping waiter.
        Interrupt = "interrupt",
        /// A message found no posted receive.
        Drop = "drop",
        /// The thread did other work that it owed time for.
        Owed = "owed",
    }
}

/// One stroke. A thread's work for a price is placed where it will be if it keeps its processor meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stroke {
    /// The thread for which it was done.
    pub at: Address,
    /// The actor.
    pub place: Actor,
    /// The activity.
    pub what: Activity,
    /// The number of pieces of memory.
    pub pieces: u32,
    /// The number of bytes.
    pub bytes: u32,
    /// Its beginning.
    pub from: Nanos,
    /// Its end; equal to the beginning for a stroke that takes no time.
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

    /// All strokes, by their beginnings.
    pub(super) fn take(&self) -> Vec<Stroke> {
        let mut strokes = self.strokes.take();
        strokes.sort_by_key(|stroke| (stroke.from, stroke.to));
        strokes
    }
}
