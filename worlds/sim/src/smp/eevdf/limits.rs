//! Which quotas apply to which thread: a thread runs while all limited groups that it is in have time left on
//! its processor.
use super::bandwidth::Bandwidth;
use super::rules::Group;
use crate::smp::machine::Machine;
use foregather_machine::{CpuId, Nanos};

/// All limited groups.
pub(super) struct LimitedGroups {
    /// By group: the indices of its own limit and of those above it, as far as there are any.
    chains: Vec<Vec<usize>>,
    limits: Vec<Bandwidth>,
}

impl LimitedGroups {
    pub(super) fn new(groups: &[Group], cpus: usize) -> Self {
        let (mut chains, mut limits) = (Vec::<Vec<usize>>::new(), Vec::new());
        for group in groups {
            let mut chain = group.parent.map(|parent| chains[parent as usize].clone()).unwrap_or_default();
            if let Some(quota) = group.quota {
                chain.push(limits.len());
                limits.push(Bandwidth::new(quota, group.burst, group.period, cpus));
            }
            chains.push(chain);
        }
        Self { chains, limits }
    }

    /// The limits that apply to a group's threads.
    #[inline]
    pub(super) fn of(&self, group: Option<u32>) -> &[usize] {
        group.map_or(&[], |group| &self.chains[group as usize])
    }

    fn each(&mut self, group: Option<u32>, mut what: impl FnMut(&mut Bandwidth)) {
        if let Some(group) = group {
            self.chains[group as usize].iter().for_each(|&limit| what(&mut self.limits[limit]));
        }
    }

    #[inline]
    pub(super) fn spend(&mut self, group: Option<u32>, cpu: CpuId, span: Nanos) {
        self.each(group, |limit| limit.spend(cpu, span));
    }

    pub(super) fn enter(&mut self, group: Option<u32>, cpu: CpuId) {
        self.each(group, |limit| limit.enter(cpu));
    }

    pub(super) fn leave(&mut self, group: Option<u32>, cpu: CpuId, now: Nanos) {
        self.each(group, |limit| limit.leave(now, cpu));
    }

    /// The first limit that has no time left for a thread there.
    pub(super) fn exhausted(&mut self, group: Option<u32>, cpu: CpuId, now: Nanos) -> Option<usize> {
        let chain = &self.chains[group? as usize];
        chain.iter().copied().find(|&limit| !self.limits[limit].has_time(now, cpu))
    }

    /// How long a thread of the group may run on that processor.
    #[inline]
    pub(super) fn left(&self, group: Option<u32>, cpu: CpuId) -> Nanos {
        self.of(group).iter().map(|&limit| self.limits[limit].left(cpu)).min().unwrap_or(Nanos::MAX)
    }

    pub(super) fn throttled(&self, group: Option<u32>, cpu: CpuId) -> bool {
        self.of(group).iter().any(|&limit| self.limits[limit].throttled(cpu))
    }

    /// Stops a limit's threads on a processor. Returns whether it is the first time in its period.
    pub(super) fn throttle(&mut self, limit: usize, cpu: CpuId) -> bool {
        self.limits[limit].throttle(cpu)
    }

    /// Hands out what the pools have; returns the processors on which a thread may run again.
    pub(super) fn hand_out(&mut self, now: Nanos) -> Vec<CpuId> {
        let mut cpus: Vec<CpuId> = self.limits.iter_mut().flat_map(|limit| limit.hand_out(now)).collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }

    /// Sets the timer to the next moment at which there is time to hand out, if a stopped thread waits for
    /// it.
    pub(super) fn arm(&self, machine: &mut Machine) {
        let next = self.limits.iter().filter_map(|limit| limit.next(machine.now)).min();
        machine.timer = next.map_or(machine.timer, |next| next.min(machine.timer));
    }
}
