//! `run`: starts the ranks of a job, here or on the hosts of a file, and ends as the first of them that
//! fails.
use crate::cli::{Cli, RunOptions};
use anyhow::{Context, Result, anyhow, bail};
use foregather_launch::spawn::{self, Host, SpawnPlan};
use foregather_launch::{JobTrace, TraceTotals};
use foregather_machine::shown;
use foregather_results::failure::Failure;

/// Starts the job and sees it through.
///
/// # Errors
/// [`Failure::Job`] with the code of the first rank that failed, or why the job cannot be started.
pub fn run(cli: &Cli, options: &RunOptions) -> Result<()> {
    let hosts = match &options.hosts {
        None => vec![],
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            Host::parse(&text).map_err(|error| anyhow!("{}, {error}", path.display()))?
        }
    };
    let remote_shell: Vec<_> = options.rsh.split_whitespace().map(str::to_owned).collect();
    if remote_shell.is_empty() {
        bail!("--rsh names no command: write one that takes a host and a program, as ssh does");
    }
    let size = match options.ranks {
        Some(ranks) => ranks,
        None if hosts.is_empty() => bail!("say how many ranks: -n N, or a file of hosts with slots"),
        None => hosts.iter().map(|host| host.slots).sum(),
    };
    let (fabric, prefix) = (options.fabric.clone(), !options.no_prefix);
    let trace = options.record.as_deref().map(|path| JobTrace::new(path, size)).transpose()?;
    let record = trace.as_ref().map(|trace| trace.path().to_owned());
    let plan = SpawnPlan { size, program: options.program.clone(), fabric, hosts, remote_shell, prefix, record };
    match spawn::run(&plan)? {
        0 => {}
        code => return Err(Failure::Job(code).into()),
    }
    let Some(trace) = trace else { return Ok(()) };
    let TraceTotals { operations, messages, bytes } = trace.join()?;
    if !cli.quiet {
        let name = trace.path().display().to_string();
        eprintln!("recorded {size} ranks, {operations} operations, {messages} messages of {bytes} bytes in {}", shown(&name));
    }
    Ok(())
}
