//! Processes that a launcher has started beside this one, as its variables say: they share the processors.
use crate::{cgroup, facts, settings};

/// Processes that share processors, this one included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Siblings {
    /// How many there are on this host: at least 2.
    pub count: u32,
    /// The variable that says so.
    pub variable: &'static str,
}

/// The switch: `off` for a process that takes no account of others.
const SWITCH: &str = "FOREGATHER_SIBLINGS";

/// Returns the siblings that a launcher's variables name, unless `FOREGATHER_SIBLINGS` is `off`. Only
/// variables count that a launcher sets for each process: a batch script has others, and is alone.
pub fn siblings() -> Option<Siblings> {
    if is_off(&settings::variable) { None } else { named_by(settings::variable) }
}

/// Returns the most workers that `LOKY_MAX_CPU_COUNT` allows, unless `FOREGATHER_SIBLINGS` is `off`.
pub fn most_workers() -> Option<u32> {
    if is_off(&settings::variable) { None } else { number(&settings::variable, "LOKY_MAX_CPU_COUNT") }
}

/// Returns how many processors siblings share: those of the control group's cpuset, else all that are online.
pub fn shared_processors() -> u32 {
    cgroup::cpuset().map_or_else(facts::online, |cpus| cpus.len() as u32)
}

fn is_off(of: &impl Fn(&str) -> Option<String>) -> bool {
    of(SWITCH).is_some_and(|value| value == "off")
}

/// The launchers, each with the variable that it sets for a process and that of their number on this host.
fn named_by(of: impl Fn(&str) -> Option<String>) -> Option<Siblings> {
    let plain = [
        // `foregather run`: the rank, and the number of ranks on this host.
        ("FOREGATHER_RANK", "FOREGATHER_LOCAL_SIZE"),
        // pytest-xdist: a worker's name, and how many workers the session has.
        ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"),
        // Open MPI: the rank among the processes of the job on this host, and their number.
        ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
        // Hydra, the launcher of MPICH and Intel MPI: the same.
        ("MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    ];
    let plain = plain.into_iter().find_map(|(own, variable)| {
        of(own)?;
        Some(Siblings { count: number(&of, variable)?, variable })
    });
    plain.or_else(|| slurm(&of)).filter(|siblings| siblings.count > 1)
}

/// A task of a Slurm step: the step's tasks on each of its nodes, and which node this is.
fn slurm(of: &impl Fn(&str) -> Option<String>) -> Option<Siblings> {
    const VARIABLE: &str = "SLURM_STEP_TASKS_PER_NODE";
    of("SLURM_LOCALID")?;
    let node = of("SLURM_NODEID")?.trim().parse().ok()?;
    Some(Siblings { count: tasks_on(&of(VARIABLE)?, node)?, variable: VARIABLE })
}

/// The number of tasks on a node, from a list such as `2(x3),1`: three nodes with two tasks, and one with
/// one.
fn tasks_on(list: &str, node: u32) -> Option<u32> {
    let mut before = 0_u32;
    for entry in list.split(',') {
        let (tasks, nodes) = match entry.split_once("(x") {
            Some((tasks, nodes)) => (tasks, nodes.strip_suffix(')')?.parse().ok()?),
            None => (entry, 1),
        };
        before = before.checked_add(nodes)?;
        if node < before {
            return tasks.trim().parse().ok();
        }
    }
    None
}

fn number(of: &impl Fn(&str) -> Option<String>, name: &str) -> Option<u32> {
    of(name)?.trim().parse().ok().filter(|&number| number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(variables: &[(&str, &str)]) -> Option<(u32, &'static str)> {
        let of = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        named_by(of).map(|Siblings { count, variable }| (count, variable))
    }

    #[test]
    fn each_launcher_says_how_many_processes_a_host_has() {
        let xdist = [("PYTEST_XDIST_WORKER", "gw1"), ("PYTEST_XDIST_WORKER_COUNT", "4")];
        assert_eq!(named(&xdist), Some((4, "PYTEST_XDIST_WORKER_COUNT")));
        assert_eq!(named(&[("FOREGATHER_RANK", "0"), ("FOREGATHER_LOCAL_SIZE", "3")]), Some((3, "FOREGATHER_LOCAL_SIZE")));
        let ompi = [("OMPI_COMM_WORLD_LOCAL_RANK", "0"), ("OMPI_COMM_WORLD_LOCAL_SIZE", "2")];
        assert_eq!(named(&ompi), Some((2, "OMPI_COMM_WORLD_LOCAL_SIZE")));
        assert_eq!(named(&[("MPI_LOCALRANKID", "1"), ("MPI_LOCALNRANKS", "8")]), Some((8, "MPI_LOCALNRANKS")));
        let slurm = |node| [("SLURM_LOCALID", "0"), ("SLURM_NODEID", node), ("SLURM_STEP_TASKS_PER_NODE", "2(x3),5")];
        assert_eq!(named(&slurm("2")), Some((2, "SLURM_STEP_TASKS_PER_NODE")));
        assert_eq!(named(&slurm("3")), Some((5, "SLURM_STEP_TASKS_PER_NODE")));
        assert_eq!(named(&slurm("4")), None);
    }

    #[test]
    fn a_batch_script_a_single_process_and_nonsense_have_no_siblings() {
        for variables in [
            &[][..],
            // Inherited, or of the whole job: no launcher has set it for this process.
            &[("PYTEST_XDIST_WORKER_COUNT", "4")],
            &[("SLURM_NODEID", "0"), ("SLURM_STEP_TASKS_PER_NODE", "4")],
            &[("SLURM_LOCALID", "0"), ("SLURM_NODEID", "0"), ("SLURM_TASKS_PER_NODE", "4")],
            &[("MPI_LOCALRANKID", "0"), ("MPI_LOCALNRANKS", "1")],
            &[("MPI_LOCALRANKID", "0"), ("MPI_LOCALNRANKS", "-2")],
            &[("SLURM_LOCALID", "0"), ("SLURM_NODEID", "0"), ("SLURM_STEP_TASKS_PER_NODE", "4(x")],
        ] {
            assert_eq!(named(variables), None, "{variables:?}");
        }
        assert_eq!(tasks_on("1(x4294967295),2(x9)", u32::MAX), None);
    }

    #[test]
    fn siblings_share_at_least_what_this_process_may_use() {
        assert!(shared_processors() >= 1);
    }
}
