//! What the journals of all threads tell, as text or as a trace.
use anyhow::Result;
use foregather_apps::Outcome;
use foregather_cli::{App as Options, Explain};
use foregather_dsm::journal::{Journal, contention, races, sharing, trace};
use foregather_results::output;

/// The report that was asked for, or nothing; writes the trace if that was.
///
/// # Errors
/// If the trace cannot be written.
pub(super) fn explain(options: &Options, outcome: &Outcome<()>) -> Result<String> {
    if options.explain.is_none() && options.trace.is_none() {
        return Ok(String::new());
    }
    let journals: Vec<Journal> = outcome.threads.iter().filter_map(|played| played.journal.clone()).collect();
    if let Some(path) = &options.trace {
        output::write(path, &trace::trace(&journals, &outcome.sites))?;
    }
    Ok(match options.explain {
        None => String::new(),
        Some(Explain::Sharing) => sharing::find(&journals, &outcome.sites).to_string(),
        Some(Explain::Races) => races::find(&journals, &outcome.sites).to_string(),
        Some(Explain::Contention) => contention::by_site(&outcome.traffic, &outcome.sites).to_string(),
    })
}
