//! `[machine]`: processors, prices, and the scheduler with all its rules.
use super::files::PlanFiles;
use super::read::{BoundedCount, Span, Time, choice, patch, read, table, values};
use super::tree::{Located, ParseResult, mistake};
use foregather_machine::{Costs, Nanos};
use foregather_sim::smp::{
    Accounting, Eevdf, Group, Insertion, Linux24, MachineSpec, Placement, Preemption, Prices, RoundRobin, Scheduler, Ties, Wakeup,
};

table! {
    "[machine]" MachineTable {
        ;
        cpus: BoundedCount<1, { MachineSpec::MOST_CPUS as u64 }>, preset: PresetName, ties: TiesName, resolution: Span, prices: PriceTable,
        round_robin: (usize, RoundRobinTable), linux24: (usize, Linux24Table), eevdf: (usize, EevdfTable)
    }
}

patch! {
    "[machine.prices]" PriceTable => Prices {
        switch: Time, switch_to_idle: Time, wake_idle: Time, waker: Time, preempt: Time, yield_call: Span, yield_switch: Time, line: Time,
        migration: Time, move_call: Time, look: Time, tick_spread: Time;
        calibration: (usize, String)
    }
}

patch! { "[machine.round-robin]" RoundRobinTable => RoundRobin { quantum: Span; } }

/// More ticks are refused as an oversight.
const TICKS_MAX: u64 = 1_000_000;

patch! {
    "[machine.linux24]" Linux24Table => Linux24 {
        tick: Span, allocation_ticks: BoundedCount<1, TICKS_MAX>, penalty_ticks: BoundedCount<0, TICKS_MAX>, bonus_ticks: BoundedCount<0, TICKS_MAX>,
        threshold_ticks: BoundedCount<0, TICKS_MAX>, accounting: AccountingName, whole_ticks: bool, insertion: InsertionName,
        charge_switch: bool, hold: bool, previous_wins: bool, lazy_space: bool, atomic_wakes: bool, idle_polls: bool,
        wakeup: WakeupName, cache_flush: Time;
    }
}

patch! {
    "[machine.eevdf]" EevdfTable => Eevdf {
        slice: Span, tick: Span, run_to_parity: bool, wakeup_preemption: bool, lazy_preemption: bool, preemption: PreemptionName,
        slice_extension: Time, placement: PlacementName,
        balance_interval: Time;
        group: Vec<(usize, GroupTable)>
    }
}

table! {
    "[[machine.eevdf.group]]" GroupTable {
        name: String;
        parent: (usize, String), weight: BoundedCount<1, 10_000>, quota: (usize, Span), period: Span, burst: Time
    }
}

values! {
    PresetName(Scheduler) = |value| choice(value, &[
        ("tsafrir2002", Scheduler::Linux24(Linux24::TSAFRIR_2002)), ("linux-2.2", Scheduler::Linux24(Linux24::LINUX_2_2)),
        ("linux-2.4.0", Scheduler::Linux24(Linux24::LINUX_2_4_0)), ("linux-2.4.16", Scheduler::Linux24(Linux24::LINUX_2_4_16)),
        ("round-robin", Scheduler::RoundRobin(RoundRobin::TSAFRIR_2002)), ("eevdf", Scheduler::Eevdf(Eevdf::LINUX)),
    ]);
    TiesName(Ties) = |value| choice(value, &[
        ("arrive-first", Ties::ArriveFirst), ("give-up-first", Ties::GiveUpFirst), ("processor", Ties::Processor),
        ("random", Ties::Random),
    ]);
    AccountingName(Accounting) = |value| choice(value, &[
        ("exact", Accounting::Exact), ("tick", Accounting::Tick), ("staggered", Accounting::Staggered),
    ]);
    InsertionName(Insertion) = |value| choice(value, &[("front", Insertion::Front), ("tail", Insertion::Tail)]);
    WakeupName(Wakeup) = |value| choice(value, &[
        ("linux", Wakeup::Linux), ("ap-mark", Wakeup::ApMark), ("ap-reserve", Wakeup::ApReserve), ("gv", Wakeup::GlobalView),
        ("linux22", Wakeup::Linux22),
    ]);
    PreemptionName(Preemption) = |value| choice(value, &[
        ("none", Preemption::None), ("voluntary", Preemption::Voluntary), ("full", Preemption::Full), ("lazy", Preemption::Lazy),
    ]);
    PlacementName(Placement) = |value| choice(value, &[
        ("stay", Placement::Stay), ("idle-scan", Placement::IdleScan), ("packing", Placement::Packing),
    ]);
}

