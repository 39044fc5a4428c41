//! The parts of Linux that every hardware world needs, one concept for each module.
//!
//! - [`clock`]: the cycle counter as a clock, calibrated once, and how far two processors' counters may
//!   differ.
//! - [`pause`]: one step of a spin loop.
//! - [`affinity`]: the processors on which a thread may run, the one on which it does, and moving threads.
//! - [`topology`]: which processors share a core, a cache, a memory or a socket.
//! - [`scout`]: whether a processor is idle.
//! - [`futex`]: sleeping until a word in memory changes.
//! - [`sched`]: scheduling classes, the machine's load, and the time spent waiting for a processor.
//! - [`usage`]: processor time, context switches, and which threads run just now.
//! - [`cgroup`]: how much processor time this process may use, and how to give other processes less.
//! - [`child`]: processes that never outlive this one.
//! - [`guardian`]: a process that ends the processes that this one would leave behind.
//! - [`forks`]: whether this process is a copy of the one that started its threads.
//! - [`identity`]: which process a number names, and whether it still runs.
//! - [`pthread`]: the default stack of threads, and the barrier of the C library, as a peer.
//! - [`settings`]: the user's settings of teams and shared memory in environment variables.
//! - [`terminal`]: its width.
//! - [`thread_end`]: what a thread does when it ends, but not when its process exits.
//! - [`interrupt`]: a request to stop that keeps the measurements so far.
//! - [`job_signals`]: the signals that a launcher gets on behalf of its job.
//! - [`signals`]: which signals may interrupt a thread. [`cpu_timer`]: signals by a thread's processor time.
//! - [`heap`]: how much memory a piece of work holds.
//! - [`dl`]: shared libraries that may or may not be installed.
//! - [`failure_detector`]: whether a rank of the job was lost, and which waits go on for what since when.
//! - [`facts`]: the facts of this machine, for the record. [`regular`]: files that users name, read without
//!   waiting.
//! - [`watched`]: other programs, seen from outside.
//! - [`cache`]: the folder of files that are kept.
//! - [`costs`]: what switching costs on it, kept from run to run. [`kept`]: other numbers that are kept
//!   beside them.

pub mod affinity;
pub mod cache;
pub mod cgroup;
pub mod child;
pub mod clock;
pub mod costs;
pub mod cpu_timer;
pub mod dl;
pub mod facts;
pub mod failure_detector;
pub mod forks;
pub mod futex;
#[doc(hidden)]
pub mod fuzz;
pub mod guardian;
pub mod heap;
pub mod identity;
pub mod interrupt;
pub mod job_signals;
pub mod kept;
pub mod pause;
pub mod pthread;
pub mod regular;
pub mod run_state;
pub mod sched;
pub mod scout;
pub mod settings;
pub mod siblings;
pub mod signals;
pub mod terminal;
pub mod thread_end;
pub mod topology;
pub mod usage;
pub mod watched;
