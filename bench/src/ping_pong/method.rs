//! The ways to hand over, old and new.
use foregather_machine::{Cause, Error, Nanos};
use foregather_shm::kernel::WaitMethod;
use foregather_wait::Policy;

/// How long the two-phase method spins.
const SPIN: Nanos = Nanos::from_us(10);

/// A way to hand over. The first five are waiting policies on words; the others the kernel's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Spin on a shared variable: Guignon's winner.
    Spin,
    /// The same without the pause instruction.
    SpinHot,
    /// Yield the processor after every look.
    Yield,
    /// Spin for 10 us, then sleep.
    TwoPhase,
    /// Sleep at once.
    Futex,
    /// Two POSIX semaphores; a ping-pong is two barriers, as for all that follow but the last.
    PosixSemaphore,
    /// Two System V semaphores.
    SysvSemaphore,
    /// Two eventfds.
    Eventfd,
    /// Two pipes.
    Pipe,
    /// Two counters under mutex and condition variable.
    Condvar,
    /// The control: POSIX semaphores, handed over without barriers.
    OneSemaphore,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Spin,
        Self::SpinHot,
        Self::Yield,
        Self::TwoPhase,
        Self::Futex,
        Self::PosixSemaphore,
        Self::SysvSemaphore,
        Self::Eventfd,
        Self::Pipe,
        Self::Condvar,
        Self::OneSemaphore,
    ];

    /// Its name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::SpinHot => "spin-hot",
            Self::Yield => "yield",
            Self::TwoPhase => "two-phase",
            Self::Futex => "futex",
            Self::PosixSemaphore => "posix-semaphore",
            Self::SysvSemaphore => "sysv-semaphore",
            Self::Eventfd => "eventfd",
            Self::Pipe => "pipe",
            Self::Condvar => "condvar",
            Self::OneSemaphore => "one-semaphore",
        }
    }

    /// The method of that name.
    ///
    /// # Errors
    /// If there is none; the error lists those there are.
    pub fn parse(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|method| method.name() == name).ok_or_else(|| {
            Error::from(Cause::Unavailable {
                what: format!("the ping-pong method `{name}`"),
                remedy: format!("take one of {}", Self::ALL.map(Self::name).join(", ")),
            })
        })
    }

    /// Does it never give the processor away? On one processor such a hand-over takes a tick of the scheduler.
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
