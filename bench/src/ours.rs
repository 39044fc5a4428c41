//! Our own barriers in a cell: any kind, any policy.
use crate::{Cell, CellResult, Episodes, Meeting};
use foregather_barrier::{BarrierMember, Group, Kind};
use foregather_machine::{Cause, Costs, Error, Nanos, run_ready};
use foregather_thread::Thread;
use foregather_wait::{Policy, Snapshot};

/// Reads a waiter's name, `KIND/POLICY`: `central/two-phase:2CS+:remote`.
///
/// # Errors
/// In words, if it names none.
pub fn parse(waiter: &str, costs: &Costs) -> Result<(Kind, Policy), String> {
    let (kind, policy) = waiter.split_once('/').ok_or_else(|| format!("`{waiter}` is not of the form KIND/POLICY"))?;
    let names = Kind::ALL.map(Kind::name).join(", ");
    let kind = Kind::parse(kind).ok_or_else(|| format!("`{kind}` is no barrier; there are {names}"))?;
    Ok((kind, Policy::parse(policy, costs).map_err(|error| error.to_string())?))
}

/// Slack of the start line: more than the release of a sleeper takes. Once a cell, so nobody need learn it.
const START_SLACK: Nanos = Nanos::from_us(100);

/// A member of one of our groups.
struct Ours<'g>(BarrierMember<'g, Thread>);

impl Meeting for &mut Ours<'_> {
    type Error = Error;
    #[inline]
    fn wait(&mut self) -> Result<(), Error> {
        run_ready(self.0.wait())
    }
    fn start(&mut self) -> Result<(), Error> {
        run_ready(self.0.harmonize(START_SLACK)).map(drop)
    }
}

/// Runs one cell.
///
/// # Errors
/// If the barrier does not take that many members, or a thread cannot be pinned.
pub fn run(cell: &Cell, kind: Kind, policy: Policy) -> Result<CellResult, Error> {
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
    let outcomes = Some([all.last, all.first_look, all.spun, all.yielded, all.parked]);
    Ok(CellResult { ssr: all.successful_spin_rate(), outcomes, ..result })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Shape, Work};

    #[test]
    fn a_cell_passes_barriers_and_accounts_for_every_wait() {
        let cell = Cell {
            waiter: "central/two-phase:20us".into(),
            threads: 3,
            grain_ns: 500,
            shape: Shape::Exponential,
            pins: vec![],
            span_ns: 5_000_000,
            iterations_per_us: Work::iterations_per_us(),
        };
        assert_eq!(Cell::from_arg(&cell.to_arg()), Ok(cell.clone()));
        let (kind, policy) = parse(&cell.waiter, &Costs::TYPICAL).unwrap();
        let result = run(&cell, kind, policy).unwrap();
        assert!(result.episodes > 0 && result.wall_ns >= cell.span_ns && result.cpu_ns > 0, "{result:?}");
        let mean_ns = result.wall_ns / result.episodes;
        assert!(result.p50_ns <= result.p99_ns && result.p99_ns <= result.max_ns, "{result:?}");
        assert!(result.max_ns * 101 / 100 >= mean_ns, "no mean is above the maximum: {result:?}");
        let waits: u64 = result.outcomes.unwrap().iter().sum();
        assert_eq!(waits, 3 * (result.episodes + 8), "each member, each barrier, warm-up included");
        assert!(result.ssr.is_some_and(|ssr| (0.0..=1.0).contains(&ssr)));
        assert!(result.exit_skew_p50_ns <= result.exit_skew_p99_ns);
    }

    #[test]
    fn what_cannot_be_run_is_said() {
        for wrong in ["", "central", "ring/spin", "central/spinn"] {
            assert!(parse(wrong, &Costs::TYPICAL).is_err(), "{wrong}");
        }
        assert!(Cell::from_arg("{}").unwrap_err().contains("not a cell"));
    }
}
