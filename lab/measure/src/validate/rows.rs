//! The eight rows: small experiments that this machine and the simulator can both run.
//!
//! In all of them threads compute for 20 us on average and meet. What differs is how many processors they
//! have, beside what they run, and what they are allowed; and, within a row, how long they spin before they
//! block.
use foregather_machine::{Costs, Nanos, Switch};
use foregather_wait::{Multiple, Policy};

/// Mean computation of a thread between two barriers.
pub(super) const GRAIN: Nanos = Nanos::from_us(20);

/// Where a team runs. Its threads are pinned: where free ones settle beside others is chance, and for good.
/// Two that meet may share one processor while hogs have the other, or not, and neither this machine nor the
/// simulator repeats itself then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pinning {
    /// All on one processor.
    One,
    /// Taking turns on two.
    Two,
}

impl Pinning {
    /// How many processors that takes.
    pub(super) const fn cpus(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }

    /// What blocking costs there: with one processor no thread ever sleeps on an idle one.
    const fn switch(self) -> Switch {
        match self {
            Self::One => Switch::Local,
            Self::Two => Switch::Remote,
        }
    }
}

/// One team in one circumstance.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    /// Its name, unique in its row.
    pub(super) name: &'static str,
    /// Its threads.
    pub(super) threads: u32,
    /// Where they run.
    pub(super) place: Pinning,
    /// CPU-bound processes beside it.
    pub(super) hogs: u32,
    /// Their nice value.
    pub(super) nice: i8,
    /// Milliseconds of processor time in every 100 ms, if limited.
    pub(super) quota_ms: Option<u32>,
    /// Whether it runs under the real-time class `SCHED_RR`.
    pub(super) realtime: bool,
}

impl Case {
    const fn new(name: &'static str, threads: u32, place: Pinning) -> Self {
        Self { name, threads, place, hogs: 0, nice: 0, quota_ms: None, realtime: false }
    }

    const fn beside(name: &'static str, hogs: u32, nice: i8) -> Self {
        Self { hogs, nice, ..Self::new(name, 2, Pinning::Two) }
    }

    const fn limited(name: &'static str, quota_ms: u32) -> Self {
        Self { quota_ms: Some(quota_ms), ..Self::new(name, 2, Pinning::Two) }
    }

    /// For how many times as long as the shortest cells it is measured: hogs and quotas act over many
    /// milliseconds.
    pub(super) const fn lengths(&self) -> u64 {
        if self.hogs > 0 || self.quota_ms.is_some() { 3 } else { 1 }
    }
}

/// What is held against each other of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compares {
    /// Whole round trips of a ping-pong between two threads that block.
    RoundTrips,
    /// The time per barrier over that of always-block.
    Times,
    /// That, and how much processor time the team got.
    TimesAndShares,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// Its name in results: `V1` to `V8`.
    pub(super) name: &'static str,
    /// What it is, in words.
    pub(super) what: &'static str,
    /// Its circumstances.
    pub(super) cases: Vec<Case>,
    /// What is compared.
    pub(super) compares: Compares,
    /// The spin bounds between never and always.
    bounds: &'static [Multiple],
    /// Whether a team that spins forever is compared, too.
    always: bool,
}

/// How long to spin before blocking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Budget {
    /// `AB`, `CS`, `2CS+`, `10CS` or `always`.
    pub(super) name: String,
    /// How the teams wait by it.
    pub(super) policy: Policy,
}

impl Budget {
    /// Returns whether the other budgets of its case are compared with this one.
    pub(super) fn is_yardstick(&self) -> bool {
        self.policy == Policy::Block
    }
}

const BOUNDS: [Multiple; 3] = [Multiple::Cs, Multiple::TwoCsPlus, Multiple::Percent(1_000)];
/// What spins forever under a real-time class starves the machine.
const SHORT_BOUNDS: [Multiple; 2] = [Multiple::Cs, Multiple::TwoCsPlus];
const ONE_BOUND: [Multiple; 1] = [Multiple::TwoCsPlus];

impl Row {
    fn new(name: &'static str, what: &'static str, cases: Vec<Case>) -> Self {
        Self { name, what, cases, compares: Compares::Times, bounds: &BOUNDS, always: true }
    }

