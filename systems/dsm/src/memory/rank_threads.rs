//! The threads of a rank, from start to end: its server, and those of the program.
use super::fault_handler::ThreadTable;
use super::first_failure::{FailureReason, FirstFailure};
use super::heap::SharedHeap;
use super::mapped::Mapped;
use super::observer;
use super::reduction::Reduction;
use super::settings::Settings;
use super::thread::Thread;
use crate::journal::Journal;
use crate::node::{Node, Stats, give_up, serve};
use crate::protocol::Server;
use crate::views::Stack;
use foregather_barrier::{BarrierMember, Group};
use foregather_machine::{Cause, Clock, Error, Fabric, Nanos, Placement, block_on};
use foregather_message::Messenger;
use foregather_thread as threads;
use foregather_wait::Waiter;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::AcqRel};
use std::sync::{Mutex, PoisonError};

/// A thread's result and times.
#[derive(Clone, Debug)]
pub struct Ended<R> {
    /// What its program returned.
    pub result: R,
    /// How long it ran: from [`Thread::start_clock`] if it called that, otherwise from its start.
    pub span: Nanos,
    /// How long it ran before that.
    pub cold: Nanos,
    /// How its time was spent.
    pub stats: Stats,
    /// Its journal, if [`Settings::journal`] asked for one.
    pub journal: Option<Journal>,
}

/// A rank's lanes, until its threads take them: first the server's, then those for requests, then those for
/// the threads' messages.
///
/// If a rank cannot start, dropping this reports the failure to all other ranks on the remaining lanes.
pub(super) struct Mailbox<F: Fabric> {
    lanes: Mutex<Vec<Option<F>>>,
    settings: Settings,
}

impl<F: Fabric> Mailbox<F> {
    pub(super) fn new(lanes: Vec<F>, settings: Settings) -> Self {
        Self { lanes: Mutex::new(lanes.into_iter().map(Some).collect()), settings }
    }

    fn take(&self, number: u32) -> F {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        lanes[number as usize].take().expect("each is taken once")
    }

    /// Returns the lane for the requests of the thread in that slot.
    pub(super) fn asking(&self, slot: u32) -> F {
        self.take(slot)
    }

    /// Returns the lane for the messages of the thread in that slot.
    fn messages(&self, slot: u32) -> F {
        self.take(self.settings.threads + slot)
    }
}

impl<F: Fabric> Drop for Mailbox<F> {
    fn drop(&mut self) {
        let lanes = self.lanes.get_mut().unwrap_or_else(PoisonError::into_inner);
        let messages = lanes.split_off(lanes.len().min(1 + self.settings.threads as usize));
        if let Some(Some(lane)) = lanes.first() {
            give_up(lane);
            // Messages that were sent are delivered first.
            lane.leave();
        }
        for lane in messages.into_iter().flatten() {
            let gone = Cause::Poisoned { by: Some(lane.rank()) }.into();
            _ = Messenger::new(lane, self.settings.letters()).map(|messenger| messenger.fail(&gone));
        }
    }
}

/// The state that the threads of a rank share.
pub(super) struct RankThreads<'c, F: Fabric, S> {
    pub(super) node: &'c Node<F::Cpu, Mapped>,
    pub(super) slots: &'c ThreadTable<F>,
    pub(super) settings: Settings,
    pub(super) beside: Group<threads::Thread>,
    /// The number of threads that have not ended.
    pub(super) working: AtomicU32,
    pub(super) reduction: Reduction,
    pub(super) heap: Mutex<SharedHeap>,
    pub(super) end: FirstFailure,
    pub(super) shared: S,
}

