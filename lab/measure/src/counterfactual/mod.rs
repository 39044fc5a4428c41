//! A recorded program under other settings: its teams, as threads of the simulator of processors.
//!
//! A region is a barrier at which workers wait for their leader, then the members' parts, each ended by a
//! barrier. What a region costs besides work and waits is the difference between the recorded and the
//! simulated length, so it need not be known for each runtime.
mod models;
mod validity;

pub use models::{PeerModel, look_ns};
pub use validity::ValidModels;
pub(crate) use validity::name as validity_name;

use crate::calibration::{BACKGROUND_HZ, background};
use foregather_machine::{Costs, CpuId, Nanos};
use foregather_sim::smp::{Distribution, Eevdf, Group, Job, MachineSpec, Prices, Record, Scheduler, Stop, Study, Ties, run};
use foregather_wait::Policy;

/// Seeds of each simulation.
const SEEDS: u64 = 3;
/// The simulated time where slices and quotas decide, and the fewest and the most regions otherwise.
const SPAN: Nanos = Nanos::from_ms(200);
const FEWEST: u64 = 30;
const REGIONS: u64 = 2_000;
const LONGEST: Nanos = Nanos::from_ms(4_000);
/// Another program that uses less than this part of a processor is left out, and one that uses more than that
/// wants all of it.
const LEAST_LOAD: f64 = 0.05;
const WHOLE_LOAD: f64 = 0.25;
/// What a region costs besides work and waits is no more than that.
pub const MOST_OVERHEAD: Nanos = Nanos::from_us(4);
/// A computation of another program, and its rest, together.
const LOAD_PERIOD: Nanos = Nanos::from_ms(10);

/// A machine to simulate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimulatedMachine {
    /// Processors on which the program may run.
    pub cpus: u32,
    /// Processors of which its runtime knows, because it looked when it started.
    pub known_cpus: u32,
    /// Processors' worth of time that control groups allow.
    pub quota: Option<f64>,
    /// What switches and wake-ups cost.
    pub costs: Costs,
    /// What a look of a spinning thread costs.
    pub look_ns: f64,
}

/// What a team does in a region.
#[derive(Clone, Debug, PartialEq)]
pub struct TeamWork {
    /// Its process.
    pub process: u32,
    /// The regions that its leader opened.
    pub regions: u64,
    /// Barriers in each, its end included.
    pub barriers: u32,
    /// The leader's processor time between two regions.
    pub gap: Nanos,
    /// Each member's processor time in a region, the leader's first.
    pub parts: Vec<Nanos>,
    /// By how much a part differs from one region to the next: the standard deviation.
    pub spread: Nanos,
    /// How long the leader slept outside of regions, in all.
    pub asleep: Nanos,
    /// What a region of several threads costs besides.
    pub overhead: Nanos,
    /// Processor time of its threads in all: their work is no more than that.
    pub ran: Nanos,
}

/// A program as it was recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedWork {
    /// Its teams.
    pub teams: Vec<TeamWork>,
    /// The part of a processor that each other program used, and the processor on which it was last.
    pub others: Vec<(f64, CpuId)>,
}

impl RecordedWork {
    /// The same with parts that are longer by a factor, but no longer than their threads ran.
    #[must_use]
    pub fn scaled(&self, by: f64) -> Self {
        let scale = |team: &TeamWork| {
            let by = by.min(team.most_scale());
            TeamWork { parts: team.parts.iter().map(|part| Nanos((part.0 as f64 * by) as u64)).collect(), ..team.clone() }
        };
        Self { teams: self.teams.iter().map(scale).collect(), others: self.others.clone() }
    }

    /// Returns whether other programs want whole processors.
    pub fn is_under_load(&self) -> bool {
        self.others.iter().any(|(used, _)| *used >= WHOLE_LOAD)
    }
}

/// How a program is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StartSetting {
    /// Threads of each team; as recorded if that is `None`.
    pub threads: Option<u32>,
    /// The runtime, and how it waits.
    pub model: PeerModel,
}

