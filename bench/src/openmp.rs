//! What the constructs of an OpenMP runtime cost: cells that the peers' program runs, a runtime a process.
use crate::barriers::check_team;
use crate::teams::TeamCell;
use crate::{BarrierCell, Cell, CellResult, WorkDistribution, several};
use foregather_machine::Nanos;
use foregather_machine::named;
use serde::{Deserialize, Serialize};

/// A process that has not ended by this much over twice its time will not be waited for any longer.
const LATEST_END: Nanos = Nanos::from_ms(20_000);

foregather_machine::named! {
    /// What is measured; each but the region ends with a barrier.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Construct {
        /// A parallel region, from its begin to its end.
        Region = "region",
        /// A barrier within a region.
        Barrier = "barrier",
        /// A part that one member does.
        Single = "single",
        /// A loop of 64 iterations, an equal share for each member.
        Static = "static",
        /// A loop of 64 chunks, dealt one by one.
        Dynamic = "dynamic",
        /// A sum to which each member adds once.
        Reduction = "reduction",
        /// A critical section, which each member enters once.
        Critical = "critical",
        /// 32 tasks of each member, one after the other, each waited for.
        TaskWait = "task-wait",
        /// A binary tree of 126 tasks, of which each waits for its children.
        TaskTree = "task-tree",
        /// 64 tasks of one member, each of which comes after the one before.
        TaskChain = "task-chain",
        /// Eight times eight tasks of one member, each of which comes after its left and its upper neighbour.
        TaskStencil = "task-stencil",
        /// A loop of as many iterations as members, one each, that enter an ordered part in order.
        Ordered = "ordered",
        /// A region whose members open a region of as many threads each, four at most.
        Nested = "nested",
    }
}

/// What to measure. Hogs are the caller's business.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenMpCell {
    /// Whose runtime, by the name that the peers' program knows.
    pub runtime: String,
    /// What of it.
    pub construct: Construct,
    /// Members.
    pub threads: u32,
    /// Teams of that many threads in the process, each of which does all of it.
    #[serde(default = "several::one", skip_serializing_if = "several::is_one")]
    pub teams: u32,
    /// What each computes before the construct, or within the region.
    pub body_ns: u64,
    /// For how long to measure.
    pub span_ns: u64,
    /// For how long the team runs before that.
    #[serde(default)]
    pub settle_ns: u64,
    /// What [`crate::Work::iterations_per_us`] gave, once for all that are compared.
    pub iterations_per_us: f64,
}

impl Construct {
    /// The most members of an inner region of [`Construct::Nested`].
    pub const INNER_MOST: u32 = 4;
    /// Chunks of a [`Construct::Dynamic`] loop, and iterations of a [`Construct::Static`] one.
    pub const CHUNKS: u32 = 64;
}

impl OpenMpCell {
    /// The same as regions of a team.
    pub fn as_regions(&self) -> TeamCell {
        let Self { threads, body_ns, span_ns, settle_ns, iterations_per_us, .. } = *self;
        TeamCell { runner: self.runtime.clone(), threads, body_ns, span_ns, settle_ns, iterations_per_us }
    }

    /// The same as episodes within one region.
    pub fn as_episodes(&self) -> BarrierCell {
        let Self { threads, body_ns, span_ns, settle_ns, iterations_per_us, .. } = *self;
        let (waiter, shape) = (self.runtime.clone(), WorkDistribution::Constant);
        BarrierCell {
            waiter,
            threads,
            teams: 1,
            grain_ns: body_ns,
            shape,
            pins: vec![],
            fork_join: false,
            span_ns,
            settle_ns,
            iterations_per_us,
        }
    }
}

impl Cell for OpenMpCell {
    const VERB: &'static str = "openmp-cell";
    type Answer = CellResult;

    fn check(&self) -> Result<(), String> {
        self.as_regions().check()
    }

    fn at_most(&self) -> Nanos {
        self.as_regions().at_most()
    }

    fn run(&self) -> Result<Option<CellResult>, String> {
        Err("OpenMP runtimes are in the peers' program".to_owned())
    }
}

named! {
    /// How a process ends.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ProcessEnd {
        /// It returns from `main`.
        Exit = "exit",
        /// Without exit handlers, by `_exit`.
        AtOnce = "_exit",
        /// By SIGABRT, from itself.
        Abort = "abort",
        /// By SIGKILL.
        Kill = "SIGKILL",
    }
}

/// A process that runs empty regions by our runtime, and then ends in some way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndCell {
    /// How it ends.
    pub end: ProcessEnd,
    /// Members of the regions.
    pub threads: u32,
    /// For how long they run.
    pub span_ns: u64,
}

/// The last that is heard of a process that ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndStamp {
    /// When it began to end, as the clock says it to all processes of a machine.
    pub began_ns: u64,
}

impl Cell for EndCell {
    const VERB: &'static str = "end-cell";
    type Answer = EndStamp;

    fn check(&self) -> Result<(), String> {
        check_team(self.threads, 1.0)
    }

    fn at_most(&self) -> Nanos {
        Nanos(self.span_ns) * 2 + LATEST_END
    }

    fn run(&self) -> Result<Option<EndStamp>, String> {
        Err("OpenMP runtimes are in the peers' program".to_owned())
    }
}
