//! The experiment of Guignon 2000 §2.1: master and slave wake each other in turn, and the master counts the
//! cycles of each round trip.
//!
//! Each [`Method`] runs between two threads or two processes, on processors that the caller chooses. The
//! slave process is this same program, started with [`VERB`] as its first argument: its `main` must then call
//! [`slave_main`].
//!
//! # Bounds
//! No wait has a deadline of its own: each sleep would arm a timer, which costs an eighth of a round trip on
//! one processor, and not all methods support one. The caller's thread supervises instead: if the slave's
//! process dies, or the time is up, it poisons the shared words and posts the semaphores, so that a master
//! that sleeps in the kernel wakes. The kernel kills a slave process together with its master.
mod sides;
mod supervisor;
#[cfg(test)]
mod tests;

use foregather_host::affinity;
use foregather_host::usage::Switches;
use foregather_machine::named;
use foregather_machine::{Cause, CpuId, Error, Nanos};
use foregather_shm::kernel::WaitMethod;
use foregather_wait::Policy;
pub use sides::{VERB, slave_main};
use std::collections::BTreeMap;
use std::process::Command;

/// The experiment's name in messages.
const WHAT: &str = "ping-pong";
/// Round trips before the first one that is measured.
const WARM_UP: u32 = 20;

named! {
    /// What master and slave are.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum PartyKind {
        /// Two threads of this process.
        Threads = "thread",
        /// Two processes.
        Processes = "process",
    }
}

/// The parameters of one series of round trips.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// How master and slave wait.
    pub method: Method,
    /// Whether they are threads or processes.
    pub side: PartyKind,
    /// The master's processor; `None` leaves the choice to the scheduler.
    pub master: Option<CpuId>,
    /// The slave's processor; likewise.
    pub slave: Option<CpuId>,
    /// How long the master waits before each ping. From 100 us on it sleeps, so that its processor is idle;
    /// a shorter gap it spends computing, because no timer is that precise.
    pub gap: Nanos,
    /// The number of round trips.
    pub runs: u32,
    /// When to stop even after fewer round trips, as with two spinning threads on one processor.
    pub at_most: Nanos,
}

impl Setup {
    /// The paper's series with this method: 1000 round trips without a gap, in at most 2 s.
    pub const fn new(method: Method, side: PartyKind, master: Option<CpuId>, slave: Option<CpuId>) -> Self {
        Self { method, side, master, slave, gap: Nanos::ZERO, runs: 1_000, at_most: Nanos::from_ms(2_000) }
    }

    fn check(&self) -> Result<(), Error> {
        let allowed = affinity::allowed();
        let wrong = [self.master, self.slave].into_iter().flatten().find(|cpu| !allowed.contains(cpu));
        wrong.map_or(Ok(()), |cpu| {
            let remedy = format!("take one of {allowed:?}, or widen the container's cpuset or this process's affinity");
            Err(Error::from(Cause::Unavailable { what: format!("processor {cpu}"), remedy }))
        })
    }
}

/// The result of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct PingPong {
    /// Cycles of each round trip, in order; fewer than [`Setup::runs`] if the time was up.
    pub cycles: Vec<u64>,
    /// The processors on which the master was after its round trips, and how often.
    pub master_cpus: BTreeMap<CpuId, u32>,
    /// The same for the slave.
    pub slave_cpus: BTreeMap<CpuId, u32>,
    /// The CPU time of both together.
    pub cpu_time: Nanos,
    /// The context switches of the master.
    pub master_switches: Switches,
}

/// Runs one series.
///
/// # Errors
/// If a processor may not be used, the slave cannot be started or is killed ([`Cause::PeerLost`]), or master
/// and slave make no progress.
pub fn run(setup: &Setup) -> Result<PingPong, Error> {
    let program = std::env::current_exe().map_err(|error| {
        Error::from(Cause::Unavailable { what: "the path of this program".to_owned(), remedy: format!("mount /proc: {error}") })
    })?;
    run_with(setup, Command::new(program))
}

/// [`run`], with the command that becomes the slave process once [`VERB`] and its arguments are appended.
///
/// # Errors
/// As [`run`].
pub fn run_with(setup: &Setup, slave: Command) -> Result<PingPong, Error> {
    setup.check()?;
    supervisor::supervise(setup, slave, supervisor::GRACE, |_| ())
}

/// How long the two-phase method spins.
const SPIN: Nanos = Nanos::from_us(10);

named! {
    /// A way to wait for the other side. The first five are waiting policies on a word in memory, the others
    /// are primitives of the kernel or the C library.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Method {
        /// Spin on a shared variable: the fastest in the paper.
        Spin = "spin",
        /// The same without the pause instruction.
        SpinHot = "spin-hot",
        /// Yield the processor after every check.
        Yield = "yield",
        /// Spin for 10 us, then sleep.
        TwoPhase = "two-phase",
        /// Sleep at once.
        Futex = "futex",
        /// Two POSIX semaphores. A round trip is two barriers, here and with all following methods but the
        /// last.
        PosixSemaphore = "posix-semaphore",
        /// Two System V semaphores.
        SysvSemaphore = "sysv-semaphore",
        /// Two eventfds.
        Eventfd = "eventfd",
        /// Two pipes.
        Pipe = "pipe",
        /// Two counters, each with a mutex and a condition variable.
        Condvar = "condvar",
        /// The control: POSIX semaphores, with one post and one wait in each direction instead of barriers.
        OneSemaphore = "one-semaphore",
    }
}

impl Method {
    /// Returns the method of that name.
    ///
    /// # Errors
    /// If there is none; the error lists those there are.
    pub fn parse(name: &str) -> Result<Self, Error> {
        Self::named(name).ok_or_else(|| {
            Error::from(Cause::Unavailable {
                what: format!("the ping-pong method `{name}`"),
                remedy: format!("take one of {}", Self::ALL.map(Self::name).join(", ")),
            })
        })
    }

    /// Returns whether it never yields the processor. If both sides share one processor, each hand-over then
    /// takes a tick of the scheduler.
    pub const fn spins(self) -> bool {
        matches!(self, Self::Spin | Self::SpinHot)
    }

    /// Returns what a wait of this method uses.
    pub(super) const fn means(self) -> Means {
        match self {
            Self::Spin | Self::SpinHot => Means::Word(Policy::Spin),
            Self::Yield => Means::Word(Policy::Yield),
            Self::TwoPhase => Means::Word(Policy::TwoPhase { spin: SPIN }),
            Self::Futex => Means::Word(Policy::Block),
            Self::PosixSemaphore | Self::OneSemaphore => Means::Kernel(WaitMethod::Posix),
            Self::SysvSemaphore => Means::Kernel(WaitMethod::Sysv),
            Self::Eventfd => Means::Kernel(WaitMethod::Eventfd),
            Self::Pipe => Means::Kernel(WaitMethod::Pipe),
            Self::Condvar => Means::Kernel(WaitMethod::Condvar),
        }
    }
}

/// What a method waits with: a policy on a word, or a semaphore of the kernel.
#[derive(Clone, Copy, Debug)]
pub(super) enum Means {
    Word(Policy),
    Kernel(WaitMethod),
}
