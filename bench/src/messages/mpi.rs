//! Two ranks that the site's `mpiexec` starts, since only it can: rank 0 prints the answer.
use super::world::rank_of;
use super::{Answer, Measurand, MessageCell, PEER_VERB, strange};
use crate::Cell;
use foregather_host::{affinity, clock};
use foregather_machine::Error;
use foregather_mpi::{Lane, Mpi};
use foregather_shm::Segment;
use std::process::{Command, Stdio};

/// Starts both ranks, and waits for them. The kernel ends `mpiexec` with this process, and that its ranks.
pub(super) fn run(plan: &MessageCell) -> Result<Answer, Error> {
    if matches!(plan.task, Measurand::Hogs { .. }) {
        return Err(strange("a part that can be measured over MPI: `--only sizes`".to_owned()));
    }
    let program = std::env::current_exe().map_err(|error| strange(format!("mount /proc: {error}")))?;
    let mut command = Command::new("mpiexec");
    command.args(["-n", "2"]).arg(program).args([PEER_VERB, &plan.to_arg()]);
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| strange(format!("mpiexec ({error}): put the MPI's own into the search path")))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let answer = said.lines().find_map(|line| serde_json::from_str(line).ok());
    answer.ok_or_else(|| {
        let complaint = String::from_utf8_lossy(&output.stderr);
        strange(format!("an answer of rank 0 ({}): {:.600}", output.status, complaint.trim()))
    })
}

/// A rank's whole part.
pub(super) fn rank(plan: &MessageCell) -> Result<(), Error> {
    let mpi = Mpi::join((Some(2), std::env::var_os("OMPI_COMM_WORLD_SIZE").is_some()))?;
    let until = clock::now() + plan.bound();
    affinity::pin(plan.cpus[mpi.rank() as usize])?;
    let answer = rank_of(plan, Lane::group(mpi, plan.lanes(), None, None)?, &Segment::new(1, 0)?, until)?;
    if mpi.rank() == 0 {
        println!("{}", serde_json::to_string(&answer).map_err(|error| strange(error.to_string()))?);
    }
    Ok(())
}
