//! What every world made of hardware needs from Linux, one concept a module.
//!
//! - [`clock`]: the cycle counter as a clock, calibrated once, and how far two processors' counters may differ.
//! - [`pause`]: one step of a spin loop.
//! - [`affinity`]: on which processors a thread may run, on which one it does, and moving threads.
//! - [`scout`]: whether a processor is idle.
//! - [`futex`]: sleeping until a word in memory changes.
//! - [`sched`]: scheduling classes, the machine's load, and the time spent waiting for a processor.
//! - [`usage`]: processor time, context switches, and who runs just now.
//! - [`cgroup`]: how much processor time this process may use, and how to lend less to others.
//! - [`child`]: processes that never outlive this one.
//! - [`guardian`]: a process that ends what this one would leave behind.
//! - [`forks`]: whether this process is a copy of the one that started something.
//! - [`pthread`]: the barrier of the C library, as a peer.
//! - [`settings`]: what the user asks of teams and shared memory by environment variables.
//! - [`terminal`]: how wide it is.
//! - [`interrupt`]: a request to stop that keeps what was measured.
//! - [`signals`]: which signals may interrupt a thread.
//! - [`heap`]: how much memory a piece of work holds.
//! - [`dl`]: shared libraries that may or may not be installed.
//! - [`failure_detector`]: whether a rank of the job was lost, and who waits for what since when.
//! - [`facts`]: what this machine is, for the record. [`regular`]: files that users name, read without waiting.
//! - [`costs`]: what switching costs on it, kept from run to run. [`kept`]: other numbers that are kept beside it.

pub mod affinity;
pub mod cgroup;
pub mod child;
pub mod clock;
pub mod costs;
pub mod dl;
pub mod facts;
pub mod failure_detector;
pub mod forks;
pub mod futex;
#[doc(hidden)]
pub mod fuzz;
pub mod guardian;
pub mod heap;
pub mod interrupt;
pub mod kept;
pub mod pause;
pub mod pthread;
pub mod regular;
pub mod sched;
pub mod scout;
pub mod settings;
pub mod signals;
pub mod terminal;
pub mod usage;
