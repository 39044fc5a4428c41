//! Predictions for a terminal: every cell in a line, then a line for each group.
use super::ID;
use foregather_results::Measurement;
use foregather_results::number::digits;
use foregather_results::table::ResultTable;

/// Columns: label or figure, and heading.
const LABELS: [(&str, &str); 3] = [("row", "row"), ("waiter", "waiter"), ("start", "start")];
const FIGURES: [(&str, &str); 6] = [
    ("measured_us", "measured us"),
    ("stacked", "stacked"),
    ("spread_us", "spread us"),
    ("stacked_us", "stacked us"),
    ("predicted_us", "predicted us"),
    ("factor", "factor"),
];
/// The ids of what groups come to begin with it.
const GROUP: &str = "prediction-summary/";

/// Is it one of these, or one of their groups?
pub fn is_prediction(m: &Measurement) -> bool {
    m.id.starts_with(ID) || m.id.starts_with(GROUP)
}

/// The table and the lines; nothing if nothing was predicted.
pub fn text(measurements: &[Measurement]) -> String {
    let of = |prefix: &'static str| measurements.iter().filter(move |m| m.id.starts_with(prefix));
    let mut table = ResultTable::new(LABELS.iter().chain(&FIGURES).map(|(_, heading)| *heading).chain(["verdict"]));
    for m in of(ID) {
        let label = |name: &str| m.labels.get(name).cloned().unwrap_or_default();
        let figure = |name: &str| m.figures.get(name).map_or_else(|| "-".to_owned(), |&value| digits(value, 3));
        let verdict = if m.figures.get("within") == Some(&1.0) { "within" } else { "beyond" };
        let cells = LABELS.iter().map(|(name, _)| label(name)).chain(FIGURES.iter().map(|(name, _)| figure(name)));
        table.rows.push(cells.chain([verdict.to_owned()]).collect());
    }
    if table.rows.is_empty() {
        return String::new();
    }
    format!("{}\n{}", table.to_text(), of(GROUP).map(line).collect::<String>())
}

/// `central/adaptive, alone: 20 of 24 within a factor of 1.3; geometric mean 1.12, worst 1.8`.
fn line(group: &Measurement) -> String {
    let label = |name: &str| group.labels.get(name).map_or("?", String::as_str);
    let figure = |name: &str| digits(group.figures.get(name).copied().unwrap_or(f64::NAN), 3);
    let whose = if label("name") == "all" { "all predictions" } else { label("name") };
    format!(
        "{whose}, {}: {} of {} within a factor of {}; geometric mean {}, worst {}\n",
        label("load"),
        figure("within"),
        group.summary.n,
        figure("limit"),
        figure("geomean"),
        figure("worst")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_a_line_in_the_table_and_a_group_one_below_it() {
        let cell = Measurement::from_values("prediction/2t, 1 us/central/spin", "", "us", vec![2.0]).label("row", "2t, 1 us");
        let group = Measurement::from_values("prediction-summary/all/alone", "", "factor", vec![1.0, 4.0]).label("load", "alone");
        let group = group.label("name", "all").figure("within", 1.0).figure("limit", 1.3).figure("geomean", 2.0);
        let matrix = Measurement::from_values("barriers/2t, 1 us/gomp", "", "", vec![1.0]).label("row", "elsewhere");
        let all = [matrix, cell.figure("factor", 1.75).figure("within", 0.0), group.figure("worst", 4.0)];
        let text = text(&all);
        assert!(
            text.contains("2t, 1 us") && text.contains("1.75") && text.contains("beyond") && !text.contains("elsewhere"),
            "{text}"
        );
        assert!(text.ends_with("all predictions, alone: 1 of 2 within a factor of 1.3; geometric mean 2, worst 4\n"), "{text}");
        assert_eq!(all.each_ref().map(is_prediction), [false, true, true]);
        assert_eq!(super::text(&all[..1]), "");
    }
}
