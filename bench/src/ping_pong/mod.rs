//! The experiment of Guignon 2000 §2.1: master and slave hand over to and fro, and the master counts the
//! cycles.
//!
//! Each [`Method`] is played between two threads or two processes, on processors of choice. The slave process
//! is this same program, started with [`VERB`] as its first argument: its `main` must then call
//! [`slave_main`].
//!
//! # Bounds
//! No wait has a deadline of its own: each sleep would arm a timer, which costs an eighth of a round trip on
//! one processor, and not all methods offer it. The caller's thread supervises instead: when the slave's
//! process dies, or the time is up, it poisons the shared words and posts the semaphores, so that a master
//! asleep in the kernel comes back. The kernel kills a slave process together with its master.
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
/// Round trips before the first one that counts.
const WARM_UP: u32 = 20;

named! {
    /// What master and slave are.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Side {
        /// Two threads of this process.
        Threads = "thread",
        /// Two processes.
        Processes = "process",
    }
}

/// One series of round trips.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// How they wait.
    pub method: Method,
    /// What they are.
    pub side: Side,
    /// The master's processor; `None` leaves that to the scheduler.
    pub master: Option<CpuId>,
    /// The slave's processor.
    pub slave: Option<CpuId>,
    /// How long the master does nothing before each ping. From 100 us on it sleeps, so that its processor is
    /// free; below, where no timer is that precise, it computes.
    pub gap: Nanos,
    /// How many round trips.
    pub runs: u32,
    /// When to stop although there were fewer, as with two spinners on one processor.
    pub at_most: Nanos,
}

impl Setup {
    /// As in the paper: that method, 1000 round trips without a gap; at most two seconds.
    pub const fn new(method: Method, side: Side, master: Option<CpuId>, slave: Option<CpuId>) -> Self {
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

/// What a series gave.
#[derive(Clone, Debug, PartialEq)]
pub struct PingPong {
    /// Steps of the cycle counter per round trip, in their order; fewer than asked for if the time was up.
    pub cycles: Vec<u64>,
    /// Where the master was seen after its round trips, and how often.
    pub master_cpus: BTreeMap<CpuId, u32>,
    /// The same for the slave.
    pub slave_cpus: BTreeMap<CpuId, u32>,
    /// Processor time of both together.
    pub cpu_time: Nanos,
    /// How often the master lost its processor.
    pub master_switches: Switches,
}

/// Plays one series.
///
/// # Errors
/// If a processor may not be used, the slave cannot be started or is killed ([`Cause::PeerLost`]), or nothing
/// moves.
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
    /// A way to hand over. The first five are waiting policies on words; the others the kernel's own.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Method {
        /// Spin on a shared variable: Guignon's winner.
        Spin = "spin",
        /// The same without the pause instruction.
        SpinHot = "spin-hot",
        /// Yield the processor after every look.
        Yield = "yield",
        /// Spin for 10 us, then sleep.
        TwoPhase = "two-phase",
        /// Sleep at once.
        Futex = "futex",
        /// Two POSIX semaphores; a ping-pong is two barriers, as for all that follow but the last.
        PosixSemaphore = "posix-semaphore",
        /// Two System V semaphores.
        SysvSemaphore = "sysv-semaphore",
        /// Two eventfds.
        Eventfd = "eventfd",
        /// Two pipes.
        Pipe = "pipe",
        /// Two counters under mutex and condition variable.
        Condvar = "condvar",
        /// The control: POSIX semaphores, handed over without barriers.
        OneSemaphore = "one-semaphore",
    }
}

impl Method {
    /// The method of that name.
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

    /// Does it never give the processor away? On one processor such a hand-over takes a tick of the
    /// scheduler.
    pub const fn spins(self) -> bool {
        matches!(self, Self::Spin | Self::SpinHot)
    }

    /// The policy on words, or the kernel's semaphore.
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

/// By what a method waits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Means {
    Word(Policy),
    Kernel(WaitMethod),
}
