//! One cell of the barrier matrix: what is asked of a child process, what it comes to, and the barriers that
//! need no library: ours, of any kind and policy, and Rust's.
use crate::{Cell, Episodes, Meeting, WorkDistribution, several, side_by_side};
use foregather_barrier::{Algorithm, BarrierMember, Group};
use foregather_machine::{Cause, Costs, Error, Nanos, block_on};
use foregather_results::ids::RUST_STD;
use foregather_thread::Thread;
use foregather_wait::{Policy, Snapshot};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Barrier;

/// A cell that has not ended by this much over twice its time has collapsed: its waiter passed next to no
/// barrier.
const COLLAPSED: Nanos = Nanos::from_ms(700);
/// Slack of the start line: longer than the release of a sleeper takes.
const START_SLACK: Nanos = Nanos::from_us(100);

/// What to measure. Hogs and quota are the caller's business.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BarrierCell {
    /// The barrier and policy, by the name that its program knows: `central/spin`, `hurdles`, `gomp` ...
    pub waiter: String,
    /// Members of the team.
    pub threads: u32,
    /// Teams of that many threads in the process, each of which does all of it.
    #[serde(default = "several::one", skip_serializing_if = "several::is_one")]
    pub teams: u32,
    /// Mean computation of a member between two barriers.
    pub grain_ns: u64,
    /// Its variation.
    pub shape: WorkDistribution,
    /// The processor of each member, repeated if there are more members; empty leaves them free.
    pub pins: Vec<u32>,
    /// Two barriers an episode with the computation between them, as a parallel region has; nothing is
    /// computed outside it.
    #[serde(default)]
    pub fork_join: bool,
    /// For how long to measure.
    pub span_ns: u64,
    /// For how long the team runs before that.
    #[serde(default)]
    pub settle_ns: u64,
    /// What [`crate::Work::iterations_per_us`] gave, once for all that are compared.
    pub iterations_per_us: f64,
}

impl BarrierCell {
    /// The processor of `rank`, if it is to be pinned.
    pub fn pin(&self, rank: u32) -> Option<u32> {
        (!self.pins.is_empty()).then(|| self.pins[rank as usize % self.pins.len()])
    }
}

/// Refuses teams that cannot be run.
pub(crate) fn check_team(threads: u32, iterations_per_us: f64) -> Result<(), String> {
    if threads == 0 || threads > 1_024 {
        return Err(format!("a cell of {threads} threads cannot be run; 1 to 1024 can"));
    }
    if !(iterations_per_us.is_finite() && iterations_per_us > 0.0) {
        return Err("iterations_per_us must be positive".into());
    }
    Ok(())
}

impl Cell for BarrierCell {
    const VERB: &'static str = "cell";
    type Answer = CellResult;

    fn check(&self) -> Result<(), String> {
        check_team(self.threads, self.iterations_per_us)
    }

    fn at_most(&self) -> Nanos {
        Nanos(self.span_ns + self.settle_ns) * 2 + COLLAPSED
    }

    fn run(&self) -> Result<Option<CellResult>, String> {
        let result = if self.waiter == RUST_STD {
            side_by_side(self.teams, || rust_std(self))
        } else {
            let (kind, policy) = parse(&self.waiter, &Costs::TYPICAL)?;
            side_by_side(self.teams, || ours(self, kind, policy))
        };
        result.map(Some).map_err(|error| error.to_string())
    }
}

/// What a cell came to. Times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// Barriers passed; with [`BarrierCell::fork_join`] pairs of them.
    pub episodes: u64,
    /// In this time.
    pub wall_ns: u64,
    /// At this processor time, user and system, of all members.
    pub cpu_ns: u64,
    /// The median time from one barrier to the next, as member 0 saw it.
    pub p50_ns: u64,
    /// All but a hundredth took no longer.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Voluntary context switches of the process.
    pub voluntary: u64,
    /// Preemptions.
    pub involuntary: u64,
    /// From the first member's exit to the last one's, median over sampled episodes.
    pub exit_skew_p50_ns: Option<u64>,
    /// The 99th percentile of the exit skew.
    pub exit_skew_p99_ns: Option<u64>,
    /// The share of sampled episodes in which all members were on one processor though more were allowed.
    pub stacked: f64,
    /// The successful-spin rate, from waiters that count it.
    pub ssr: Option<f64>,
    /// Waits by outcome (last, first look, spun, yielded, parked), from waiters that count them.
    pub outcomes: Option<[u64; 5]>,
    /// How often each rule of a decision table acted, from waiters that have one.
    #[serde(default)]
    pub rules: Option<BTreeMap<String, u64>>,
    /// Moves of members to other processors, likewise.
    #[serde(default)]
    pub moves: Option<u64>,
    /// Members fetched to the processor of one that waits.
    #[serde(default)]
    pub pulls: Option<u64>,
    /// Processors that a scout was asked about.
    #[serde(default)]
    pub scouted: Option<u64>,
}

