//! The papers' claims on the page: a heading a paper, what differs first, and each claim with its number, the
//! measured one, and a link to the figure that shows it. A filter by verdict and by words, if scripts run.
use super::placed::Placed;
use super::{anchor, escape, papers};
use crate::distinct;
use foregather_results::number::quantity;
use foregather_results::{ClaimOutcome, Results, Value, Verdict, counts};
use std::fmt::Write;

/// What a reader has to look at first; the rest is behind a line with its count.
const ORDER: [ClaimOutcome; 6] = [
    ClaimOutcome::Differs,
    ClaimOutcome::NotComparable,
    ClaimOutcome::HoldsWithinNoise,
    ClaimOutcome::Holds,
    ClaimOutcome::Fitted,
    ClaimOutcome::Given,
];
/// Outcomes whose claims are open from the beginning: those that ask for an explanation.
const OPEN: usize = 2;
/// More claims of an outcome would make no list that is read.
const SHOWN: usize = 500;

/// The section with all claims of these results; nothing if there are none.
pub(super) fn section(results: &[Results], placed: &Placed) -> String {
    let all: Vec<&Verdict> = results.iter().flat_map(|r| &r.verdicts).collect();
    if all.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "<section aria-labelledby=claims><h2 id=claims>Claims of the papers, tried here</h2>\n<p class=sub>{}: {}.</p>\n{}",
        super::several(all.len(), "claim"),
        counts(all.iter().copied()),
        filter(&all)
    );
    for paper in papers(results) {
        let of: Vec<&Verdict> = all.iter().copied().filter(|verdict| verdict.paper == paper).collect();
        let (id, name, counts) = (anchor(paper), escape(&papers::cited(paper)), counts(of.iter().copied()));
        let _ =
            writeln!(text, "<section class=claims aria-labelledby=\"claims-{id}\"><h3 id=\"claims-{id}\">{name}: {counts}</h3>");
        for (place, outcome) in ORDER.into_iter().enumerate() {
            let of: Vec<&Verdict> = of.iter().copied().filter(|verdict| verdict.verdict == outcome).collect();
            text += &group(&of, outcome, place < OPEN, placed);
        }
        text += "</section>\n";
    }
    text + "</section>\n"
}

/// The papers whose claims were tried, in the order of the results.
pub(super) fn papers(results: &[Results]) -> Vec<&str> {
    distinct(results.iter().flat_map(|r| &r.verdicts).map(|verdict| verdict.paper.as_str()))
}

/// Which claims are shown: a box for each outcome that there is, and words that a claim must have.
fn filter(all: &[&Verdict]) -> String {
    let mut boxes = String::new();
    for outcome in ORDER {
        let count = all.iter().filter(|verdict| verdict.verdict == outcome).count();
        if count > 0 {
            let _ = write!(boxes, "<label><input type=checkbox value=\"{outcome}\" checked>{outcome} ({count})</label> ");
        }
    }
    format!(
        "<form id=filter class=\"card script\" role=search aria-label=\"Filter of claims\"><fieldset><legend>Verdicts</legend>{boxes}</fieldset>\
         <label>Words <input type=search autocomplete=off></label> <output role=status></output></form>\n"
    )
}

/// The claims with one outcome; nothing if there are none.
fn group(of: &[&Verdict], outcome: ClaimOutcome, open: bool, placed: &Placed) -> String {
    if of.is_empty() {
        return String::new();
    }
    let rows: String = of.iter().take(SHOWN).map(|verdict| row(verdict, placed)).collect();
    let cut =
        if of.len() > SHOWN { format!("<p class=sub>The first {SHOWN} of these; the data have all.</p>") } else { String::new() };
    let (open, count) = (if open { " open" } else { "" }, of.len());
    format!(
        "<details class=\"card {}\" data-outcome=\"{outcome}\"{open}><summary><b class=word>{outcome}</b> {count}</summary><ul>{rows}</ul>{cut}</details>\n",
        class(outcome)
    )
}

fn class(outcome: ClaimOutcome) -> &'static str {
    match outcome {
        ClaimOutcome::Holds | ClaimOutcome::HoldsWithinNoise => "holds",
        ClaimOutcome::Differs => "differs",
        _ => "other",
    }
}

fn row(v: &Verdict, placed: &Placed) -> String {
    let value = |value: &Option<Value>| match value {
        Some(Value::Number(n)) => escape(&quantity(*n, &v.unit)),
        Some(Value::Text(text)) => escape(text),
        None => "\u{2013}".to_owned(),
    };
    let known = papers::claim(v);
    let section = known.map_or(String::new(), |(_, claim)| format!("{}, ", escape(&claim.section)));
    let figure = known.and_then(|(paper, claim)| placed.about(claim, paper));
    let figure = figure.map_or(String::new(), |(id, number)| format!(" \u{b7} <a href=\"#{id}\">{}</a>", escape(number)));
    format!(
        "<li><p>{}</p><dl><div><dt>paper<dd>{}</div><div><dt>here<dd>{}</div></dl>\
         <p class=why>{}</p><p class=id>{section}<code>{}</code>{figure}</p>\n",
        escape(&v.claim),
        value(&v.expected),
        value(&v.got),
        escape(&v.reason),
        escape(&v.id)
    )
}