impl<F: Fabric, S> RankThreads<'_, F, S> {
    /// Runs the server. Returns its final state and its lane: all lanes of a rank must leave together,
    /// because each waits for the others. Returns `None` if it failed; the reason is in `end`.
    pub(super) fn serve(&self, mailbox: &Mailbox<F>) -> Option<(Server, F)> {
        let (lane, homes) = (mailbox.take(0), self.node.homes());
        let server = Server::new(homes, lane.rank(), self.node.minipages(), self.settings.locks);
        let waiter = Waiter::new(self.settings.policy_of(&lane), lane.rank());
        match block_on(serve(&lane, self.node, server, &waiter)) {
            Ok(server) => Some((server, lane)),
            Err(error) => {
                // If it gave up, it has sent all ranks the reason, which is delivered first. Other ranks
                // learn of a lost rank without it.
                if error.lost_rank().is_none() {
                    lane.leave();
                }
                self.end.fail(FailureReason::Error(error));
                None
            }
        }
    }

    /// Runs the program on one thread. Returns `None` if it failed; the reason is in `end`.
    pub(super) fn work<R>(
        &self,
        mailbox: &Mailbox<F>,
        cpu: threads::Thread,
        slot: u32,
        program: &impl Fn(&Thread<'_, F>, &S) -> Result<R, Error>,
    ) -> Option<(Ended<R>, Messenger<F>)> {
        let (messenger, _stack, beside) = self.ready(mailbox.messages(slot), cpu, slot)?;
        let began = messenger.now();
        let thread = Thread {
            node: self.node,
            slots: self.slots,
            slot,
            settings: self.settings,
            messenger: &messenger,
            beside: RefCell::new(Some(beside)),
            reduction: &self.reduction,
            heap: &self.heap,
            began: Cell::new(began),
        };
        self.slots.take(slot, cpu.identity());
        // Ranks that wait for this thread are informed before its state is dropped; otherwise they would name
        // one another as the cause.
        let end = catch_unwind(AssertUnwindSafe(|| self.run_program(&thread, program)));
        self.slots.leave(slot);
        let failure = match end {
            Ok(Ok(ended)) => {
                drop(thread);
                self.through(slot);
                return Some((ended, messenger));
            }
            Ok(Err(error)) => FailureReason::Error(error),
            Err(panic) => FailureReason::Panic(panic),
        };
        let error = self.fail(slot, failure);
        drop(thread);
        messenger.fail(&error);
        None
    }

    /// Creates the messenger first: if the rest fails, the messenger informs the ranks that wait for this
    /// thread.
    fn ready(&self, lane: F, cpu: threads::Thread, slot: u32) -> Option<(Messenger<F>, Stack, BarrierMember<threads::Thread>)> {
        let failed = |error| self.fail(slot, FailureReason::Error(error));
        let messenger = Messenger::new(lane, self.settings.letters()).map_err(failed).ok()?;
        match Stack::install().and_then(|stack| Ok((stack, self.beside.join(cpu, slot - 1)?))) {
            Ok((stack, beside)) => Some((messenger, stack, beside)),
            Err(error) => {
                messenger.fail(&failed(error));
                None
            }
        }
    }

    fn run_program<R>(
        &self,
        thread: &Thread<'_, F>,
        program: &impl Fn(&Thread<'_, F>, &S) -> Result<R, Error>,
    ) -> Result<Ended<R>, Error> {
        let began = thread.began.get();
        if self.settings.journal > 0 {
            observer::begin((thread.rank(), thread.number()), self.node.minipages(), self.settings.journal);
        }
        let result = program(thread, &self.shared);
        let journal = observer::end();
        Ok(Ended { result: result?, span: thread.lap(), cold: thread.began.get() - began, stats: thread.stats(), journal })
    }

    /// Reports that this thread cannot continue to its server, which informs all ranks. Returns the error
    /// that names the cause.
    fn fail(&self, slot: u32, failure: FailureReason) -> Error {
        let mut requester = self.slots.of(slot);
        let error = match &failure {
            FailureReason::Error(error) => error.clone(),
            FailureReason::Panic(_) => Error::from(Cause::Poisoned { by: Some(requester.lane().rank()) }),
        };
        self.end.fail(failure);
        requester.stop(self.node, &error);
        error
    }

    /// Records that a thread has ended. The rank's last thread detaches the rank; if a thread has failed,
    /// none does.
    fn through(&self, slot: u32) {
        if self.working.fetch_sub(1, AcqRel) == 1 {
            let end = block_on(self.slots.of(slot).detach(self.node));
            end.unwrap_or_else(|error| _ = self.fail(slot, FailureReason::Error(error)));
        }
    }
}
