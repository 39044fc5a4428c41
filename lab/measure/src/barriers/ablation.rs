//! What each rule of the adaptive waiter is worth: the same rows with all rules, and with each of them off in
//! turn.
use super::waiters::{Waiter, own};
use anyhow::{Error, Result};
use foregather_machine::Costs;
use foregather_results::Measurement;
use foregather_results::ids::{CANDIDATE, NOTHING, OFF};
use foregather_results::number::digits;
use foregather_results::table::ResultTable;

/// A row that takes this number of times as long as with all rules is worse: that is more than noise.
const WORSE: f64 = 1.2;

/// The rules that can be switched off, in the order of the decision table.
fn rules() -> Vec<&'static str> {
    foregather_wait::adaptive::Rules::names().collect()
}

/// The waiter with all rules, then without each.
///
/// # Errors
/// If there is no such waiter, or it does not know one of the rules.
pub fn waiters(costs: &Costs) -> Result<Vec<Waiter>> {
    let without = rules().into_iter().map(|rule| format!("{CANDIDATE}!{rule}"));
    [CANDIDATE.to_owned()].into_iter().chain(without).map(|name| own(&name, costs).map_err(Error::msg)).collect()
}

/// Says of each cell which rule was off, and how many times as long an episode took for that.
pub fn describe(measurements: &mut [Measurement]) {
    let us = |m: &Measurement| m.figures.get("us_per_episode").copied();
    let row = |m: &Measurement| m.labels.get("row").cloned();
    let full: Vec<_> = measurements.iter().filter(|m| off(m) == Some(NOTHING)).map(|m| (row(m), us(m))).collect();
    for m in measurements {
        let Some(rule) = off(m).map(str::to_owned) else { continue };
        let base = full.iter().find(|(of, _)| *of == row(m)).and_then(|(_, us)| *us);
        let times = us(m).zip(base).map_or(f64::NAN, |(us, base)| us / base);
        *m = m.clone().label(OFF, rule).figure("times_full", times);
    }
}

/// The rule without which a cell was measured; `None` of other waiters.
fn off(m: &Measurement) -> Option<&str> {
    let rest = m.labels.get("waiter")?.strip_prefix(CANDIDATE)?;
    if rest.is_empty() { Some(NOTHING) } else { rest.strip_prefix('!') }
}

/// Microseconds an episode, rows by the rule that is off; a star at what takes a fifth longer than with all
/// rules.
pub fn table(measurements: &[Measurement]) -> ResultTable {
    let distinct = |label: &str| {
        let mut seen: Vec<&str> = Vec::new();
        let values = measurements.iter().filter(|m| m.labels.contains_key(OFF)).filter_map(|m| m.labels.get(label));
        values.for_each(|value| {
            if !seen.contains(&value.as_str()) {
                seen.push(value);
            }
        });
        seen
    };
    let rules = distinct(OFF);
    let mut table = ResultTable::new(["us per episode without"].into_iter().chain(rules.iter().copied()));
    for row in distinct("row") {
        let cell = |rule: &&str| {
            let is =
                |m: &&Measurement| m.labels.get("row").is_some_and(|r| r == row) && m.labels.get(OFF).is_some_and(|r| r == rule);
            let Some(m) = measurements.iter().find(is) else { return "-".to_owned() };
            let figure = |name: &str| m.figures.get(name).copied().unwrap_or(f64::NAN);
            let star = if figure("times_full") > WORSE { "*" } else { "" };
            digits(figure("us_per_episode"), 3) + star
        };
        table.rows.push([row.to_owned()].into_iter().chain(rules.iter().map(cell)).collect());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_held_against_all_of_them_in_its_own_row() {
        let cell = |row: &str, waiter: &str, us: f64| {
            let m = Measurement::from_values(format!("{row}/{waiter}"), "", "", vec![1.0]).figure("us_per_episode", us);
            m.label("row", row).label("waiter", waiter)
        };
        let mut all = vec![
            cell("a", "central/adaptive!yield", 30.7),
            cell("a", CANDIDATE, 1.21),
            cell("b", CANDIDATE, 40.0),
            cell("b", "central/adaptive!yield", 47.9),
            cell("b", "central/spin", 9.0),
        ];
        describe(&mut all);
        assert!((all[0].figures["times_full"] - 30.7 / 1.21).abs() < 1e-3 && all[2].figures["times_full"] == 1.0);
        assert!(!all[4].labels.contains_key(OFF), "another waiter has no rules");
        let table = table(&all);
        assert_eq!(table.headings, ["us per episode without", "yield", NOTHING]);
        assert_eq!(table.rows, [["a", "30.7*", "1.21"], ["b", "47.9", "40"]]);
    }

    #[test]
    fn every_rule_has_a_waiter_of_its_own() {
        let waiters = waiters(&Costs::TYPICAL).unwrap();
        assert_eq!(waiters.len(), rules().len() + 1);
        assert_eq!(waiters[0].name, CANDIDATE);
        for (rule, waiter) in rules().iter().zip(&waiters[1..]) {
            assert!(waiter.spec.contains(rule) && waiter.spec != waiters[0].spec, "{waiter:?}");
        }
    }
}