impl CellResult {
    /// What several teams came to that ran at once: all their episodes, in the sum of their times. Quantiles
    /// are those of the slowest.
    pub fn of_all(all: &[Self]) -> Self {
        let sum = |of: fn(&Self) -> u64| all.iter().map(of).sum();
        let most = |of: fn(&Self) -> u64| all.iter().map(of).max().unwrap_or(0);
        Self {
            episodes: sum(|one| one.episodes),
            wall_ns: sum(|one| one.wall_ns),
            cpu_ns: sum(|one| one.cpu_ns),
            p50_ns: most(|one| one.p50_ns),
            p99_ns: most(|one| one.p99_ns),
            max_ns: most(|one| one.max_ns),
            voluntary: sum(|one| one.voluntary),
            involuntary: sum(|one| one.involuntary),
            ..Self::default()
        }
    }

    /// Episodes a second.
    pub fn episodes_per_s(&self) -> f64 {
        self.episodes as f64 / Nanos(self.wall_ns).as_secs().max(1e-9)
    }

    /// The share of all waits, those of the last to arrive included, with that place in
    /// [`CellResult::outcomes`].
    pub fn outcome_share(&self, place: usize) -> Option<f64> {
        self.outcomes.map(|all| all[place] as f64 / all.iter().sum::<u64>().max(1) as f64)
    }

    /// Context switches of all members for one episode.
    pub fn switches_per_episode(&self) -> f64 {
        (self.voluntary + self.involuntary) as f64 / self.episodes.max(1) as f64
    }

    /// Processor time of all members for one episode with its computation.
    pub fn cpu_us_per_episode(&self) -> f64 {
        self.cpu_ns as f64 / 1e3 / self.episodes.max(1) as f64
    }
}

/// Reads a waiter's name, `KIND/POLICY`: `central/two-phase:2CS+:remote`.
///
/// # Errors
/// In words, if it names none.
pub fn parse(waiter: &str, costs: &Costs) -> Result<(Algorithm, Policy), String> {
    let (kind, policy) = waiter.split_once('/').ok_or_else(|| format!("`{waiter}` is not of the form KIND/POLICY"))?;
    let names = Algorithm::ALL.map(Algorithm::name).join(", ");
    let kind = Algorithm::parse(kind).ok_or_else(|| format!("`{kind}` is no barrier; there are {names}"))?;
    Ok((kind, Policy::parse(policy, costs).map_err(|error| error.to_string())?))
}

/// A member of one of our groups.
struct Ours(BarrierMember<Thread>);

impl Meeting for &mut Ours {
    type Error = Error;
    #[inline]
    fn wait(&mut self) -> Result<(), Error> {
        block_on(self.0.wait())
    }
    fn start(&mut self) -> Result<(), Error> {
        block_on(self.0.harmonize(START_SLACK)).map(drop)
    }
}

fn ours(cell: &BarrierCell, kind: Algorithm, policy: Policy) -> Result<CellResult, Error> {
    let group = Group::new(kind, cell.threads)?;
    let episodes = Episodes::new(cell);
    let accounts = foregather_thread::run(
        cell.threads,
        |rank| cell.pin(rank),
        |cpu, rank| {
            let mut member = Ours(group.member(cpu, rank, policy)?);
            episodes.member(rank, &mut member)?;
            Ok(member.0.account().snapshot())
        },
    )?;
    let accounts: Vec<Snapshot> = accounts.into_iter().collect::<Result<_, Error>>()?;
    let all = accounts.into_iter().fold(Snapshot::default(), Snapshot::plus);
    let result = episodes.result().ok_or_else(|| Error::from(Cause::Poisoned { by: None }))?;
    Ok(describe(&all, result))
}

