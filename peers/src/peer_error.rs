//! Why there is no result, and the exit code that says so.
use core::fmt;
use foregather_machine::{Cause, Error};

#[derive(Debug)]
pub(crate) enum PeerError {
    /// It began, and could not be finished.
    Failed(String),
    /// The request makes no sense.
    Usage(String),
    /// Another machine could; the text says what to install.
    Missing(String),
}

impl PeerError {
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::Missing(_) => 3,
        }
    }
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Failed(text) | Self::Usage(text) | Self::Missing(text)) = self;
        f.write_str(text)
    }
}

impl From<Error> for PeerError {
    fn from(error: Error) -> Self {
        match error.cause() {
            Cause::Unavailable { .. } => Self::Missing(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}
