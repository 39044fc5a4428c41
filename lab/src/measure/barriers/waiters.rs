//! The columns of the matrix: our barriers and policies, and the peers that are installed.
use crate::cli::Barriers;
use crate::measure::children::myself;
use anyhow::{Result, bail};
use foregather_bench::ours;
use foregather_host::child::Child;
use foregather_machine::{Costs, Nanos};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Somebody who waits.
#[derive(Clone, Debug)]
pub struct Waiter {
    /// Its name in results.
    pub name: String,
    /// What its program calls it: for ours, barrier and policy with the bound in nanoseconds.
    pub spec: String,
    /// Ours, or a peer's?
    pub ours: bool,
    /// Whose program runs its cells.
    pub program: PathBuf,
    /// The hidden verb of that program.
    pub verb: &'static str,
    /// What the program's environment must have.
    pub env: Vec<(String, String)>,
}

/// Bounds as multiples of the two switches; the two ends of the range are enough for a quick look.
const TWO_PHASE: [&str; 6] = ["CS:local", "CS+:local", "2CS+:local", "CS:remote", "CS+:remote", "2CS+:remote"];
const QUICK_TWO_PHASE: [&str; 3] = ["2CS+:local", "CS:remote", "2CS+:remote"];
/// Policies that the other barriers are shown with; the central one is shown with all.
const FEW: [&str; 2] = ["spin", "spin-yield:CS:remote"];

fn policies(quick: bool) -> Vec<String> {
    let bounds = if quick { QUICK_TWO_PHASE.as_slice() } else { &TWO_PHASE };
    let two_phase = bounds.iter().map(|bound| format!("central/two-phase:{bound}"));
    let plain = ["spin", "yield", "block", "spin-yield:CS:local", "spin-yield:CS:remote"].map(|p| format!("central/{p}"));
    let others = ["dissemination", "tree", "butterfly"].into_iter().flat_map(|kind| FEW.map(|p| format!("{kind}/{p}")));
    plain.into_iter().chain(two_phase).chain(others).collect()
}

/// Puts this machine's times in the place of multiples: a child process need not know the costs.
fn with_times(name: &str, costs: &Costs) -> Result<String, String> {
    let (kind, policy) = ours::parse(name, costs)?;
    Ok(format!("{}/{policy}", kind.name()))
}

fn own(name: &str, costs: &Costs) -> Result<Waiter, String> {
    let spec = with_times(name, costs)?;
    Ok(Waiter { name: name.to_owned(), spec, ours: true, program: myself(), verb: "__cell", env: vec![] })
}

/// All waiters that the options ask for, and the peers that are missing, with the remedy.
pub fn waiters(options: &Barriers, costs: &Costs) -> (Vec<Waiter>, Vec<String>) {
    let mut all: Vec<Waiter> = policies(options.quick).iter().filter_map(|name| own(name, costs).ok()).collect();
    let (peers, notes) = peers();
    all.extend(peers);
    (all, notes)
}

/// Those of a comma-separated list; one of ours may be named that is not in the table.
///
/// # Errors
/// If one is unknown; the error lists the others.
pub fn select(all: Vec<Waiter>, wanted: &str, costs: &Costs) -> Result<Vec<Waiter>> {
    let mut chosen = Vec::new();
    for name in wanted.split(',').map(str::trim) {
        if let Some(waiter) = all.iter().find(|waiter| waiter.name == name) {
            chosen.push(waiter.clone());
            continue;
        }
        match own(name, costs) {
            Ok(waiter) => chosen.push(waiter),
            Err(error) => {
                let peers: Vec<_> = all.iter().filter(|w| !w.ours).map(|w| w.name.as_str()).collect();
                bail!("no waiter `{name}`: {error}; peers found here: {}", peers.join(", "));
            }
        }
    }
    Ok(chosen)
}

/// One entry of what the peers' program lists.
#[derive(Deserialize)]
struct Peer {
    name: String,
    available: bool,
    remedy: Option<String>,
    env: BTreeMap<String, String>,
}

/// Where the peers' program is, if it was built: beside this one.
pub fn peers_program() -> Option<PathBuf> {
    let beside = myself().with_file_name("foregather-peers");
    let named = std::env::var_os("FOREGATHER_PEERS").map(PathBuf::from);
    named.or(Some(beside)).filter(|path| path.is_file())
}

/// The peers found on this machine; for the others, what to do about it.
pub fn peers() -> (Vec<Waiter>, Vec<String>) {
    let std_barrier =
        Waiter { name: "rust-std".into(), spec: "rust-std".into(), ours: false, program: myself(), verb: "__cell", env: vec![] };
    let Some(program) = peers_program() else {
        let remedy = "build them with `cargo build --release --locked -p foregather-peers`";
        return (
            vec![std_barrier],
            vec![format!(
                "only one peer is compared (Rust's Barrier); hurdles, glibc and OpenMP are in a program of their own: {remedy}"
            )],
        );
    };
    let listed = list(&program).map_err(|error| vec![format!("{}: {error:#}", program.display())]);
    let Ok(listed) = listed else { return (vec![std_barrier], listed.err().unwrap_or_default()) };
    let (found, missing): (Vec<_>, Vec<_>) = listed.into_iter().partition(|peer| peer.available);
    let mut by_remedy = BTreeMap::<String, Vec<String>>::new();
    for peer in missing {
        by_remedy.entry(peer.remedy.unwrap_or_default()).or_default().push(peer.name);
    }
    let notes = by_remedy.into_iter().map(|(remedy, names)| format!("no {}: {remedy}", names.join(", "))).collect();
    let waiter = |peer: Peer| Waiter {
        spec: peer.name.clone(),
        name: peer.name,
        ours: false,
        program: program.clone(),
        verb: "cell",
        env: peer.env.into_iter().collect(),
    };
    (found.into_iter().map(waiter).collect(), notes)
}

fn list(program: &std::path::Path) -> Result<Vec<Peer>> {
    let mut command = Command::new(program);
    command.arg("list").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = Child::spawn(command, &[])?.output_within(Nanos::from_ms(10_000))?;
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_own_waiter_is_one_that_a_cell_knows() {
        let choosing = ["randomised:local", "recent:remote", "holder-running:6us", "grain2cs:remote", "two-phase:0.62CS:remote"];
        for name in policies(false).into_iter().chain(choosing.map(|policy| format!("central/{policy}"))) {
            let waiter = own(&name, &Costs::TYPICAL).unwrap();
            assert_eq!(ours::parse(&waiter.spec, &Costs::TYPICAL), ours::parse(&name, &Costs::TYPICAL), "{name}");
        }
    }

    #[test]
    fn an_unknown_waiter_is_said() {
        let (all, _) = waiters(&Barriers::default(), &Costs::TYPICAL);
        let error = select(all.clone(), "central/spin,nobody", &Costs::TYPICAL).unwrap_err().to_string();
        assert!(error.contains("nobody") && error.contains("rust-std"), "{error}");
        assert_eq!(select(all, "central/two-phase:7us, rust-std", &Costs::TYPICAL).unwrap().len(), 2);
    }
}
