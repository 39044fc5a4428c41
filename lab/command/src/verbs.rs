//! What answers each verb: gather, print, write.
use crate::cli::{AppOptions, Cli, Exec, Format, Reproduce, Verb};
use crate::finish::{finish, finish_with, print, tell};
use crate::jobs::{app, run};
use crate::screen::Screen;
use crate::{advise, demo, doctor, exec, hang, plans, top};
use anyhow::{Context, Result, bail};
use foregather_host::{interrupt, sched, terminal};
use foregather_machine::shown;
use foregather_measure::AskedExperiment;
use foregather_report as report;
use foregather_reproduce as reproduce;
use foregather_results::compare;
use foregather_results::failure::Failure;
use foregather_results::output;
use foregather_results::table;
use foregather_results::{Noise, Results, Run};
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

/// Does what was asked for.
///
/// # Errors
/// For [`foregather_results::failure::exit_code`] to print and to count.
pub fn run(cli: &Cli) -> Result<()> {
    if let (Format::Table, Some(columns)) = (cli.format, terminal::columns()) {
        table::fit(columns);
    }
    if cli.format != Format::Table
        && matches!(
            &cli.verb,
            Verb::Exec(Exec { compare: None, stats: false, .. })
                | Verb::Run(_)
                | Verb::Hang(_)
                | Verb::Completions { .. }
                | Verb::Man { .. }
        )
    {
        bail!("--format is about results, and this verb prints none: leave it out");
    }
    // What cannot be written is known before the work, not after.
    output::refuse_overwriting(&cli.verb.inputs(), &cli.verb.outputs())?;
    output::try_places(&cli.verb.outputs())?;
    match &cli.verb {
        Verb::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::whole_command(), "foregather", &mut script);
            Ok(stdout().write_all(&script)?)
        }
        Verb::Man { directory: None } => Ok(clap_mangen::Man::new(Cli::whole_command()).render(&mut stdout())?),
        Verb::Man { directory: Some(folder) } => write_manual(folder),
        Verb::Exec(options) => exec::run(cli, options),
        Verb::Advise(options) => advise::run(cli, options),
        Verb::Top(options) => top::run(cli, options),
        Verb::Hang(options) => hang::run(options),
        Verb::Report { results, output, figures } => make_report(results, output, figures.as_deref()),
        Verb::Compare { before, after, check } => compare_files(cli, before, after, *check),
        verb => {
            if !(matches!(verb, Verb::App(_)) && app::is_rank()?) {
                interrupt::install()?;
            }
            if !matches!(verb, Verb::Doctor { .. } | Verb::Run(_)) {
                refuse_realtime()?;
            }
            match verb {
                Verb::Doctor { peers } => diagnose(cli, *peers),
                Verb::Run(options) => run::run(cli, options),
                Verb::App(options) => run_app(cli, options),
                Verb::Demo { output, turns } => demo::run(output, *turns, cli.quiet),
                Verb::Measure { what, output } => measure(cli, &foregather_measure::experiment(what), output.as_deref()),
                Verb::Simulate(options) => plans::run(cli, options),
                Verb::Reproduce(options) => reproduce_claims(cli, options),
                _ => unreachable!("the others were answered above"),
            }
        }
    }
}

/// Writes the manual pages of the command and of each verb.
fn write_manual(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::whole_command(), folder))
        .map_err(|error| Failure::Machine(format!("{}: {error}; give another --directory", folder.display())).into())
}

/// Hogs and the spinners of peers know no bound: under a real-time class they would take the machine away.
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

fn diagnose(cli: &Cli, peers: bool) -> Result<()> {
    let diagnosis = doctor::Diagnosis::gather();
    Ok(print(&match cli.format {
        Format::Table => diagnosis.to_text(peers, &Screen::of_output()),
        Format::Json => serde_json::to_string_pretty(&diagnosis)?,
        Format::Csv => diagnosis.table().to_csv(),
    })?)
}

fn measure(cli: &Cli, asked: &AskedExperiment<'_>, output: Option<&Path>) -> Result<()> {
    let run = Run::begin(&format!("measure {}", asked.name), asked.seed);
    let found = asked.experiment.measure(cli.quiet)?;
    let results = run.end(interrupt::requested(), found.measurements, vec![], found.notes);
    finish(cli, &results, output, || found.table.unwrap_or_else(|| asked.experiment.text(&results)))?;
    found.failed.map_or(Ok(()), |why| Err(Failure::Check(why).into()))
}