/// The time that a program would take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimulatedTime {
    /// Wall time: the median of the seeds, the least and the most.
    pub wall: [Nanos; 3],
    /// Processor time.
    pub cpu: Nanos,
}

impl TeamWork {
    /// By how much its parts can be longer than recorded, if nothing that its threads ran was a wait.
    pub fn most_scale(&self) -> f64 {
        let parts = self.parts.iter().fold(Nanos::ZERO, |sum, part| sum + *part) * self.regions;
        ((self.ran - self.gap * self.regions).0 as f64 / parts.0.max(1) as f64).max(1.0)
    }

    /// Returns whether its threads spin for longer than that before they sleep.
    pub fn spins(&self, work: &RecordedWork, machine: &SimulatedMachine, setting: &StartSetting, longer_than: Nanos) -> bool {
        match self.policy(work, machine, setting) {
            Policy::Block | Policy::Yield | Policy::YieldThenBlock(_) => false,
            Policy::TwoPhase { spin } => spin > longer_than,
            Policy::Adaptive(_) => false,
            _ => true,
        }
    }

    fn policy(&self, work: &RecordedWork, machine: &SimulatedMachine, setting: &StartSetting) -> Policy {
        let all = work.teams.iter().filter(|other| other.process == self.process).map(|other| other.threads(setting));
        let is_crowded = all.sum::<u32>() > machine.known_cpus;
        setting.model.policy(is_crowded, machine.look_ns, &machine.costs)
    }

    fn threads(&self, setting: &StartSetting) -> u32 {
        setting.threads.unwrap_or(self.parts.len() as u32).max(1)
    }

    /// Each member's part in a team of that size: the same work, dealt evenly unless it is as recorded.
    fn dealt(&self, threads: u32) -> Vec<Nanos> {
        if threads as usize == self.parts.len() {
            return self.parts.clone();
        }
        let all = self.parts.iter().fold(Nanos::ZERO, |sum, part| sum + *part);
        vec![Nanos(all.0 / u64::from(threads)); threads as usize]
    }

    /// No region of it is shorter than that.
    fn shortest(&self, threads: u32) -> Nanos {
        self.gap + self.dealt(threads).into_iter().max().unwrap_or_default()
    }

    /// Returns whether its regions end with a barrier of all members, or have further ones within.
    fn has_barriers(&self, model: PeerModel) -> bool {
        self.barriers > 1 || model.ends_with_barrier()
    }

    /// How often the threads of its job meet in a region: with barriers once more than recorded, because its
    /// workers wait at one for the region.
    pub(crate) fn meetings(&self, model: PeerModel) -> u32 {
        if self.has_barriers(model) { self.barriers.max(1) + 1 } else { 1 }
    }

    /// The team as a job of the simulator.
    pub(crate) fn job(&self, threads: u32, model: PeerModel, policy: Policy, cpus: u32) -> Job {
        let barriers = u64::from(self.barriers.max(1));
        let part = |of: &Nanos| {
            let (mean_ns, deviation_ns) = (of.0 as f64 / barriers as f64, self.spread.0 as f64);
            if deviation_ns > 0.0 && mean_ns > 0.0 {
                Distribution::Normal { mean_ns, deviation_ns }
            } else {
                Distribution::Constant(Nanos(mean_ns as u64).max(Nanos(1)))
            }
        };
        let parts = Distribution::ByRank(self.dealt(threads).iter().map(part).collect());
        let opening = self.gap + if threads > 1 { self.overhead } else { model.serial_region() };
        let start = if threads <= cpus { (0..cpus).collect() } else { Vec::new() };
        if !self.has_barriers(model) {
            let gap = Some(Distribution::Constant(opening.max(Nanos(1))));
            return Job { gap, start, group: Some(0), ..Job::meeting("team", threads, u64::MAX / 2, parts, policy) };
        }
        let alone = |rank: u32| Distribution::Constant(if rank == 0 { opening.max(Nanos(1)) } else { Nanos(1) });
        let gap = Distribution::ByRank((0..threads).map(alone).collect());
        let phases = [gap].into_iter().chain((0..barriers).map(|_| parts.clone())).collect();
        Job { start, group: Some(0), ..Job::meeting("team", threads, u64::MAX / 2, Distribution::InTurn(phases), policy) }
    }
}

