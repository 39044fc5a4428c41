//! Threads that share virtual processors: the waiting policies of `core/wait`, unchanged, under schedulers
//! old and new.
//!
//! - [`Study`]: what to simulate, from machine and jobs to [`Outcome`]; `run` is the front door.
//! - [`MachineSpec`]: processors, [`Prices`], [`Scheduler`]. [`Job`]: threads that meet, or mere load.
//! - [`Record`]: windows, samples and spans, for figures.
//! - [`SchedulerReplay`]: the rules of EEVDF, asked about each decision of a real machine.
//!
//! After Tsafrir & Feitelson 2002 §2, and beyond: today's scheduler, quotas, two prices of a switch.

mod counts;
mod cpu;
mod dispatch;
mod distribution;
mod eevdf;
mod interrupt;
#[cfg(debug_assertions)]
mod invariants;
mod job;
mod kernel;
mod linux24;
mod lock;
mod machine;
mod mutex;
mod node;
mod options;
#[cfg(test)]
mod pitfalls;
mod placement;
mod points;
mod preempt;
mod prices;
mod priority;
mod program;
mod random;
mod record;
mod round_robin;
mod run;
mod scout;
mod study;
mod watchers;
mod world;

pub use counts::{Counts, Split};
pub use cpu::SmpCpu;
pub use distribution::{Distribution, Granularity};
pub use eevdf::{Eevdf, Group, Placement, Preemption, QueuedThread, SchedulerReplay};
pub use job::Job;
pub use linux24::{Accounting, Insertion, Linux24, Wakeup};
pub use lock::{Fault, FaultKind, JobLock, LockKind};
pub(crate) use machine::First;
pub(crate) use node::Node;
pub use options::{MachineSpec, Scheduler, Ties};
pub use prices::Prices;
pub use program::{Phase, ProgramStep, ThreadProgram};
pub use record::{Record, Recorded, Sample, Span, State, Window, transition};
pub use round_robin::RoundRobin;
pub use run::{run, run_on};
pub use study::{Alternation, JobOutcome, Outcome, Stop, Study};
pub use world::Smp;
