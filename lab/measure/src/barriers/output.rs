//! The matrix for a terminal: every cell in a line, then every waiter over the rows of each subset; then what was predicted.
use super::predict::output::{is_prediction, text as predictions};
use foregather_results::Measurement;
use foregather_results::number::digits;
use foregather_results::table::ResultTable;

/// Columns of cells: label or figure, and heading.
const CELL_LABELS: [&str; 3] = ["row", "waiter", "oracle"];
const CELL_FIGURES: [(&str, &str); 9] = [
    ("us_per_episode", "us"),
    ("share", "of best peer"),
    ("oracle_share", "of oracle"),
    ("strict_share", "of best run"),
    ("cpu_us_per_episode", "cpu us"),
    ("cpu_over_oracle", "cpu of oracle"),
    ("ssr", "ssr"),
    ("stacked", "stacked"),
    ("collapsed_runs", "collapsed"),
];
const SUMMARY_LABELS: [&str; 2] = ["subset", "name"];
const SUMMARY_FIGURES: [(&str, &str); 9] = [
    ("share_geomean", "of best peer"),
    ("share_worst", "worst"),
    ("oracle_share_geomean", "of oracle"),
    ("oracle_share_worst", "worst"),
    ("rows_below_half", "below .5"),
    ("strict_share_geomean", "of best run"),
    ("strict_share_worst", "worst"),
    ("cpu_over_oracle_geomean", "cpu of oracle"),
    ("cpu_over_oracle_worst", "worst"),
];

/// All tables.
pub fn text(measurements: &[Measurement]) -> String {
    let measured = measurements.iter().filter(|m| !is_prediction(m));
    let (summaries, cells): (Vec<_>, Vec<_>) = measured.partition(|m| m.labels.contains_key("subset"));
    let tables = [table(&cells, &CELL_LABELS, &CELL_FIGURES), table(&summaries, &SUMMARY_LABELS, &SUMMARY_FIGURES)];
    let tables = tables.iter().filter(|table| !table.rows.is_empty()).map(ResultTable::to_text);
    tables.chain([predictions(measurements)]).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

fn table(measurements: &[&Measurement], labels: &[&str], figures: &[(&str, &str)]) -> ResultTable {
    let count = if labels == SUMMARY_LABELS { "rows" } else { "n" };
    let headings = labels.iter().copied().chain([count]).chain(figures.iter().map(|(_, heading)| *heading));
    let mut table = ResultTable::new(headings);
    for m in measurements {
        let shown = |figure: Option<&f64>| figure.map_or_else(|| "-".to_owned(), |&value| digits(value, 3));
        let mut row: Vec<String> = labels.iter().map(|label| m.labels.get(*label).cloned().unwrap_or_default()).collect();
        row.push(m.summary.n.to_string());
        row.extend(figures.iter().map(|(name, _)| shown(m.figures.get(*name))));
        table.rows.push(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_summaries_have_a_table_each() {
        let cell = Measurement::from_values("a", "", "", vec![1.0, 2.0]).label("row", "2t, 1 us").label("waiter", "gomp");
        let summary = Measurement::from_values("b", "", "", vec![1.0]).label("subset", "core").label("name", "gomp");
        let text = text(&[cell.figure("oracle_share", 0.5), summary.figure("oracle_share_geomean", 0.25)]);
        let (cells, summaries) = text.split_once("\n\n").unwrap();
        assert!(cells.lines().count() == 2 && cells.contains("2t, 1 us") && cells.contains("0.5"), "{text}");
        assert!(summaries.lines().count() == 2 && summaries.contains("core") && summaries.contains("0.25"), "{text}");
    }
}