/// The time that a program would take on a machine, started like that.
///
/// # Errors
/// If nothing can be simulated, or it may no longer go on.
pub fn simulate(
    work: &RecordedWork,
    machine: &SimulatedMachine,
    setting: &StartSetting,
    may_go_on: &dyn Fn() -> bool,
) -> Result<SimulatedTime, String> {
    if work.teams.is_empty() {
        return Err("no parallel regions were recorded".to_owned());
    }
    let of = |seed| once(&study(work, machine, setting, seed), (work, setting.model), may_go_on);
    let mut runs: Vec<(Nanos, Nanos)> = (1..=SEEDS).map(of).collect::<Result<_, _>>()?;
    runs.sort_unstable();
    let at = |index: usize| runs[index].0;
    Ok(SimulatedTime { wall: [at(runs.len() / 2), at(0), at(runs.len() - 1)], cpu: runs[runs.len() / 2].1 })
}

fn once(
    study: &Study,
    (work, model): (&RecordedWork, PeerModel),
    may_go_on: &dyn Fn() -> bool,
) -> Result<(Nanos, Nanos), String> {
    let outcome = run(study, may_go_on)?;
    if outcome.interrupted {
        return Err("the simulation takes too long".to_owned());
    }
    let (mut wall, mut cpu) = (Nanos::ZERO, Nanos::ZERO);
    for (team, job) in work.teams.iter().zip(&outcome.jobs) {
        let wanted = team.regions as f64 * f64::from(team.meetings(model));
        // One that never met may have met a moment later.
        let share = wanted / job.met.max(1) as f64;
        wall = wall.max(Nanos((outcome.time.0 as f64 * share) as u64) + team.asleep);
        cpu += Nanos(((job.split.compute + job.split.spin).0 as f64 * share) as u64);
    }
    Ok((wall, cpu))
}

fn study(work: &RecordedWork, machine: &SimulatedMachine, setting: &StartSetting, seed: u64) -> Study {
    let cpus = machine.cpus.max(1);
    let threads = |team: &TeamWork| team.threads(setting);
    let mut jobs: Vec<Job> =
        work.teams.iter().map(|team| team.job(threads(team), setting.model, team.policy(work, machine, setting), cpus)).collect();
    jobs.extend(work.others.iter().filter(|(used, _)| *used >= LEAST_LOAD).map(|&(used, cpu)| other(used, cpu % cpus)));
    let busy = jobs.iter().map(|job| job.threads).sum::<u32>() > cpus || machine.quota.is_some();
    jobs.extend(background(BACKGROUND_HZ));
    let regions = work.teams.iter().map(|team| team.shortest(threads(team)));
    let (shortest, longest) = (regions.clone().min().unwrap_or_default(), regions.max().unwrap_or_default());
    let span = if busy { SPAN } else { SPAN.min(shortest.max(Nanos(500)) * REGIONS) };
    // Whole periods of a quota.
    let limit = Nanos(span.max(longest * FEWEST).min(LONGEST).0.next_multiple_of(if busy { SPAN.0 } else { 1 }));
    Study { machine: spec(machine, cpus), jobs, stop: Stop::Limit, limit, seed, shuffled: false, record: Record::NOTHING }
}

/// Another program, which used that part of a processor. Programs that keep processors busy seldom move.
fn other(used: f64, cpu: CpuId) -> Job {
    let load = Job { pins: vec![vec![cpu]], ..Job::load("other", 1) };
    if used >= WHOLE_LOAD {
        return load;
    }
    let busy = LOAD_PERIOD.percent((used * 100.0) as u64);
    Job { compute: Distribution::Constant(busy), rest: Some(Distribution::Constant(LOAD_PERIOD - busy)), ..load }
}

