//! Comparisons with programs of other projects: a table, with those that miss their bar first and those
//! without one last.
//!
//! Shows measurements with ids `rival/<program>/<case>`, and `scheduler/share/...` that have a bar: in those
//! the other program is the kernel.
use super::{escape, several};
use foregather_results::number::digits;
use foregather_results::rivals::RIVALS;
use foregather_results::{Measurement, Results};
use std::fmt::Write;

const HEADINGS: [&str; 6] = ["program", "case", "theirs", "ours", "difference", "bar"];
/// More rows would make no table that is read.
const SHOWN: usize = 200;
/// Digits of a difference.
const DIGITS: i32 = 3;

/// A comparison, in words.
struct RivalRow {
    /// Whether the bar is met, if there is one.
    met: Option<bool>,
    cells: [String; 6],
}

/// The section with all comparisons of these results; nothing if there are none.
pub(super) fn section(results: &[Results]) -> String {
    let mut rows: Vec<RivalRow> = results.iter().flat_map(|of| &of.measurements).filter_map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let missed = rows.iter().filter(|row| row.met == Some(false)).count();
    let met = rows.iter().filter(|row| row.met == Some(true)).count();
    rows.sort_by_key(|row| row.met.map_or(2, u8::from));
    let cells = |tag: &str, row: &[String]| row.iter().map(|cell| format!("<{tag}>{}", escape(cell))).collect::<String>();
    let head = cells("th scope=col", &HEADINGS.map(str::to_owned));
    let mut text = format!(
        "<section aria-labelledby=rivals><h2 id=rivals>Compared with programs of other projects</h2>\n<p class=sub>{}: {missed} {} \
         the bar, {met} within it, {} without one, because they follow other rules.</p>\n<div class=\"card wide\"><table><tr><th scope=col>verdict{head}</tr>\n",
        several(rows.len(), "comparison"),
        if missed == 1 { "misses" } else { "miss" },
        rows.len() - missed - met
    );
    for row in rows.iter().take(SHOWN) {
        let verdict = match row.met {
            Some(true) => "within",
            Some(false) => "<b>missed</b>",
            None => "no bar",
        };
        let _ = writeln!(text, "<tr><td>{verdict}{}</tr>", cells("td", &row.cells));
    }
    text += "</table></div>\n";
    if rows.len() > SHOWN {
        let _ = writeln!(text, "<p class=sub>The first {SHOWN} of these; the data have all.</p>");
    }
    text + "</section>\n"
}

fn row(m: &Measurement) -> Option<RivalRow> {
    let number = |value: f64| if value.is_finite() { digits(value, DIGITS) } else { "\u{2013}".to_owned() };
    if m.id.starts_with(RIVALS) {
        let (apart, bar) = (m.median(), m.number("bar"));
        let met = (bar.is_finite() && apart.is_finite()).then_some(apart.abs() <= bar);
        let told = |value: f64| format!("{} {}", number(value), m.unit).trim_end().to_owned();
        let bar = if bar.is_finite() { told(bar) } else { number(bar) };
        let words = ["program", "case", "theirs", "ours"].map(|label| m.text(label).to_owned());
        let [program, case, theirs, ours] = words;
        return Some(RivalRow { met, cells: [program, case, theirs, ours, told(apart), bar] });
    }
    let (equal, bar) = (m.number("equal_percent"), m.number("bar_percent"));
    if !m.id.starts_with("scheduler/share/") || !bar.is_finite() {
        return None;
    }
    let (judged, processors) = (m.number("judged"), m.text("processors"));
    let case = format!("{}, {processors} processor{}", m.text("kind"), if processors == "1" { "" } else { "s" });
    let cells = [
        "this machine's kernel".to_owned(),
        case,
        format!("{judged} decisions"),
        format!("{} equal", (judged * equal / 100.0).round()),
        format!("{} %", number(100.0 - equal)),
        format!("{} %", number(100.0 - bar)),
    ];
    Some(RivalRow { met: Some(equal >= bar), cells })
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_results::Run;
    use foregather_results::rivals::rival;

    #[test]
    fn what_misses_its_bar_comes_first_and_words_are_harmless() {
        let of = |case: &str, apart, bar| rival("Other<sim>", case, ["1 us".into(), "2 us".into()], (apart, bar), "%");
        let share = Measurement::from_values("scheduler/share/1/all next threads", "share", "%", vec![80.0])
            .label("kind", "all next threads")
            .label("processors", "1")
            .figure("judged", 10.0)
            .figure("equal_percent", 80.0)
            .figure("bar_percent", 90.0);
        let all = vec![of("within", 0.5, 1.0), of("free", 7.0, f64::NAN), of("far", -3.0, 1.0), share];
        let results = Run::begin("peers", None).end(false, all, vec![], vec![]);
        let text = section(&[results]);
        let places: Vec<_> = ["<td>far", "all next threads, 1 processor", "<td>within<td>1 us", "<td>free"]
            .map(|what| text.find(what).unwrap_or_else(|| panic!("{what}: {text}")))
            .into();
        assert!(places.is_sorted(), "{text}");
        assert!(
            text.contains("4 comparisons: 2 miss the bar, 1 within it, 1 without one, because they follow other rules")
                && text.contains("Other&lt;sim"),
            "{text}"
        );
        assert!(text.contains("<td>10 decisions<td>8 equal<td>20 %<td>10 %"), "{text}");
        assert_eq!(section(&[]), "");
    }
}
