//! `simulate` with a trace in GOAL: converted, or run to its end.
use crate::cli::{Cli, Format, Simulate, TraceOptions};
use crate::finish::{SIMULATE, finish, print};
use anyhow::{Context, Result, bail};
use foregather_host::interrupt;
use foregather_machine::shown;
use foregather_results::failure::Failure;
use foregather_results::{Run, output};
use foregather_simulate::goal::{self, GoalRun, NETWORKS};
use std::path::Path;

/// Converts or simulates a trace.
///
/// # Errors
/// If an option is about plans, the trace is malformed, or its ranks wait forever.
pub(crate) fn run(cli: &Cli, options: &Simulate, path: &Path) -> Result<()> {
    let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    let name = shown(&name).to_string();
    if let Some((option, ..)) = options.job.answers().into_iter().find(|(_, values, _)| !values.is_empty()) {
        bail!("--{option} describes a job without a plan, and {name} is a trace in GOAL: leave one of them out");
    }
    let of_plans =
        [("full", options.full), ("dry-run", options.dry_run), ("yes", options.yes), ("trace", options.trace.is_some())];
    if let Some((option, _)) = of_plans.into_iter().find(|(_, given)| *given) {
        bail!("--{option} is about plans, and {name} is a trace in GOAL: leave it out");
    }
    let TraceOptions { network, noise, repeat_ranks, convert } = &options.of_trace;
    if let Some(into) = convert {
        let converted = goal::convert(path, into)?;
        let (operations, ranks) = (converted.operations, converted.ranks);
        return Ok(print(&format!("{}: {ranks} ranks, {operations} operations", shown(&into.display().to_string())))?);
    }
    let inputs: Vec<_> = [Some(path.to_owned()), noise.clone()].into_iter().flatten().collect();
    output::refuse_overwriting(&inputs, options.output.as_slice())?;
    let named = network.as_deref().unwrap_or(NETWORKS[0].0);
    let how = GoalRun {
        network: goal::network(network.as_deref(), &options.set)?,
        noise: noise.as_ref().map(|noise| goal::noise(noise, options.seed)).transpose()?,
    };
    let run = Run::begin(&format!("{SIMULATE}{name}"), Some(options.seed));
    let mut trace = goal::open(path)?;
    let recorded = trace.ranks();
    if let Some(times) = *repeat_ranks {
        trace = trace.repeat(times).context("--repeat-ranks")?;
    }
    let Some(outcome) = goal::simulate(&name, trace, &how, cli.quiet)? else { return Err(Failure::Interrupted.into()) };
    let unreceived = (outcome.unreceived > 0).then(|| format!("{} messages were never received", outcome.unreceived));
    let changed = (!options.set.is_empty()).then(|| {
        let changes: Vec<String> = options.set.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        format!("{named} with {}", changes.join(", "))
    });
    let repeated = repeat_ranks.map(|times| {
        format!(
            "assumed: {times} copies of the {recorded} ranks form one ring; each rank exchanges messages at the same distances as \
             before, so a collective operation combines no more ranks than in the trace"
        )
    });
    let notes: Vec<_> = unreceived.into_iter().chain(changed).chain(repeated).collect();
    let results = run.end(interrupt::requested(), goal::measurements(&name, &outcome), vec![], notes);
    let explained = if options.explain { goal::explained(&outcome) } else { String::new() };
    if cli.format != Format::Table && options.explain {
        eprintln!("{explained}");
    }
    finish(cli, &results, options.output.as_deref(), || {
        format!("{}\n{explained}", goal::text(&name, named, &outcome)).trim_end().to_owned()
    })
}