fn spec(machine: &SimulatedMachine, cpus: u32) -> MachineSpec {
    let mut group = Group::named("program");
    group.quota = machine.quota.map(|quota| Nanos((group.period.0 as f64 * quota.max(0.01)) as u64));
    let (tick, slice) = (machine.costs.tick, Eevdf::base_slice(cpus));
    let scheduler = Scheduler::Eevdf(Eevdf { tick, slice, groups: vec![group], ..Eevdf::LINUX });
    MachineSpec { cpus, prices: Prices::measured(&machine.costs), scheduler, ties: Ties::ArriveFirst, resolution: Nanos(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: SimulatedMachine =
        SimulatedMachine { cpus: 2, known_cpus: 2, quota: None, costs: Costs::TYPICAL, look_ns: 15.0 };

    fn team(us: &[u64], gap_us: u64) -> TeamWork {
        TeamWork {
            process: 1,
            regions: 1_000,
            barriers: 1,
            gap: Nanos::from_us(gap_us),
            parts: us.iter().map(|us| Nanos::from_us(*us)).collect(),
            spread: Nanos::ZERO,
            asleep: Nanos::ZERO,
            overhead: Nanos::ZERO,
            ran: Nanos::from_ms(5_000),
        }
    }

    fn wall_ms(teams: Vec<TeamWork>, machine: &SimulatedMachine, threads: Option<u32>, model: PeerModel) -> u64 {
        let work = RecordedWork { teams, others: Vec::new() };
        simulate(&work, machine, &StartSetting { threads, model }, &|| true).unwrap().wall[0].0 / 1_000_000
    }

    #[test]
    fn a_region_takes_the_gap_and_its_longest_part() {
        let even = || vec![team(&[500, 500], 100)];
        let asleep = || vec![TeamWork { asleep: Nanos::from_ms(400), ..team(&[500, 500], 100) }];
        for (teams, threads, expected) in
            [(even(), None, 600), (even(), Some(1), 1_100), (vec![team(&[200, 800], 0)], None, 800), (asleep(), None, 1_000)]
        {
            let ms = wall_ms(teams, &MACHINE, threads, PeerModel::Libgomp);
            assert!(ms.abs_diff(expected) <= expected / 50, "{ms}, expected {expected}");
        }
    }

    #[test]
    fn spins_under_a_quota_and_in_a_crowd_take_time_from_the_work() {
        let quota = SimulatedMachine { quota: Some(1.0), ..MACHINE };
        let uneven = || vec![team(&[500, 500], 500)];
        let [spins, sleeps] =
            [PeerModel::LibgompActive, PeerModel::LibgompPassive].map(|model| wall_ms(uneven(), &quota, None, model));
        assert!(spins as f64 > sleeps as f64 * 1.15, "{spins} {sleeps}");
        let one = SimulatedMachine { cpus: 1, ..MACHINE };
        let pair = || vec![team(&[100, 100], 0)];
        let [default, passive] = [PeerModel::Libgomp, PeerModel::LibgompPassive].map(|model| wall_ms(pair(), &one, None, model));
        assert!(default > 3 * passive && passive < 260, "{default} {passive}");
    }

    #[test]
    fn another_program_takes_its_share() {
        let alone = RecordedWork { teams: vec![team(&[2_000, 2_000], 0)], others: Vec::new() };
        let beside = RecordedWork { others: vec![(0.5, 1)], ..alone.clone() };
        let setting = StartSetting { threads: None, model: PeerModel::Libgomp };
        let [alone, beside] = [alone, beside].map(|work| simulate(&work, &MACHINE, &setting, &|| true).unwrap().wall[0]);
        assert!(beside.0 as f64 > alone.0 as f64 * 1.4, "{alone} {beside}");
        assert!(simulate(&RecordedWork::default(), &MACHINE, &setting, &|| true).is_err());
        // So many barriers that the simulator looks whether it may go on.
        let work = RecordedWork { teams: vec![team(&[1; 8], 0)], others: Vec::new() };
        let sleeps = StartSetting { model: PeerModel::LibgompPassive, ..setting };
        let late = simulate(&work, &MACHINE, &sleeps, &|| false);
        assert_eq!(late, Err("the simulation takes too long".to_owned()));
    }
}
