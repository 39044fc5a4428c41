//! A fault becomes a request: on the thread that touched the page, by the lane that is this thread's.
use super::mapped::Mapped;
use super::observer;
use crate::node::{Requester, Site};
use crate::views::{Fault, Faults, Outcome, Table, end_process};
use core::cell::Cell;
use foregather_machine::{Cpu, Fabric, run_ready};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

thread_local! {
    /// Which of its rank's threads this is, from 1 on; 0 for none. No destructor and no lazy start, so a handler may read it.
    static SEAT: Cell<u32> = const { Cell::new(0) };
}

/// Says which of its rank's threads this one is.
pub(super) fn take_seat(seat: u32) {
    SEAT.set(seat);
}

/// All requesters of a rank, by seat.
pub(super) struct Seats<F: Fabric>(Box<[Mutex<Requester<F>>]>);

impl<F: Fabric> Seats<F> {
    pub(super) fn new(requesters: Vec<Requester<F>>) -> Self {
        Self(requesters.into_iter().map(Mutex::new).collect())
    }

    /// The requester of seat `seat`. Only its thread takes it, so nobody waits here.
    pub(super) fn of(&self, seat: u32) -> MutexGuard<'_, Requester<F>> {
        self.0[seat as usize - 1].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is asked when a page was closed.
pub(super) struct Catcher<F: Fabric> {
    pub(super) site: Arc<Site<F::Cpu, Mapped>>,
    pub(super) seats: Arc<Seats<F>>,
    pub(super) table: Arc<Table>,
    /// Do threads write journals?
    pub(super) observed: bool,
}

impl<F> Faults for Catcher<F>
where
    F: Fabric + Send,
    <F::Cpu as Cpu>::Word: Send + Sync,
{
    fn fault(&self, fault: &Fault) -> Outcome {
        let Some(minipage) = self.table.minipage(fault.place) else { return Outcome::NotMine };
        let holds = self.table.extent(minipage).is_some_and(|extent| extent.holds(fault.place));
        let requester = match SEAT.get() {
            _ if !holds => return Outcome::NotMine,
            0 => die(fault, "this thread is none of those that share memory: let it be run by `dsm::run`"),
            seat => self.seats.0[seat as usize - 1].try_lock(),
        };
        let mut requester = match requester {
            Ok(requester) => requester,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => die(fault, "touched within a call about shared memory"),
        };
        let began = self.observed.then(observer::fault_began);
        let done = run_ready(requester.need(&self.site, minipage, fault.needs));
        began.into_iter().for_each(observer::fault_ended);
        match done {
            Ok(()) => Outcome::Retry,
            // A load cannot fail: without what it loads this process cannot go on.
            Err(error) => die(fault, &error.to_string()),
        }
    }
}

#[cold]
fn die(fault: &Fault, why: &str) -> ! {
    let place = fault.place;
    end_process(&format!("shared memory: byte {} of view {} cannot be had: {why}\n", place.byte(), place.view))
}
