//! What messages cost between two ranks: half a round trip and a stream, by every way there is, and the same
//! beside hogs.
//!
//! - [`MessageCell`]: what is asked for; [`Answer`]: what was found. The cell's process plays rank 0.
//! - [`peer_main`]: the process that it starts for rank 1; [`hog_main`]: one that computes beside them.
//! - `ends`: a rank's part in an errand, by messages or on the `bare` fabric, and what rank 0 asks for.
//!   `hogs`: hogs that say how far they are, and round trips beside them. `world`: how two ranks come to be.
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
/// That of a hog.
pub const HOG_VERB: &str = "__messages-hog";
/// For starting, for the last round trip, and for machines that are busy otherwise.
const GRACE: Nanos = Nanos::from_ms(20_000);
/// The processes give up by themselves this long before they are killed.
const KILL: Nanos = Nanos::from_ms(5_000);

/// What the ranks are, and what carries their messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum World {
    /// Two threads of a process, through its memory.
    Thread,
    /// Two processes, through shared memory.
    Shm,
    /// Two processes, through this provider of libfabric.
    Ofi(String),
    /// Two processes that `mpiexec` starts, through its MPI.
    Mpi,
}

/// What to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Messages of one size, by every way.
    Size {
        /// Bytes of a message.
        bytes: usize,
        /// Which ways; those that cannot be taken with this size or on this machine are left out.
        ways: Vec<Transport>,
        /// How often each is measured, in turn.
        batches: u32,
        /// For about how long each time.
        batch_ns: u64,
    },
    /// Messages of 8 bytes by several policies, beside hogs.
    Hogs {
        /// By their names.
        policies: Vec<String>,
        /// How many computing activities there are on each rank's processor.
        per_cpu: u32,
        /// As threads of the ranks' own processes instead of processes.
        within: bool,
        /// How often each policy is measured, in turn, and how often the hogs alone.
        cells: u32,
        /// For how long each time.
        cell_ns: u64,
    },
}

/// What is asked of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageCell {
    /// What the ranks are.
    pub world: World,
    /// The processor of each rank.
    pub cpus: [u32; 2],
    /// What to measure.
    pub task: Task,
}

impl MessageCell {
    /// No wait lasts longer than this from the beginning: three times what all of them ought to take, and the
    /// grace.
    fn bound(&self) -> Nanos {
        let ought = match &self.task {
            Task::Size { ways, batches, batch_ns, .. } => 3 * ways.len() as u64 * u64::from(*batches) * batch_ns,
            Task::Hogs { policies, cells, cell_ns, .. } => (policies.len() as u64 + 1) * u64::from(*cells) * cell_ns,
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

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// One for each way and pattern of [`Task::Size`].
    pub sizes: Vec<Timed>,
    /// One for each policy of [`Task::Hogs`].
    pub hogs: Vec<Beside>,
    /// From how many bytes on a piece goes directly from memory to memory; `None` for never.
    pub direct_at: Option<usize>,
    /// What could not be measured, and why.
    pub notes: Vec<String>,
}

/// How waits ended, at rank 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// What was awaited had come already.
    pub first_look: u64,
    /// It came while spinning.
    pub spun: u64,
    /// It came after yielding.
    pub yielded: u64,
    /// It came after sleeping.
    pub slept: u64,
}

/// One way and pattern. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// By which way.
    pub way: Transport,
    /// In which pattern.
    pub pattern: Pattern,
    /// Batch by batch, what half a round trip takes, or one message of a stream.
    pub ns: Vec<f64>,
    /// Processor time of each rank in all batches.
    pub cpu_ns: [u64; 2],
    /// How long those took.
    pub wall_ns: u64,
    /// How this way's messenger has waited, if it has one, in both patterns.
    pub waits: Option<Waits>,
}

