//! `lock` of a `[[job]]`: the lock that its threads share, its critical sections, and page faults in them.
use super::compute::ComputeTime;
use super::files::PlanFiles;
use super::read::{choice, real, table, values};
use super::tree::ParseResult;
use foregather_sim::smp::{Distribution, Fault, FaultKind, JobLock, LockKind, MachineSpec};

table! {
    "lock" LockTable {
        kind: LockName, hold: (usize, ComputeTime), think: (usize, ComputeTime);
        fault: FaultTable, extend: bool
    }
}

table! {
    "fault" FaultTable {
        chance: Chance, takes: (usize, ComputeTime);
        kind: FaultName
    }
}

/// Makes a kind of lock for the machine that it is simulated on.
type MakeKind = fn(&MachineSpec) -> LockKind;

values! {
    LockName(MakeKind) = |value| choice(value, &KINDS);
    /// A share from 0 to 1.
    Chance(f64) = |value| real(value, 0.0..=1.0);
    FaultName(FaultKind) = |value| choice(value, &[("minor", FaultKind::Minor), ("major", FaultKind::Major)]);
}

/// The kinds of locks. A two-phase waiter spins for two context switches unless the job says how it waits.
pub(super) const KINDS: [(&str, MakeKind); 5] = [
    ("spin", |_| LockKind::Spin),
    ("ticket", |_| LockKind::Ticket),
    ("mcs", |_| LockKind::Mcs),
    ("futex", |_| LockKind::Futex),
    ("two-phase", |machine| LockKind::TwoPhase { spin: machine.prices.switch * 2 }),
];

impl LockTable {
    /// The lock, and how long threads compute before they take it.
    pub(super) fn lock(self, machine: &MachineSpec, files: &PlanFiles) -> ParseResult<(JobLock, Distribution)> {
        let of = |key, (line, kinds): (usize, ComputeTime)| kinds.distribution(key, line, files);
        let fault = match self.fault {
            Some(FaultTable { chance, takes, kind }) => {
                let kind = kind.map_or(FaultKind::Minor, FaultKind::from);
                Some(Fault { chance: chance.0, takes: of("takes", takes)?, kind })
            }
            None => None,
        };
        let kind = self.kind.0(machine);
        let extend = self.extend == Some(true);
        Ok((JobLock { kind, hold: of("hold", self.hold)?, fault, extend }, of("think", self.think)?))
    }
}
