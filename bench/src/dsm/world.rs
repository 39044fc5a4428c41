//! Which process measures what: one that is alone, or a rank of a job of two.
use super::{DsmBenchmark, DsmCell, Figures, at_once, backend_of, faults, fetch, strange, views};
use foregather_dsm::memory;
use foregather_host::{affinity, clock};
use foregather_launch::{Job, Lanes};
use foregather_machine::{Error, Fabric, Nanos, Words};

/// No wait for a bare frame lasts longer.
const FETCHING: Nanos = Nanos::from_ms(20_000);

/// What one process measures by itself.
pub(super) fn alone(plan: &DsmCell) -> Result<Figures, Error> {
    affinity::pin(plan.cpus[0])?;
    match &plan.task {
        DsmBenchmark::AtOnce { backend, rounds } => at_once::measure(backend_of(backend)?, *rounds),
        DsmBenchmark::Views { backend, bytes, views, turns } => views::measure(backend_of(backend)?, (*bytes, *views), *turns),
        DsmBenchmark::Faults { .. } | DsmBenchmark::Fetch { .. } => Err(strange("a launcher: this needs two ranks".to_owned())),
    }
}

/// This rank's part; only rank 0 has an answer.
pub(super) fn of_job(plan: &DsmCell) -> Result<Option<Figures>, Error> {
    let job = Job::join()?;
    if job.size() != 2 {
        return Err(strange(format!("two ranks, not {}", job.size())));
    }
    affinity::pin(plan.cpus[job.rank() as usize])?;
    let other = job.process(1 - job.rank())? as u32;
    let answer = match job.lanes(lanes(&plan.task))? {
        Lanes::Shm(lanes) => rank_of(lanes, &plan.task, Some(other)),
        Lanes::Ofi(lanes) => rank_of(lanes, &plan.task, Some(other)),
    }?;
    let rank = job.rank();
    job.leave()?;
    Ok((rank == 0).then_some(answer))
}

pub(super) fn lanes(task: &DsmBenchmark) -> u32 {
    if matches!(task, DsmBenchmark::Faults { .. }) { memory::lanes(1) } else { 1 }
}

/// `other`: the process of the other rank, if it has one of its own.
pub(super) fn rank_of<F>(lanes: Vec<F>, task: &DsmBenchmark, other: Option<u32>) -> Result<Figures, Error>
where
    F: Fabric + Send + 'static,
    <F::Cpu as Words>::Word: Send + Sync,
{
    match task {
        DsmBenchmark::Faults { bytes, backend, policy, computing, asking, pause_ns, rounds } => {
            let (computing, asking) = (*computing, *asking);
            let manner = faults::Manner { bytes: *bytes, computing, asking, pause: Nanos(*pause_ns), rounds: *rounds };
            faults::measure(lanes, manner, (backend_of(backend)?, policy), other)
        }
        DsmBenchmark::Fetch { sizes, rounds } => {
            let lane = lanes.into_iter().next().ok_or_else(|| strange("a lane".to_owned()))?;
            fetch::measure(lane, sizes, *rounds, clock::now() + FETCHING)
        }
        DsmBenchmark::AtOnce { .. } | DsmBenchmark::Views { .. } => Err(strange("to be started without a launcher".to_owned())),
    }
}
