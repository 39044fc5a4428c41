//! `[[job]]`: threads that meet, or mere load; and how many of them make up the load.
use super::compute;
use super::eevdf;
use super::files::Files;
use super::section::{Section, choice, count, span, text};
use super::tree::{Located, ParseResult, Value, mistake};
use foregather_barrier::Algorithm;
use foregather_machine::{CpuId, Nanos};
use foregather_sim::smp::{Eevdf, Job, MachineSpec, Scheduler};
use foregather_wait::Policy;

pub(super) const KEYS: [&str; 20] = [
    "name",
    "threads",
    "count",
    "barriers",
    "grain",
    "cv",
    "mean",
    "shape",
    "compute",
    "rest",
    "policy",
    "spin",
    "kind",
    "nice",
    "slice",
    "group",
    "pins",
    "start",
    "load",
    "one-process",
];
pub(super) const LOAD_KEYS: [&str; 12] =
    ["name", "threads", "count", "compute", "rest", "nice", "slice", "group", "pins", "start", "load", "one-process"];

/// More threads in all would be an oversight.
pub(super) const THREADS_MAX: u32 = 100_000;

/// How many there are of something.
#[derive(Clone, Copy, PartialEq)]
enum Number {
    Of(u32),
    /// As many as make up the load.
    Fill,
}

/// One table: a job, and how many such jobs there are.
struct Wanted {
    line: usize,
    job: Job,
    /// Only load may be filled up thread by thread.
    threads: Number,
    count: Number,
}

/// The jobs of a plan, `load` threads in all if it says so (with the line on which it does).
pub(super) fn read(list: &Located, machine: &MachineSpec, files: &Files, load: Option<(u32, usize)>) -> ParseResult<Vec<Job>> {
    let Some(items) = list.items().filter(|items| !items.is_empty()) else {
        return mistake(list.line, "jobs are tables of a list: [[job]]");
    };
    let wanted: Vec<Wanted> = items.iter().map(|item| one(item, machine, files)).collect::<ParseResult<_>>()?;
    let fixed = wanted.iter().map(Wanted::fixed).fold(0, u64::saturating_add);
    let filled: Vec<&Wanted> = wanted.iter().filter(|wanted| wanted.fills()).collect();
    let mut rest = match (load, filled.first()) {
        (None, None) => 0,
        (None, Some(one)) => return mistake(one.line, "\"fill\" needs `load`, the number of threads in all, at the top"),
        (Some((_, line)), None) => return mistake(line, "`load` changes nothing: no job has \"fill\""),
        (Some((load, line)), Some(_)) if u64::from(load) < fixed => {
            return mistake(line, format!("a load of {load} threads is less than the {fixed} that there are in any case"));
        }
        (Some((load, _)), Some(_)) => load - fixed as u32,
    };
    for (what, fill) in [("jobs", Wanted::fills_jobs as fn(&Wanted) -> bool), ("threads", Wanted::fills_threads)] {
        if let Some(second) = filled.iter().filter(|wanted| fill(wanted)).nth(1) {
            return mistake(second.line, format!("only one [[job]] may be filled up with {what}"));
        }
    }
    let mut counts = Vec::new();
    for wanted in &wanted {
        counts.push(match wanted.count {
            Number::Of(count) => count,
            Number::Fill => {
                let count = rest / wanted.job.threads;
                rest -= count * wanted.job.threads;
                count
            }
        });
    }
    let mut jobs = Vec::new();
    for (wanted, count) in wanted.into_iter().zip(counts) {
        let threads = if wanted.fills_threads() { rest } else { wanted.job.threads };
        let repeated = std::iter::repeat_with(|| Job { threads, ..wanted.job.clone() });
        jobs.extend(repeated.take(if threads == 0 { 0 } else { count as usize }));
    }
    enough(&jobs, list.line)?;
    Ok(jobs)
}

/// Something must run, and not too much.
pub(super) fn enough(jobs: &[Job], line: usize) -> ParseResult<()> {
    let threads = jobs.iter().map(|job| u64::from(job.threads)).sum::<u64>();
    if threads > u64::from(THREADS_MAX) {
        return mistake(line, format!("{threads} threads are more than a simulation should have, {THREADS_MAX}"));
    }
    if jobs.iter().any(Job::meets) {
        return Ok(());
    }
    mistake(line, "no job is left that meets: raise `load`, or lower `threads`")
}

