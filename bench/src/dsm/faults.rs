//! Faults between two ranks: rank 1 owns and manages what rank 0 touches, so one request and one reply serve
//! each (one hop).
use super::{Figures, Quantity, Timed, strange};
use crate::compute;
use foregather_dsm::memory::{Array, Settings, SharedAllocator, Thread, run};
use foregather_dsm::protocol::Homes;
use foregather_dsm::views::{Backend, PAGE};
use foregather_host::{clock, usage};
use foregather_machine::{Error, Fabric, Nanos, Placement, Words};
use foregather_wait::Policy;

/// Minipages that are touched in a round.
pub(super) const UNITS: usize = 100;
/// Iterations between two looks of a thread that computes: some microseconds, as in the loops of programs.
const STRETCH: u64 = 4_000;

/// How memory is touched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    pub(super) bytes: usize,
    pub(super) computing: bool,
    pub(super) asking: bool,
    pub(super) pause: Nanos,
    pub(super) rounds: u32,
}

/// What both ranks see.
pub(super) struct FaultMemory {
    /// Half of its units have rank 1 for a manager.
    all: Array<u32>,
    /// Not 0: rank 1 need not compute any longer.
    enough: Array<u32>,
}

impl FaultMemory {
    pub(super) fn new(layout: &mut SharedAllocator, bytes: usize) -> Result<Self, Error> {
        let words = bytes.div_ceil(size_of::<u32>());
        Ok(Self { all: layout.array(2 * UNITS * words, words)?, enough: layout.array(1, 1)? })
    }
}

/// A rank's part.
pub(super) fn measure<F>(
    lanes: Vec<F>,
    manner: Manner,
    (backend, policy): (Backend, &str),
    other: Option<u32>,
) -> Result<Figures, Error>
where
    F: Fabric + Send + 'static,
    <F::Cpu as Words>::Word: Send + Sync,
{
    let costs = lanes[0].cpu().costs();
    let policy = Policy::parse(policy, &costs).map_err(|error| strange(error.to_string()))?;
    let bytes = 4 * UNITS * manner.bytes.next_multiple_of(8) + 16 * PAGE;
    let views = (PAGE / manner.bytes.next_multiple_of(8)).clamp(1, 32) as u32;
    let asking = manner.asking;
    let settings = Settings { bytes, views, backend: Some(backend), asking, policy: Some(policy), ..Settings::default() };
    let shared = |layout: &mut SharedAllocator| FaultMemory::new(layout, manner.bytes);
    let served = run(lanes, settings, shared, |thread, shared| rounds(thread, shared, manner, other))?;
    let timed = served.leave().into_iter().next().map(|thread| thread.result).unwrap_or_default();
    Ok(Figures { timed, notes: vec![] })
}

/// A thread's part: all units, in all manners, `manner.rounds` times each.
pub(super) fn rounds<F: Fabric>(
    thread: &Thread<'_, F>,
    shared: &FaultMemory,
    manner: Manner,
    other: Option<u32>,
) -> Result<Vec<Timed>, Error> {
    let words = shared.all.unit();
    let homes = Homes::spread(thread.ranks())?;
    let of_rank_1 = |&unit: &usize| homes.of(shared.all.minipage(unit)) == 1;
    let mine: Vec<usize> = (0..shared.all.units()).filter(of_rank_1).take(UNITS).map(|unit| unit * words).collect();
    let mut timed = [Quantity::Read, Quantity::Upgrade, Quantity::Write].map(|what| Timed::of(what, manner.bytes));
    for turn in 0..2 * manner.rounds {
        if thread.rank() == 1 {
            mine.iter().for_each(|&at| shared.all.set(at, 0));
            shared.enough.set(0, 0);
        }
        thread.barrier()?;
        if thread.rank() == 0 {
            let whats: &[usize] = if turn % 2 == 0 { &[0, 1] } else { &[2] };
            whats.iter().for_each(|&what| touch(&mut timed[what], (&shared.all, &mine), manner.pause, other));
            if manner.computing {
                shared.enough.set(0, 1);
            }
        } else if manner.computing {
            while shared.enough.get(0) == 0 {
                compute(STRETCH);
            }
        }
        thread.barrier()?;
    }
    Ok(timed.into())
}

/// All units once, in one manner.
fn touch(timed: &mut Timed, (all, mine): (&Array<u32>, &[usize]), pause: Nanos, other: Option<u32>) {
    let spent = || [usage::process_cpu(), other.and_then(usage::process_cpu_of).unwrap_or_default()];
    let before = spent();
    for &at in mine {
        compute_for(pause);
        if timed.what == Quantity::Read {
            timed.time(|| assert!(all.get(at) < 2, "nobody stores more than 1"));
        } else {
            timed.time(|| all.set(at, 1));
        }
    }
    for (sum, (after, before)) in timed.cpu_ns.iter_mut().zip(spent().into_iter().zip(before)) {
        *sum += (after - before).0;
    }
}

fn compute_for(span: Nanos) {
    let began = clock::now();
    while clock::now() - began < span {
        compute(STRETCH / 16);
    }
}
