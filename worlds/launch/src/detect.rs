//! Detects from environment variables which launcher started this process, and as which rank of how many.
//!
//! The order matters. Ranks of Open MPI's `mpirun` inside a Slurm allocation inherit the number of the daemon
//! that started them (`SLURM_PROCID`), so Open MPI is checked before Slurm. A batch script also has that
//! variable but no step, so it is a single process.
use crate::place::{self, PlaceReply};
use crate::secret::JobKey;
use crate::spawn::FABRIC;
use crate::{nodes, own};
use foregather_machine::{Cause, Error, Rank};
use std::fmt;

/// A larger number of ranks is treated as a mistake.
pub(crate) const MOST_RANKS: u32 = 4_096;

/// The launcher that started this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// `foregather run`.
    Own,
    /// MPICH's `mpiexec`, `srun --mpi=pmi2`: any launcher that speaks PMI-1.
    Pmi,
    /// Open MPI's `mpirun`.
    OpenMpi,
    /// `srun`.
    Slurm,
    /// `prterun`, or another launcher with a PMIx server.
    Pmix,
    /// Any launcher of the site's MPI, which provides rank and size: selected by `FOREGATHER_FABRIC=mpi`.
    Mpi,
    /// No launcher: a job with one rank.
    Alone,
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own => "foregather run",
            Self::Pmi => "PMI",
            Self::OpenMpi => "Open MPI",
            Self::Slurm => "Slurm",
            Self::Pmix => "PMIx",
            Self::Mpi => "MPI",
            Self::Alone => "alone",
        })
    }
}

/// The launcher and the rank of this process, as given by its environment variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The launcher that started it; [`Launcher::Alone`] if none did.
    pub launcher: Launcher,
    /// The rank; 0 without a launcher.
    pub rank: Rank,
    /// The number of ranks; `None` if only a PMIx server knows it.
    pub size: Option<u32>,
    /// Whether all ranks are on one host, as far as the launcher says.
    pub(crate) one_host: bool,
    /// The name of this job on this host: the same for all of its ranks, and different for every other job.
    pub(crate) identity: String,
    /// The host of rank 0, if the launcher provides it.
    pub(crate) hosts: Vec<String>,
}

/// Returns which launcher started this process, if any, from its environment variables and without joining
/// the job. With `FOREGATHER_LAUNCHER=none` the result is always no launcher: for an interactive shell that
/// is itself a step of `srun`.
///
/// A process that a rank of `foregather run` has started inherits the rank's variables. It still runs outside
/// the job, because the rank's place is taken. A process that was started as a rank never runs outside the
/// job while its place is free, even if a wrapper has closed its descriptors or cleared its variables.
///
/// # Errors
/// [`Cause::Refused`] or [`Cause::Rank`] if the variables are invalid, or a wrapper has cleared those of
/// `foregather run`.
pub fn detect() -> Result<Detected, Error> {
    by_variables(own::variable, place::ask, place::without_variables)
}

