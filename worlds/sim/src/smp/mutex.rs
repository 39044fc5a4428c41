//! The locks at work, and the program of a thread that takes one again and again.
//!
//! Only the order of the handover is here: all waiting is done by a [`Waiter`], as at a barrier.
use super::cpu::SmpCpu;
use super::lock::{Fault, FaultKind, JobLock, LockKind};
use super::random::Random;
use crate::event::Queue;
use crate::word::SimWord;
use foregather_machine::{Clock, Error, Nanos, Rank, VALUE_MASK, WaitContext, Words};
use foregather_wait::{WaitFor, Waiter};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// The name of its waits in errors.
const WHAT: &str = "lock";

/// One lock. A simulation is one thread, so a look and a store after it are one step.
pub(super) struct Mutex {
    kind: LockKind,
    /// Is it taken (`Spin`, `Futex`, `TwoPhase`), or whose turn is it (`Ticket`)?
    word: SimWord,
    next_ticket: Cell<u32>,
    /// The holder and those that wait, first come first (`Mcs`).
    queue: RefCell<VecDeque<Rank>>,
    /// By rank: counts the handovers to it (`Mcs`).
    granted: Vec<SimWord>,
}

impl Mutex {
    pub(super) fn new(kind: LockKind, threads: u32) -> Self {
        let granted = if kind == LockKind::Mcs { (0..threads).map(|_| SimWord::default()).collect() } else { Vec::new() };
        let (word, next_ticket, queue) = (SimWord::default(), Cell::new(0), RefCell::default());
        Self { kind, word, next_ticket, queue, granted }
    }

    /// Takes the lock for the thread of that rank; `threads` threads share it.
    pub(super) async fn acquire<Q: Queue>(
        &self,
        cpu: &SmpCpu<'_, Q>,
        waiter: &Waiter,
        (rank, threads): (Rank, u32),
    ) -> Result<(), Error> {
        let why = || (WaitContext::new(WHAT, rank), WaitFor::Unseen(threads));
        match self.kind {
            LockKind::Spin | LockKind::Futex | LockKind::TwoPhase { .. } => {
                let take = || (cpu.load(&self.word) == 0).then(|| cpu.store(&self.word, 1));
                waiter.wait(cpu, &self.word, true, why, take).finish().await
            }
            LockKind::Ticket => {
                let ticket = self.next_ticket.get();
                self.next_ticket.set((ticket + 1) & VALUE_MASK);
                let is_due = || (cpu.load(&self.word) == ticket).then_some(());
                waiter.wait(cpu, &self.word, true, why, is_due).finish().await
            }
            LockKind::Mcs => {
                let own = &self.granted[rank as usize];
                let (before, is_first) = (cpu.load(own), self.queue.borrow().is_empty());
                self.queue.borrow_mut().push_back(rank);
                let is_granted = || (is_first || cpu.load(own) != before).then_some(());
                waiter.wait(cpu, own, true, why, is_granted).finish().await
            }
        }
    }

    /// Hands the lock over, or leaves it free.
    pub(super) fn release<Q: Queue>(&self, cpu: &SmpCpu<'_, Q>) {
        match self.kind {
            LockKind::Spin | LockKind::Futex | LockKind::TwoPhase { .. } => cpu.publish_to_one(&self.word, 0),
            LockKind::Ticket => _ = cpu.fetch_add(&self.word, 1),
            LockKind::Mcs => {
                let mut queue = self.queue.borrow_mut();
                queue.pop_front();
                if let Some(&next) = queue.front() {
                    cpu.fetch_add(&self.granted[next as usize], 1);
                }
            }
        }
    }
}

/// One thread's critical sections: how long they last, and what interrupts them.
pub(super) struct Sections<'j> {
    lock: &'j JobLock,
    rank: Rank,
    resolution: Nanos,
    /// A stream of its own: a trace of `hold` goes on beside one of `think`.
    random: Random,
}

impl<'j> Sections<'j> {
    pub(super) fn new(lock: &'j JobLock, rank: Rank, resolution: Nanos, random: Random) -> Self {
        Self { lock, rank, resolution, random }
    }

    /// What the thread does while it holds the lock.
    pub(super) async fn hold<Q: Queue>(&mut self, cpu: &SmpCpu<'_, Q>) {
        let lock = self.lock;
        if lock.extend {
            cpu.ask_extension();
        }
        let span = lock.hold.draw(self.rank, &mut self.random, self.resolution);
        let Some(fault) = lock.fault.as_ref().filter(|fault| self.random.unit() <= fault.chance) else {
            return cpu.delay(span).await;
        };
        let before = Nanos((span.0 as f64 * self.random.unit()) as u64);
        cpu.delay(before).await;
        self.fault(cpu, fault).await;
        cpu.delay(span - before).await;
    }

    async fn fault<Q: Queue>(&mut self, cpu: &SmpCpu<'_, Q>, fault: &Fault) {
        let span = fault.takes.draw(self.rank, &mut self.random, self.resolution);
        match fault.kind {
            FaultKind::Minor => cpu.in_kernel(span).await,
            FaultKind::Major => cpu.sleep(span).await,
        }
    }
}
