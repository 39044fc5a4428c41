//! The papers' claims on the page: a table a paper, claims that differ first, and each claim's name below its
//! text.
use super::distinct;
use super::svg::escape;
use foregather_results::number::quantity;
use foregather_results::{Outcome, Results, Value, Verdict, counts};
use std::fmt::Write;

/// The section with all claims of these results; nothing if there are none.
pub(super) fn section(results: &[Results]) -> String {
    let all: Vec<&Verdict> = results.iter().flat_map(|r| &r.verdicts).collect();
    if all.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "<h2 id=\"claims\">Claims of the papers, tried here</h2>\n<p class=\"sub\">{} claims: {}.</p>\n",
        all.len(),
        counts(all.iter().copied())
    );
    for paper in papers(results) {
        let mut of: Vec<&Verdict> = all.iter().copied().filter(|verdict| verdict.paper == paper).collect();
        // A stable order: within an outcome claims stand as in the paper.
        of.sort_by_key(|verdict| verdict.verdict);
        let _ = writeln!(
            text,
            "<h3 id=\"claims-{}\">{}: {}</h3>\n<div class=\"card wide claims\"><table>\
             <tr><th>verdict<th>what it says<th class=\"n\">paper<th class=\"n\">here</tr>",
            anchor(paper),
            escape(paper),
            counts(of.iter().copied())
        );
        of.into_iter().for_each(|verdict| text += &row(verdict));
        text += "</table></div>\n";
    }
    text
}

/// The papers whose claims were tried, in the order of the results.
pub(super) fn papers(results: &[Results]) -> Vec<&str> {
    distinct(results.iter().flat_map(|r| &r.verdicts).map(|verdict| verdict.paper.as_str()))
}

/// A name as the end of a link within the page.
pub(super) fn anchor(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn row(v: &Verdict) -> String {
    let class = match v.verdict {
        Outcome::Holds => "holds",
        Outcome::Differs => "differs",
        _ => "other",
    };
    let value = |value: &Option<Value>| match value {
        Some(Value::Number(n)) => escape(&quantity(*n, &v.unit)),
        Some(Value::Text(text)) => escape(text),
        None => "\u{2013}".to_owned(),
    };
    format!(
        "<tr class=\"{class}\"><td><span class=\"word\">{}</span><td>{}<div class=\"why\">{}<br>{}</div>\
         <td class=\"n\">{}<td class=\"n\">{}</tr>\n",
        v.verdict,
        escape(&v.claim),
        escape(&v.id),
        escape(&v.reason),
        value(&v.expected),
        value(&v.got)
    )
}
