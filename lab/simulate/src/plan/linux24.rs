//! `[machine.linux24]`: every rule of the scheduler of Linux 2.2 to 2.4.
use super::section::Section;
use super::tree::{Located, ParseResult};
use foregather_sim::smp::{Accounting, Insertion, Linux24, Wakeup};

pub(super) const KEYS: [&str; 16] = [
    "tick",
    "allocation-ticks",
    "penalty-ticks",
    "bonus-ticks",
    "threshold-ticks",
    "accounting",
    "whole-ticks",
    "insertion",
    "charge-switch",
    "hold",
    "previous-wins",
    "lazy-space",
    "atomic-wakes",
    "idle-polls",
    "wakeup",
    "cache-flush",
];

const ACCOUNTINGS: [(&str, Accounting); 3] =
    [("exact", Accounting::Exact), ("tick", Accounting::Tick), ("staggered", Accounting::Staggered)];
const INSERTIONS: [(&str, Insertion); 2] = [("front", Insertion::Front), ("tail", Insertion::Tail)];
const WAKEUPS: [(&str, Wakeup); 5] = [
    ("linux", Wakeup::Linux),
    ("ap-mark", Wakeup::ApMark),
    ("ap-reserve", Wakeup::ApReserve),
    ("gv", Wakeup::GlobalView),
    ("linux22", Wakeup::Linux22),
];

/// More ticks would be an oversight.
const TICKS_MAX: u32 = 1_000_000;

pub(super) fn read(node: &Located, base: Linux24) -> ParseResult<Linux24> {
    let section = Section::new("[machine.linux24]", node, &KEYS)?;
    let ticks = |key, base| section.count32(key, 0..=TICKS_MAX, base);
    Ok(Linux24 {
        tick: section.span("tick", base.tick)?,
        allocation_ticks: section.count32("allocation-ticks", 1..=TICKS_MAX, base.allocation_ticks)?,
        penalty_ticks: ticks("penalty-ticks", base.penalty_ticks)?,
        bonus_ticks: ticks("bonus-ticks", base.bonus_ticks)?,
        threshold_ticks: ticks("threshold-ticks", base.threshold_ticks)?,
        accounting: section.choice("accounting", &ACCOUNTINGS, base.accounting)?,
        whole_ticks: section.flag("whole-ticks", base.whole_ticks)?,
        insertion: section.choice("insertion", &INSERTIONS, base.insertion)?,
        charge_switch: section.flag("charge-switch", base.charge_switch)?,
        hold: section.flag("hold", base.hold)?,
        previous_wins: section.flag("previous-wins", base.previous_wins)?,
        lazy_space: section.flag("lazy-space", base.lazy_space)?,
        atomic_wakes: section.flag("atomic-wakes", base.atomic_wakes)?,
        idle_polls: section.flag("idle-polls", base.idle_polls)?,
        wakeup: section.choice("wakeup", &WAKEUPS, base.wakeup)?,
        cache_flush: section.time("cache-flush", base.cache_flush)?,
    })
}
