//! One study, read from the tree of a plan in which all choices are made: of processors, or of a network.
use super::files::PlanFiles;
use super::read::{entry, read as read_table};
use super::tree::{Located, ParseResult, mistake};
use super::{PlanTable, job, machine, mix, network, run, trial};
use crate::network::{self as net, Interconnect};
use foregather_sim::smp::{self, Job, Stop};

/// What is simulated.
#[derive(Debug)]
pub enum Study {
    /// Processors that threads share.
    Smp(Box<smp::Study>),
    /// Nodes that exchange messages.
    Network(Box<net::Study<Interconnect>>),
}

impl Study {
    /// The study of processors, if it is one.
    pub fn smp(self) -> Option<smp::Study> {
        if let Self::Smp(study) = self { Some(*study) } else { None }
    }

    /// The study of a network, if it is one.
    pub fn network(self) -> Option<net::Study<Interconnect>> {
        if let Self::Network(study) = self { Some(*study) } else { None }
    }
}

/// Is the plan about a network? Then it says nothing about processors.
pub(super) fn is_network(root: &Located) -> ParseResult<bool> {
    // A choice may have put an unknown key at the top.
    read_table::<PlanTable>(root)?;
    let Some(network) = root.get("network") else {
        return match root.get("trial") {
            Some(trial) => mistake(trial.line, "[trial] is what the nodes of a [network] do: give one"),
            None => Ok(false),
        };
    };
    let both = ["load", "machine", "job", "mix", "record"].into_iter().find_map(|key| Some((key, root.get(key)?)));
    match both {
        Some((key, node)) => {
            let what = format!("`{key}` is of processors, and [network] on line {} of nodes: give one of them", network.line);
            mistake(node.line, what)
        }
        None => Ok(true),
    }
}

/// The seeds that the study is run with.
pub(super) fn seeds(root: &Located) -> ParseResult<Vec<u64>> {
    match root.get("run") {
        None => Ok(vec![1]),
        Some(node) if root.get("network").is_some() => run::of_network(node),
        Some(node) => Ok(run::read(node)?.seeds),
    }
}

/// Reads the study for one of its seeds.
pub(super) fn read(root: &Located, files: &PlanFiles, seed: u64) -> ParseResult<Study> {
    match root.get("network") {
        Some(_) if is_network(root)? => Ok(Study::Network(Box::new(nodes(root, seed)?))),
        _ => Ok(Study::Smp(Box::new(processors(root, files, seed)?))),
    }
}

fn nodes(root: &Located, seed: u64) -> ParseResult<net::Study<Interconnect>> {
    let (Some(network), Some(trial)) = (root.get("network"), root.get("trial")) else {
        return mistake(root.line, "the plan needs `trial`: what the nodes of its [network] do");
    };
    let wanted = network::read(network, seed)?;
    let trial = trial::read(trial, &wanted.machine, wanted.nodes)?;
    let network::Wanted { machine, nodes, interrupts, faults } = wanted;
    let trial::Wanted { barrier, shift, skew, resynchronised, trials, skipped } = trial;
    Ok(net::Study { model: machine, nodes, interrupts, faults, barrier, shift, skew, resynchronised, trials, skipped, seed })
}

fn processors(root: &Located, files: &PlanFiles, seed: u64) -> ParseResult<smp::Study> {
    is_network(root)?;
    let nothing = Located::nothing();
    let table = |key| root.get(key).unwrap_or(&nothing);
    let machine = machine::machine(table("machine"), files)?;
    let run = run::read(table("run"))?;
    let record = run::record(table("record"), run.limit)?;
    let load = entry::<(usize, job::LoadSize)>(root, "load")?;
    let load = load.map(|(line, load)| Ok((job::resolved("load", line, load.0, machine.cpus)?, line))).transpose()?;
    let load = load.and_then(|(load, line)| if let job::Number::Of(load) = load { Some((load, line)) } else { None });
    let (jobs, line) = match (root.get("job"), root.get("mix")) {
        (Some(list), None) => (job::read(list, &machine, files, load)?, list.line),
        (None, Some(mix)) => (mix::read(mix, &machine, load, seed)?, mix.line),
        (None, None) => return mistake(1, "a plan needs a [[job]] or a [mix], or a [network] and its [trial]"),
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
    let study = smp::Study { machine, jobs, stop, limit, seed, shuffled, record };
    study.check().or_else(|error| mistake(line, error))?;
    Ok(study)
}