/// The machine; without the table, that of the default preset.
pub(super) fn machine(node: &Located, files: &PlanFiles) -> ParseResult<MachineSpec> {
    let table: MachineTable = read(node)?;
    let base = MachineSpec::tsafrir2002();
    let preset = table.preset.map_or(base.scheduler, Scheduler::from);
    let cpus = table.cpus.map_or(base.cpus, u32::from);
    // Tables of other schedulers would have no effect, so they are refused.
    let own = match preset {
        Scheduler::RoundRobin(_) => ("round-robin", "preset = \"round-robin\""),
        Scheduler::Linux24(_) => ("linux24", "one of the presets tsafrir2002 and linux-2.*"),
        // No preset has priorities: only clusters do.
        Scheduler::Eevdf(_) | Scheduler::Priority => ("eevdf", "preset = \"eevdf\""),
    };
    let lines = [
        ("round-robin", table.round_robin.as_ref().map(|of| of.0)),
        ("linux24", table.linux24.as_ref().map(|of| of.0)),
        ("eevdf", table.eevdf.as_ref().map(|of| of.0)),
    ];
    if let Some((other, line)) = lines.into_iter().find_map(|(name, line)| Some((name, line?)).filter(|_| name != own.0)) {
        return mistake(line, format!("[machine.{other}] changes nothing under {}: choose another preset", own.1));
    }
    let prices = prices(table.prices, matches!(preset, Scheduler::Eevdf(_)), files)?;
    let scheduler = match preset {
        Scheduler::RoundRobin(base) => Scheduler::RoundRobin(table.round_robin.map_or(base, |(_, table)| table.over(base))),
        Scheduler::Linux24(base) => Scheduler::Linux24(table.linux24.map_or(base, |(_, table)| table.over(base))),
        Scheduler::Eevdf(base) => match table.eevdf {
            Some((_, table)) => Scheduler::Eevdf(table.scheduler(base, cpus)?),
            None => Scheduler::Eevdf(base),
        },
        Scheduler::Priority => preset,
    };
    let resolution = table.resolution.map_or(base.resolution, Into::into);
    Ok(MachineSpec { cpus, prices, scheduler, ties: table.ties.map_or(base.ties, Ties::from), resolution })
}

/// The paper's prices; under today's scheduler typical ones, so a plan gives the same numbers everywhere.
fn prices(table: Option<PriceTable>, today: bool, files: &PlanFiles) -> ParseResult<Prices> {
    let base = match table.as_ref().and_then(|table| table.calibration.as_ref()) {
        Some((line, word)) => Prices::measured(&calibration(word, *line, files)?),
        None if today => Prices::measured(&Costs::TYPICAL),
        None => Prices::TSAFRIR_2002,
    };
    Ok(table.map_or(base, |table| table.over(base)))
}

/// Measured costs: this machine's, typical ones, or those of a file.
fn calibration(word: &str, line: usize, files: &PlanFiles) -> ParseResult<Costs> {
    match word {
        "typical" => Ok(Costs::TYPICAL),
        "machine" => match files.machine() {
            Some(costs) => Ok(costs),
            None => mistake(line, "this machine's costs are not known: run `foregather measure waits`, or say \"typical\""),
        },
        path => files.costs(path).or_else(|error| mistake(line, format!("calibration {error}"))),
    }
}

impl EevdfTable {
    /// The scheduler that the table makes of `base`, on `cpus` processors.
    pub(super) fn scheduler(mut self, base: Eevdf, cpus: u32) -> ParseResult<Eevdf> {
        let mut groups: Vec<Group> = Vec::new();
        for (line, table) in self.group.take().unwrap_or_default() {
            groups.push(table.group(line, &groups, cpus)?);
        }
        Ok(Eevdf { groups, ..self.over(base) })
    }
}

impl GroupTable {
    fn group(self, line: usize, earlier: &[Group], cpus: u32) -> ParseResult<Group> {
        let name = self.name;
        if earlier.iter().any(|group| group.name == name) {
            return mistake(line, format!("two groups are named `{name}`"));
        }
        let parent = self.parent.map(|(line, name)| find_group(&name, line, earlier)).transpose()?;
        let period = self.period.map_or(Nanos::from_ms(100), Nanos::from);
        let most = period * u64::from(cpus);
        if let Some((line, Span(quota))) = self.quota.as_ref().filter(|(_, quota)| quota.0 > most) {
            let what = format!("a quota of {quota} per {period} is more than the {cpus} processors have: at most {most}");
            return mistake(*line, what);
        }
        let (quota, weight) = (self.quota.map(|(_, quota)| quota.0), self.weight.map_or(100, u32::from));
        Ok(Group { name, parent, weight, quota, period, burst: self.burst.map_or(Nanos::ZERO, Nanos::from) })
    }
}

/// The number of the group of that name.
pub(super) fn find_group(name: &str, line: usize, groups: &[Group]) -> ParseResult<u32> {
    match groups.iter().position(|group| group.name == name) {
        Some(at) => Ok(at as u32),
        None => mistake(line, format!("no group before this is named `{name}`: name it in a [[machine.eevdf.group]]")),
    }
}
