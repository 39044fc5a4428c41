//! One study, read from the tree of a plan in which all choices are made.
use super::files::Files;
use super::section::{Section, count};
use super::tree::{Node, Read, Value, mistake};
use super::{KEYS, job, machine, mix, run};
use foregather_sim::smp::{Job, Stop, Study};

/// The seeds it is run with.
pub(super) fn seeds(root: &Node) -> Read<Vec<u64>> {
    root.get("run").map_or(Ok(vec![1]), |node| Ok(run::read(node)?.seeds))
}

/// What is simulated with one of them.
pub(super) fn read(root: &Node, files: &Files, seed: u64) -> Read<Study> {
    // A choice may have put something at the top.
    Section::new("the plan", root, &KEYS)?;
    let nothing = Node::nothing();
    let table = |key| root.get(key).unwrap_or(&nothing);
    let machine = machine::read(table("machine"), files)?;
    let run = run::read(table("run"))?;
    let record = run::record(table("record"), run.limit)?;
    let load = root.get("load").map(|node| Ok((load(node, machine.cpus)?, node.line))).transpose()?;
    let (jobs, line) = match (root.get("job"), root.get("mix")) {
        (Some(list), None) => (job::read(list, &machine, files, load)?, list.line),
        (None, Some(mix)) => (mix::read(mix, &machine, load, seed)?, mix.line),
        (None, None) => return mistake(1, "a plan needs a [[job]] or a [mix]"),
        (Some(_), Some(mix)) => return mistake(mix.line, "[mix] takes the place of [[job]]: give one of them"),
    };
    if let Some(job) = jobs.iter().find(|job| run.forbid_oversize && job.meets() && job.threads > machine.cpus) {
        let (name, threads, cpus) = (&job.name, job.threads, machine.cpus);
        return mistake(line, format!("`{name}` has {threads} threads on {cpus} processors, which forbid-oversize forbids"));
    }
    if run.stop != Stop::Limit && !jobs.iter().any(Job::meets) {
        return mistake(line, "nothing would end: no job meets");
    }
    let (stop, limit, shuffled) = (run.stop, run.limit, run.shuffled);
    let study = Study { machine, jobs, stop, limit, seed, shuffled, record };
    study.check().or_else(|error| mistake(line, error))?;
    Ok(study)
}

/// So many threads, or `"1.5x"` as many as there are processors.
fn load(node: &Node, cpus: u32) -> Read<u32> {
    let most = job::THREADS_MAX;
    let Value::Text(word) = &node.value else { return Ok(count("load", node, 1..=most.into())? as u32) };
    let times = word.strip_suffix('x').and_then(|times| times.trim().parse::<f64>().ok());
    let threads = times.map(|times| (times * f64::from(cpus)).round());
    match threads.filter(|threads| (1.0..=f64::from(most)).contains(threads)) {
        Some(threads) => Ok(threads as u32),
        None => mistake(node.line, format!("`{word}` is no load; write 48, or \"1.5x\" for so many threads a processor")),
    }
}
