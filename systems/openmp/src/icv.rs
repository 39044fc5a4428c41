//! Internal control variables: what a task's own constructs go by (OpenMP 5.2 §2). Every implicit task has a
//! copy, so a change concerns the regions that this task opens, and none beside it.
use core::fmt;

/// The most regions of several threads that may be nested. Any number would do, but programs size arrays by
/// it, and libgomp says 255.
pub const MOST_LEVELS: u32 = 255;

/// How the iterations of a loop are distributed over the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleKind {
    /// By rank alone, in chunks that are known beforehand.
    Static,
    /// Members take chunks one by one.
    Dynamic,
    /// Members take even shares of what is left.
    Guided,
    /// As the runtime likes: here, static.
    Auto,
}

/// A kind of dealing, with its chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// How chunks are distributed.
    pub kind: ScheduleKind,
    /// Iterations a chunk; 0 if none were named.
    pub chunk: u64,
    /// Whether the `monotonic` modifier was given. Here, a member's chunks are always in order.
    pub monotonic: bool,
}

impl Schedule {
    /// A schedule without a modifier.
    pub const fn new(kind: ScheduleKind, chunk: u64) -> Self {
        Self { kind, chunk, monotonic: false }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            ScheduleKind::Static => "STATIC",
            ScheduleKind::Dynamic => "DYNAMIC",
            ScheduleKind::Guided => "GUIDED",
            ScheduleKind::Auto => "AUTO",
        };
        f.write_str(if self.monotonic { "MONOTONIC:" } else { "" })?;
        f.write_str(name)?;
        let implied = if self.kind == ScheduleKind::Static { 0 } else { 1 };
        if self.chunk > implied { write!(f, ",{}", self.chunk) } else { Ok(()) }
    }
}

/// How the members of a region are spread over places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ProcBind {
    /// Threads are not bound.
    False = 0,
    /// They are, in a way that was left to the runtime: as for [`ProcBind::Close`].
    True = 1,
    /// All at the opener's place.
    Primary = 2,
    /// Next to the opener's place.
    Close = 3,
    /// As far from each other as can be, each with places of its own for regions within.
    Spread = 4,
}

impl ProcBind {
    /// The policy that a program names by that number; `None` for those that name none.
    pub fn numbered(number: u32) -> Option<Self> {
        [Self::True, Self::Primary, Self::Close, Self::Spread].into_iter().find(|&bind| bind as u32 == number)
    }

    /// Its name in the environment.
    pub fn name(self) -> &'static str {
        ["FALSE", "TRUE", "PRIMARY", "CLOSE", "SPREAD"][self as usize]
    }
}

/// A team's place in its league.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct League {
    /// The team's number.
    pub number: u32,
    /// How many teams there are.
    pub teams: u32,
}

impl League {
    /// Outside of all leagues.
    pub const ALONE: Self = Self { number: 0, teams: 1 };
}

/// The control variables of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icvs {
    /// Members of a region that names no number (`nthreads-var`); 0: as many as the machine allows.
    pub threads: u32,
    /// Whether a region may get fewer members than it requests (`dyn-var`).
    pub dynamic: bool,
    /// How many regions of several members may lie within each other (`max-active-levels-var`).
    pub active_levels: u32,
    /// The schedule of loops that leave it to the runtime (`run-sched-var`).
    pub schedule: Schedule,
    /// The most threads that the regions of one program thread may have at a time (`thread-limit-var`).
    pub thread_limit: u32,
    /// By which policy the members of a region go to places (`bind-var`).
    pub bind: ProcBind,
    /// The device of target regions that name none (`default-device-var`).
    pub device: i32,
    /// The usual allocator (`def-allocator-var`), whose handles are small; 0 for the environment's.
    pub allocator: u32,
}

impl Icvs {
    /// Those of a program whose environment says nothing.
    pub const DEFAULT: Self = Self {
        threads: 0,
        dynamic: false,
        active_levels: 1,
        schedule: Schedule::new(ScheduleKind::Dynamic, 1),
        thread_limit: u32::MAX,
        bind: ProcBind::False,
        device: 0,
        allocator: 0,
    };
}