/// Reads the variables. `ask` asks the launcher's socket for a rank's place; `cleared` returns the rank of a
/// process without variables whose place is free.
fn by_variables(
    var: impl Fn(&str) -> Option<String>,
    ask: impl Fn(&str, Rank, &JobKey) -> Result<PlaceReply, Error>,
    cleared: impl Fn() -> Option<Rank>,
) -> Result<Detected, Error> {
    match var(own::LAUNCHER).as_deref().map(str::trim) {
        None | Some("") => {}
        Some("none") => return Ok(ALONE),
        Some(other) => {
            let why = format!("{} may be `none`, and is `{}`", own::LAUNCHER, other.escape_debug());
            return Err(refused(why));
        }
    }
    let found = find(&var)?;
    // MPI's own rank and size are later checked against these values; without a launcher no size is known.
    let found = match found.launcher {
        Launcher::Own => found,
        Launcher::Alone if is_by_mpi(&var) => Detected { launcher: Launcher::Mpi, size: None, ..found },
        _ if is_by_mpi(&var) => Detected { launcher: Launcher::Mpi, ..found },
        _ => found,
    };
    match found.size {
        Some(size) if size == 0 || size > MOST_RANKS => {
            return Err(refused(format!("{}: a job has 1 to {MOST_RANKS} ranks, not {size}", found.launcher)));
        }
        Some(size) if found.rank >= size => return Err(Cause::Rank { rank: found.rank, size }.into()),
        _ => {}
    }
    match found.launcher {
        Launcher::Own => {
            let Some(desk) = var(own::DESK).filter(|desk| !desk.is_empty()) else { return Ok(found) };
            let key = JobKey::new(var(own::SECRET).unwrap_or_default().as_bytes(), found.identity.as_bytes());
            let is_child = ask(&desk, found.rank, &key)? == PlaceReply::Taken;
            Ok(if is_child { ALONE } else { found })
        }
        Launcher::Alone => cleared().map_or(Ok(found), |rank| {
            Err(refused(format!(
                "this process was started as rank {rank} of `foregather run`, and a wrapper (env -i, sudo) has cleared its \
                 FOREGATHER_ variables: make it keep them, or set {}=none to run alone",
                own::LAUNCHER
            )))
        }),
        _ => Ok(found),
    }
}

/// Returns whether the user selected the site's MPI as the fabric. MPI then owns the launcher's descriptors.
fn is_by_mpi(var: impl Fn(&str) -> Option<String>) -> bool {
    var(FABRIC).is_some_and(|fabric| fabric.trim() == "mpi")
}

const ALONE: Detected =
    Detected { launcher: Launcher::Alone, rank: 0, size: Some(1), one_host: true, identity: String::new(), hosts: vec![] };

fn refused(why: String) -> Error {
    Error::from(Cause::Refused { why })
}

