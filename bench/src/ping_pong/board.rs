//! What master and slave share: the words of the game, its semaphores, and what the slave reports.
use super::method::{Means, Method};
use super::{Setup, Side};
use foregather_host::affinity;
use foregather_machine::{Cause, CpuId, Error, Nanos};
use foregather_shm::Segment;
use foregather_shm::kernel::{self, Semaphore};
use foregather_thread::{Scope, Thread, Word};
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;

const PING: u32 = 0;
const PONG: u32 = 1;
const STOP: u32 = 2;
/// The slave's processor time, in nanoseconds: two words of 30 bits.
const CPU_TIME: u32 = 3;
/// From here on: how often the slave was seen on each processor.
const CPUS: u32 = 5;
const HALF: u32 = 30;

pub(super) struct Board {
    segment: Arc<Segment>,
    scope: Scope,
    /// The one that the master posts and the one that the slave posts; none if the method needs none.
    semaphores: Vec<Box<dyn Semaphore>>,
}

impl Board {
    pub(super) fn new(setup: &Setup) -> Result<Self, Error> {
        let scope = if setup.side == Side::Threads { Scope::Private } else { Scope::Shared };
        let cpus = affinity::allowed().last().map_or(1, |last| last + 1);
        let segment = Arc::new(Segment::new(CPUS + cpus, 2)?);
        let semaphores = match setup.method.means() {
            Means::Word(_) => vec![],
            Means::Kernel(kind) => vec![kind.create(&segment, scope)?, kind.create(&segment, scope)?],
        };
        Ok(Self { segment, scope, semaphores })
    }

    /// In the slave process: the descriptor's number and the semaphores' names.
    pub(super) fn attach(number: RawFd, method: Method, names: &[String]) -> Result<Self, Error> {
        let segment = Arc::new(Segment::inherited(number)?);
        let semaphores = names.iter().map(|name| kernel::attach(name, &segment)).collect::<Result<Vec<_>, _>>()?;
        let needed = if let Means::Kernel(_) = method.means() { 2 } else { 0 };
        if semaphores.len() != needed || segment.words() <= CPUS {
            let remedy = "it is started by its master only, from the same executable".to_owned();
            return Err(Error::from(Cause::Unavailable { what: "what a ping-pong slave needs".to_owned(), remedy }));
        }
        Ok(Self { segment, scope: Scope::Shared, semaphores })
    }

    /// What [`Board::attach`] takes.
    pub(super) fn number_and_names(&self) -> (RawFd, Vec<String>) {
        (self.segment.fd().as_raw_fd(), self.semaphores.iter().map(|semaphore| semaphore.name()).collect())
    }

    /// What the slave must inherit.
    pub(super) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.semaphores.iter().flat_map(|semaphore| semaphore.descriptors()).chain([self.segment.fd()]).collect()
    }

    /// A processor for the words.
    pub(super) fn cpu(&self) -> Thread {
        if self.scope == Scope::Private { Thread::current() } else { Thread::shared() }
    }

    pub(super) fn ping(&self) -> &Word {
        self.segment.word(PING)
    }

    pub(super) fn pong(&self) -> &Word {
        self.segment.word(PONG)
    }

    pub(super) fn masters(&self) -> &dyn Semaphore {
        &*self.semaphores[0]
    }

    pub(super) fn slaves(&self) -> &dyn Semaphore {
        &*self.semaphores[1]
    }

    /// The next ping is the last and wants no pong.
    pub(super) fn stop(&self) {
        self.segment.word(STOP).store(1);
    }

    pub(super) fn stopped(&self) -> bool {
        self.segment.word(STOP).load() != 0
    }

    /// Ends all waits of the master, and those of the slave if it lives: nobody else could leave a dead one's
    /// semaphores in an undefined state.
    pub(super) fn cancel(&self, slave_lives: bool) {
        [self.ping(), self.pong()].into_iter().for_each(|word| word.poison(self.scope));
        if let [masters, slaves] = &self.semaphores[..] {
            // A refusal means that the semaphore is gone; whoever waited on it has been told by the kernel.
            let _ = slaves.post();
            if slave_lives {
                let _ = masters.post();
            }
        }
    }

    /// After a wait on a semaphore: was it the partner who posted it?
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.ping().is_poisoned() { Err(Error::from(Cause::Poisoned { by: None })) } else { Ok(()) }
    }

    /// The slave's last act.
    pub(super) fn report(&self, cpu_time: Nanos, cpus: &BTreeMap<CpuId, u32>) {
        self.segment.word(CPU_TIME).store(cpu_time.0 as u32 & ((1 << HALF) - 1));
        self.segment.word(CPU_TIME + 1).store((cpu_time.0 >> HALF) as u32);
        for (&cpu, &count) in cpus.iter().filter(|&(cpu, _)| CPUS + cpu < self.segment.words()) {
            self.segment.word(CPUS + cpu).store(count);
        }
    }

    pub(super) fn reported(&self) -> (Nanos, BTreeMap<CpuId, u32>) {
        let load = |word| self.segment.word(word).load();
        let cpus = (CPUS..self.segment.words()).map(|word| (word - CPUS, load(word))).filter(|&(_, count)| count > 0);
        (Nanos(u64::from(load(CPU_TIME)) | u64::from(load(CPU_TIME + 1)) << HALF), cpus.collect())
    }
}
