//! `simulate` with a workload of rt-app.
use crate::cli::{Cli, Simulate};
use crate::finish::{SIMULATE, finish};
use anyhow::{Result, bail};
use foregather_host::{affinity, interrupt};
use foregather_machine::shown;
use foregather_results::failure::Failure;
use foregather_results::{Run, output};
use foregather_simulate::rtapp::{self, Workload};
use std::path::Path;

/// Simulates a workload on as many processors as there are here, unless `--set machine.cpus` says it.
///
/// # Errors
/// If an option is about something else, or the file is malformed.
pub(crate) fn run(cli: &Cli, options: &Simulate, path: &Path) -> Result<()> {
    let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    let name = shown(&name).to_string();
    if let Some((option, ..)) = options.job.answers().into_iter().find(|(_, values, _)| !values.is_empty()) {
        bail!("--{option} describes a job without a plan, and {name} is a workload of rt-app: leave one of them out");
    }
    let of_others = [
        ("full", options.full),
        ("dry-run", options.dry_run),
        ("yes", options.yes),
        ("explain", options.explain),
        ("trace", options.trace.is_some()),
    ];
    if let Some((option, _)) = of_others.into_iter().find(|(_, given)| *given) {
        bail!("--{option} is about plans, and {name} is a workload of rt-app: leave it out");
    }
    output::refuse_overwriting(&[path.to_owned()], options.output.as_slice())?;
    let cpus = affinity::allowed().len() as u32;
    let workload = Workload::open(path, cpus, &options.set, 1 + options.seed, options.ignore)?;
    let run = Run::begin(&format!("{SIMULATE}{name}"), Some(options.seed));
    let outcome = workload.simulate()?;
    if outcome.interrupted {
        return Err(Failure::Interrupted.into());
    }
    let measurements = rtapp::measurements(&name, &workload, &outcome);
    let text = rtapp::table(&measurements).to_text();
    let title = format!("{name}: {} simulated on {} processors", outcome.time, workload.study.machine.cpus);
    let results = run.end(interrupt::requested(), measurements, vec![], workload.ignored);
    finish(cli, &results, options.output.as_deref(), || format!("{title}\n{text}").trim_end().to_owned())
}
