//! Machines by name, with the sources of their numbers.
use super::circuits::{Arbitration, Circuits};
use super::noise::Interrupts;
use foregather_machine::{LogGp, LogGpVariant, Nanos};

/// The iPSC/860 (Seidel & Davis 1992 Table I), by the rules from which the published costs follow.
pub const IPSC860: Circuits = Circuits {
    null: Nanos::from_us(75),
    send: Nanos::from_us(44),
    long: Nanos::from_us(136),
    byte_ps: 360_000,
    short_limit: 100,
    set_up: Nanos::ZERO,
    receive: Nanos::ZERO,
    null_hold: None,
    jitter: Nanos::ZERO,
    arbitration: Arbitration::LowestDimension,
    links: false,
    hop: Nanos::ZERO,
    pool: None,
    seed: 1,
};

/// Its interrupts as the paper states them (figure 3-9).
pub const AS_STATED: Interrupts = Interrupts { length: Nanos::from_us(50), period: Nanos::from_ms(10) };

/// Interrupts **fitted** so that gsync, sync0 and RDS succeed about as often as published; not measured.
pub const CALIBRATED: Interrupts = Interrupts { length: Nanos::from_us(70), period: Nanos::from_ms(1) };

/// The iPSC/860 without ports: its null messages only, for any number of nodes. Its receivers take any number
/// at once: the paper gives a gap of its senders alone.
pub const IPSC860_FREE: LogGp = LogGp {
    latency: Nanos::from_us(31),
    send_overhead: Nanos::from_us(44),
    receive_overhead: Nanos::ZERO,
    gap: Nanos::from_us(44),
    byte_ps: 0,
    variant: LogGpVariant::SenderOnly,
};

/// The interrupts of the iPSC/2 (Dunigan 1991, summarising ORNL/TM-11744): 260 us every 50 ms, more than its
/// nodes may be apart.
pub const IPSC2_INTERRUPTS: Interrupts = Interrupts { length: Nanos::from_us(260), period: Nanos::from_ms(50) };

/// The iPSC/2, its null messages only. A message takes 302 us at least (Dunigan 1991,
/// comp.protocols.time.ntp, after ORNL/TM-11744). **Assumed**: its sender returns after the same share of
/// that as on the iPSC/860. The costs of bytes and of the long protocol are unknown here, so both are zero.
pub const IPSC2: Circuits =
    Circuits { null: Nanos::from_us(302), send: Nanos::from_us(177), long: Nanos::ZERO, byte_ps: 0, ..IPSC860 };

/// The defaults of LogGOPSim 1.1 (Hoefler, Schneider & Lumsdaine 2010): no measured machine.
pub const LOGGOPSIM: LogGp = LogGp {
    latency: Nanos(2_500),
    send_overhead: Nanos(1_500),
    receive_overhead: Nanos(1_500),
    gap: Nanos(1_000),
    byte_ps: 6_000,
    variant: LogGpVariant::BothSides,
};

/// MVAPICH over InfiniBand on Argonne's cluster Tukey, measured with Netgauge (`ng-mpi-tukey.dat` of CODES):
/// half of its round trip less both overheads, the gap of short messages, and the slope of long ones.
pub const INFINIBAND_TUKEY: LogGp = LogGp {
    latency: Nanos(5_280),
    send_overhead: Nanos(980),
    receive_overhead: Nanos(1_140),
    gap: Nanos(950),
    byte_ps: 497,
    variant: LogGpVariant::BothSides,
};

/// Networks of circuits and the interrupts of their programs, by the names in plans. The published costs of
/// the iPSC/860 follow from the first; the others are for statistics.
pub const CIRCUITS: [(&str, Circuits, Option<Interrupts>); 4] = [
    ("ipsc860", IPSC860, None),
    ("ipsc860-as-stated", Circuits { arbitration: Arbitration::Fifo, ..IPSC860 }, Some(AS_STATED)),
    ("ipsc860-calibrated", Circuits { arbitration: Arbitration::Random, ..IPSC860 }, Some(CALIBRATED)),
    ("ipsc2", IPSC2, Some(IPSC2_INTERRUPTS)),
];

/// Networks without ports, by their names in plans, after `loggp:`.
pub const LOGGP: [(&str, LogGp); 3] =
    [("ipsc860", IPSC860_FREE), ("loggopsim", LOGGOPSIM), ("infiniband-tukey", INFINIBAND_TUKEY)];
