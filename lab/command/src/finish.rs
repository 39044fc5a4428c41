//! How results leave the command: printed, kept in a file, and with a word about what makes them doubtful.
use crate::cli::{Cli, Format};
use anyhow::Result;
use foregather_machine::shown;
use foregather_results::Results;
use foregather_results::failure::Failure;
use foregather_results::output::NotWritten;
use foregather_results::table::wrapped;
use std::io::{self, Write, stdout};
use std::path::Path;

/// Prints a text whole, with a newline at its end.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Prints results, keeps them if there is a place, and says so if they are partial.
pub(crate) fn finish(cli: &Cli, results: &Results, output: Option<&Path>, table: impl FnOnce() -> String) -> Result<()> {
    finish_with(results, output, || match cli.format {
        Format::Table => table(),
        Format::Json => results.to_json(),
        Format::Csv => results.to_csv(),
    })?;
    if results.interrupted { Err(Failure::Interrupted.into()) } else { Ok(()) }
}

/// Writes results and prints what there is to see of them, beside what makes them doubtful.
pub(crate) fn finish_with(results: &Results, output: Option<&Path>, seen: impl FnOnce() -> String) -> Result<(), NotWritten> {
    let kept = keep(results, output);
    warn(results);
    print_kept(results, output, kept, seen)
}

/// Writes results, if there is a place.
pub(crate) fn keep(results: &Results, output: Option<&Path>) -> Result<(), NotWritten> {
    output.map_or(Ok(()), |path| results.write(path))
}

/// Prints what there is to see of results. What could be kept nowhere is printed whole, and what could not be
/// printed is kept.
pub(crate) fn print_kept(
    results: &Results,
    output: Option<&Path>,
    kept: Result<(), NotWritten>,
    seen: impl FnOnce() -> String,
) -> Result<(), NotWritten> {
    let lost = kept.as_ref().is_err_and(NotWritten::is_lost);
    let printed = print(&if lost { results.to_json() } else { seen() });
    kept?;
    printed.map_err(|error| {
        let text = output.is_none().then(|| results.to_json());
        NotWritten::saving(Path::new("standard output"), error, text.as_deref())
    })
}

/// Notes and noise of results, on standard error. No noise reaches virtual time.
fn warn(results: &Results) {
    results.notes.iter().for_each(|note| tell("note", note));
    if !results.experiment.starts_with(SIMULATE) {
        results.noise.facts.iter().for_each(|fact| tell("noise", fact));
    }
}

/// What the names of simulations begin with.
pub(crate) const SIMULATE: &str = "simulate ";

/// One line on standard error, beside the results.
pub(crate) fn tell(what: &str, text: &str) {
    eprintln!("{}", wrapped(&format!("{what}: {}", shown(text)), 2));
}
