//! What advice was worth for programs with a planted fault: a table with a row for each run, failures first.
//! What was said and predicted was written down before the program ran with the advised setting.
//!
//! Shows measurements with ids `cure/<kind>/<number>/<way>`.
use super::{escape, several};
use foregather_results::number::digits;
use foregather_results::{Measurement, Results};
use std::collections::BTreeMap;
use std::fmt::Write;

const HEADINGS: [&str; 7] =
    ["planted", "said", "as it is, s", "predicted, s", "verified, s", "best of all, s", "advised setting"];
/// The ways of which a row has times, in this order.
const WAYS: [&str; 4] = ["as it is", "predicted", "verified", "best of 16 settings"];
/// Digits of a time.
const DIGITS: i32 = 3;

/// The measurements of one run of a program.
type RunWays<'r> = Vec<&'r Measurement>;

/// The section with all runs of these results; nothing if there are none.
pub(super) fn section(results: &[Results]) -> String {
    let mut runs: Vec<RunWays<'_>> = results.iter().flat_map(runs).collect();
    if runs.is_empty() {
        return String::new();
    }
    runs.sort_by_key(|ways| is_right(ways));
    let missed = runs.iter().filter(|ways| !is_right(ways)).count();
    let cells = |tag: &str, row: &[String]| row.iter().map(|cell| format!("<{tag}>{}", escape(cell))).collect::<String>();
    let head = cells("th scope=col", &HEADINGS.map(str::to_owned));
    let mut text = format!(
        "<section aria-labelledby=cures><h2 id=cures>What the advice was worth</h2>\n<p class=sub>{} of programs with a planted fault. \
         {missed} missed: the prediction is missing or off by more than a factor of 1.5, or the \
         advised setting takes more than 1.1 times as long as the best of 16.</p>\n\
         <div class=\"card wide\"><table class=numbers><tr><th scope=col>verdict{head}</tr>\n",
        several(runs.len(), "run"),
    );
    for ways in runs {
        let verdict = if is_right(&ways) { "right" } else { "<b>missed</b>" };
        let _ = writeln!(text, "<tr><td>{verdict}{}</tr>", cells("td", &row(&ways)));
    }
    text + "</table></div></section>\n"
}

/// By kind and number, in the order of the document.
fn runs(results: &Results) -> Vec<RunWays<'_>> {
    let (mut places, mut runs) = (BTreeMap::new(), Vec::<RunWays<'_>>::new());
    for m in &results.measurements {
        let Some((run, _)) = m.id.strip_prefix("cure/").and_then(|id| id.rsplit_once('/')) else { continue };
        let place = *places.entry(run).or_insert(runs.len());
        if place == runs.len() {
            runs.push(vec![]);
        }
        runs[place].push(m);
    }
    runs
}

fn is_right(ways: &RunWays<'_>) -> bool {
    ways[0].number("right") == 1.0
}

fn row(ways: &RunWays<'_>) -> [String; 7] {
    let or_dash = |text: &str| if text.is_empty() { "\u{2013}".to_owned() } else { text.to_owned() };
    let words = |label: &str| or_dash(&ways[0].text(label).replace('-', " "));
    let time = |way: &str| {
        let measured = ways.iter().find(|m| m.text("way") == way).map(|m| digits(m.median(), DIGITS));
        or_dash(&measured.unwrap_or_default())
    };
    let [plain, predicted, verified, best] = WAYS.map(time);
    [words("kind"), words("said"), plain, predicted, verified, best, or_dash(ways[0].text("cure"))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_results::Run;

    fn way(run: &str, way: &str, us: f64, right: f64) -> Measurement {
        let m = Measurement::from_values(format!("cure/{run}/{way}"), "time", "s", vec![us]).label("way", way);
        let m = m.label("kind", run.split('/').next().unwrap()).label("said", "late-thread").label("cure", "OMP_X=<a>");
        m.figure("right", right)
    }

    #[test]
    fn failures_come_first_and_a_run_has_a_row_with_all_its_times() {
        assert_eq!(section(&[]), "");
        let all = vec![
            way("tiny/0", "as it is", 2.0, 1.0),
            way("tiny/0", "predicted", 1.25, 1.0),
            way("large-pool/1", "as it is", 3.0, 0.0),
            way("tiny/0", "best of 16 settings", 1.0, 1.0),
        ];
        let text = section(&[Run::begin("advise planted", None).end(false, all, vec![], vec![])]);
        assert!(text.contains("2 runs of programs with a planted fault. 1 missed:"), "{text}");
        let failure =
            text.find("<b>missed</b><td>large pool<td>late thread<td>3<td>\u{2013}<td>\u{2013}<td>\u{2013}<td>OMP_X=&lt;a&gt;");
        let other = text.find("<td>right<td>tiny<td>late thread<td>2<td>1.25<td>\u{2013}<td>1<td>OMP_X=&lt;a&gt;");
        assert!(failure.is_some() && other > failure, "{text}");
    }
}