impl Wanted {
    fn fills_jobs(&self) -> bool {
        self.count == Number::Fill
    }

    fn fills_threads(&self) -> bool {
        self.threads == Number::Fill
    }

    fn fills(&self) -> bool {
        self.fills_jobs() || self.fills_threads()
    }

    /// Its threads that are there in any case.
    fn fixed(&self) -> u64 {
        match (self.threads, self.count) {
            (Number::Of(threads), Number::Of(count)) => u64::from(threads) * u64::from(count),
            _ => 0,
        }
    }
}

fn number(section: &Section<'_>, key: &str, default: Option<u32>) -> ParseResult<Number> {
    match (section.get(key), default) {
        (Some(Located { value: Value::Text(word), .. }), _) if word == "fill" => Ok(Number::Fill),
        (Some(node @ Located { value: Value::Text(_), .. }), _) => mistake(node.line, format!("`{key}` is a number or \"fill\"")),
        (Some(node), _) => Ok(Number::Of(count(key, node, 1..=u64::from(THREADS_MAX))? as u32)),
        (None, Some(default)) => Ok(Number::Of(default)),
        (None, None) => section.need(key).map(|_| Number::Fill),
    }
}

/// `threads`: also so many times the processors.
fn threads(section: &Section<'_>, cpus: u32) -> ParseResult<Number> {
    match section.get("threads") {
        Some(node @ Located { value: Value::Text(word), .. }) if word.ends_with('x') => {
            Ok(Number::Of(load("threads", node, cpus)?))
        }
        _ => number(section, "threads", None),
    }
}

/// `count`: none at all is a choice, too.
fn how_many(section: &Section<'_>) -> ParseResult<Number> {
    match section.get("count") {
        Some(Located { value: Value::Whole(0), .. }) => Ok(Number::Of(0)),
        _ => number(section, "count", Some(1)),
    }
}

fn one(node: &Located, machine: &MachineSpec, files: &Files) -> ParseResult<Wanted> {
    let section = Section::new("[[job]]", node, &KEYS)?;
    let load = section.flag("load", false)?;
    if load {
        Section::new("a [[job]] with load = true", node, &LOAD_KEYS)?;
    }
    let (threads, count) = (threads(&section, machine.cpus)?, how_many(&section)?);
    if threads == Number::Fill && (!load || count != Number::Of(1)) {
        return mistake(
            section.line(),
            "threads = \"fill\" is for one [[job]] with load = true; jobs that meet have count = \"fill\"",
        );
    }
    let size = if let Number::Of(threads) = threads { threads } else { 1 };
    let mut job = if load { loading(&section, size, files)? } else { meeting(&section, size, machine, files)? };
    if let Some(name) = section.text("name")? {
        name.clone_into(&mut job.name);
    }
    job.one_process |= section.flag("one-process", false)?;
    job.nice = nice(&section)?;
    job.slice = slice(&section, machine)?;
    job.group = group(&section, machine)?;
    job.pins = processors("pins", &section, machine.cpus)?;
    job.start = processors("start", &section, machine.cpus)?;
    Ok(Wanted { line: section.line(), job, threads, count })
}

/// Load computes without end, or for a while and rests for a while.
fn loading(section: &Section<'_>, threads: u32, files: &Files) -> ParseResult<Job> {
    let load = Job::load("load", threads);
    match (section.get("compute"), section.get("rest")) {
        (None, None) => Ok(load),
        (Some(compute), Some(rest)) => {
            let rest = Some(compute::distribution("rest", rest, files)?);
            Ok(Job { compute: compute::distribution("compute", compute, files)?, rest, ..load })
        }
        (Some(one), None) | (None, Some(one)) => {
            mistake(one.line, "load that does not compute without end has both: `compute`, and `rest` after it")
        }
    }
}

