//! Measures what messages between two ranks cost: half a round trip, and one message of a stream, by every
//! transport; and round trips under background load.
//!
//! - [`MessageCell`]: the parameters of a measurement; [`Answer`]: its result. The cell's process is rank 0.
//! - [`peer_main`]: the process that it starts for rank 1. [`hog_main`]: a hog, a process that only computes,
//!   on the processors of the ranks.
//! - `ends`: what a rank does in a measurement, by messages or on the `bare` fabric, and the requests of rank
//!   0. `hogs`: hogs that count their work, and round trips while they run. `world`: the start of both ranks.
//!
//! # Bounds
//! Every wait has the cell's deadline. The kernel kills rank 1 and the hogs together with rank 0.
mod bare;
mod ends;
mod hogs;
mod mpi;
#[cfg(test)]
mod tests;
mod world;

use crate::Cell;
pub(crate) use bare::Bare;
use foregather_machine::named;
use foregather_machine::{Cause, Error, Limits, Nanos};
use foregather_message::{Path, Settings};
pub use hogs::hog_main;
use serde::{Deserialize, Serialize};
pub use world::peer_main;

/// The first argument of the process of rank 1.
pub const PEER_VERB: &str = "__messages-peer";
/// The first argument of a hog's process.
pub const HOG_VERB: &str = "__messages-hog";
/// Added to the deadline: for the start, for the last round trip, and for background load.
const GRACE: Nanos = Nanos::from_ms(20_000);
/// The processes give up this long before they are killed.
const KILL: Nanos = Nanos::from_ms(5_000);

/// What the ranks are, and what carries their messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum World {
    /// Two threads of one process, through its memory.
    Thread,
    /// Two processes, through shared memory.
    Shm,
    /// Two processes, through this libfabric provider.
    Ofi(String),
    /// Two processes that `mpiexec` starts, through its MPI.
    Mpi,
}

/// What to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measurand {
    /// Messages of one size, by several transports.
    Size {
        /// Bytes of a message.
        bytes: usize,
        /// The transports; those that do not support this size or this machine are skipped.
        #[serde(rename = "ways")]
        transports: Vec<Transport>,
        /// How often each is measured, in turn.
        batches: u32,
        /// About how long each batch takes.
        batch_ns: u64,
    },
    /// Messages of 8 bytes by several waiting policies, under background load.
    Hogs {
        /// The names of the policies.
        policies: Vec<String>,
        /// The number of hogs on each rank's processor.
        per_cpu: u32,
        /// Whether hogs are threads of the ranks' processes instead of processes.
        within: bool,
        /// How often each policy is measured, in turn, and how often the hogs without messages.
        cells: u32,
        /// How long each cell takes.
        cell_ns: u64,
    },
}

/// The parameters of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageCell {
    /// What the ranks are.
    pub world: World,
    /// The processor of each rank.
    pub cpus: [u32; 2],
    /// What to measure.
    pub task: Measurand,
}

impl MessageCell {
    /// Returns the time limit of the measurement: three times what it should take, and [`GRACE`].
    fn bound(&self) -> Nanos {
        // Each transport has at most three patterns.
        let ought = match &self.task {
            Measurand::Size { transports, batches, batch_ns, .. } => 3 * transports.len() as u64 * u64::from(*batches) * batch_ns,
            Measurand::Hogs { policies, cells, cell_ns, .. } => (policies.len() as u64 + 1) * u64::from(*cells) * cell_ns,
        };
        Nanos(3 * ought) + GRACE
    }
}

impl Cell for MessageCell {
    const VERB: &'static str = "message-cell";
    type Answer = Answer;

    fn at_most(&self) -> Nanos {
        self.bound() + KILL
    }

    fn run(&self) -> Result<Option<Answer>, String> {
        world::run(self).map(Some).map_err(|error| error.to_string())
    }
}

/// The results of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// One for each transport and pattern of [`Measurand::Size`].
    pub sizes: Vec<Timed>,
    /// One for each policy of [`Measurand::Hogs`].
    pub hogs: Vec<Beside>,
    /// The size in bytes from which on a piece is copied directly from memory to memory; `None` for never.
    pub direct_at: Option<usize>,
    /// What could not be measured, and why.
    pub notes: Vec<String>,
}

/// How the waits of rank 0 ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// The message had already arrived.
    pub first_look: u64,
    /// It arrived while the rank was spinning.
    pub spun: u64,
    /// It arrived after the rank had yielded.
    pub yielded: u64,
    /// It arrived after the rank had slept.
    pub slept: u64,
}

