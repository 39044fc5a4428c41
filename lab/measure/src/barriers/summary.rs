//! Each waiter over many rows: geometric mean and worst row of every share, for the core matrix, the extended one, and the rest.
use super::class::{LoadClass, SUBSETS, Subset};
use foregather_results::Measurement;

/// What is averaged, and whether more of it is better.
const AVERAGED: [(&str, bool); 4] = [("share", true), ("oracle_share", true), ("strict_share", true), ("cpu_over_oracle", false)];

/// Geometric mean and worst of some values of which more or less is better; `None` of none.
pub fn geomean_and_worst(values: &[f64], more_is_better: bool) -> Option<(f64, f64)> {
    let worse = if more_is_better { f64::min } else { f64::max };
    let worst = values.iter().copied().reduce(worse)?;
    Some(((values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp(), worst))
}

/// One measurement for each subset that has rows and each waiter in it.
pub fn all(cells: &[Measurement]) -> Vec<Measurement> {
    let mut waiters: Vec<&str> = Vec::new();
    for waiter in cells.iter().filter_map(|cell| cell.labels.get("waiter")) {
        if !waiters.contains(&waiter.as_str()) {
            waiters.push(waiter);
        }
    }
    // A subset of the same rows as one before would only say the same again.
    let classes: Vec<LoadClass> = cells.iter().filter_map(|cell| LoadClass::parse(cell.labels.get("class")?)).collect();
    let same = |one: &Subset, other: &Subset| classes.iter().all(|&class| one.1(class) == other.1(class));
    let adds = |(at, subset): &(usize, &Subset)| !SUBSETS[..*at].iter().any(|earlier| same(earlier, subset));
    let subsets = SUBSETS.iter().enumerate().filter(adds).map(|(_, subset)| subset);
    subsets.flat_map(|subset| waiters.iter().filter_map(|waiter| one(cells, subset, waiter))).collect()
}

fn one(cells: &[Measurement], (subset, holds): &Subset, waiter: &str) -> Option<Measurement> {
    let label = |cell: &Measurement, name: &str| cell.labels.get(name).cloned().unwrap_or_default();
    let mine =
        |cell: &&Measurement| label(cell, "waiter") == waiter && LoadClass::parse(&label(cell, "class")).is_some_and(holds);
    let mine: Vec<&Measurement> = cells.iter().filter(mine).collect();
    let values = |name: &str| mine.iter().filter_map(|cell| cell.figures.get(name).copied()).collect::<Vec<f64>>();
    let shares = values("oracle_share");
    let below_half = shares.iter().filter(|&&share| share < 0.5).count();
    if shares.is_empty() {
        return None;
    }
    let id = format!("barriers-summary/{subset}/{waiter}");
    let summary = Measurement::from_values(id, "episodes/s over the oracle's, row by row", "share", shares)
        .label("subset", *subset)
        .label("kind", label(mine[0], "kind"))
        .label("name", waiter)
        .figure("rows_below_half", below_half as f64);
    let with = |summary: Measurement, (name, more): &(&str, bool)| match geomean_and_worst(&values(name), *more) {
        Some((geomean, worst)) => summary.figure(&format!("{name}_geomean"), geomean).figure(&format!("{name}_worst"), worst),
        None => summary,
    };
    Some(AVERAGED.iter().fold(summary, with))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(row: &str, class: &str, waiter: &str, share: f64) -> Measurement {
        Measurement::from_values(format!("{row}/{waiter}"), "", "", vec![1.0])
            .label("class", class)
            .label("waiter", waiter)
            .label("kind", "ours")
            .figure("oracle_share", share)
            .figure("cpu_over_oracle", 1.0 / share)
    }

    #[test]
    fn every_subset_averages_its_own_rows() {
        let cells = [
            cell("a", "2 free", "one", 0.5),
            cell("b", "hogs", "one", 2.0),
            cell("c", "shapes", "one", 0.125),
            cell("d", "quota", "one", 3.0),
            cell("a", "2 free", "two", 1.0),
        ];
        let found = all(&cells);
        let ids: Vec<&str> = found.iter().map(|m| m.id.as_str()).collect();
        let expected = ["core/one", "core/two", "extended/one", "extended/two", "quota/one"];
        assert_eq!(ids, expected.map(|id| format!("barriers-summary/{id}")));
        let figure = |at: usize, name: &str| found[at].figures[name];
        assert_eq!((figure(0, "oracle_share_geomean"), figure(0, "oracle_share_worst")), (1.0, 0.5));
        assert_eq!((figure(2, "oracle_share_geomean"), figure(2, "oracle_share_worst")), (0.5, 0.125));
        assert_eq!((figure(2, "cpu_over_oracle_worst"), figure(2, "rows_below_half")), (8.0, 1.0));
        assert!(!found[0].figures.contains_key("share_geomean"), "nobody has that figure");
        assert!(all(&cells[..2]).iter().all(|m| m.labels["subset"] == "core"), "nothing to extend it by");
    }
}