/// The result with what the accounts of all members say; of rules only if the policy goes by any.
fn describe(all: &Snapshot, result: CellResult) -> CellResult {
    let outcomes = Some([all.last, all.first_look, all.spun, all.yielded, all.parked]);
    let result = CellResult { ssr: all.successful_spin_rate(), outcomes, ..result };
    if all.rule_names.is_empty() {
        return result;
    }
    let rules = all.by_rule().map(|(rule, count)| (rule.to_owned(), count)).collect();
    CellResult { rules: Some(rules), moves: Some(all.moves), pulls: Some(all.pulls), scouted: Some(all.scouts), ..result }
}

/// Runs one cell in Rust's barrier.
///
/// # Errors
/// If a thread cannot be pinned.
pub fn rust_std(cell: &BarrierCell) -> Result<CellResult, Error> {
    let barrier = Barrier::new(cell.threads as usize);
    let episodes = Episodes::new(cell);
    let wait = || {
        barrier.wait();
        Ok::<(), Infallible>(())
    };
    foregather_thread::run(cell.threads, |rank| cell.pin(rank), |_, rank| episodes.member(rank, wait))?;
    episodes.result().ok_or_else(|| Error::from(Cause::Poisoned { by: None }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Work;

    #[test]
    fn a_cell_passes_barriers_and_accounts_for_every_wait() {
        for fork_join in [false, true] {
            passes_and_accounts(fork_join);
        }
    }

    fn passes_and_accounts(fork_join: bool) {
        let cell = BarrierCell {
            waiter: "central/two-phase:20us".into(),
            threads: 3,
            teams: 1,
            grain_ns: 500,
            shape: WorkDistribution::Exponential,
            pins: vec![],
            fork_join,
            span_ns: 5_000_000,
            settle_ns: 0,
            iterations_per_us: Work::iterations_per_us(),
        };
        assert_eq!(BarrierCell::from_arg(&cell.to_arg()), Ok(cell.clone()));
        assert!(!cell.to_arg().contains("teams"), "older programs read it, too");
        let two = BarrierCell { teams: 2, ..cell.clone() };
        assert_eq!(BarrierCell::from_arg(&two.to_arg()), Ok(two.clone()));
        assert!(two.run().unwrap().unwrap().wall_ns >= 2 * cell.span_ns);
        let result = cell.run().unwrap().unwrap();
        assert!(result.episodes > 0 && result.wall_ns >= cell.span_ns && result.cpu_ns > 0, "{result:?}");
        assert!(result.p50_ns <= result.p99_ns && result.p99_ns <= result.max_ns, "{result:?}");
        assert!(result.max_ns * 99 / 100 <= result.wall_ns, "no episode is longer than all of them: {result:?}");
        let waits: u64 = result.outcomes.unwrap().iter().sum();
        let barriers = if fork_join { 2 } else { 1 };
        assert_eq!(waits, 3 * (barriers * result.episodes + 8), "each member, each barrier, warm-up included");
        assert!(result.ssr.is_some_and(|ssr| (0.0..=1.0).contains(&ssr)));
        assert!(result.exit_skew_p50_ns <= result.exit_skew_p99_ns);
    }

    #[test]
    fn only_a_policy_with_rules_reports_them() {
        let all = Snapshot { last: 7, pulls: 3, ..Snapshot::default() };
        let ruled = describe(&Snapshot { rule_names: &["spin", "sleep"], ..all }, CellResult::default());
        assert_eq!((ruled.rules.map(|rules| rules.len()), ruled.pulls), (Some(2), Some(3)));
        let fixed = describe(&all, CellResult::default());
        assert_eq!((fixed.rules, fixed.pulls, fixed.outcomes), (None, None, Some([7, 0, 0, 0, 0])));
    }

    #[test]
    fn what_cannot_be_run_is_said() {
        for wrong in ["", "central", "ring/spin", "central/spinn"] {
            assert!(parse(wrong, &Costs::TYPICAL).is_err(), "{wrong}");
        }
        assert!(BarrierCell::from_arg("{}").unwrap_err().contains("not a cell"));
    }
}
