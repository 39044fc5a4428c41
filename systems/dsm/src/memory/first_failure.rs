//! Records why a rank failed: the first reason is the real one, the others follow from it.
use foregather_machine::{Cause, Error, Rank};
use std::any::Any;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};

/// One reason.
pub(super) enum FailureReason {
    /// A thread or the server returned it.
    Error(Error),
    /// A thread panicked.
    Panic(Box<dyn Any + Send>),
}

/// The first failure of any thread of this rank.
pub(super) struct FirstFailure {
    here: Rank,
    first: Mutex<Option<FailureReason>>,
}

impl FirstFailure {
    pub(super) fn of(here: Rank) -> Self {
        Self { here, first: Mutex::default() }
    }

    /// Keeps the first failure. An error that only says that this rank gave up is ignored.
    pub(super) fn fail(&self, failure: FailureReason) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let empty = [Cause::Poisoned { by: Some(self.here) }, Cause::PoisonedLock { by: self.here }];
        if first.as_ref().is_none_or(|first| matches!(first, FailureReason::Error(error) if empty.contains(error.cause()))) {
            *first = Some(failure);
        }
    }

    /// # Errors
    /// The reason.
    ///
    /// # Panics
    /// With the panic, if that was the reason.
    pub(super) fn check(self) -> Result<(), Error> {
        match self.first.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(FailureReason::Error(error)) => Err(error),
            Some(FailureReason::Panic(panic)) => resume_unwind(panic),
        }
    }
}
