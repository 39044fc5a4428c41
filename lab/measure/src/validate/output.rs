//! What was found, as measurements and as a table.
use super::compared::{BothSides, RunFigures, Seen, TIME};
use super::rows::Compares;
use super::verdict::{Comparison, RowVerdict, TOLERANCE};
use super::{Outcome, Validation};
use foregather_results::Measurement;
use foregather_results::number::digits;
use foregather_results::table::ResultTable;
use foregather_wait::Policy;

/// All of it.
pub(super) fn of(outcomes: &[Outcome], mut notes: Vec<String>, interrupted: bool) -> Validation {
    let within = outcomes.iter().filter_map(Outcome::verdict).filter(|verdict| verdict.within()).count();
    let mut measurements = Vec::new();
    for outcome in outcomes {
        measurements.extend(outcome.pairs.iter().flat_map(|pair| sides(outcome, pair)));
        measurements.extend(row(outcome));
        notes.extend(outcome.trouble.iter().map(|trouble| format!("{} is not compared: {trouble}", outcome.row.name)));
    }
    let verdict = format!("{within} of {} rows within {TOLERANCE}", outcomes.len());
    let table = format!("{}\n{}\n{verdict}\n", cells_table(outcomes).to_text(), rows_table(outcomes).to_text());
    notes.push(verdict);
    Validation { measurements, notes, interrupted, table, within: (within, outcomes.len()) }
}

/// Both sides of a cell.
fn sides(outcome: &Outcome, pair: &BothSides) -> [Measurement; 2] {
    let row = outcome.row.name;
    let side = |kind: &str, seen: &Seen, ratio: &dyn Fn(&Comparison) -> f64| {
        let id = format!("validate/{row}/{}/{}/{kind}", pair.case, pair.budget.name);
        let what = if outcome.row.compares == Compares::RoundTrips { "one round trip" } else { "one barrier" };
        let all = Measurement::from_values(id, what, "us", seen.sides.iter().map(|side| side.us).collect());
        let all = all.label("row", row).label("case", pair.case).label("budget", &pair.budget.name).label("kind", kind);
        let median = |of: &dyn Fn(&RunFigures) -> Option<f64>| seen.median(of).unwrap_or(f64::NAN);
        let all = all
            .figure("spin_us", if let Policy::TwoPhase { spin } = pair.budget.policy { spin.as_us() } else { f64::NAN })
            .figure("ssr", median(&|side| side.ssr))
            .figure("cpus", median(&|side| side.cpus))
            .figure("switches_per_episode", median(&|side| side.switches))
            .figure("throttled_per_s", median(&|side| side.throttled_per_s));
        let times = outcome.comparisons.iter().find(|c| c.case == pair.case && c.budget == pair.budget.name && c.what == TIME);
        times.into_iter().fold(all, |all, comparison| all.figure("time_over_ab", ratio(comparison)))
    };
    [side("measured", &pair.measured, &|c| c.measured), side("simulated", &pair.simulated, &|c| c.simulated)]
}

/// The factors of a row, if it was compared.
fn row(outcome: &Outcome) -> Option<Measurement> {
    let verdict = outcome.verdict()?;
    let factors = outcome.comparisons.iter().filter(|c| c.counts).map(Comparison::factor).collect();
    let what = "measured and simulated differ by this factor";
    let all = Measurement::from_values(format!("validate-row/{}", outcome.row.name), what, "factor", factors);
    let all = all.label("row", outcome.row.name).label("kind", "row");
    Some(
        all.figure("geomean", verdict.factor)
            .figure("worst", verdict.worst)
            .figure("within", f64::from(u8::from(verdict.within()))),
    )
}

/// Every cell, with what is compared of it.
fn cells_table(outcomes: &[Outcome]) -> ResultTable {
    let headings = [
        "row",
        "case",
        "budget",
        "measured us",
        "simulated us",
        "SSR %",
        "SSR % sim.",
        "compared",
        "measured",
        "simulated",
        "factor",
    ];
    let mut table = ResultTable::new(headings);
    let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| digits(value, 3));
    for outcome in outcomes {
        for pair in &outcome.pairs {
            let ssr = |seen: &Seen| shown(seen.median(|side| side.ssr.map(|ssr| ssr * 100.0)));
            let cell = [
                outcome.row.name.to_owned(),
                pair.case.to_owned(),
                budget(pair),
                shown(pair.measured.us()),
                shown(pair.simulated.us()),
                ssr(&pair.measured),
                ssr(&pair.simulated),
            ];
            let mine = outcome.comparisons.iter().filter(|c| c.case == pair.case && c.budget == pair.budget.name);
            let mut compared: Vec<[String; 4]> = mine
                .map(|c| {
                    let factor = c.counts.then(|| c.factor());
                    [c.what.to_owned(), shown(Some(c.measured)), shown(Some(c.simulated)), shown(factor)]
                })
                .collect();
            compared.resize(compared.len().max(1), ["-", "-", "-", "-"].map(str::to_owned));
            table.rows.extend(compared.into_iter().map(|compared| [&cell[..], &compared].concat()));
        }
    }
    table
}

/// `2CS+ (31 us)`.
fn budget(pair: &BothSides) -> String {
    match pair.budget.policy {
        Policy::TwoPhase { spin } => format!("{} ({} us)", pair.budget.name, digits(spin.as_us(), 3)),
        _ => pair.budget.name.clone(),
    }
}

/// Every row, with its verdict.
fn rows_table(outcomes: &[Outcome]) -> ResultTable {
    let mut table = ResultTable::new(["row", "what", "factor", "worst", "verdict"]);
    for outcome in outcomes {
        let verdict = outcome.verdict();
        let number = |of: fn(RowVerdict) -> f64| verdict.map_or_else(|| "-".to_owned(), |verdict| digits(of(verdict), 3));
        let said = match (verdict, &outcome.trouble) {
            (Some(verdict), _) if verdict.within() => "within".to_owned(),
            (Some(_), _) => "beyond".to_owned(),
            (None, Some(trouble)) => format!("not compared: {trouble}"),
            (None, None) => "not compared".to_owned(),
        };
        let what = outcome.row.what.to_owned();
        table.rows.push(vec![outcome.row.name.to_owned(), what, number(|v| v.factor), number(|v| v.worst), said]);
    }
    table
}
