//! `[machine]`: processors, prices, and the scheduler with all its rules.
use super::files::Files;
use super::read::{Count, Span, Time, choice, patch, read, table, values};
use super::tree::{Located, ParseResult, mistake};
use super::{eevdf, linux24};
use foregather_machine::Costs;
use foregather_sim::smp::{Eevdf, Linux24, MachineSpec, Prices, RoundRobin, Scheduler, Ties};

table! {
    "[machine]" Table {
        ;
        cpus: Count<1, { MachineSpec::MOST_CPUS as u64 }>, preset: PresetName, ties: TiesName, resolution: Span, prices: PriceTable,
        round_robin: (usize, RoundRobinTable), linux24: (usize, linux24::Table), eevdf: (usize, eevdf::Table)
    }
}

patch! {
    "[machine.prices]" PriceTable => Prices {
        switch: Time, switch_to_idle: Time, wake_idle: Time, waker: Time, yield_call: Span, yield_switch: Time, line: Time,
        migration: Time, move_call: Time, look: Time;
        calibration: (usize, String)
    }
}

patch! { "[machine.round-robin]" RoundRobinTable => RoundRobin { quantum: Span; } }

values! {
    PresetName(Scheduler) = |value| choice(
        value,
        &[
            ("tsafrir2002", Scheduler::Linux24(Linux24::TSAFRIR_2002)),
            ("linux-2.2", Scheduler::Linux24(Linux24::LINUX_2_2)),
            ("linux-2.4.0", Scheduler::Linux24(Linux24::LINUX_2_4_0)),
            ("linux-2.4.16", Scheduler::Linux24(Linux24::LINUX_2_4_16)),
            ("round-robin", Scheduler::RoundRobin(RoundRobin::TSAFRIR_2002)),
            ("eevdf", Scheduler::Eevdf(Eevdf::LINUX)),
        ],
    );
    TiesName(Ties) = |value| choice(
        value,
        &[
            ("arrive-first", Ties::ArriveFirst),
            ("give-up-first", Ties::GiveUpFirst),
            ("processor", Ties::Processor),
            ("random", Ties::Random),
        ],
    );
}

/// The machine; the preset's if nothing is said.
pub(super) fn machine(node: &Located, files: &Files) -> ParseResult<MachineSpec> {
    let table: Table = read(node)?;
    let base = MachineSpec::tsafrir2002();
    let preset = table.preset.map_or(base.scheduler, Scheduler::from);
    let cpus = table.cpus.map_or(base.cpus, u32::from);
    // Tables of other schedulers would have no effect.
    let own = match preset {
        Scheduler::RoundRobin(_) => ("round-robin", "preset = \"round-robin\""),
        Scheduler::Linux24(_) => ("linux24", "one of the presets tsafrir2002 and linux-2.*"),
        // No preset is by priorities: only clusters are.
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

/// The paper's prices; for schedulers of today measured ones.
fn prices(table: Option<PriceTable>, today: bool, files: &Files) -> ParseResult<Prices> {
    let base = match table.as_ref().and_then(|table| table.calibration.as_ref()) {
        Some((line, word)) => Prices::measured(&calibration(word, *line, files)?),
        None if today => Prices::measured(&files.machine_or_typical()),
        None => Prices::TSAFRIR_2002,
    };
    Ok(table.map_or(base, |table| table.over(base)))
}

/// Measured costs: this machine's, typical ones, or those of a file.
fn calibration(word: &str, line: usize, files: &Files) -> ParseResult<Costs> {
    match word {
        "typical" => Ok(Costs::TYPICAL),
        "machine" => match files.machine() {
            Some(costs) => Ok(costs),
            None => mistake(line, "this machine's costs are not known: run `foregather measure waits`, or say \"typical\""),
        },
        path => files.costs(path).or_else(|error| mistake(line, format!("calibration {error}"))),
    }
}