    /// All of them.
    pub(super) fn all() -> Vec<Self> {
        let one = |place| vec![Case::new("alone", 2, place)];
        let hogs = vec![Case::beside("1 hog", 1, 0), Case::beside("2 hogs", 2, 0), Case::beside("4 hogs", 4, 0)];
        let quotas = vec![Case::limited("100 of 100 ms", 100), Case::limited("150 of 100 ms", 150)];
        let turns = vec![Case { realtime: true, ..Case::new("SCHED_RR", 2, Pinning::One) }];
        let round_trips = vec![Case::new("one cpu", 2, Pinning::One), Case::new("two cpus", 2, Pinning::Two)];
        let bounded = |row: Self, bounds| Self { bounds, always: false, ..row };
        vec![
            Self { compares: Compares::RoundTrips, ..bounded(Self::new("V1", "ping-pong of two that block", round_trips), &[]) },
            Self::new("V2", "2 threads on 1 cpu", one(Pinning::One)),
            Self::new("V3", "2 threads on 2 cpus", one(Pinning::Two)),
            Self::new("V4", "4 threads on 2 cpus", vec![Case::new("alone", 4, Pinning::Two)]),
            Self::new("V5", "2 threads beside hogs", hogs),
            Self::new("V6", "2 threads under a quota", quotas),
            bounded(Self::new("V7", "2 real-time threads on 1 cpu", turns), &SHORT_BOUNDS),
            Self {
                compares: Compares::TimesAndShares,
                ..bounded(
                    Self::new("V8", "2 threads beside nice hogs", vec![Case::beside("2 hogs of nice 10", 2, 10)]),
                    &ONE_BOUND,
                )
            },
        ]
    }

    /// How one of its teams waits, the yardstick first.
    pub(super) fn budgets(&self, case: &Case, costs: &Costs) -> Vec<Budget> {
        let bound = |multiple: &Multiple| Budget {
            name: multiple.to_string(),
            policy: Policy::two_phase(costs, *multiple, case.place.switch()),
        };
        let named = |name: &str, policy| Budget { name: name.to_owned(), policy };
        let never = [named("AB", Policy::Block)].into_iter();
        never.chain(self.bounds.iter().map(bound)).chain(self.always.then(|| named("always", Policy::Spin))).collect()
    }

    /// Why it cannot be run with that many processors; `None` if it can.
    pub(super) fn lacks(&self, cpus: usize) -> Option<String> {
        let realtime = self.cases.iter().any(|case| case.realtime);
        let needs = self.cases.iter().map(|case| case.place.cpus()).max().unwrap_or(1).max(1 + u32::from(realtime));
        let why = if realtime { ", so that one is left for the rest of the machine" } else { "" };
        (cpus < needs as usize).then(|| format!("it needs {needs} processors{why}, and this process may use {cpus}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_eight_rows_of_the_plan_are_there() {
        let rows = Row::all();
        assert_eq!(rows.iter().map(|row| row.name).collect::<Vec<_>>(), ["V1", "V2", "V3", "V4", "V5", "V6", "V7", "V8"]);
        for row in &rows {
            let names: BTreeSet<_> = row.cases.iter().map(|case| case.name).collect();
            assert_eq!(names.len(), row.cases.len(), "{}", row.name);
        }
    }

    #[test]
    fn every_case_has_its_yardstick_first_and_nobody_spins_for_ever_in_real_time() {
        for row in Row::all() {
            for case in &row.cases {
                let budgets = row.budgets(case, &Costs::TYPICAL);
                assert!(budgets[0].is_yardstick() && budgets[1..].iter().all(|budget| !budget.is_yardstick()));
                let always = budgets.iter().any(|budget| budget.policy == Policy::Spin);
                assert!(!(case.realtime && always), "{}", row.name);
            }
        }
        let budgets = |row: usize| {
            let row = &Row::all()[row];
            row.budgets(&row.cases[0], &Costs::TYPICAL)
        };
        let names: Vec<_> = budgets(2).into_iter().map(|budget| budget.name).collect();
        assert_eq!(names, ["AB", "CS", "2CS+", "10CS", "always"]);
        // Blocking costs another switch on one processor than on two.
        assert_eq!(budgets(1)[1].policy, Policy::TwoPhase { spin: Costs::TYPICAL.local_switch });
        assert_eq!(budgets(2)[1].policy, Policy::TwoPhase { spin: Costs::TYPICAL.remote_wake });
    }

    #[test]
    fn a_machine_of_one_processor_runs_one_row() {
        let able = |cpus| Row::all().iter().filter(|row| row.lacks(cpus).is_none()).map(|row| row.name).collect::<Vec<_>>();
        assert_eq!(able(1), ["V2"]);
        assert_eq!(able(2).len(), 8);
        assert!(Row::all()[6].lacks(1).is_some_and(|why| why.contains("rest of the machine")));
    }
}
