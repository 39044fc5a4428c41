//! What answers each verb: gather, print, write.
use crate::cli::{Barriers, Cli, Format, Measure, Reproduce, Verb, Waits};
use crate::failure::Failure;
use crate::results::{Results, Run, file};
use crate::{compare, demo, doctor, measure, report, reproduce};
use anyhow::Result;
use clap::CommandFactory;
use foregather_host::{interrupt, sched};
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

/// Does what was asked for.
///
/// # Errors
/// For [`crate::failure::exit_code`] to print and to count.
pub fn run(cli: &Cli) -> Result<()> {
    match &cli.verb {
        Verb::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "foregather", &mut script);
            Ok(stdout().write_all(&script)?)
        }
        Verb::Man => Ok(clap_mangen::Man::new(Cli::command()).render(&mut stdout())?),
        Verb::Report { results, output, figures } => make_report(results, output, figures.as_deref()),
        Verb::Compare { before, after, check } => compare_files(cli, before, after, *check),
        verb => {
            interrupt::install()?;
            if !matches!(verb, Verb::Doctor) {
                refuse_realtime()?;
            }
            match verb {
                Verb::Doctor => diagnose(cli),
                Verb::Demo { output } => demo::run(output, cli.quiet),
                Verb::Measure(Measure::Waits(options)) => waits(cli, options),
                Verb::Measure(Measure::Barriers(options)) => barriers(cli, options),
                Verb::Reproduce(options) => reproduce_claims(cli, options),
                _ => unreachable!("the others were answered above"),
            }
        }
    }
}

/// Hogs and other people's spinners know no bound: under a real-time class they would take the machine away.
fn refuse_realtime() -> Result<()> {
    let class = sched::class();
    if class.is_realtime() {
        let what = format!(
            "nothing is measured under {class:?}, where a spinner starves the machine: run it under SCHED_OTHER (chrt -o 0)"
        );
        return Err(Failure::Machine(what).into());
    }
    Ok(())
}

fn print(text: &str) -> Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

/// Prints results, keeps them if there is a place, and says so if they are partial.
fn finish(cli: &Cli, results: &Results, output: Option<&Path>) -> Result<()> {
    if let Some(path) = output {
        results.write(path)?;
    }
    warn(results);
    print(&match cli.format {
        Format::Table => results.to_table(),
        Format::Json => results.to_json(),
        Format::Csv => results.to_csv(),
    })?;
    if results.interrupted { Err(Failure::Interrupted.into()) } else { Ok(()) }
}

fn warn(results: &Results) {
    for note in &results.notes {
        eprintln!("note: {note}");
    }
    for fact in &results.noise.facts {
        eprintln!("noise: {fact}");
    }
}

fn diagnose(cli: &Cli) -> Result<()> {
    let diagnosis = doctor::Diagnosis::gather();
    print(&match cli.format {
        Format::Table => diagnosis.table().to_text(),
        Format::Json => serde_json::to_string_pretty(&diagnosis)?,
        Format::Csv => diagnosis.table().to_csv(),
    })
}

fn waits(cli: &Cli, options: &Waits) -> Result<()> {
    let run = Run::begin("measure waits", None);
    let waits = measure::waits::run(options, cli.quiet)?;
    finish(cli, &run.end(interrupt::requested(), waits.measurements, vec![], waits.notes), options.output.as_deref())
}

fn barriers(cli: &Cli, options: &Barriers) -> Result<()> {
    let run = Run::begin("measure barriers", Some(options.seed));
    let matrix = measure::barriers::run(options, cli.quiet)?;
    finish(cli, &run.end(matrix.interrupted, matrix.measurements, vec![], matrix.notes), options.output.as_deref())
}

fn reproduce_claims(cli: &Cli, options: &Reproduce) -> Result<()> {
    let run = Run::begin("reproduce", None);
    let found = reproduce::run(options.paper.as_deref(), options.figure.as_deref(), cli.quiet)?;
    let results = run.end(interrupt::requested(), found.measurements, found.verdicts, found.notes);
    if let Some(path) = &options.output {
        results.write(path)?;
    }
    warn(&results);
    let table = crate::results::table::verdicts(&results.verdicts);
    print(&match cli.format {
        Format::Table => table.to_text(),
        Format::Json => serde_json::to_string_pretty(&results.verdicts)?,
        Format::Csv => table.to_csv(),
    })?;
    if results.interrupted {
        return Err(Failure::Interrupted.into());
    }
    if !found.surprises.is_empty() {
        return Err(Failure::Check(format!("expected to differ, but it holds: {}", found.surprises.join(", "))).into());
    }
    if options.check && !found.differences.is_empty() {
        return Err(Failure::Check(format!("does not hold here: {}", found.differences.join(", "))).into());
    }
    Ok(())
}

fn make_report(paths: &[PathBuf], output: &Path, figures: Option<&Path>) -> Result<()> {
    let results = paths.iter().map(|path| Results::read(path)).collect::<Result<Vec<_>>>()?;
    file::write(output, &report::page(&results))?;
    for (figure, folder) in report::Figure::ALL.into_iter().zip(std::iter::repeat(figures)) {
        if let (Some(svg), Some(folder)) = (report::figure_svg(figure, &results), folder) {
            file::write(&folder.join(figure.name()).with_extension("svg"), &svg)?;
        }
    }
    print(&output.display().to_string())
}

fn compare_files(cli: &Cli, before: &Path, after: &Path, check: bool) -> Result<()> {
    let (before, after) = (Results::read(before)?, Results::read(after)?);
    let comparison = compare::compare(&before, &after);
    for warning in &comparison.warnings {
        eprintln!("warning: {warning}");
    }
    print(&match cli.format {
        Format::Table => comparison.to_text(),
        Format::Json => comparison.to_json(),
        Format::Csv => comparison.table().to_csv(),
    })?;
    let slower = comparison.count(compare::Mark::Slower);
    if check && slower > 0 {
        return Err(Failure::Check(format!("{slower} measurements became slower")).into());
    }
    Ok(())
}
