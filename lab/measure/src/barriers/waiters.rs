//! The columns of the matrix: our barriers and policies, and the peers that are installed.
use crate::cells::CellProgram;
use crate::options::BarriersOptions;
use crate::peers::{BUILD, Listed, listed, program};
use anyhow::{Result, bail};
use foregather_bench::barriers::parse;
use foregather_machine::Costs;
use foregather_results::ids::{CANDIDATE, RUST_STD};
use foregather_results::misspelt_policy;
use foregather_wait::Policy;

/// A column of the matrix.
#[derive(Clone, Debug)]
pub struct Waiter {
    /// Its name in results.
    pub name: String,
    /// What its program calls it: for ours, barrier and policy with the bound in nanoseconds.
    pub spec: String,
    /// Whether it is this project's, not another library's.
    pub ours: bool,
    /// Whether it is another library or a fixed policy. Adaptive waiters are compared with the best of these.
    pub yardstick: bool,
    /// The smallest team that it is measured with.
    pub least_threads: u32,
    /// What runs its cells.
    pub program: CellProgram,
}

/// Policies without a bound, and the bound of the usual spin before a yield.
const PLAIN: [&str; 4] = ["spin", "yield", "block", "spin-yield:2us"];
/// Bounds as multiples of the two switches, and what others write down; a few are enough for a quick look.
const BOUNDS: [&str; 8] = ["CS:local", "CS+:local", "2CS+:local", "CS:remote", "CS+:remote", "2CS+:remote", "20us", "50us"];
const QUICK_BOUNDS: [&str; 3] = ["2CS+:local", "CS:remote", "2CS+:remote"];
/// What drawn rows are measured with, the candidate first: each is the best fixed policy of some rows.
const DRAWN: [&str; 6] = ["adaptive", "spin", "yield", "block", "spin-yield:2us", "two-phase:2CS+:remote"];
/// Barriers that the wide matrix has beside the central one, and the smallest team for which they are another
/// algorithm.
const OTHERS: [&str; 2] = ["dissemination", "tree"];
const OTHERS_FROM: u32 = 3;
/// Policies that all barriers are shown with unless the matrix is wide.
const FEW: [&str; 2] = ["spin", "spin-yield:CS:remote"];

fn own_names(options: &BarriersOptions) -> Vec<String> {
    if options.full || options.draw.is_some() {
        return DRAWN.map(|policy| format!("central/{policy}")).into();
    }
    let bounds = if options.quick { QUICK_BOUNDS.as_slice() } else { &BOUNDS };
    let plain = PLAIN.iter().map(|policy| format!("central/{policy}"));
    let two_phase = bounds.iter().map(|bound| format!("central/two-phase:{bound}"));
    let adaptive = OTHERS.iter().map(|kind| format!("{kind}/adaptive")).filter(|_| !options.quick);
    let few = ["dissemination", "tree", "butterfly"].into_iter().flat_map(|kind| FEW.map(|policy| format!("{kind}/{policy}")));
    let few = few.filter(|_| !options.quick && !options.wide);
    [CANDIDATE.to_owned()].into_iter().chain(plain).chain(two_phase).chain(adaptive).chain(few).collect()
}

/// Puts this machine's times in the place of multiples: a child process need not know the costs.
fn with_times(name: &str, costs: &Costs) -> Result<String, String> {
    let (kind, policy) = parse(name, costs)?;
    Ok(format!("{}/{policy}", kind.name()))
}

/// One of ours, by its name.
///
/// # Errors
/// In words, if there is no such barrier or policy.
pub fn own(name: &str, costs: &Costs) -> Result<Waiter, String> {
    let (_, policy) = parse(name, costs)?;
    let yardstick =
        matches!(policy, Policy::Spin | Policy::Yield | Policy::Block | Policy::TwoPhase { .. } | Policy::SpinThenYield { .. });
    let mine = Waiter { yardstick, ..peer(name, CellProgram::default()) };
    Ok(Waiter { spec: with_times(name, costs)?, ours: true, ..mine })
}

/// One whose cells `program` runs.
fn peer(name: &str, program: CellProgram) -> Waiter {
    let name = name.to_owned();
    Waiter { spec: name.clone(), name, ours: false, yardstick: true, least_threads: 1, program }
}

/// All waiters that the options ask for, and what is missing, with the remedy.
pub fn waiters(options: &BarriersOptions, costs: &Costs) -> (Vec<Waiter>, Vec<String>) {
    let (mut all, mut notes) = (Vec::new(), Vec::new());
    for name in own_names(options) {
        match own(&name, costs) {
            Ok(waiter) => {
                let other = OTHERS.iter().any(|kind| name == format!("{kind}/adaptive"));
                all.push(Waiter { least_threads: if other { OTHERS_FROM } else { 1 }, ..waiter });
            }
            Err(error) => notes.push(format!("no {name}: {error}")),
        }
    }
    let (peers, missing) = peers();
    all.extend(peers);
    notes.extend(missing);
    (all, notes)
}

