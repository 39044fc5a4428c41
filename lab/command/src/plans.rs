//! `simulate`: a plan, or a job that the command line describes, to its end.
use crate::cli::{Cli, Format, JobOptions, Simulate};
use crate::finish::{SIMULATE, finish, print};
use crate::{traces, workloads};
use anyhow::{Context, Result, bail, ensure};
use foregather_host::{affinity, interrupt};
use foregather_machine::shown;
use foregather_results::table::{ResultTable, wrapped};
use foregather_results::{Run, output};
use foregather_simulate::shipped::{self, SHIPPED};
use foregather_simulate::{self as simulate, Plan, PlanDraft, ReadOptions};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// A simulation that may take longer is not begun without being told to.
const LONG_S: f64 = 600.0;
/// The most spans of a trace: Perfetto opens a file of them at once.
const TRACE_SPANS: usize = 200_000;

/// Simulates what was asked for, or lists or writes plans.
///
/// # Errors
/// If the plan or the job is wrong, would take long, or what it gives cannot be written.
pub(crate) fn run(cli: &Cli, options: &Simulate) -> Result<()> {
    if options.list {
        return print_table(cli, &shipped::list()?);
    }
    if let Some(path) = options.plan.as_ref().map(Path::new).filter(|path| simulate::goal::is_trace(path)) {
        return traces::run(cli, options, path);
    }
    if let Some(path) = options.plan.as_ref().map(Path::new).filter(|path| simulate::rtapp::is_workload(path)) {
        return workloads::run(cli, options, path);
    }
    if options.ignore {
        bail!("--ignore is about a workload of rt-app, and none is given: name its file, or leave the option out");
    }
    if let Some(name) = options.of_trace.given() {
        bail!("--{name} is about a trace in GOAL, and none is given: name its file, or leave the option out");
    }
    let spans = if options.trace.is_some() { TRACE_SPANS } else { 0 };
    let (full, seed_offset, set) = (options.full, options.seed, options.set.clone());
    let ask = ReadOptions { full, seed_offset, spans, set, ..ReadOptions::default() };
    let plan = match &options.plan {
        Some(name) => {
            refuse_both(&name.to_string_lossy(), &options.job)?;
            shipped::open(name, &ask)?
        }
        None => {
            let draft = draft(&options.job, options.new.is_some())?;
            let plan = Plan::of_draft(&draft, &ask)?;
            if let Some(path) = &options.new {
                return write_new(path, &draft.text()?);
            }
            plan
        }
    };
    simulate(cli, options, &plan)
}

/// A plan says all by itself.
fn refuse_both(plan: &str, job: &JobOptions) -> Result<()> {
    let Some((name, values, key)) = job.answers().into_iter().find(|(_, values, _)| !values.is_empty()) else { return Ok(()) };
    let instead = match (key, values) {
        (Some(key), [value]) => format!("say `--set {key}={value}`"),
        _ => "say it in the file".to_owned(),
    };
    bail!("--{name} describes a job without a plan, and {} is one: {instead}, or leave one of them out", shown(plan))
}

/// The job of the options, on as many processors as there are here unless they say it.
fn draft(job: &JobOptions, new: bool) -> Result<PlanDraft> {
    let given = job.answers().into_iter().fold(PlanDraft::default(), |draft, (name, values, _)| draft.with(name, values));
    ensure!(
        new || !given.is_empty(),
        "simulate what? a job, as in `--threads 10 --cpus 4,8 --hogs 1`, or a plan: a file, or a name that `--list` prints"
    );
    let has = |name: &str| given.names().any(|given| given == name);
    let usual = |name, value: &str| if has(name) { vec![] } else { vec![value.to_owned()] };
    let cpus = usual("cpus", &affinity::allowed().len().to_string());
    let threads = if new { usual("threads", "8") } else { vec![] };
    Ok(given.with("threads", &threads).with("cpus", &cpus))
}

fn write_new(path: &Path, text: &str) -> Result<()> {
    let name = path.display().to_string();
    let name = shown(&name);
    ensure!(
        SHIPPED.iter().all(|(shipped, _)| *shipped != name),
        "--new: `simulate {name}` runs a plan that comes with the program: choose another name"
    );
    let written = OpenOptions::new().write(true).create_new(true).open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            bail!("--new: {name} is there already, and is left as it is: choose another name")
        }
        written => written.with_context(|| format!("--new: cannot write {name}"))?,
    }
    Ok(print(&wrapped(&format!("{name} is written; `foregather simulate {name}` runs it"), 2))?)
}

fn simulate(cli: &Cli, options: &Simulate, plan: &Plan) -> Result<()> {
    if options.trace.is_some() && plan.is_network() {
        bail!("--trace shows what threads do on processors, and {} is about a network: leave it out", plan.name());
    }
    if options.explain && !plan.is_network() {
        bail!("--explain says why shifts on a network failed, and {} is about processors: leave it out", plan.name());
    }
    let outputs: Vec<_> = [&options.output, &options.trace].into_iter().flatten().cloned().collect();
    output::refuse_overwriting(&plan.inputs(), &outputs)?;
    let estimate = simulate::estimate::of_plan(plan, affinity::allowed().len())?;
    if options.dry_run {
        eprintln!("{estimate}");
        return print_table(cli, &simulate::estimate::table(plan)?);
    }
    if estimate.seconds > LONG_S && !options.yes {
        bail!("{}: {estimate}; say --yes to run it, or choose fewer points, seeds or barriers", plan.name());
    }
    let run = Run::begin(&format!("{SIMULATE}{}", plan.name()), Some(options.seed));
    let points = simulate::run(plan, simulate::RunnerSettings { workers: 0, quiet: cli.quiet })?;
    let traced = match (&options.trace, points[0].runs.first()) {
        (Some(path), Some(ran)) => {
            ran.smp().map_or(Ok(()), |(study, outcome)| output::write(path, &simulate::perfetto::trace(study, outcome)))
        }
        (Some(path), None) => {
            eprintln!("foregather: {} is not written: the first run did not end", path.display());
            Ok(())
        }
        (None, _) => Ok(()),
    };
    let measurements = simulate::points::measurements(plan, &points);
    let table = simulate::points::table(plan, &measurements);
    let compared = simulate::published::compare(plan, &points).map(|comparison| comparison.line());
    let notes = plan.notes().into_iter().chain(simulate::points::missing(&points, &measurements)).chain(compared).collect();
    let results = run.end(interrupt::requested(), measurements, vec![], notes);
    let explained = if options.explain { simulate::network::explained::failures(&points)?.join("\n") } else { String::new() };
    if cli.format != Format::Table && options.explain {
        eprintln!("{explained}");
    }
    let ended = finish(cli, &results, options.output.as_deref(), || {
        let title = wrapped(&shown(&format!("{}: {}", plan.title(), plan.shows())), 2);
        format!("{title}\n{}\n{explained}", table.to_text()).trim_end().to_owned()
    });
    traced?;
    ended
}

fn print_table(cli: &Cli, table: &ResultTable) -> Result<()> {
    Ok(print(&match cli.format {
        Format::Table => table.to_text(),
        Format::Json => table.to_json(),
        Format::Csv => table.to_csv(),
    })?)
}
