//! How a run ends, and what its subject says about that.
use foregather_machine::Error;

/// The result of a run.
pub(crate) struct RunReport {
    /// A hash of all events.
    pub(crate) trace: u64,
    /// The mistake found, if any.
    pub(crate) end: Result<(), String>,
    /// The drawn run, in words.
    pub(crate) drawn: String,
}

/// The first bad verdict; stuck threads come before all others.
pub(super) fn verdict(stuck: Vec<String>, ends: impl IntoIterator<Item = Result<(), String>>) -> Result<(), String> {
    let first = ends.into_iter().find_map(Result::err);
    match (stuck.is_empty(), first) {
        (true, None) => Ok(()),
        (true, Some(wrong)) => Err(wrong),
        (false, None) => Err(format!("stuck: {}", stuck.join("; "))),
        (false, Some(wrong)) => Err(format!("{wrong}; stuck: {}", stuck.join("; "))),
    }
}

/// Why a rank's program ends early: an error of the subject, or a violation, such as bytes that were never
/// sent.
pub(super) enum Bad {
    Ends(Error),
    Wrong(String),
}

impl From<Error> for Bad {
    fn from(error: Error) -> Self {
        Self::Ends(error)
    }
}

/// # Errors
/// `what`, if it does not hold.
pub(super) fn must(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}