/// Those of a comma-separated list; one of ours may be named that is not in the table.
///
/// # Errors
/// If one is unknown; the error lists the others.
pub fn select(all: Vec<Waiter>, wanted: &str, costs: &Costs) -> Result<Vec<Waiter>> {
    let mut chosen = Vec::new();
    for name in names(&all, wanted) {
        if let Some(waiter) = all.iter().find(|waiter| waiter.name == name) {
            chosen.push(Waiter { least_threads: 1, ..waiter.clone() });
            continue;
        }
        match own(&name, costs) {
            Ok(waiter) => chosen.push(waiter),
            Err(error) => {
                if let Some(hint) = name.split_once('/').and_then(|(_, policy)| misspelt_policy(policy)) {
                    bail!("--waiters: {name}: {hint}");
                }
                let peers: Vec<_> = all.iter().filter(|w| !w.ours).map(|w| w.name.as_str()).collect();
                bail!("no waiter `{name}`: {error}; peers found here: {}", peers.join(", "));
            }
        }
    }
    Ok(chosen)
}

/// The names in a list. What switches rules off has commas of its own: `central/adaptive!yield,park`.
fn names(all: &[Waiter], wanted: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in wanted.split(',').map(str::trim) {
        let known = part.contains('/') || all.iter().any(|waiter| waiter.name == part);
        match names.last_mut().filter(|last| !known && last.contains('!')) {
            Some(last) => *last += &format!(",{part}"),
            None => names.push(part.to_owned()),
        }
    }
    names
}

/// The peers found on this machine; for the others, what to do about it.
pub fn peers() -> (Vec<Waiter>, Vec<String>) {
    let std_barrier = peer(RUST_STD, CellProgram::default());
    let Some(program) = program() else {
        let remedy = format!("build them with `{BUILD}`");
        return (
            vec![std_barrier],
            vec![format!(
                "only one peer is compared (Rust's Barrier); hurdles, glibc and OpenMP are in a program of their own: {remedy}"
            )],
        );
    };
    let Listed { found, missing } = match listed(&program, "list") {
        Ok(listed) => listed,
        Err(error) => return (vec![std_barrier], vec![format!("{error:#}")]),
    };
    let waiter = |(name, env): (String, _)| peer(&name, CellProgram::of_peers(program.clone(), env));
    (found.into_iter().map(waiter).collect(), missing.iter().map(ToString::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Waiter> {
        waiters(&BarriersOptions::default(), &Costs::TYPICAL).0
    }

    #[test]
    fn every_own_waiter_is_one_that_a_cell_knows() {
        let choosing = ["randomised:local", "recent:remote", "holder-running:6us", "grain2cs:remote", "two-phase:0.62CS:remote"];
        let choosing = choosing.map(|policy| format!("central/{policy}"));
        for name in own_names(&BarriersOptions::default()).into_iter().chain(choosing) {
            let waiter = own(&name, &Costs::TYPICAL).unwrap();
            assert_eq!(parse(&waiter.spec, &Costs::TYPICAL), parse(&name, &Costs::TYPICAL), "{name}");
        }
    }

    #[test]
    fn the_candidate_comes_first_and_is_no_yardstick() {
        for (quick, wide) in [(true, false), (false, false), (false, true)] {
            let (all, _) = waiters(&BarriersOptions { quick, wide, ..BarriersOptions::default() }, &Costs::TYPICAL);
            assert_eq!(all[0].name, CANDIDATE);
            assert!(all.iter().all(|waiter| waiter.yardstick != waiter.name.contains("/adaptive")), "{all:?}");
            assert!(quick || all.iter().filter(|waiter| waiter.yardstick).count() > 12, "{all:?}");
        }
        assert!(!own("central/recent:local", &Costs::TYPICAL).unwrap().yardstick);
    }

    #[test]
    fn an_unknown_waiter_is_said() {
        let error = select(all(), "central/spin,nobody", &Costs::TYPICAL).unwrap_err().to_string();
        assert!(error.contains("nobody") && error.contains("rust-std"), "{error}");
        let error = select(all(), "central/adaptiv", &Costs::TYPICAL).unwrap_err().to_string();
        assert!(error.contains("did you mean `adaptive`?"), "{error}");
        assert_eq!(select(all(), "central/two-phase:7us, rust-std", &Costs::TYPICAL).unwrap().len(), 2);
    }

    #[test]
    fn rules_that_are_switched_off_stay_with_their_waiter() {
        let split = names(&all(), "central/adaptive!one,two, rust-std,central/adaptive!one,central/spin,nobody");
        assert_eq!(split, ["central/adaptive!one,two", "rust-std", "central/adaptive!one", "central/spin", "nobody"]);
    }
}
