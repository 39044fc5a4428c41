//! The page: what the results say, figures by section, claims, and where all of it comes from.
//!
//! - `headline`: the results in a few sentences. `side_by_side`: those of a demo, as bars. `placed`: which
//!   figure stands where. `claims`: those of papers. `rivals`: programs of other projects beside ours.
//!   `cures`: what advice was worth.
//! - `origin`: what disturbed the runs, notes, provenance, the data. `glossary`: the words.
mod claims;
mod cures;
mod glossary;
mod headline;
mod origin;
mod placed;
mod rivals;
mod side_by_side;

use super::document::Document;
use super::svg::escape;
use super::{Drawn, dsm, papers};
use foregather_results::Results;
use placed::Placed;
pub use side_by_side::{SideBySide, TimedEntry};

/// One self-contained HTML page from these results, in their order.
pub fn page(results: &[Results]) -> String {
    page_of_demo(results, &[])
}

/// The same page with what a demo has done first; papers and simulations are folded then.
pub fn page_of_demo(results: &[Results], demo: &[SideBySide]) -> String {
    let documents: Vec<Document<'_>> = results.iter().map(Document::of).collect();
    let placed = Placed::of(results, &documents, demo.is_empty());
    let published = results.iter().map(|of| dsm::published(&of.measurements)).find(|section| !section.is_empty());
    let of_papers = [placed.papers(&documents), published.unwrap_or_default(), claims::section(results, &placed)].concat();
    let of_papers = if demo.is_empty() || of_papers.is_empty() {
        of_papers
    } else {
        format!("<details class=more><summary>Papers, and machines in simulation</summary>{of_papers}</details>\n")
    };
    let main = [
        side_by_side::section(demo),
        origin::noise(results),
        placed.contents(results),
        placed.measured(&documents),
        cures::section(results),
        rivals::section(results),
        of_papers,
        origin::notes(results, &documents),
        origin::sources(results),
        glossary::section(),
    ]
    .concat();
    let (title, header) = if demo.is_empty() {
        let title = title(results);
        (title, headline::header(title, &documents, placed.first_caption()))
    } else {
        (MEASURED_HERE, headline::short(MEASURED_HERE, &documents))
    };
    let (css, js) = (include_str!("page.css"), include_str!("page.js"));
    format!(
        r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none';style-src 'unsafe-inline';script-src 'unsafe-inline';img-src data:">
<link rel="icon" href="data:,"><title>Foregather: {title}</title>
<style>{css}</style></head><body>
{header}<main>
{main}</main><div id="tip" role="tooltip"></div>
<script>{js}</script></body></html>
"#
    )
}

/// The title of a page about measurements.
const MEASURED_HERE: &str = "How this machine waits";

/// What the page is about, by what is on it.
fn title(results: &[Results]) -> &'static str {
    let judged = results.iter().any(|of| !of.verdicts.is_empty());
    let simulated = |of: &Results| origin::is_simulated(of) || is_reproduction(of);
    match (judged, !results.is_empty() && results.iter().all(simulated)) {
        (true, true) => "Claims of papers, tried here",
        (true, false) => "How this machine waits, and claims of papers tried here",
        (false, true) => "Machines in simulation",
        (false, false) => MEASURED_HERE,
    }
}

/// Returns whether the document contains only claims of papers.
fn is_reproduction(of: &Results) -> bool {
    of.experiment.starts_with("reproduce")
}

/// A name as the end of a link within the page.
fn anchor(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// `1 figure`, `3 figures`.
fn several(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