fn meeting(section: &Section<'_>, threads: u32, machine: &MachineSpec, files: &Files) -> ParseResult<Job> {
    if let Some(node) = section.get("rest") {
        return mistake(node.line, "`rest` is for a [[job]] with load = true: who meets waits at its barriers");
    }
    let barriers = count("barriers", section.need("barriers")?, 1..=u64::MAX / 4)?;
    let compute = compute::read(section, threads, machine, files)?;
    let mut job = Job::meeting("job", threads, barriers, compute, policy(section, machine)?);
    job.kind = kind(section, threads)?;
    Ok(job)
}

/// `policy`, or `spin`, the bound of two-phase waiting. Multiples of a switch are those of the simulated machine.
pub(super) fn policy(section: &Section<'_>, machine: &MachineSpec) -> ParseResult<Policy> {
    match (section.get("policy"), section.get("spin")) {
        (Some(_), Some(spin)) => mistake(spin.line, "`spin` is short for a `policy` of two-phase waiting: give one of them"),
        (None, None) => section.need("policy").map(|_| Policy::Block),
        (Some(node), None) => {
            Policy::parse(text("policy", node)?, &machine.costs()).or_else(|e| mistake(node.line, e.to_string()))
        }
        (None, Some(node)) => Ok(Policy::TwoPhase { spin: span("spin", node)? }),
    }
}

pub(super) fn kind(section: &Section<'_>, most_threads: u32) -> ParseResult<Algorithm> {
    let Some(node) = section.get("kind") else { return Ok(Algorithm::Central) };
    let kinds = Algorithm::ALL.map(|kind| (kind.name(), kind));
    let kind = choice("kind", node, &kinds)?;
    kind.takes(most_threads).map_or_else(|error| mistake(node.line, error.to_string()), |()| Ok(kind))
}

fn nice(section: &Section<'_>) -> ParseResult<i8> {
    match section.get("nice") {
        None => Ok(0),
        Some(Located { value: Value::Whole(nice @ -20..=19), .. }) => Ok(*nice as i8),
        Some(node) => mistake(node.line, "`nice` is a whole number from -20 to 19"),
    }
}

/// A slice of its threads' own, as long as Linux allows.
fn slice(section: &Section<'_>, machine: &MachineSpec) -> ParseResult<Option<Nanos>> {
    let Some(node) = section.get("slice") else { return Ok(None) };
    let (slice, least, most) = (span("slice", node)?, Eevdf::LEAST_SLICE, Eevdf::MOST_SLICE);
    match &machine.scheduler {
        Scheduler::Eevdf(_) if (least..=most).contains(&slice) => Ok(Some(slice)),
        Scheduler::Eevdf(_) => mistake(node.line, format!("a job's `slice` is {least} to {most}, not {slice}")),
        _ => mistake(node.line, "only under preset = \"eevdf\" has a job a `slice` of its own"),
    }
}

fn group(section: &Section<'_>, machine: &MachineSpec) -> ParseResult<Option<u32>> {
    let Some(node) = section.get("group") else { return Ok(None) };
    let name = text("group", node)?;
    match &machine.scheduler {
        Scheduler::Eevdf(eevdf) => eevdf::find(name, node.line, &eevdf.groups).map(Some),
        _ => mistake(node.line, "only preset = \"eevdf\" has groups"),
    }
}

fn processors(key: &str, section: &Section<'_>, cpus: u32) -> ParseResult<Vec<CpuId>> {
    let Some(node) = section.get(key) else { return Ok(vec![]) };
    let Some(items) = node.items() else { return mistake(node.line, format!("`{key}` is a list of processors, counted from 0")) };
    items.iter().map(|item| Ok(count(key, item, 0..=u64::from(cpus - 1))? as CpuId)).collect()
}

/// So many threads, or `"1.5x"` as many as there are processors.
pub(super) fn load(key: &str, node: &Located, cpus: u32) -> ParseResult<u32> {
    let most = THREADS_MAX;
    let Value::Text(word) = &node.value else { return Ok(count(key, node, 1..=most.into())? as u32) };
    let times = word.strip_suffix('x').and_then(|times| times.trim().parse::<f64>().ok());
    let threads = times.map(|times| (times * f64::from(cpus)).round());
    match threads.filter(|threads| (1.0..=f64::from(most)).contains(threads)) {
        Some(threads) => Ok(threads as u32),
        None => mistake(node.line, format!("`{word}` is no {key}; write 48, or \"1.5x\" for so many threads a processor")),
    }
}
