//! Names of queues and barriers, and the messages of their exceptions, in the program's terms.
use crate::error::exception;
use core::fmt;
use core::time::Duration;
use foregather::Error;
use foregather::engine::{Cause, Nanos, Rank};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The kind of a labelled object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LabelKind {
    Broadcast,
    Channel,
    Barrier,
}

/// The kind of an object, and the name that the program gave it.
pub(crate) struct Label {
    pub(crate) kind: LabelKind,
    pub(crate) name: Option<String>,
}

impl LabelKind {
    pub(crate) fn of(kind: &str) -> PyResult<Self> {
        match kind {
            "broadcast" => Ok(Self::Broadcast),
            "channel" => Ok(Self::Channel),
            _ => Err(PyValueError::new_err(format!("invalid kind {kind:?}: expected \"broadcast\" or \"channel\""))),
        }
    }
}

impl fmt::Display for LabelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broadcast => "broadcast",
            Self::Channel => "channel",
            Self::Barrier => "barrier",
        })
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        self.name.as_ref().map_or(Ok(()), |name| write!(f, " {name:?}"))
    }
}

impl Label {
    /// Returns how messages refer to the peer with `rank`.
    fn peer(&self, rank: Option<Rank>) -> String {
        match (self.kind, rank) {
            (LabelKind::Channel, Some(0)) => "the sender".to_owned(),
            (LabelKind::Channel, _) => "the receiver".to_owned(),
            (LabelKind::Broadcast, Some(0)) => "the writer".to_owned(),
            (LabelKind::Broadcast, Some(rank)) => format!("reader {rank}"),
            (LabelKind::Broadcast, None) => "a reader".to_owned(),
            (LabelKind::Barrier, Some(rank)) => format!("rank {rank}"),
            (LabelKind::Barrier, None) => "a member".to_owned(),
        }
    }

    /// Returns how `foregather hang` names a wait of `rank`.
    pub(crate) fn call(&self, rank: Rank) -> String {
        match (self.kind, rank) {
            (LabelKind::Barrier, _) => self.to_string(),
            (_, 0) => format!("send to {self}"),
            _ => format!("receive from {self}"),
        }
    }

    /// Returns the exception for a call that waited for a total of `waited`.
    pub(crate) fn raised(&self, py: Python<'_>, error: &Error, waited: Duration) -> PyErr {
        let (class, carries) = match error.cause() {
            Cause::TimedOut { peer, .. } => ("TimedOut", peer.map(u64::from)),
            Cause::PeerLost { rank, .. } => ("PeerLost", Some(u64::from(*rank))),
            Cause::Poisoned { by } => ("PeerFailed", by.map(u64::from)),
            Cause::Closed { peer } => ("Closed", peer.map(u64::from)),
            Cause::Skipped { messages } => ("Skipped", Some(*messages)),
            Cause::Replaced { rank } => ("Replaced", Some(u64::from(*rank))),
            Cause::Length { bytes, room, .. } => {
                let kind = self.kind;
                return PyValueError::new_err(format!(
                    "{self}: a message of {bytes} bytes is too long: expected up to {room} for a {kind} that skips; make it with a greater size"
                ));
            }
            Cause::Setting { .. } | Cause::Size { .. } | Cause::Rank { .. } => {
                return PyValueError::new_err(format!("{self}: {error}"));
            }
            _ => ("Error", None),
        };
        exception(py, class, self.sentence(error, waited), carries).unwrap_or_else(|failed| failed)
    }

    fn sentence(&self, error: &Error, waited: Duration) -> String {
        let kind = self.kind;
        match *error.cause() {
            Cause::TimedOut { rank, peer, .. } => self.timed_out(rank, peer, waited),
            Cause::PeerLost { rank, .. } if kind == LabelKind::Barrier || rank == 0 => {
                format!("{self}: the process of {} has died; make a new {kind} for the others", self.peer(Some(rank)))
            }
            Cause::PeerLost { rank, .. } => {
                let reader = self.peer(Some(rank));
                format!(
                    "{self}: the process of {reader} has died, and the message was sent without it; replace({rank}) gives its place to another process"
                )
            }
            Cause::Replaced { rank } => {
                format!(
                    "{self}: another process has the place of {}, because this one was taken for dead; close this end",
                    self.peer(Some(rank))
                )
            }
            Cause::Poisoned { by } if kind == LabelKind::Barrier => {
                format!("{self}: {} has failed or left; make a new {kind} for the others", self.peer(by))
            }
            Cause::Poisoned { by } => {
                let peer = self.peer(by);
                format!(
                    "{self}: {peer} has failed: an exception ended its `with` block, or it called fail(); make a new {kind} for the others"
                )
            }
            Cause::Closed { peer: Some(peer) } => {
                format!("{self}: {} has closed it, and all its messages are read", self.peer(Some(peer)))
            }
            Cause::Closed { peer: None } if kind == LabelKind::Channel => format!("{self}: the receiver has closed it"),
            Cause::Closed { peer: None } => format!("{self}: all readers have closed it"),
            Cause::Skipped { messages } => {
                format!(
                    "{self}: this reader was overtaken and missed {messages} messages; the next call gets the oldest one left"
                )
            }
            _ => format!("{self}: {error}"),
        }
    }

    fn timed_out(&self, rank: Rank, peer: Option<Rank>, waited: Duration) -> String {
        let span = Nanos(u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX));
        let late = if waited.is_zero() { "yet".to_owned() } else { format!("within {span}") };
        match (self.kind, rank) {
            (LabelKind::Barrier, _) => {
                format!("{self}: {} did not arrive {late}; call again to go on with the same wait", self.peer(peer))
            }
            (_, 0) => {
                let behind = self.peer(peer);
                format!(
                    "{self}: no room for the message {late}: {behind} has not read on; send it again, or make it with a greater size"
                )
            }
            _ => format!("{self}: no message from {} {late}; call again to go on waiting", self.peer(Some(0))),
        }
    }
}
