//! What messages cost: two ranks on a processor each, by every way and size, and beside hogs by every policy.
//!
//! Each size, and each number of hogs, is measured in processes of its own; the ways or policies take turns there.
//! [`output`](mod@output): measurements, and tables for people.

pub mod output;

use super::children;
use crate::{Measured, machine_file};
use anyhow::{Context, Result, anyhow, bail};
use foregather_bench::messages::{Answer, Plan, Task, Transport, VERB, World};
use foregather_cli::{MessagePart, Messages, RankWorld};
use foregather_host::{affinity, child::Child, interrupt};
use foregather_machine::{Costs, Nanos};
use foregather_results::progress::Progress;
use foregather_wait::Policy;
use std::process::{Command, Stdio};

/// Bytes, if none are asked for.
const SIZES: [usize; 9] = [1, 8, 56, 64, 512, 4 << 10, 64 << 10, 1 << 20, 4 << 20];
const QUICK_SIZES: [usize; 4] = [8, 512, 4 << 10, 64 << 10];
/// How they wait beside hogs. Fifty microseconds are about 2000 pauses: more than any round trip takes on processors of one's own.
const POLICIES: &str = "spin,yield,two-phase:50us,block,adaptive";
/// Batches of a way, and how long each is about.
const BATCHES: (u32, Nanos) = (11, Nanos::from_ms(5));
const QUICK_BATCHES: (u32, Nanos) = (3, Nanos::from_ms(1));
/// Cells of a policy.
const CELLS: u32 = 3;
/// Shorter ones hide that a rank is preempted: it happens every few milliseconds.
const CELL: Nanos = Nanos::from_ms(800);
const QUICK_CELL: Nanos = Nanos::from_ms(40);
/// For starting, for the last round trip, and for machines that are busy otherwise.
const GRACE: Nanos = Nanos::from_ms(20_000);
/// The processes give up by themselves before they are killed.
const KILL: Nanos = Nanos::from_ms(5_000);

/// Runs what the options ask for.
///
/// # Errors
/// If a way or policy is unknown, or nothing at all can be measured.
pub fn run(options: &Messages, quiet: bool) -> Result<Measured> {
    let cpus = affinity::allowed();
    let mut found = Measured::default();
    let ways = ways(options, cpus.len(), &mut found.notes)?;
    let policies = policies(options)?;
    let world = match (options.world, options.fabric.as_str()) {
        (RankWorld::Thread, "shm") => World::Thread,
        (RankWorld::Thread, fabric) => bail!("threads send by shm only: leave out --world thread or --fabric {fabric}"),
        (RankWorld::Process, "shm") => World::Shm,
        (RankWorld::Process, fabric) => World::Ofi(fabric.strip_prefix("ofi:").unwrap_or("tcp").to_owned()),
    };
    let pins = [cpus[0], cpus[1 % cpus.len()]];
    let tasks = tasks(options, &ways, &policies);
    machine_file::load_or_measure()?;
    let mut progress = Progress::new("messages", tasks.len(), quiet);
    let mut trouble = None;
    for task in tasks {
        if interrupt::requested() {
            break;
        }
        let name = name_of(&task);
        progress.step(&name);
        let bound = bound(&task);
        let plan = Plan { world: world.clone(), cpus: pins, task, bound_ns: bound.0 };
        match run_plan(&plan, bound + KILL) {
            Ok(answer) => take(&mut found, &plan, answer),
            Err(_) if interrupt::requested() => {}
            Err(error) => {
                found.notes.push(format!("{name}: {error:#}"));
                trouble = trouble.or(Some(error));
            }
        }
    }
    match trouble {
        Some(error) if found.measurements.is_empty() => Err(error),
        _ => Ok(found),
    }
}

fn take(found: &mut Measured, plan: &Plan, answer: Answer) {
    found.measurements.extend(output::measurements(plan, &answer));
    answer.notes.into_iter().for_each(|note| found.note(note));
}

/// The ways that are asked for; on one processor none that spins.
fn ways(options: &Messages, cpus: usize, notes: &mut Vec<String>) -> Result<Vec<Transport>> {
    let mut ways = match &options.ways {
        Some(names) => {
            let known = |name: &str| Transport::parse(name.trim()).map_err(|error| anyhow!("--ways: {error}"));
            names.split(',').map(known).collect::<Result<_>>()?
        }
        None => Transport::ALL.to_vec(),
    };
    if cpus < 2 {
        ways.retain(|way| way.is_message() || *way == Transport::Memcpy);
        notes.push("both ranks share a processor, since this process may use only one: no yardsticks that spin".into());
    }
    if ways.is_empty() {
        bail!("none of these ways can be measured on one processor: add chosen, buffered or direct");
    }
    Ok(ways)
}

fn policies(options: &Messages) -> Result<Vec<String>> {
    let names = options.policies.as_deref().unwrap_or(POLICIES);
    let known = |name: &str| Policy::parse(name.trim(), &Costs::TYPICAL).map(|_| name.trim().to_owned());
    names.split(',').map(known).collect::<Result<_, _>>().context("--policies")
}

fn tasks(options: &Messages, ways: &[Transport], policies: &[String]) -> Vec<Task> {
    let usual: &[usize] = if options.quick { &QUICK_SIZES } else { &SIZES };
    let asked: Vec<usize> = options.sizes.iter().map(|&bytes| bytes as usize).collect();
    let sizes = if asked.is_empty() { usual } else { &asked };
    let (batches, batch) = if options.quick { QUICK_BATCHES } else { BATCHES };
    let batches = options.batches.unwrap_or(batches);
    let of_size = |&bytes: &usize| Task::Size { bytes, ways: ways.to_vec(), batches, batch_ns: batch.0 };
    let cell = options.ms.map_or(if options.quick { QUICK_CELL } else { CELL }, Nanos::from_ms);
    let beside = |per_cpu: u32| Task::Hogs {
        policies: policies.to_vec(),
        per_cpu,
        within: options.hogs_within && per_cpu > 0,
        cells: CELLS,
        cell_ns: cell.0,
    };
    let mut tasks: Vec<Task> = Vec::new();
    if options.only != Some(MessagePart::Hogs) {
        tasks.extend(sizes.iter().map(of_size));
    }
    if options.only != Some(MessagePart::Sizes) {
        tasks.push(beside(0));
        tasks.extend((options.hogs > 0).then(|| beside(options.hogs)));
    }
    tasks
}

fn name_of(task: &Task) -> String {
    match task {
        Task::Size { bytes, .. } => format!("{bytes} bytes"),
        Task::Hogs { per_cpu, .. } => format!("{per_cpu} hogs a processor"),
    }
}

/// Three times what it ought to take, and the grace.
fn bound(task: &Task) -> Nanos {
    let ought = match task {
        Task::Size { ways, batches, batch_ns, .. } => 3 * ways.len() as u64 * u64::from(*batches) * batch_ns,
        Task::Hogs { policies, cells, cell_ns, .. } => (policies.len() as u64 + 1) * u64::from(*cells) * cell_ns,
    };
    Nanos(3 * ought) + GRACE
}

/// Carries a plan out in processes of its own.
fn run_plan(plan: &Plan, bound: Nanos) -> Result<Answer> {
    let mut command = Command::new(children::myself());
    command.arg(VERB).arg(plan.to_arg()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = Child::spawn(command, &[]).context("cannot start a rank")?.output_within(bound)?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !output.status.success() {
        bail!("the ranks failed ({}): {}", output.status, said(&output.stderr));
    }
    let line = said(&output.stdout);
    serde_json::from_str(&line).with_context(|| format!("the ranks answered `{line}`"))
}
