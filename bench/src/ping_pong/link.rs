//! One round trip, by each kind of method, seen from both ends.
use super::board::Board;
use super::method::{Means, Method};
use foregather_machine::{Error, VALUE_MASK, WaitContext, Words, block_on};
use foregather_shm::kernel::Semaphore;
use foregather_thread::{Thread, Word};
use foregather_wait::{WaitFor, Waiter};

/// The master does `ping` and `await_pong`, the slave `await_ping` and `pong`. Rounds count from 1.
pub(super) trait Link {
    fn ping(&self, round: u32) -> Result<(), Error>;
    fn await_ping(&self, round: u32) -> Result<(), Error>;
    fn pong(&self, round: u32) -> Result<(), Error>;
    fn await_pong(&self, round: u32) -> Result<(), Error>;
}

/// The end of `why.rank`. Nobody is watched from here: the supervisor poisons the words when the partner dies.
pub(super) fn link<'a>(method: Method, board: &'a Board, why: WaitContext) -> Box<dyn Link + 'a> {
    match (method, method.means()) {
        (Method::OneSemaphore, _) => Box::new(HandOff { board, why }),
        (_, Means::Kernel(_)) => Box::new(Barriers { board, why }),
        (_, Means::Word(policy)) => {
            let cpu = if method == Method::SpinHot { board.cpu().without_pauses() } else { board.cpu() };
            Box::new(OnWords { board, cpu, waiter: Waiter::new(policy, why.rank), why })
        }
    }
}

/// Two words: the master stores its turn in one, the slave answers in the other.
struct OnWords<'a> {
    board: &'a Board,
    cpu: Thread,
    waiter: Waiter,
    why: WaitContext,
}

impl OnWords<'_> {
    fn wait(&self, on: &Word, round: u32) -> Result<(), Error> {
        let come = || (self.cpu.load(on) == round & VALUE_MASK).then_some(());
        block_on(self.waiter.wait(&self.cpu, on, false, || (self.why, WaitFor::Unknown), come).finish())
    }
}

impl Link for OnWords<'_> {
    fn ping(&self, round: u32) -> Result<(), Error> {
        self.cpu.publish(self.board.ping(), round);
        Ok(())
    }
    fn await_ping(&self, round: u32) -> Result<(), Error> {
        self.wait(self.board.ping(), round)
    }
    fn pong(&self, round: u32) -> Result<(), Error> {
        self.cpu.publish(self.board.pong(), round);
        Ok(())
    }
    fn await_pong(&self, round: u32) -> Result<(), Error> {
        self.wait(self.board.pong(), round)
    }
}

fn take(semaphore: &dyn Semaphore, board: &Board, why: &WaitContext) -> Result<(), Error> {
    semaphore.wait(why)?;
    board.check()
}

/// Guignon's protocol for semaphores: a barrier opens the parallel section and another one closes it, and in a barrier
/// each side posts its own semaphore and waits for the other's.
struct Barriers<'a> {
    board: &'a Board,
    why: WaitContext,
}

impl Barriers<'_> {
    fn masters_barrier(&self) -> Result<(), Error> {
        self.board.masters().post()?;
        take(self.board.slaves(), self.board, &self.why)
    }
    fn slaves_barrier(&self) -> Result<(), Error> {
        self.board.slaves().post()?;
        take(self.board.masters(), self.board, &self.why)
    }
}

impl Link for Barriers<'_> {
    fn ping(&self, _: u32) -> Result<(), Error> {
        self.masters_barrier()
    }
    fn await_ping(&self, _: u32) -> Result<(), Error> {
        self.slaves_barrier()
    }
    fn pong(&self, _: u32) -> Result<(), Error> {
        self.slaves_barrier()
    }
    fn await_pong(&self, _: u32) -> Result<(), Error> {
        self.masters_barrier()
    }
}

/// Post one, wait for the other: the least that two semaphores can do.
struct HandOff<'a> {
    board: &'a Board,
    why: WaitContext,
}

impl Link for HandOff<'_> {
    fn ping(&self, _: u32) -> Result<(), Error> {
        self.board.masters().post()
    }
    fn await_ping(&self, _: u32) -> Result<(), Error> {
        take(self.board.masters(), self.board, &self.why)
    }
    fn pong(&self, _: u32) -> Result<(), Error> {
        self.board.slaves().post()
    }
    fn await_pong(&self, _: u32) -> Result<(), Error> {
        take(self.board.slaves(), self.board, &self.why)
    }
}
