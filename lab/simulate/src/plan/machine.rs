//! `[machine]`: processors, prices, and the scheduler with all its rules.
use super::files::Files;
use super::section::{Section, text};
use super::tree::{Located, ParseResult, mistake};
use super::{eevdf, linux24};
use foregather_machine::Costs;
use foregather_sim::smp::{Eevdf, Linux24, MachineSpec, Prices, RoundRobin, Scheduler, Ties};

pub(super) const KEYS: [&str; 8] = ["cpus", "preset", "ties", "resolution", "prices", "round-robin", "linux24", "eevdf"];
pub(super) const PRICE_KEYS: [&str; 11] = [
    "calibration",
    "switch",
    "switch-to-idle",
    "wake-idle",
    "waker",
    "yield-call",
    "yield-switch",
    "line",
    "migration",
    "move-call",
    "look",
];
pub(super) const ROUND_ROBIN_KEYS: [&str; 1] = ["quantum"];

const TIES: [(&str, Ties); 4] = [
    ("arrive-first", Ties::ArriveFirst),
    ("give-up-first", Ties::GiveUpFirst),
    ("processor", Ties::Processor),
    ("random", Ties::Random),
];

/// The machine; the preset's if nothing is said.
pub(super) fn read(node: &Located, files: &Files) -> ParseResult<MachineSpec> {
    let section = Section::new("[machine]", node, &KEYS)?;
    let base = MachineSpec::tsafrir2002();
    let presets = [
        ("tsafrir2002", Scheduler::Linux24(Linux24::TSAFRIR_2002)),
        ("linux-2.2", Scheduler::Linux24(Linux24::LINUX_2_2)),
        ("linux-2.4.0", Scheduler::Linux24(Linux24::LINUX_2_4_0)),
        ("linux-2.4.16", Scheduler::Linux24(Linux24::LINUX_2_4_16)),
        ("round-robin", Scheduler::RoundRobin(RoundRobin::TSAFRIR_2002)),
        ("eevdf", Scheduler::Eevdf(Eevdf::LINUX)),
    ];
    let preset = section.choice("preset", &presets, base.scheduler)?;
    let cpus = section.count32("cpus", 1..=MachineSpec::MOST_CPUS, base.cpus)?;
    Ok(MachineSpec {
        cpus,
        prices: prices(section.get("prices"), matches!(preset, Scheduler::Eevdf(_)), files)?,
        scheduler: scheduler(&section, preset, cpus)?,
        ties: section.choice("ties", &TIES, base.ties)?,
        resolution: section.span("resolution", base.resolution)?,
    })
}

/// The preset's scheduler, with what its own table changes. Tables of other schedulers would have no effect.
fn scheduler(section: &Section<'_>, preset: Scheduler, cpus: u32) -> ParseResult<Scheduler> {
    let (own, presets) = match preset {
        Scheduler::RoundRobin(_) => ("round-robin", "preset = \"round-robin\""),
        Scheduler::Linux24(_) => ("linux24", "one of the presets tsafrir2002 and linux-2.*"),
        Scheduler::Eevdf(_) => ("eevdf", "preset = \"eevdf\""),
        // No preset has it: only clusters do.
        Scheduler::Priority => return Ok(preset),
    };
    for other in ["round-robin", "linux24", "eevdf"].into_iter().filter(|&other| other != own) {
        if let Some(node) = section.get(other) {
            return mistake(node.line, format!("[machine.{other}] changes nothing under {presets}: choose another preset"));
        }
    }
    let Some(node) = section.get(own) else { return Ok(preset) };
    Ok(match preset {
        Scheduler::RoundRobin(base) => {
            let section = Section::new("[machine.round-robin]", node, &ROUND_ROBIN_KEYS)?;
            Scheduler::RoundRobin(RoundRobin { quantum: section.span("quantum", base.quantum)? })
        }
        Scheduler::Linux24(base) => Scheduler::Linux24(linux24::read(node, base)?),
        Scheduler::Eevdf(base) => Scheduler::Eevdf(eevdf::read(node, base, cpus)?),
        Scheduler::Priority => preset,
    })
}

/// The paper's prices; for schedulers of today measured ones.
fn prices(node: Option<&Located>, today: bool, files: &Files) -> ParseResult<Prices> {
    let base = match node.and_then(|node| node.get("calibration")) {
        Some(node) => Prices::measured(&calibration(text("calibration", node)?, node.line, files)?),
        None if today => Prices::measured(&files.machine_or_typical()),
        None => Prices::TSAFRIR_2002,
    };
    let Some(node) = node else { return Ok(base) };
    let section = Section::new("[machine.prices]", node, &PRICE_KEYS)?;
    Ok(Prices {
        switch: section.time("switch", base.switch)?,
        switch_to_idle: section.time("switch-to-idle", base.switch_to_idle)?,
        wake_idle: section.time("wake-idle", base.wake_idle)?,
        waker: section.time("waker", base.waker)?,
        yield_call: section.span("yield-call", base.yield_call)?,
        yield_switch: section.time("yield-switch", base.yield_switch)?,
        line: section.time("line", base.line)?,
        migration: section.time("migration", base.migration)?,
        move_call: section.time("move-call", base.move_call)?,
        look: section.time("look", base.look)?,
    })
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
