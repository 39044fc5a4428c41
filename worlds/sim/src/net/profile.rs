//! Machines by name, with where their numbers come from.
use super::circuits::{Arbitration, Circuits};
use super::noise::Interrupts;
use foregather_machine::{LogGp, Nanos};

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

/// Interrupts **fitted** so that gsync, sync0 and RDS succeed about as often as published; not measured by anybody.
pub const CALIBRATED: Interrupts = Interrupts { length: Nanos::from_us(70), period: Nanos::from_ms(1) };

/// The iPSC/860 without ports: its null messages only, for as many nodes as one likes.
pub const IPSC860_FREE: LogGp = LogGp {
    latency: Nanos::from_us(31),
    send_overhead: Nanos::from_us(44),
    receive_overhead: Nanos::ZERO,
    gap: Nanos::from_us(44),
    byte_ps: 0,
};
