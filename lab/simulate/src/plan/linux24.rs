//! `[machine.linux24]`: every rule of the scheduler of Linux 2.2 to 2.4.
use super::read::{Count, Span, Time, choice, patch, values};
use foregather_sim::smp::{Accounting, Insertion, Linux24, Wakeup};

/// More ticks would be an oversight.
const TICKS_MAX: u64 = 1_000_000;

patch! {
    "[machine.linux24]" Table => Linux24 {
        tick: Span, allocation_ticks: Count<1, TICKS_MAX>, penalty_ticks: Count<0, TICKS_MAX>, bonus_ticks: Count<0, TICKS_MAX>,
        threshold_ticks: Count<0, TICKS_MAX>, accounting: AccountingName, whole_ticks: bool, insertion: InsertionName,
        charge_switch: bool, hold: bool, previous_wins: bool, lazy_space: bool, atomic_wakes: bool, idle_polls: bool,
        wakeup: WakeupName, cache_flush: Time;
    }
}

values! {
    AccountingName(Accounting) = |value| choice(
        value,
        &[("exact", Accounting::Exact), ("tick", Accounting::Tick), ("staggered", Accounting::Staggered)],
    );
    InsertionName(Insertion) = |value| choice(value, &[("front", Insertion::Front), ("tail", Insertion::Tail)]);
    WakeupName(Wakeup) = |value| choice(
        value,
        &[
            ("linux", Wakeup::Linux),
            ("ap-mark", Wakeup::ApMark),
            ("ap-reserve", Wakeup::ApReserve),
            ("gv", Wakeup::GlobalView),
            ("linux22", Wakeup::Linux22),
        ],
    );
}
