//! What the results say, in a few sentences with numbers of the run.
use super::glossary::Marked;
use super::origin::date;
use super::{Document, escape, is_reproduction, papers, several};
use crate::{Headline, barriers, openmp, ping_pong};
use foregather_results::{ClaimOutcome, Measurement, Results, counts};

/// More sentences are not read.
const SENTENCES: usize = 3;

/// Says in a sentence what measurements come to, if they are of its kind.
type HeadlineFn = fn(&[Measurement]) -> Option<Headline>;

/// What figures say of a document, the most telling first.
const OF_MEASUREMENTS: [HeadlineFn; 4] =
    [barriers::headline, openmp::headline_of_constructs, openmp::headline_of_programs, ping_pong::headline];

/// The title, the machine, and the headline: what measurements and claims come to, else what the first figure
/// shows.
pub(super) fn header(title: &str, documents: &[Document<'_>], first: Option<&str>) -> String {
    let told: Vec<(&Document<'_>, Headline)> =
        OF_MEASUREMENTS.iter().filter_map(|say| documents.iter().find_map(|of| Some((of, say(&of.all)?)))).collect();
    let disturbed = told.iter().any(|(of, _)| of.is_disturbed());
    let warning = if disturbed { "<span class=\"bad word\">Measured on a machine that other programs used.</span> " } else { "" };
    let mut sentences = of_measurements(told);
    // A reproduction is about the claims first.
    let place = if documents.iter().all(|of| is_reproduction(of.results)) { 0 } else { sentences.len() };
    sentences.splice(place..place, of_claims(documents));
    sentences.truncate(SENTENCES);
    if sentences.is_empty() {
        sentences.extend(of_nothing(documents).or_else(|| first.map(one_sentence)));
    }
    let lead = Marked::default().text(&sentences.join(" "));
    whole(title, documents, &format!("{warning}{lead}"))
}

/// The title and the machine above a page whose first section says what was found.
pub(super) fn short(title: &str, documents: &[Document<'_>]) -> String {
    let disturbed = documents.iter().any(Document::is_disturbed);
    let warning = "<span class=\"bad word\">Measured on a machine that other programs used: nothing is concluded.</span>";
    whole(title, documents, if disturbed { warning } else { "" })
}

fn whole(title: &str, documents: &[Document<'_>], lead: &str) -> String {
    let facts = documents.first().map_or_else(String::new, |first| facts(first.results));
    let lead = if lead.is_empty() { String::new() } else { format!("<p class=lead>{lead}</p>") };
    format!("<header><h1>{title}</h1>\n<p class=sub>{}</p>\n{lead}</header>\n", escape(&facts))
}

/// What measurements come to. Runs of an unusable machine and values that were measured once allow no
/// conclusion.
fn of_measurements(told: Vec<(&Document<'_>, Headline)>) -> Vec<String> {
    let (mut sentences, mut disturbed, mut single) = (Vec::new(), Vec::new(), Vec::new());
    for (of, headline) in told {
        match headline {
            _ if of.is_disturbed() => disturbed.push(headline.about),
            _ if headline.is_single => single.push(headline.about),
            _ => sentences.push(headline.sentence),
        }
    }
    for (about, why) in [(disturbed, "other programs used too much of the machine meanwhile"), (single, "it was measured once")] {
        if !about.is_empty() {
            sentences.push(format!("No conclusion about {}: {why}.", about.join(", and about ")));
        }
    }
    sentences
}

/// The first sentence of a text.
fn one_sentence(text: &str) -> String {
    text.split_once(". ").map_or_else(|| text.to_owned(), |(first, _)| format!("{first}."))
}

/// What became of the papers' claims.
fn of_claims(documents: &[Document<'_>]) -> Option<String> {
    let all: Vec<_> = documents.iter().flat_map(|of| &of.results.verdicts).collect();
    let first = all.first()?;
    let papers = crate::distinct(all.iter().map(|verdict| verdict.paper.as_str())).len();
    let whose = if papers == 1 { papers::cited(&first.paper) } else { several(papers, "paper") };
    let holds = |outcome| matches!(outcome, ClaimOutcome::Holds | ClaimOutcome::HoldsWithinNoise);
    let (held, differ) = (
        all.iter().filter(|verdict| holds(verdict.verdict)).count(),
        all.iter().filter(|verdict| verdict.verdict == ClaimOutcome::Differs).count(),
    );
    let rest = all.iter().copied().filter(|verdict| !holds(verdict.verdict) && verdict.verdict != ClaimOutcome::Differs);
    let rest = counts(rest);
    let rest = if rest.is_empty() { rest } else { format!("; the rest: {rest}") };
    let verb = |count: usize, verb: &str| format!("{count} {verb}{}", if count == 1 { "s" } else { "" });
    let (held, differ) = (verb(held, "hold"), verb(differ, "differ"));
    Some(format!("Of {} of {whose}, {held} here and {differ}{rest}.", several(all.len(), "claim")))
}

/// What a page without anything to show says.
fn of_nothing(documents: &[Document<'_>]) -> Option<String> {
    let empty = |of: &Document<'_>| {
        of.results.measurements.is_empty() && of.results.verdicts.is_empty() && of.results.timelines.is_empty()
    };
    documents.iter().all(empty).then(|| "There is nothing to show: these results have no measurements.".to_owned())
}

fn facts(first: &Results) -> String {
    let p = &first.provenance;
    let mut facts: Vec<String> = p.cpu.clone().into_iter().collect();
    facts.push(format!("cpus {}", p.cpus_allowed));
    facts.extend(p.quota_cpus.map(|q| format!("quota {q} cpus")));
    facts.extend(p.kernel.as_ref().and_then(|k| Some(format!("Linux {}", k.split(' ').next()?))));
    facts.extend(p.hypervisor.as_ref().map(|h| format!("under {h}")));
    facts.push(date(first.started_unix_s));
    facts.join(" \u{b7} ")
}
