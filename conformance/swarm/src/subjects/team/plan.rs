//! The drawn run, and what its members have done so far.
use crate::blame::fair;
use crate::draw::Draw;
use crate::subjects::report::must;
use crate::worlds;
use foregather_machine::{Error, Rank};
use foregather_sim::event::Heap;
use foregather_sim::smp::{MachineSpec, SmpCpu};
use foregather_wait::Policy;
use std::cell::RefCell;

pub(super) type SwarmCpu<'s> = SmpCpu<'s, Heap>;

/// The drawn run.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) machine: MachineSpec,
    pub(super) size: u32,
    pub(super) policy: Policy,
    pub(super) regions: u32,
    /// The rank that goes, and in which region.
    pub(super) goes: Option<(Rank, u32)>,
    /// Whether the leader takes late parts, and sends workers away.
    pub(super) takes: bool,
    pub(super) dismisses: bool,
    pub(super) bounded: bool,
    pub(super) points_ppm: u32,
    pub(super) seed: u64,
    /// Whether workers serve, as those of `foregather_team` do.
    pub(super) serves: bool,
}

/// What all members have done so far.
pub(super) struct Board {
    pub(super) region: u32,
    /// By rank, how often its part of the present region was done.
    done: Vec<u32>,
    pub(super) away: Vec<bool>,
    at_fault: Vec<Rank>,
}

pub(super) fn plan(draw: &mut Draw) -> Plan {
    let machine = worlds::machine(draw);
    let (size, regions) = (draw.within(1..=6), draw.within(1..=8));
    Plan {
        policy: worlds::policy(draw, &machine),
        machine,
        size,
        regions,
        goes: draw.one_in(4).then(|| (draw.within(0..=size - 1), draw.within(1..=regions))),
        takes: draw.one_in(2),
        dismisses: draw.one_in(3),
        bounded: draw.one_in(3),
        points_ppm: worlds::points(draw),
        seed: draw.seed(),
        serves: draw.one_in(3),
    }
}

impl Board {
    /// No region yet.
    pub(super) fn of(plan: &Plan) -> Self {
        let (size, at_fault) = (plan.size as usize, plan.goes.map(|(rank, _)| rank).into_iter().collect());
        Self { region: 0, done: vec![0; size], away: vec![false; size], at_fault }
    }

    /// A region is about to be forked.
    pub(super) fn begin(&mut self, region: u32) {
        self.region = region;
        self.done.fill(0);
    }

    /// The part of `rank` is done, by whichever thread.
    pub(super) fn does(&mut self, rank: Rank, region: u32) -> Result<(), String> {
        must(self.region == region, || {
            format!("the part of rank {rank} is of region {region}, and region {} is open", self.region)
        })?;
        self.done[rank as usize] += 1;
        must(self.done[rank as usize] == 1 && !self.away[rank as usize], || {
            format!("the part of rank {rank} in region {region} was done twice, or by a worker that is away")
        })
    }

    pub(super) fn joined(&self) -> Result<(), String> {
        let wrong = (1..self.done.len()).find(|&rank| self.done[rank] != u32::from(!self.away[rank]));
        wrong.map_or(Ok(()), |rank| Err(format!("region {} was joined and the part of rank {rank} is not done", self.region)))
    }
}

pub(super) fn given_up(rank: Rank, error: &Error, board: &RefCell<Board>) -> Result<(), String> {
    fair(rank, error, &board.borrow().at_fault)
}