fn find(var: &impl Fn(&str) -> Option<String>) -> Result<Detected, Error> {
    let set = |name: &str| var(name).filter(|text| !text.trim().is_empty());
    let number = |name: &str| -> Result<Option<u32>, Error> {
        let Some(text) = set(name) else { return Ok(None) };
        text.trim().parse().map(Some).map_err(|_| refused(format!("{name} should be a number, and is `{}`", text.escape_debug())))
    };
    let needed = |name: &str| number(name)?.ok_or_else(|| refused(format!("{name} is missing, which goes with its launcher")));
    let text = |name: &str| set(name).unwrap_or_default();
    let of = |launcher, rank, size| Detected { launcher, rank, size, one_host: false, identity: String::new(), hosts: vec![] };

    if set(own::RANK).is_some() || set(own::SIZE).is_some() {
        return Ok(Detected { identity: text(own::JOB), ..of(Launcher::Own, needed(own::RANK)?, Some(needed(own::SIZE)?)) });
    }
    let slurm = || -> Result<Detected, Error> {
        let hosts = nodes::first(&text("SLURM_STEP_NODELIST"))?.into_iter().chain(set("SLURM_LAUNCH_NODE_IPADDR")).collect();
        let identity = format!("slurm {} {}", text("SLURM_JOB_ID"), text("SLURM_STEP_ID"));
        let one_host = number("SLURM_STEP_NUM_NODES")? == Some(1);
        Ok(Detected { one_host, identity, hosts, ..of(Launcher::Slurm, 0, None) })
    };
    if set("PMI_FD").is_some() {
        let (rank, size) = (needed("PMI_RANK")?, needed("PMI_SIZE")?);
        let step = set("SLURM_STEP_NODELIST").is_some();
        let around = if step { slurm()? } else { of(Launcher::Pmi, rank, Some(size)) };
        let one_host = around.one_host || number("MPI_LOCALNRANKS")? == Some(size) || size == 1;
        let identity = format!("pmi {}", text("PMI_JOBID"));
        return Ok(Detected { launcher: Launcher::Pmi, rank, size: Some(size), one_host, identity, ..around });
    }
    if let (Some(rank), Some(size)) = (number("OMPI_COMM_WORLD_RANK")?, number("OMPI_COMM_WORLD_SIZE")?) {
        let one_host = number("OMPI_COMM_WORLD_LOCAL_SIZE")? == Some(size);
        let identity = format!("pmix {}", text("PMIX_NAMESPACE"));
        return Ok(Detected { one_host, identity, ..of(Launcher::OpenMpi, rank, Some(size)) });
    }
    if set("PRTE_LAUNCHED").is_none()
        && let (Some(rank), Some(size)) = (number("SLURM_PROCID")?, number("SLURM_STEP_NUM_TASKS")?)
    {
        return Ok(Detected { rank, size: Some(size), ..slurm()? });
    }
    if let Some(rank) = number("PMIX_RANK")? {
        return Ok(Detected { identity: format!("pmix {}", text("PMIX_NAMESPACE")), ..of(Launcher::Pmix, rank, None) });
    }
    Ok(ALONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Detected, Error> {
        of_process(variables, None)
    }

    fn of_process(variables: &[(&str, &str)], cleared: Option<Rank>) -> Result<Detected, Error> {
        by_variables(
            |name| variables.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned()),
            |desk, rank, _| match desk {
                "free" => Ok(PlaceReply::Free(rank)),
                "taken" => Ok(PlaceReply::Taken),
                "another" => Ok(PlaceReply::Unknown),
                _ => Err(refused("the launcher does not answer".to_owned())),
            },
            || cleared,
        )
    }

    fn who(variables: &[(&str, &str)]) -> (Launcher, Rank, Option<u32>, bool) {
        let found = of(variables).unwrap();
        (found.launcher, found.rank, found.size, found.one_host)
    }

    const STEP: [(&str, &str); 6] = [
        ("SLURM_PROCID", "1"),
        ("SLURM_STEP_NUM_TASKS", "2"),
        ("SLURM_STEP_NUM_NODES", "2"),
        ("SLURM_STEP_NODELIST", "n[3-4]"),
        ("SLURM_JOB_ID", "7"),
        ("SLURM_STEP_ID", "0"),
    ];

    #[test]
    fn every_launcher_is_known_by_its_variables() {
        assert_eq!(who(&[("FOREGATHER_RANK", "2"), ("FOREGATHER_SIZE", "4")]), (Launcher::Own, 2, Some(4), false));
        let hydra = [("PMI_FD", "9"), ("PMI_RANK", "1"), ("PMI_SIZE", "3"), ("MPI_LOCALNRANKS", "3")];
        assert_eq!(who(&hydra), (Launcher::Pmi, 1, Some(3), true));
        let mpirun = [
            ("OMPI_COMM_WORLD_RANK", "3"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
            ("PMIX_RANK", "3"),
        ];
        assert_eq!(who(&mpirun), (Launcher::OpenMpi, 3, Some(4), false));
        assert_eq!(who(&STEP), (Launcher::Slurm, 1, Some(2), false));
        assert_eq!(of(&STEP).unwrap().hosts, ["n3"]);
        assert_eq!(who(&[("PMIX_RANK", "5"), ("PMIX_NAMESPACE", "x")]), (Launcher::Pmix, 5, None, false));
        assert_eq!(who(&[]), (Launcher::Alone, 0, Some(1), true));
    }

    #[test]
    fn mpirun_within_an_allocation_is_mpirun_and_a_batch_script_is_alone() {
        let mpirun = [&STEP[..], &[("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "4")]].concat();
        assert_eq!(who(&mpirun), (Launcher::OpenMpi, 3, Some(4), false));
        let prterun = [&STEP[..], &[("PRTE_LAUNCHED", "1"), ("PMIX_RANK", "3")]].concat();
        assert_eq!(who(&prterun), (Launcher::Pmix, 3, None, false));
        assert_eq!(who(&[("SLURM_PROCID", "0"), ("SLURM_JOB_ID", "7")]), (Launcher::Alone, 0, Some(1), true));
        let pmi2 = [&STEP[..], &[("PMI_FD", "9"), ("PMI_RANK", "1"), ("PMI_SIZE", "2")]].concat();
        assert_eq!(who(&pmi2), (Launcher::Pmi, 1, Some(2), false));
        assert_eq!(of(&pmi2).unwrap().hosts, ["n3"]);
    }

    #[test]
    fn mpi_is_asked_for_its_ranks_if_it_is_the_fabric() {
        let asked = [("FOREGATHER_FABRIC", "mpi")];
        assert_eq!(who(&asked), (Launcher::Mpi, 0, None, true));
        let mpirun = [("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "4")];
        assert_eq!(who(&[&mpirun[..], &asked].concat()), (Launcher::Mpi, 3, Some(4), false));
        let own = [("FOREGATHER_RANK", "0"), ("FOREGATHER_SIZE", "9")];
        assert_eq!(who(&[&own[..], &asked].concat()), (Launcher::Own, 0, Some(9), false));
        assert_eq!(who(&[&asked[..], &[("FOREGATHER_LAUNCHER", "none")]].concat()).0, Launcher::Alone);
    }

    #[test]
    fn our_own_launcher_comes_first() {
        let both = [&STEP[..], &[("FOREGATHER_RANK", "0"), ("FOREGATHER_SIZE", "9")]].concat();
        assert_eq!(who(&both), (Launcher::Own, 0, Some(9), false));
    }

    #[test]
    fn a_child_of_a_rank_is_alone_and_so_is_every_process_that_is_told_so() {
        let rank = [("FOREGATHER_RANK", "1"), ("FOREGATHER_SIZE", "2")];
        let with = |more: &[(&'static str, &'static str)]| who(&[&STEP[..], &rank, more].concat());
        let alone = (Launcher::Alone, 0, Some(1), true);
        let own = (Launcher::Own, 1, Some(2), false);
        assert_eq!(with(&[("FOREGATHER_DESK", "free")]), own);
        assert_eq!(with(&[("FOREGATHER_DESK", "taken")]), alone);
        assert_eq!(with(&[("FOREGATHER_DESK", "another")]), own, "variables of a job within, made by hand");
        assert_eq!(with(&[("FOREGATHER_LAUNCHER", "none"), ("FOREGATHER_DESK", "free")]), alone);
        let silent = of(&[&rank[..], &[("FOREGATHER_DESK", "gone")]].concat()).unwrap_err().to_string();
        assert!(silent.contains("does not answer"), "{silent}");
        assert_eq!(with(&[("FOREGATHER_LAUNCHER", " ")]), (Launcher::Own, 1, Some(2), false));
    }

    #[test]
    fn a_rank_whose_variables_were_cleared_is_told_so_unless_it_may_be_alone() {
        let said = of_process(&[], Some(3)).unwrap_err().to_string();
        assert!(said.contains("rank 3") && said.contains("env -i") && said.contains("FOREGATHER_LAUNCHER=none"), "{said}");
        assert_eq!(of_process(&[("FOREGATHER_LAUNCHER", "none")], Some(3)), Ok(ALONE));
        let hydra = [("PMI_FD", "9"), ("PMI_RANK", "1"), ("PMI_SIZE", "3")];
        assert_eq!(of_process(&hydra, Some(3)).unwrap().launcher, Launcher::Pmi);
    }

    #[test]
    fn nonsense_is_named() {
        for (variables, said) in [
            (&[("FOREGATHER_RANK", "2")][..], "FOREGATHER_SIZE"),
            (&[("FOREGATHER_RANK", "x"), ("FOREGATHER_SIZE", "2")], "`x`"),
            (&[("FOREGATHER_RANK", "2"), ("FOREGATHER_SIZE", "2")], "rank 2"),
            (&[("FOREGATHER_RANK", "0"), ("FOREGATHER_SIZE", "0")], "not 0"),
            (&[("FOREGATHER_RANK", "0"), ("FOREGATHER_SIZE", "99999")], "99999"),
            (&[("PMI_FD", "3")], "PMI_RANK"),
            (&[("FOREGATHER_LAUNCHER", "srun")], "`srun`"),
        ] {
            let error = of(variables).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
