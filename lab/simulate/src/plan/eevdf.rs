//! `[machine.eevdf]` and its control groups.
use super::read::{Count, Span, Time, choice, patch, table, values};
use super::tree::{ParseResult, mistake};
use foregather_machine::Nanos;
use foregather_sim::smp::{Eevdf, Group, Placement};

patch! {
    "[machine.eevdf]" Table => Eevdf {
        slice: Span, tick: Span, run_to_parity: bool, wakeup_preemption: bool, lazy_preemption: bool, placement: PlacementName,
        balance_interval: Time;
        group: Vec<(usize, GroupTable)>
    }
}

table! {
    "[[machine.eevdf.group]]" GroupTable {
        name: String;
        parent: (usize, String), weight: Count<1, 10_000>, quota: (usize, Span), period: Span, burst: Time
    }
}

values! {
    PlacementName(Placement) = |value| choice(
        value,
        &[("stay", Placement::Stay), ("idle-scan", Placement::IdleScan), ("packing", Placement::Packing)],
    );
}

impl Table {
    /// The scheduler that it makes of `base`, on so many processors.
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
        let parent = self.parent.map(|(line, name)| find(&name, line, earlier)).transpose()?;
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
pub(super) fn find(name: &str, line: usize, groups: &[Group]) -> ParseResult<u32> {
    match groups.iter().position(|group| group.name == name) {
        Some(at) => Ok(at as u32),
        None => mistake(line, format!("no group before this is named `{name}`: name it in a [[machine.eevdf.group]]")),
    }
}
