//! The page: what disturbed the runs, the figures, the claims, every number on demand, and where all of it
//! comes from.
use super::svg::escape;
use super::{Drawn, distinct, dsm, figures, verdicts};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use foregather_results::number::quantity;
use foregather_results::{Level, Measurement, Results};
use miniz_oxide::deflate::compress_to_vec;
use std::fmt::Write;

/// What a page says of simulations, where it says of other runs what else the machine was doing.
const UNDISTURBED: &str = "simulated in virtual time, which nothing disturbs";
/// What a page says before the caption of a figure that was measured on a busy machine.
const UNUSABLE: &str =
    "<span class=\"bad word\">machine unusable</span> while this was measured: its numbers tell of what else ran. ";

/// One self-contained HTML page from these results, in their order.
pub fn page(results: &[Results]) -> String {
    let (mut drawings, mut contents) = (String::new(), String::new());
    for figure in figures(results) {
        let draw = |(i, r): (usize, &Results)| Some((i, named(r), figure.draw(r)?));
        let drawn: Vec<(usize, String, Drawn)> = results.iter().enumerate().filter_map(draw).collect();
        let several = drawn.len() > 1;
        for (i, name, Drawn { svg, caption }) in drawn {
            let whose = if several { format!("{name}: ") } else { String::new() };
            let caption = escape(&format!("{whose}{caption}"));
            let warning = if figure.is_virtual() || level(&results[i]) != Level::Unusable { "" } else { UNUSABLE };
            let id = format!("f{}", contents.matches("<li>").count());
            let _ = write!(contents, "<li><a href=#{id}>{}</a>", escape(&format!("{whose}{}", figure.name())));
            drawings += &format!(
                "<figure id={id} data-of=\"data{i}\"><div class=\"scroll\">{svg}</div><figcaption>{warning}{caption}</figcaption></figure>\n"
            );
        }
    }
    let title = title(results);
    let mut body = heading(title, results);
    body += &noise(results);
    body += &listed(&contents, results);
    body += &drawings;
    let published = results.iter().map(|of| dsm::published(&of.measurements)).find(|section| !section.is_empty());
    body += &published.unwrap_or_default();
    body += &verdicts::section(results);
    body += &notes(results);
    body += &sources(results);
    let (css, js) = (include_str!("page.css"), include_str!("page.js"));
    format!(
        r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none';style-src 'unsafe-inline';script-src 'unsafe-inline';img-src data:">
<link rel="icon" href="data:,"><title>Foregather: {title}</title>
<style>{css}</style></head><body><main>
{body}</main><div id="tip" role="status"></div>
<script>{js}</script></body></html>
"#
    )
}

/// What the page is about, by what is on it.
fn title(results: &[Results]) -> &'static str {
    let judged = results.iter().any(|of| !of.verdicts.is_empty());
    let simulated = |of: &Results| is_simulated(of) || !of.verdicts.is_empty();
    match (judged, !results.is_empty() && results.iter().all(simulated)) {
        (true, true) => "Claims of papers, tried here",
        (true, false) => "How this machine waits, and claims of papers tried here",
        (false, true) => "Machines in simulation",
        (false, false) => "How this machine waits",
    }
}

/// What the page holds, as links.
fn listed(figures: &str, results: &[Results]) -> String {
    let mut links = figures.to_owned();
    for paper in verdicts::papers(results) {
        let _ = write!(links, "<li><a href=\"#claims-{}\">claims of {}</a>", verdicts::anchor(paper), escape(paper));
    }
    if links.is_empty() { links } else { format!("<ul class=\"card toc\">{links}</ul>\n") }
}

fn heading(title: &str, results: &[Results]) -> String {
    let mut facts: Vec<String> = Vec::new();
    if let Some(first) = results.first() {
        let p = &first.provenance;
        facts.extend(p.cpu.clone());
        facts.push(format!("cpus {}", p.cpus_allowed));
        facts.extend(p.quota_cpus.map(|q| format!("quota {q} cpus")));
        facts.extend(p.kernel.as_ref().and_then(|k| Some(format!("Linux {}", k.split(' ').next()?))));
        facts.extend(p.hypervisor.as_ref().map(|h| format!("under {h}")));
        facts.push(date(first.started_unix_s));
    }
    format!("<h1>{title}</h1>\n<p class=\"sub\">{}</p>\n", escape(&facts.join(" \u{b7} ")))
}

/// The name by which a page tells these results from others.
fn named(of: &Results) -> String {
    format!("{}, {}", experiment(of), date(of.started_unix_s))
}

/// The experiment, and the papers that it is about.
fn experiment(of: &Results) -> String {
    let papers = verdicts::papers(std::slice::from_ref(of)).join(", ");
    if papers.is_empty() || of.experiment.contains(&papers) {
        of.experiment.clone()
    } else {
        format!("{} {papers}", of.experiment)
    }
}

/// How far the results can be trusted: simulated ones entirely.
fn level(of: &Results) -> Level {
    if is_simulated(of) { Level::Quiet } else { of.noise.verdict }
}

/// Were all measurements made in virtual time?
fn is_simulated(of: &Results) -> bool {
    let simulated = |m: &Measurement| m.id.starts_with("simulate/") || m.id.starts_with("simulated/");
    !of.measurements.is_empty() && of.measurements.iter().all(simulated)
}

/// A paragraph for each run: how quiet the machine was, and what disturbed it.
fn noise(results: &[Results]) -> String {
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

fn notes(results: &[Results]) -> String {
    let notes = distinct(results.iter().flat_map(|r| &r.notes).map(String::as_str));
    let notes: String = notes.into_iter().map(|note| format!("<li>{}</li>", escape(note))).collect();
    if notes.is_empty() { notes } else { format!("<h2>Notes</h2>\n<div class=\"card\"><ul>{notes}</ul></div>\n") }
}

fn sources(results: &[Results]) -> String {
    let mut text = "<h2>Where these numbers come from</h2>\n".to_owned();
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
        let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = format!("foregather-{}", of.experiment).chars().map(safe).collect();
        // The schema's text is kept without indentation: a reader has tools for that.
        let data = pack(&serde_json::to_string(of).expect("plain structs with string keys always serialise"));
        let _ = write!(
            text,
            r#"<div class="card"><p><b>{}</b>, {}{seed}: <code>{}</code> <button data-for="data{i}" data-name="{name}.json">Save results</button></p>
<dl>{entries}</dl>{rest}
<details data-for="data{i}"><summary>Every number ({} measurements)</summary><div class="wide numbers"></div></details>
<script type="text/plain" id="data{i}">{data}</script></div>
"#,
            escape(&of.experiment),
            date(of.started_unix_s),
            escape(&command),
            of.measurements.len()
        );
    }
    text
}

/// The text as base64 of raw deflate: a sixth of its size, and browsers unpack both.
fn pack(text: &str) -> String {
    BASE64_STANDARD.encode(compress_to_vec(text.as_bytes(), 7))
}

/// The day and minute of a moment, in UTC (the calendar of Hinnant's "chrono-compatible low-level date
/// algorithms").
fn date(unix_s: u64) -> String {
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
