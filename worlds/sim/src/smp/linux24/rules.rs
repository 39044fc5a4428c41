//! The rules, each an option, and the presets.
use foregather_machine::Nanos;

/// The scheduler of Linux 2.4, rule by rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linux24 {
    /// Time between two timer interrupts of a processor.
    pub tick: Nanos,
    /// How many ticks a new epoch gives a thread of nice 0: 20 in 2.2, 6 in 2.4 at 100 Hz (the paper says 5).
    pub allocation_ticks: u32,
    /// `PROC_CHANGE_PENALTY`: a thread's advantage, in ticks, on the processor it ran on last.
    pub penalty_ticks: u32,
    /// The advantage, in ticks, of a thread whose address space the processor has loaded.
    pub bonus_ticks: u32,
    /// A woken thread preempts if it is better by more ticks than this.
    pub threshold_ticks: u32,
    /// How processor time is taken off the counter.
    pub accounting: Accounting,
    /// Whether goodness is computed with counters rounded up to ticks.
    pub whole_ticks: bool,
    /// Where a woken thread enters the list.
    pub insertion: Insertion,
    /// Whether the switch counts as the incoming thread's CPU time. The kernel's ticks do charge it.
    pub charge_switch: bool,
    /// Whether a thread cannot be chosen until the switch away from it has ended (`has_cpu`).
    pub hold: bool,
    /// Whether the current thread wins ties (2.4.0) instead of its place in the list (2.4.16).
    pub previous_wins: bool,
    /// Whether an idle processor keeps the address space of its last thread.
    pub lazy_space: bool,
    /// Whether processors are marked for all threads of one wake-up before any processor reacts (the flaw),
    /// instead of for each thread after the processor of the last one has reacted.
    pub atomic_wakes: bool,
    /// Whether an idle processor checks the queue by itself, instead of waiting to be marked.
    pub idle_polls: bool,
    /// Which processors a wake-up interrupts.
    pub wakeup: Wakeup,
    /// `linux22`: threads that run for less than this at a time may preempt on other processors.
    pub cache_flush: Nanos,
}

/// How processor time is taken off the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accounting {
    /// The time that was used, to the nanosecond; exhaustion is an event.
    Exact,
    /// One tick from the thread that runs at the tick, on all processors at the same moment.
    Tick,
    /// One tick from the thread that runs at the tick; the processors' ticks are spread over the tick's
    /// length.
    Staggered,
}

/// Where a woken thread enters the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Insertion {
    /// At the front (2.4.0 to 2.4.16).
    Front,
    /// At the end (later).
    Tail,
}

/// Which processors a wake-up interrupts (Tsafrir & Feitelson 2002 §4.3, appendix A).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wakeup {
    /// `reschedule_idle` of 2.4: each woken thread looks for itself and ignores what earlier ones have
    /// marked.
    Linux,
    /// Like `Linux`, but passes over processors already marked: the paper's AP.
    ApMark,
    /// A marked processor is reserved for the thread that marked it; later ones must beat that thread (H.
    /// Franke, July 2001).
    ApReserve,
    /// All pairs of woken threads and processors, best first: the paper's GV.
    GlobalView,
    /// `reschedule_idle` of 2.2.
    Linux22,
}

impl Linux24 {
    /// The rules of the paper: a quantum of 100 steps of a microsecond, in 20 ticks.
    pub const TSAFRIR_2002: Self = Self {
        tick: Nanos::from_us(5),
        allocation_ticks: 20,
        penalty_ticks: 15,
        bonus_ticks: 1,
        threshold_ticks: 1,
        accounting: Accounting::Exact,
        whole_ticks: false,
        insertion: Insertion::Front,
        charge_switch: true,
        hold: true,
        previous_wins: true,
        lazy_space: true,
        atomic_wakes: true,
        idle_polls: false,
        wakeup: Wakeup::Linux,
        cache_flush: Nanos::ZERO,
    };

    /// Linux 2.2: 20 ticks, accounted at the tick, no threshold.
    pub const LINUX_2_2: Self = Self {
        threshold_ticks: 0,
        accounting: Accounting::Tick,
        whole_ticks: true,
        charge_switch: false,
        wakeup: Wakeup::Linux22,
        cache_flush: Nanos::from_us(50),
        ..Self::TSAFRIR_2002
    };

    /// Linux 2.4.0: 6 ticks.
    pub const LINUX_2_4_0: Self = Self { allocation_ticks: 6, threshold_ticks: 1, wakeup: Wakeup::Linux, ..Self::LINUX_2_2 };

    /// Linux 2.4.16: no threshold, and the present thread no longer wins ties.
    pub const LINUX_2_4_16: Self = Self { threshold_ticks: 0, previous_wins: false, ..Self::LINUX_2_4_0 };
}
