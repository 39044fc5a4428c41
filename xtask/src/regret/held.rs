//! One run held against another, row by row.
use super::baseline::{Baseline, Row};
use std::collections::BTreeMap;

/// A share that fell by less is no news, however little it varies.
const LEAST: f64 = 0.15;

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Same,
    Better,
    Worse,
}

/// Both runs.
pub(super) struct Held<'a> {
    rows: Vec<(Mark, &'a Row, &'a Row)>,
    missing: Vec<&'a Row>,
    warnings: Vec<String>,
}

/// Holds a run against the one before.
pub(super) fn hold<'a>(before: &'a Baseline, after: &'a Baseline) -> Held<'a> {
    let mut held = Held { rows: Vec::new(), missing: Vec::new(), warnings: warnings(before, after) };
    for old in &before.rows {
        match after.find(old) {
            Some(new) => held.rows.push((mark(old, new), old, new)),
            None => held.missing.push(old),
        }
    }
    held
}

fn mark(old: &Row, new: &Row) -> Mark {
    match (is_lower(new, old), is_lower(old, new)) {
        (true, _) => Mark::Worse,
        (_, true) => Mark::Better,
        _ => Mark::Same,
    }
}

/// By more than noise: many rows have two modes, and then a median says little without its quartiles.
fn is_lower(a: &Row, b: &Row) -> bool {
    a.median < b.median * (1.0 - LEAST) && a.median < b.low && a.high < b.median
}

fn warnings(before: &Baseline, after: &Baseline) -> Vec<String> {
    let told = |name: &str, old: &Option<String>, new: &Option<String>| {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
        (old != new).then(|| format!("warning: another machine: {name} {} before, {} now", shown(old), shown(new)))
    };
    let (old, new) = (&before.machine, &after.machine);
    let quota = |quota: Option<f64>| quota.map(|cpus| format!("{cpus} cpus"));
    let all = [
        told("processor", &old.cpu, &new.cpu),
        told("cpus", &Some(old.cpus_allowed.clone()), &Some(new.cpus_allowed.clone())),
        told("quota", &quota(old.quota_cpus), &quota(new.quota_cpus)),
        told("hypervisor", &old.hypervisor, &new.hypervisor),
        told("kernel", &old.kernel, &new.kernel),
    ];
    all.into_iter().flatten().collect()
}

impl Held<'_> {
    /// How many rows both have.
    pub(super) fn common(&self) -> usize {
        self.rows.len()
    }

    /// Did any row become worse?
    pub(super) fn is_worse(&self) -> bool {
        self.rows.iter().any(|(mark, ..)| *mark == Mark::Worse)
    }

    /// The rows that changed, those that are missing, and every waiter over the rows that both have.
    pub(super) fn to_text(&self) -> String {
        let mut lines = self.warnings.clone();
        for (wanted, word) in [(Mark::Worse, "worse"), (Mark::Better, "better")] {
            lines.extend(self.rows.iter().filter(|(mark, ..)| *mark == wanted).map(|(_, old, new)| changed(word, old, new)));
        }
        lines.extend(self.missing.iter().map(|row| format!("missing  {}, {}", row.waiter, row.row)));
        let mut by_waiter: BTreeMap<&str, Vec<(&Row, &Row)>> = BTreeMap::new();
        self.rows.iter().for_each(|(_, old, new)| by_waiter.entry(&old.waiter).or_default().push((old, new)));
        lines.extend(by_waiter.iter().map(|(waiter, rows)| overall(waiter, rows)));
        lines.join("\n") + "\n"
    }
}

fn changed(word: &str, old: &Row, new: &Row) -> String {
    let regret = |row: &Row| 1.0 - row.median;
    let share = |row: &Row| format!("{:.3} [{:.3}, {:.3}]", row.median, row.low, row.high);
    let (before, after) = (regret(old), regret(new));
    format!("{word:<7}  {}, {}: regret {before:.2} -> {after:.2}; share {} -> {}", old.waiter, old.row, share(old), share(new))
}

