//! Why the threads of a program wait: from what was seen of it to causes and cures. No function here reads
//! anything: the same recording gives the same advice.
//!
//! - [`Ledger`]: looks at threads, added up by what they did. [`EpisodeTally`]: episodes of barriers, added
//!   up by the thread that arrived last. [`PythonLines`]: which lines opened regions. [`SampleTally`]: which
//!   code threads executed. [`SwitchTally`]: which programs ran instead of ready threads.
//! - [`Observation`]: all that was seen of one program. [`causes`]: what explains its waits, a function each.
//! - [`Remedy`]: a command or a step that mends a cause. [`layers`]: which layer of watching decides which
//!   cause. [`hang`]: why ranks of MPI programs wait for each other.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod causes;
pub mod cures;
mod episodes;
pub mod hang;
pub mod layers;
mod ledger;
mod observation;
mod python;
mod recording;
mod samples;
mod switches;

pub use cures::{Remedy, Rounding};
pub use episodes::EpisodeTally;
pub use ledger::{Ledger, ThreadAccount, ThreadSighting, TimeSplit};
pub use observation::{Observation, SpentTimes};
pub use python::{PythonLine, PythonLines};
pub use samples::{SampleTally, SampledFunction, SampledUse};
pub use switches::SwitchTally;
