//! Our own barriers in a cell: any kind, any policy.
use crate::{Cell, CellResult, Episodes, Meeting};
use foregather_barrier::{Algorithm, BarrierMember, Group};
use foregather_machine::{Cause, Costs, Error, Nanos, block_on};
use foregather_thread::Thread;
use foregather_wait::adaptive::TABLE;
use foregather_wait::{Policy, Snapshot};

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

/// Slack of the start line: more than the release of a sleeper takes. Once a cell, so nobody need learn it.
const START_SLACK: Nanos = Nanos::from_us(100);

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

/// Runs one cell.
///
/// # Errors
/// If the barrier does not take that many members, or a thread cannot be pinned.
pub fn run(cell: &Cell, kind: Algorithm, policy: Policy) -> Result<CellResult, Error> {
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
    Ok(describe(&all, policy, result))
}

/// The result with what the accounts of all members say; of rules only if the policy goes by any.
fn describe(all: &Snapshot, policy: Policy, result: CellResult) -> CellResult {
    let outcomes = Some([all.last, all.first_look, all.spun, all.yielded, all.parked]);
    let result = CellResult { ssr: all.successful_spin_rate(), outcomes, ..result };
    if !matches!(policy, Policy::Adaptive(_)) {
        return result;
    }
    let rules = TABLE.iter().zip(all.rules).map(|(rule, count)| (rule.name.to_owned(), count)).collect();
    CellResult { rules: Some(rules), moves: Some(all.moves), pulls: Some(all.pulls), scouted: Some(all.scouts), ..result }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Work, WorkDistribution};

    #[test]
    fn a_cell_passes_barriers_and_accounts_for_every_wait() {
        for fork_join in [false, true] {
            passes_and_accounts(fork_join);
        }
    }

    fn passes_and_accounts(fork_join: bool) {
        let cell = Cell {
            waiter: "central/two-phase:20us".into(),
            threads: 3,
            grain_ns: 500,
            shape: WorkDistribution::Exponential,
            pins: vec![],
            fork_join,
            span_ns: 5_000_000,
            iterations_per_us: Work::iterations_per_us(),
        };
        assert_eq!(Cell::from_arg(&cell.to_arg()), Ok(cell.clone()));
        let (kind, policy) = parse(&cell.waiter, &Costs::TYPICAL).unwrap();
        let result = run(&cell, kind, policy).unwrap();
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
    fn only_who_goes_by_rules_tells_of_them() {
        let all = Snapshot { last: 7, pulls: 3, ..Snapshot::default() };
        let policy = |name| Policy::parse(name, &Costs::TYPICAL).unwrap();
        let adaptive = describe(&all, policy("adaptive"), CellResult::default());
        assert_eq!((adaptive.rules.map(|rules| rules.len()), adaptive.pulls), (Some(TABLE.len()), Some(3)));
        let fixed = describe(&all, policy("block"), CellResult::default());
        assert_eq!((fixed.rules, fixed.pulls, fixed.outcomes), (None, None, Some([7, 0, 0, 0, 0])));
    }

    #[test]
    fn what_cannot_be_run_is_said() {
        for wrong in ["", "central", "ring/spin", "central/spinn"] {
            assert!(parse(wrong, &Costs::TYPICAL).is_err(), "{wrong}");
        }
        assert!(Cell::from_arg("{}").unwrap_err().contains("not a cell"));
    }
}