/// The result for one transport and pattern. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// The transport.
    #[serde(rename = "way")]
    pub transport: Transport,
    /// The pattern.
    pub pattern: Pattern,
    /// For each batch, the time of half a round trip, or of one message of a stream.
    pub ns: Vec<f64>,
    /// CPU time of each rank in all batches.
    pub cpu_ns: [u64; 2],
    /// Wall-clock time of all batches.
    pub wall_ns: u64,
    /// How the messenger of this transport has waited in all patterns, if it has a messenger.
    pub waits: Option<Waits>,
}

/// The result for one waiting policy under background load. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The name of the policy, as requested.
    pub policy: String,
    /// For each cell, round trips per second.
    pub round_trips_per_s: Vec<f64>,
    /// The mean time of half a round trip in all cells.
    pub mean_ns: f64,
    /// The median.
    pub p50_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// For each cell, the speed of the hogs relative to their speed without messages; empty without hogs.
    pub hog_shares: Vec<f64>,
    /// CPU time of each rank in all cells.
    pub cpu_ns: [u64; 2],
    /// Wall-clock time of all cells.
    pub wall_ns: u64,
    /// How the messenger has waited.
    pub waits: Waits,
}

/// Returns the error of a rank that lacks something; `remedy` names it.
fn strange(remedy: String) -> Error {
    Error::from(Cause::Unavailable { what: "what a rank of a measurement needs".to_owned(), remedy })
}

/// From this size in bytes on, pieces are received CHEAPER, and may be copied directly.
pub const LARGE: usize = 4_096;

named! {
    /// How a message gets from rank to rank.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Transport {
        /// A message, by the path that the messenger chooses.
        Chosen = "chosen",
        /// A message, through static buffers.
        Buffered = "buffered",
        /// A message, copied from memory to memory, with help from the waiting sender.
        Direct = "direct",
        /// For comparison: a frame of the bare fabric, copied in and out.
        Frames = "frames",
        /// For comparison: a frame that is neither filled nor copied, only inspected.
        InPlace = "in-place",
        /// For comparison: announced, read from memory and acknowledged on the bare fabric, without help.
        ReadAlone = "read-alone",
        /// For comparison: the same, with help from the sender.
        ReadHelped = "read-helped",
        /// For comparison: a copy within rank 0; no message.
        Memcpy = "memcpy",
    }
}

named! {
    /// The order in which ranks send and receive.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Pattern {
        /// Each rank replies to the other; the time is half a round trip.
        PingPong = "ping-pong",
        /// One way, as many as there is room for, with one reply at the end; the time is that of one message.
        Stream = "stream",
        /// Both ways at once, with a window of open messages; the time is that of one message each way.
        BothWays = "both-ways",
    }
}

impl Transport {
    /// Returns the transport of that name.
    ///
    /// # Errors
    /// If there is none; the error lists those there are.
    pub fn parse(name: &str) -> Result<Self, Error> {
        Self::named(name).ok_or_else(|| {
            let remedy = format!("take some of {}", Self::ALL.map(Self::name).join(", "));
            Error::from(Cause::Unavailable { what: format!("the way `{name}`"), remedy })
        })
    }

    /// Returns whether it uses a messenger.
    pub const fn is_message(self) -> bool {
        matches!(self, Self::Chosen | Self::Buffered | Self::Direct)
    }

    /// Returns whether it supports messages of that many bytes. A messenger sends small ones by one path
    /// only.
    pub(super) const fn takes(self, bytes: usize, limits: &Limits) -> bool {
        match self {
            Self::Chosen | Self::Memcpy => true,
            Self::Buffered => bytes >= LARGE,
            Self::Frames => bytes <= limits.buffer,
            Self::InPlace => bytes > limits.inline && bytes <= limits.buffer,
            Self::Direct | Self::ReadAlone | Self::ReadHelped => bytes >= LARGE && limits.direct,
        }
    }

    /// Returns the patterns in which it is measured. Reads of memory and copies have only one.
    pub(super) const fn patterns(self) -> &'static [Pattern] {
        match self {
            Self::ReadAlone | Self::ReadHelped | Self::Memcpy => &[Pattern::PingPong],
            Self::Chosen => &[Pattern::PingPong, Pattern::Stream, Pattern::BothWays],
            _ => &[Pattern::PingPong, Pattern::Stream],
        }
    }

    /// Returns the settings of its messenger.
    pub(super) fn settings(self) -> Settings {
        let path = match self {
            Self::Buffered => Path::Buffered,
            Self::Direct => Path::Direct,
            _ => Path::Chosen,
        };
        Settings { path, ..Settings::default() }
    }
}
