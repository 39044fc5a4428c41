//! The ablation figure: what is left of the adaptive waiter's speed without each rule of its decision table.
//!
//! Draws measurements with the labels `row` and `off` (a rule, or `nothing`) and the figure `times_full`: the time of an episode over
//! that with all rules.
use super::heat::{Column, Heat, Row};
use super::shades::{Shades, share};
use super::{Drawn, distinct};
use foregather_measure::barriers::ablation::{NOTHING, OFF};
use foregather_results::Measurement;

/// Rows by rules.
pub(super) fn draw(all: &[Measurement]) -> Option<Drawn> {
    let label = |m: &Measurement, name: &str| m.labels.get(name).cloned();
    let told = |(number, m): (usize, &Measurement)| {
        let times = *m.figures.get("times_full")?;
        let left = if times > 0.0 { 1.0 / times } else { return None };
        Some((label(m, "row")?, label(m, OFF).filter(|rule| rule != NOTHING)?, left, number))
    };
    let cells: Vec<(String, String, f64, usize)> = all.iter().enumerate().filter_map(told).collect();
    let rules = distinct(cells.iter().map(|(_, rule, ..)| rule.as_str()));
    let least = cells.iter().min_by(|a, b| a.2.total_cmp(&b.2))?;
    let row = |name: &str| {
        let cell = |rule: &&str| cells.iter().find(|cell| cell.0 == name && cell.1 == **rule).map(|cell| (cell.2, Some(cell.3)));
        Row { names: vec![name.to_owned()], cells: rules.iter().map(cell).collect() }
    };
    let column = |rule: &&str| Column { name: (*rule).to_owned(), of: String::new(), first_group: false };
    let heat = Heat {
        title: "The adaptive waiter without one rule of its table",
        scale: "episodes per second, as a share of those with all rules",
        shades: Shades::shares(),
        heads: vec![],
        columns: rules.iter().map(column).collect(),
        rows: distinct(cells.iter().map(|(row, ..)| row.as_str())).into_iter().map(row).collect(),
        summaries: 0,
    };
    let matters = |rule: &&&str| cells.iter().any(|cell| cell.1 == ***rule && cell.2 < 1.0 / 1.2);
    let caption = format!(
        "{} of {} rules make some row a fifth slower when they are off; most of all {}, without which {} keeps {} of its speed.",
        rules.iter().filter(matters).count(),
        rules.len(),
        least.1,
        least.0,
        share(least.2)
    );
    Some(Drawn { svg: heat.render(), caption })
}
