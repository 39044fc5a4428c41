//! What an algorithm may ask of the world it runs in. Traits only: where to begin reading the code.
//!
//! A waiting policy, a barrier or a protocol is written **once**, as `async fn` over these traits, and a
//! *world* gives them their meaning: threads, processes, a fabric, or virtual time. `.await` means "time may
//! pass here".
//!
//! - [`Clock`]: what time is it, and let some pass.
//! - [`Words`]: loads and stores of words that threads share. [`Park`]: what a thread does with its processor
//!   while it waits on one (spin, yield, park), from which policies choose. [`Cpu`]: both, with placement and
//!   the clock.
//! - [`Placement`]: where threads run and whether they do, and moving them; every world may leave it
//!   unanswered.
//! - [`ByteStore`]: bytes that threads share, beside words.
//! - [`Member`], [`Endpoint`]: one rank of a group, and the null messages that barriers need.
//! - [`Fabric`]: frames between lanes and memory that peers may read; [`exposing`], [`Exposures`]: how they
//!   come to read it.
//! - [`Port`]: packets that carry bytes. [`LogGp`]: what they cost.
//! - [`WaitContext`], [`Error`]: which rank waits for which since when, and why a wait cannot succeed;
//!   [`WaitError`]: why a barrier's wait ended, by the reaction it asks for.
//! - [`Costs`]: what switching costs on this machine, passed down as a value. [`SplitMix`]: seeded random
//!   numbers. [`shown`](fn@shown): foreign text that may reach a terminal.
//! - [`Park::sometimes`]: fault points, which only simulations answer. [`reached`]: points that tests prove
//!   to have been reached.
//!
//! **Verbs act at once; only waiting is async.** On hardware a leaf future has done its waiting when it is
//! returned, so it is ready at the first poll ([`block_on`]) and no state machine is left after optimisation.
//! In a simulator it is pending until virtual time has advanced; no waker is needed, since the event queue
//! knows which task it polls.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
// Futures are built on the thread that runs them, so they need not be `Send`.
#![allow(async_fn_in_trait)]

mod bytes;
mod context;
mod costs;
mod cpu;
mod endpoint;
mod errno;
mod error;
mod exposing;
mod fabric;
mod forward;
mod keys;
mod line;
mod lines;
mod loggp;
mod named;
mod park;
mod placement;
mod port;
mod primitive;
mod probe;
mod ready;
mod shown;
mod split_mix;
mod time;
mod wait_error;
mod words;

pub use bytes::{ByteStore, SharedBytes};
pub use context::WaitContext;
pub use costs::{Costs, Switch};
pub use cpu::{Cpu, CpuId};
pub use endpoint::{Endpoint, Member, Rank};
pub use error::{Cause, Error};
pub use exposing::{Exposing, Exposures, LastingPieces, exposing};
pub use fabric::{Address, Fabric, FabricCosts, Key, Limits, Slope};
pub use keys::KeyTable;
pub use line::{CachePadded, WordLine};
pub use lines::SharedLines;
pub use loggp::{LogGp, LogGpVariant};
pub use park::Park;
pub use placement::{Affinity, Placement, ThreadId};
pub use port::{Packet, Port};
pub use probe::reached;
#[cfg(feature = "probes")]
pub use probe::{Hits, reached_here, reached_in_process};
pub use ready::{Ready, block_on, ready};
pub use shown::shown;
pub use split_mix::SplitMix;
pub use time::{Clock, Nanos};
pub use wait_error::{Missing, Participant, WaitError};
pub use words::{CounterOf, SharedWord, VALUE_MASK, Words};