fn run_app(cli: &Cli, options: &AppOptions) -> Result<()> {
    let run = Run::begin(&format!("app {}", options.name.name()), None);
    // Of a launcher's ranks, only the first has something to say.
    let Some(found) = app::run(options, cli.quiet)? else { return Ok(()) };
    let table = app::output::text(&found.measurements);
    let results = run.end(interrupt::requested(), found.measurements, vec![], found.notes);
    let explained = found.explained.join("\n");
    if cli.format != Format::Table && !explained.is_empty() {
        eprintln!("{explained}");
    }
    finish(cli, &results, options.output.as_deref(), || format!("{table}\n{explained}").trim_end().to_owned())?;
    match found.wrong.first() {
        None => Ok(()),
        Some(wrong) => Err(Failure::Check(wrong.clone()).into()),
    }
}

fn reproduce_claims(cli: &Cli, options: &Reproduce) -> Result<()> {
    let run = Run::begin("reproduce", None);
    if let Some(journals) = &options.record {
        reproduce::record_journals(options.paper.as_deref(), journals, cli.quiet)?;
    }
    if options.paper.is_none() && !cli.quiet {
        tell("note", &format!("{}; `foregather reproduce PAPER` tries one paper", reproduce::extent()?));
    }
    let trial = reproduce::TrialOptions { quiet: cli.quiet, full: options.full, journals: options.record.clone() };
    let found = reproduce::run(options.paper.as_deref(), options.figure.as_deref(), &trial)?;
    let is_measured = found.tried.iter().any(reproduce::Tried::is_measured);
    let mut results = run.end(interrupt::requested(), found.measurements, vec![], found.notes);
    if !is_measured {
        // Nothing reaches virtual time.
        results.noise = Noise::default();
    }
    results.timelines = found.timelines;
    let settled = reproduce::settle(found.tried, &results.noise);
    results.verdicts = settled.verdicts;
    if cli.format == Format::Table {
        eprintln!("{}", foregather_results::counts(&results.verdicts));
    }
    let table = table::verdicts(&results.verdicts);
    let list = serde_json::to_string_pretty(&results.verdicts)?;
    finish_with(&results, options.output.as_deref(), || match cli.format {
        Format::Table => table.to_text(),
        Format::Json => list,
        Format::Csv => table.to_csv(),
    })?;
    if results.interrupted {
        return Err(Failure::Interrupted.into());
    }
    if !settled.surprises.is_empty() {
        return Err(Failure::Check(format!("expected to differ, but it holds: {}", settled.surprises.join(", "))).into());
    }
    if options.check && !settled.differences.is_empty() {
        return Err(Failure::Check(format!("does not hold here: {}", settled.differences.join(", "))).into());
    }
    if options.check && !settled.unusable.is_empty() {
        let (what, why) = (settled.unusable.join(", "), results.noise.facts.join("; "));
        return Err(Failure::Machine(format!("too disturbed to judge {what}: {why}; run it again on a quiet machine")).into());
    }
    Ok(())
}

fn make_report(paths: &[PathBuf], output: &Path, figures: Option<&Path>) -> Result<()> {
    if let Some(folder) = figures {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        output::try_places(&[folder.join("figure.svg")])?;
    }
    let results = paths.iter().map(|path| Results::read(path)).collect::<Result<Vec<_>>>()?;
    let demo: Vec<_> = results.iter().flat_map(demo::side_by_side).collect();
    output::write(output, &report::page_of_demo(&results, &demo))?;
    if let Some(folder) = figures {
        for figure in report::figures(&results) {
            if let Some(svg) = report::figure_svg(&figure, &results) {
                output::write(&folder.join(figure.name()).with_extension("svg"), &svg)?;
            }
        }
    }
    Ok(print(&shown(&output.display().to_string()))?)
}

fn compare_files(cli: &Cli, before: &Path, after: &Path, check: bool) -> Result<()> {
    let (before, after) = (Results::read(before)?, Results::read(after)?);
    let comparison = compare::compare(&before, &after);
    comparison.warnings.iter().for_each(|warning| tell("warning", warning));
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
