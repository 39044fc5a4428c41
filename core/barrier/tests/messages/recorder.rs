//! An endpoint that records the operations of its member and completes them at once.
use foregather_machine::{Clock, Endpoint, Error, Member, Nanos, Rank, block_on};
use std::cell::{Cell, RefCell};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A signal to this member, in this slot.
    Signal(Rank, u32),
    Wait(u32),
}

impl Step {
    pub(crate) fn is_signal(&self) -> bool {
        matches!(self, Self::Signal(..))
    }

    pub(crate) fn peer(&self) -> Option<Rank> {
        if let Self::Signal(peer, _) = *self { Some(peer) } else { None }
    }
}

#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) rank: Rank,
    pub(crate) size: u32,
    pub(crate) steps: RefCell<Vec<Step>>,
    /// For how long the member computed without waiting for a signal.
    pub(crate) delayed: Cell<Nanos>,
}

impl Recorder {
    pub(crate) fn new(rank: Rank, size: u32) -> Self {
        Self { rank, size, steps: RefCell::default(), delayed: Cell::default() }
    }
}

impl Clock for Recorder {
    fn now(&self) -> Nanos {
        self.delayed.get()
    }
    async fn delay(&self, span: Nanos) {
        self.delayed.set(self.delayed.get() + span);
    }
}

impl Member for Recorder {
    fn rank(&self) -> Rank {
        self.rank
    }
    fn size(&self) -> u32 {
        self.size
    }
}

impl Endpoint for Recorder {
    async fn signal(&self, peer: Rank, slot: u32) -> Result<(), Error> {
        self.steps.borrow_mut().push(Step::Signal(peer, slot));
        Ok(())
    }
    async fn wait(&self, slot: u32) -> Result<(), Error> {
        self.steps.borrow_mut().push(Step::Wait(slot));
        Ok(())
    }
}

/// Runs a future that never waits.
pub(crate) fn run(future: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
    block_on(future)
}

/// Returns the steps of one member.
pub(crate) fn program(rank: Rank, size: u32, barrier: impl AsyncFn(&Recorder) -> Result<(), Error>) -> Vec<Step> {
    let end = Recorder::new(rank, size);
    run(barrier(&end)).unwrap();
    end.steps.into_inner()
}

/// Returns the steps of all members.
pub(crate) fn all_steps(size: u32, barrier: impl AsyncFn(&Recorder) -> Result<(), Error>) -> Vec<Vec<Step>> {
    (0..size).map(|rank| program(rank, size, &barrier)).collect()
}