/// A waiter over the rows that both runs have.
fn overall(waiter: &str, rows: &[(&Row, &Row)]) -> String {
    let (old, new): (Vec<&Row>, Vec<&Row>) = rows.iter().copied().unzip();
    let told = |run: &[&Row]| {
        let mean = (run.iter().map(|row| row.median.ln()).sum::<f64>() / run.len() as f64).exp();
        let worst = run.iter().min_by(|a, b| a.median.total_cmp(&b.median));
        (mean, worst.map_or_else(String::new, |row| format!("{:.3} ({})", row.median, row.row)))
    };
    let cpu = |run: &[&Row]| {
        let most = run.iter().filter_map(|row| row.cpu_over_oracle).reduce(f64::max);
        most.map_or_else(|| "-".to_owned(), |most| format!("{most:.2}"))
    };
    let (before, after, cpus) = (told(&old), told(&new), (cpu(&old), cpu(&new)));
    format!(
        "{waiter}: {} rows, geometric mean {:.3} -> {:.3}, worst {} -> {}, most processor time {} -> {} of the oracle's",
        rows.len(),
        before.0,
        after.0,
        before.1,
        after.1,
        cpus.0,
        cpus.1
    )
}

#[cfg(test)]
mod tests {
    use super::super::baseline::tests::of;
    use super::*;

    #[test]
    fn better_worse_and_missing_rows_are_told_apart() {
        let before = of(&[("a", [0.9, 1.0, 1.1]), ("b", [0.4, 0.5, 0.6]), ("c", [1.0, 1.0, 1.0]), ("d", [0.9, 0.95, 1.0])]);
        let after = of(&[("a", [0.5, 0.6, 0.7]), ("b", [0.8, 0.9, 1.0]), ("d", [0.9, 0.93, 0.99]), ("e", [0.1, 0.1, 0.1])]);
        let held = hold(&before, &after);
        let marks: Vec<_> = held.rows.iter().map(|(mark, old, _)| (*mark, old.row.as_str())).collect();
        assert_eq!(marks, [(Mark::Worse, "a"), (Mark::Better, "b"), (Mark::Same, "d")]);
        assert!(held.is_worse() && held.common() == 3);
        let text = held.to_text();
        for line in [
            "worse    central/adaptive, a: regret 0.00 -> 0.40; share 1.000 [0.900, 1.100] -> 0.600 [0.500, 0.700]",
            "better   central/adaptive, b: regret 0.50 -> 0.10; share 0.500 [0.400, 0.600] -> 0.900 [0.800, 1.000]",
            "missing  central/adaptive, c",
        ] {
            assert!(text.lines().any(|told| told == line), "no `{line}` in {text}");
        }
        assert!(text.contains("3 rows, geometric mean 0.780 -> 0.795, worst 0.500 (b) -> 0.600 (a)"), "{text}");
    }

    #[test]
    fn what_lies_within_the_spread_is_noise_and_so_are_fifteen_percent() {
        let worse = |old, new| hold(&of(&[("a", old)]), &of(&[("a", new)])).is_worse();
        assert!(!worse([0.5, 1.0, 1.1], [0.5, 0.6, 0.9]), "the old run was that slow at times");
        assert!(!worse([0.9, 1.0, 1.1], [0.5, 0.6, 1.05]), "the new run is that fast at times");
        assert!(!worse([1.0, 1.0, 1.0], [0.86, 0.86, 0.86]));
        assert!(worse([1.0, 1.0, 1.0], [0.84, 0.84, 0.84]));
    }

    #[test]
    fn another_machine_is_warned_of() {
        let before = of(&[("a", [1.0; 3])]);
        let mut after = before.clone();
        assert_eq!(hold(&before, &after).warnings, [""; 0]);
        after.machine.cpu = Some("Z80".to_owned());
        assert!(hold(&before, &after).to_text().starts_with("warning: another machine: processor unknown before, Z80 now\n"));
    }
}
