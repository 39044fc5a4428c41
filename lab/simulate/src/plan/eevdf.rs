//! `[machine.eevdf]` and its control groups.
use super::section::{Section, span, text};
use super::tree::{Located, ParseResult, mistake};
use foregather_machine::Nanos;
use foregather_sim::smp::{Eevdf, Group, Placement};

pub(super) const KEYS: [&str; 8] =
    ["slice", "tick", "run-to-parity", "wakeup-preemption", "lazy-preemption", "placement", "balance-interval", "group"];
pub(super) const GROUP_KEYS: [&str; 6] = ["name", "parent", "weight", "quota", "period", "burst"];

const PLACEMENTS: [(&str, Placement); 3] =
    [("stay", Placement::Stay), ("idle-scan", Placement::IdleScan), ("packing", Placement::Packing)];

pub(super) fn read(node: &Located, base: Eevdf, cpus: u32) -> ParseResult<Eevdf> {
    let section = Section::new("[machine.eevdf]", node, &KEYS)?;
    let mut groups: Vec<Group> = Vec::new();
    if let Some(node) = section.get("group") {
        let Some(items) = node.items() else {
            return mistake(node.line, "groups are tables of a list: [[machine.eevdf.group]]");
        };
        for item in items {
            groups.push(group(item, &groups, cpus)?);
        }
    }
    Ok(Eevdf {
        slice: section.span("slice", base.slice)?,
        tick: section.span("tick", base.tick)?,
        run_to_parity: section.flag("run-to-parity", base.run_to_parity)?,
        wakeup_preemption: section.flag("wakeup-preemption", base.wakeup_preemption)?,
        lazy_preemption: section.flag("lazy-preemption", base.lazy_preemption)?,
        placement: section.choice("placement", &PLACEMENTS, base.placement)?,
        balance_interval: section.time("balance-interval", base.balance_interval)?,
        groups,
    })
}

fn group(node: &Located, earlier: &[Group], cpus: u32) -> ParseResult<Group> {
    let section = Section::new("[[machine.eevdf.group]]", node, &GROUP_KEYS)?;
    let name = text("name", section.need("name")?)?;
    if earlier.iter().any(|group| group.name == name) {
        return mistake(section.line(), format!("two groups are named `{name}`"));
    }
    let parent = match section.get("parent") {
        None => None,
        Some(node) => Some(find(text("parent", node)?, node.line, earlier)?),
    };
    let period = section.span("period", Nanos::from_ms(100))?;
    let quota = section.get("quota").map(|node| Ok((span("quota", node)?, node.line))).transpose()?;
    let most = period * u64::from(cpus);
    if let Some((quota, line)) = quota.filter(|&(quota, _)| quota > most) {
        let what = format!("a quota of {quota} per {period} is more than the {cpus} processors have: at most {most}");
        return mistake(line, what);
    }
    let (quota, weight) = (quota.map(|(quota, _)| quota), section.count32("weight", 1..=10_000, 100)?);
    Ok(Group { name: name.to_owned(), parent, weight, quota, period, burst: section.time("burst", Nanos::ZERO)? })
}

/// The number of the group of that name.
pub(super) fn find(name: &str, line: usize, groups: &[Group]) -> ParseResult<u32> {
    match groups.iter().position(|group| group.name == name) {
        Some(at) => Ok(at as u32),
        None => mistake(line, format!("no group before this is named `{name}`: name it in a [[machine.eevdf.group]]")),
    }
}
