//! Where numbers come from: what disturbed the runs, notes, machine and command, the documents themselves.
use super::{Document, anchor, escape};
use crate::document::SHOWN;
use crate::{distinct, left_out, papers};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use foregather_results::ids::MEASURED;
use foregather_results::number::quantity;
use foregather_results::{Measurement, Results, TrustLevel};
use miniz_oxide::deflate::compress_to_vec;
use std::fmt::Write;

/// What a page says of simulations, where it says of other runs what else the machine was doing.
const UNDISTURBED: &str = "simulated in virtual time, which nothing disturbs";

/// The name by which a page tells these results from others.
pub(super) fn named(of: &Results) -> String {
    format!("{}, {}", experiment(of), date(of.started_unix_s))
}

/// The experiment, and the papers that it is about.
fn experiment(of: &Results) -> String {
    let papers: Vec<String> = super::claims::papers(std::slice::from_ref(of)).into_iter().map(papers::cited).collect();
    match papers[..] {
        [] => of.experiment.clone(),
        [ref one] => format!("{} {one}", of.experiment),
        _ => format!("{}, with claims of {} papers", of.experiment, papers.len()),
    }
}

/// How far the results can be trusted: simulated ones entirely.
pub(super) fn level(of: &Results) -> TrustLevel {
    if is_simulated(of) { TrustLevel::Quiet } else { of.noise.verdict }
}

/// Returns whether all measurements were made in virtual time.
pub(super) fn is_simulated(of: &Results) -> bool {
    let of_plan = |m: &Measurement| m.labels.contains_key("plan") && !m.labels.contains_key(MEASURED);
    let simulated = |m: &Measurement| of_plan(m) || m.id.starts_with("simulated/");
    !of.measurements.is_empty() && of.measurements.iter().all(simulated)
}

/// A paragraph for each run: how quiet the machine was, and what disturbed it.
pub(super) fn noise(results: &[Results]) -> String {
    let worst = results.iter().map(level).max().unwrap_or_default();
    let run = |of: &Results| {
        let cut = if of.interrupted { "; interrupted: what is here is what had been measured" } else { "" };
        let (name, took, level) = (escape(&experiment(of)), quantity(of.seconds, "s"), level(of));
        let facts = if is_simulated(of) { UNDISTURBED.to_owned() } else { escape(&of.noise.facts.join("; ")) };
        format!(
            "<p class=\"{level}\"><span class=\"word\">{level}</span> <b>{name}</b>, {took}{cut}<br><span class=\"why\">{facts}.</span></p>"
        )
    };
    let runs: String = results.iter().map(run).collect();
    if runs.is_empty() { runs } else { format!("<section class=\"card noise {worst}\">{runs}</section>\n") }
}

/// What a reader should know.
pub(super) fn notes(results: &[Results], documents: &[Document<'_>]) -> String {
    let cut = |of: &Document<'_>| {
        let (shown, all) = (of.all.len(), of.results.measurements.len());
        let told =
            || format!("Figures show the first {SHOWN} of {all} measurements of {}; its data have all.", experiment(of.results));
        (shown < all).then(told)
    };
    let cut: Vec<String> = documents.iter().filter_map(cut).chain(left_out(results)).collect();
    let own = documents.iter().flat_map(|of| &of.results.notes).map(String::as_str);
    let notes = distinct(cut.iter().map(String::as_str).chain(own));
    let notes: String = notes.into_iter().map(|note| format!("<li>{}</li>", escape(note))).collect();
    if notes.is_empty() {
        return notes;
    }
    format!("<section aria-labelledby=notes><h2 id=notes>Notes</h2>\n<div class=card><ul>{notes}</ul></div></section>\n")
}

/// The runs, each with its machine, its command and its data.
pub(super) fn sources(results: &[Results]) -> String {
    let mut text = "<section aria-labelledby=sources><h2 id=sources>Where these numbers come from</h2>\n".to_owned();
    for (i, of) in results.iter().enumerate() {
        let command = of.argv.join(" ");
        let seed = of.seed.map_or(String::new(), |seed| format!(", seed {seed}"));
        // What a later run has in common with the first is told once.
        let mut entries = of.provenance.entries();
        let first = if i == 0 { Vec::new() } else { results[0].provenance.entries() };
        entries.retain(|entry| !first.contains(entry));
        let entries: String = entries
            .iter()
            .map(|(name, value)| format!("<div><dt>{}</dt><dd>{}</dd></div>", escape(name), escape(value)))
            .collect();
        let rest = if i == 0 { "" } else { "<p class=\"why\">All else as in the first run.</p>" };
        let name = anchor(&format!("foregather-{}", of.experiment));
        // The schema's text is kept without indentation: a reader has tools for that.
        let data = pack(&serde_json::to_string(of).expect("plain structs with string keys always serialise"));
        let _ = write!(
            text,
            r#"<div class="card"><p><b>{}</b>, {}{seed}: <code>{}</code> <button class="script" data-for="data{i}" data-name="{name}.json">Save results</button></p>
<dl>{entries}</dl>{rest}
<details class="script" data-for="data{i}"><summary>Every number ({} measurements)</summary><div class="wide numbers" tabindex="0" role="group" aria-label="Every number"></div></details>
<script type="text/plain" id="data{i}">{data}</script></div>
"#,
            escape(&of.experiment),
            date(of.started_unix_s),
            escape(&command),
            of.measurements.len()
        );
    }
    text + "</section>\n"
}

/// The text as base64 of raw deflate: a sixth of its size, and browsers unpack both.
fn pack(text: &str) -> String {
    BASE64_STANDARD.encode(compress_to_vec(text.as_bytes(), 7))
}

/// The day and minute of a moment, in UTC (the calendar of Hinnant's "chrono-compatible low-level date
/// algorithms").
pub(super) fn date(unix_s: u64) -> String {
    let (days, seconds) = (unix_s / 86_400, unix_s % 86_400);
    let shifted = days + 719_468; // days since 1 March of the year 0
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_827_640), "2000-02-29 12:34 UTC");
        assert_eq!(date(1_798_761_599), "2026-12-31 23:59 UTC");
    }
}
