//! Codes of errors, and the last error of each thread.
use core::cell::RefCell;
use core::ffi::{CStr, c_char, c_int};
use foregather::engine::Cause;
use foregather::{Error, WaitError};
use std::ffi::CString;

/// A list of codes, with the names that the header has for them.
macro_rules! codes {
    ($($name:ident = $number:literal: $what:literal,)*) => {
        $(#[doc = $what] pub(crate) const $name: c_int = $number;)*
        /// All of them, for the test against the header.
        #[cfg(test)]
        pub(crate) const CODES: &[(&str, c_int)] = &[$((stringify!($name), $number)),*];
    };
}
codes! {
    TIMED_OUT = 1: "The time limit has passed.",
    POISONED = 2: "The call can never succeed: a member has failed or left.",
    PEER_LOST = 3: "A process has died or stopped responding.",
    CLOSED = 4: "The other side has left normally: no more messages will arrive.",
    SKIPPED = 5: "The writer overwrote messages that this reader had not read.",
    INVALID = 6: "A null pointer, or a handle that is destroyed or of another type.",
    SETTING = 7: "An argument is out of range.",
    RANK = 8: "There is no such rank, or its handle was already created.",
    LENGTH = 9: "A message does not fit into the buffer or the ring.",
    IN_PIECES = 10: "A message is not contiguous in the ring.",
    BUSY = 11: "Another thread is in a call with that handle.",
    FORKED = 12: "The handle belongs to the parent process.",
    DEADLOCK = 13: "Ranks wait for each other.",
    FAILED = 14: "The function of a rank returned an error of its own.",
    SYSTEM = 15: "A system call failed, or a system feature is missing.",
    VERSION_DIFFERS = 16: "The versions of the header and of the library are incompatible.",
    PANIC = 17: "Internal error (a bug) in the library.",
    REPLACED = 18: "Another process has taken over this reader's rank.",
}

/// Why a call fails.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) code: c_int,
    pub(crate) message: String,
    /// The culprit.
    rank: Option<u32>,
    /// Messages that were skipped.
    messages: u64,
    /// What the library said, for a job whose rank returns it.
    pub(crate) error: Option<Error>,
}

impl Refusal {
    #[cold]
    pub(crate) fn new(code: c_int, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), rank: None, messages: 0, error: None }
    }

    /// Keeps it as the last error of this thread. Returns its code.
    #[cold]
    pub(crate) fn tell(self) -> c_int {
        let code = self.code;
        let text = CString::new(self.message.replace('\0', " ")).unwrap_or_default();
        // A thread that ends has no last error any more: the code must do.
        LAST.try_with(|last| *last.borrow_mut() = Some(LastError { failure: self, text })).ok();
        code
    }

    /// The last error of this thread, if it has that code.
    pub(crate) fn last(code: c_int) -> Option<Self> {
        let last = |last: &RefCell<Option<LastError>>| last.borrow().as_ref().map(|last| last.failure.clone());
        LAST.try_with(last).ok().flatten().filter(|failure| failure.code == code)
    }
}

struct LastError {
    failure: Refusal,
    text: CString,
}

thread_local! { static LAST: RefCell<Option<LastError>> = const { RefCell::new(None) } }

impl From<Error> for Refusal {
    #[cold]
    fn from(error: Error) -> Self {
        let (code, rank, messages) = match *error.cause() {
            Cause::TimedOut { peer, .. } => (TIMED_OUT, peer, 0),
            Cause::Poisoned { by } => (POISONED, by, 0),
            Cause::PoisonedLock { by } => (POISONED, Some(by), 0),
            Cause::PeerLost { rank, .. } => (PEER_LOST, Some(rank), 0),
            Cause::Closed { peer } => (CLOSED, peer, 0),
            Cause::Skipped { messages } => (SKIPPED, None, messages),
            Cause::Wait(ref wait) => (code_of(wait), wait.missing().first().and_then(|missing| missing.rank), 0),
            Cause::Size { .. } | Cause::Setting { .. } => (SETTING, None, 0),
            Cause::Rank { .. } => (RANK, None, 0),
            Cause::Length { .. } | Cause::Elements { .. } | Cause::Mismatch { .. } => (LENGTH, None, 0),
            Cause::Busy { peer, .. } => (BUSY, Some(peer), 0),
            Cause::Deadlock { ref ranks, .. } => (DEADLOCK, ranks.first().copied(), 0),
            Cause::Elsewhere { rank, .. } => (FAILED, Some(rank), 0),
            Cause::Unseen { rank, .. } => (SYSTEM, Some(rank), 0),
            Cause::Replaced { rank } => (REPLACED, Some(rank), 0),
            Cause::ProtocolViolation { from, .. } => (FAILED, Some(from), 0),
            Cause::Os { .. } | Cause::Unavailable { .. } | Cause::Refused { .. } => (SYSTEM, None, 0),
            _ => (FAILED, None, 0),
        };
        Self { code, message: error.to_string(), rank, messages, error: Some(error) }
    }
}

impl From<WaitError> for Refusal {
    #[cold]
    fn from(error: WaitError) -> Self {
        Error::from(error).into()
    }
}

fn code_of(error: &WaitError) -> c_int {
    match error {
        WaitError::TimedOut(_) => TIMED_OUT,
        WaitError::Left(_) => POISONED,
        WaitError::Lost(_) => PEER_LOST,
    }
}

/// What the last error of this thread has; `none` if there was none.
fn of_last<T>(none: T, what: impl FnOnce(&LastError) -> T) -> T {
    LAST.try_with(|last| last.borrow().as_ref().map(what)).ok().flatten().unwrap_or(none)
}

/// The sentence of this thread's last error. It is there until the next one.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_error_message() -> *const c_char {
    const NONE: &CStr = c"no error";
    of_last(NONE.as_ptr(), |last| last.text.as_ptr())
}

/// The code of this thread's last error.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_error_code() -> c_int {
    of_last(0, |last| last.failure.code)
}

/// The rank that this thread's last error names, or -1.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_error_rank() -> c_int {
    of_last(-1, |last| last.failure.rank.and_then(|rank| rank.try_into().ok()).unwrap_or(-1))
}

/// How many messages a reader has missed, of `FG_SKIPPED`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_error_messages() -> u64 {
    of_last(0, |last| last.failure.messages)
}