/// One policy beside hogs. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// As it was asked for.
    pub policy: String,
    /// Cell by cell, round trips a second.
    pub round_trips_per_s: Vec<f64>,
    /// Half a round trip: mean, median, 99th percentile and the longest of all cells.
    pub mean_ns: f64,
    /// The median.
    pub p50_ns: u64,
    /// All but one in a hundred are below.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Cell by cell, the share of their speed without messages that the hogs keep; empty without hogs.
    pub hog_shares: Vec<f64>,
    /// Processor time of each rank in all cells.
    pub cpu_ns: [u64; 2],
    /// How long those took.
    pub wall_ns: u64,
    /// How its messenger has waited.
    pub waits: Waits,
}

/// For programs that were not started by this one.
fn strange(remedy: String) -> Error {
    Error::from(Cause::Unavailable { what: "what a rank of a measurement needs".to_owned(), remedy })
}

/// From that many bytes on pieces are received CHEAPER, and may go directly.
pub const LARGE: usize = 4_096;

named! {
    /// How a message gets from rank to rank.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Transport {
        /// A message, by the way that the messenger takes by itself.
        Chosen = "chosen",
        /// A message, through static buffers.
        Buffered = "buffered",
        /// A message, from memory to memory, the waiting sender helping.
        Direct = "direct",
        /// Yardstick: a frame of the bare fabric, copied in and out.
        Frames = "frames",
        /// Yardstick: a frame that is neither filled nor copied, only looked at.
        InPlace = "in-place",
        /// Yardstick: announced, read from memory and answered on the bare fabric, without help.
        ReadAlone = "read-alone",
        /// Yardstick: the same, the sender helping.
        ReadHelped = "read-helped",
        /// Yardstick: a copy within rank 0, nothing sent.
        Memcpy = "memcpy",
    }
}

named! {
    /// In which order ranks send and receive.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Pattern {
        /// To and fro; half a round trip counts.
        PingPong = "ping-pong",
        /// One way, as many as there is room for, answered once at the end; one message counts.
        Stream = "stream",
        /// Both ways at once, windows of open messages; one message each way counts.
        BothWays = "both-ways",
    }
}

impl Transport {
    /// The way of that name.
    ///
    /// # Errors
    /// If there is none; the error lists those there are.
    pub fn parse(name: &str) -> Result<Self, Error> {
        Self::named(name).ok_or_else(|| {
            let remedy = format!("take some of {}", Self::ALL.map(Self::name).join(", "));
            Error::from(Cause::Unavailable { what: format!("the way `{name}`"), remedy })
        })
    }

    /// Does it go through a messenger?
    pub const fn is_message(self) -> bool {
        matches!(self, Self::Chosen | Self::Buffered | Self::Direct)
    }

    /// Does this way carry messages of that many bytes? Small messages have one way only.
    pub(super) const fn takes(self, bytes: usize, limits: &Limits) -> bool {
        match self {
            Self::Chosen | Self::Memcpy => true,
            Self::Buffered => bytes >= LARGE,
            Self::Frames => bytes <= limits.buffer,
            Self::InPlace => bytes > limits.inline && bytes <= limits.buffer,
            Self::Direct | Self::ReadAlone | Self::ReadHelped => bytes >= LARGE && limits.direct,
        }
    }

    /// In which patterns: reading memory and copying know but one.
    pub(super) const fn patterns(self) -> &'static [Pattern] {
        match self {
            Self::ReadAlone | Self::ReadHelped | Self::Memcpy => &[Pattern::PingPong],
            Self::Chosen => &[Pattern::PingPong, Pattern::Stream, Pattern::BothWays],
            _ => &[Pattern::PingPong, Pattern::Stream],
        }
    }

    /// Of its messenger.
    pub(super) fn settings(self) -> Settings {
        let path = match self {
            Self::Buffered => Path::Buffered,
            Self::Direct => Path::Direct,
            _ => Path::Chosen,
        };
        Settings { path, ..Settings::default() }
    }
}
