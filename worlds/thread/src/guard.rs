//! What a world adds to a thread's waits: peers that may be lost, and other places to sleep than a futex.
use crate::Word;
use foregather_machine::{CpuId, Error, Nanos, ThreadId, WaitContext};

/// Watches over the waits of a [`Thread`](crate::Thread). The guard of plain threads, `()`, adds nothing.
pub trait Guard {
    /// Looks in a brief spin: about half a microsecond of pauses.
    const BRIEF_LOOKS: u32 = 24;
    /// Whether this thread may pull other members of its team to its processor.
    const PULLS: bool = false;

    /// Checks whether the wait can still succeed. Called when the word is not poisoned and the deadline has
    /// not passed.
    ///
    /// # Errors
    /// If a peer is lost.
    fn check(&self, context: &WaitContext) -> Result<(), Error> {
        let _ = context;
        Ok(())
    }
    /// The longest sleep, for worlds in which some events that end a wait do not wake the sleeper.
    fn longest_sleep(&self) -> Nanos {
        Nanos::MAX
    }
    /// How long a sleep lasts where nothing wakes the sleeper: it is the price of a sleep there, if it
    /// exceeds that of a wake-up.
    fn nap(&self) -> Nanos {
        Nanos::ZERO
    }
    /// Sleeps elsewhere than on the word, until `until` at most; `false` if this guard does not.
    fn sleep(&self, on: &Word, prepared: u32, until: Nanos) -> bool {
        let _ = (on, prepared, until);
        false
    }
    /// Returns whether a thread of another process is running. This thread runs on `here`.
    fn running(&self, thread: ThreadId, here: CpuId) -> Option<bool> {
        let _ = (thread, here);
        None
    }
}

impl Guard for () {
    const PULLS: bool = true;
}
