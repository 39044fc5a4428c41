//! What happened on a few nodes of a network over a short time: data, which a report draws.
use serde::{Deserialize, Serialize};

/// A stretch of time on some nodes. Times are microseconds after its beginning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timeline {
    /// Unique in its document: the name of the figure, as in `fig3-11b`.
    pub name: String,
    /// In a few words.
    pub title: String,
    /// What to see, in full sentences.
    pub shows: String,
    /// How many nodes: those from 0 on.
    pub nodes: u32,
    /// When each node came.
    pub came_us: Vec<f64>,
    /// When each node was done.
    pub done_us: Vec<f64>,
    /// When each node left the barrier; empty without one.
    pub left_us: Vec<f64>,
    /// All packets, in the order in which they were sent.
    pub packets: Vec<Passage>,
    /// When programs did not go on although nothing was missing.
    pub busy: Vec<Spell>,
}

/// One packet's way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passage {
    /// What it is: `null`, `short`, `forced`, `PROBE`, `REQUEST`, `data`, `release`.
    pub kind: String,
    /// Its sender.
    pub from: u32,
    /// Its receiver.
    pub to: u32,
    /// When it was sent.
    pub asked_us: f64,
    /// Since when it held the send port.
    pub began_us: f64,
    /// Since when it held the receive port, too.
    pub granted_us: f64,
    /// When it left the send port.
    pub left_us: f64,
    /// When its receiver had it and the receive port was free again.
    pub arrived_us: f64,
}

/// A span of a program's time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spell {
    /// Whose.
    pub node: u32,
    /// What it did: `computed`, `interrupted`, `paused`; for its messages `copied`, `registered`, `posted`.
    pub what: String,
    /// Since when.
    pub from_us: f64,
    /// Until when.
    pub to_us: f64,
}
