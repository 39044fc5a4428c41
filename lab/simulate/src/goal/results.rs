//! A trace's results: measurements, and tables of the ranks that a reader should look at.
use foregather_results::Measurement;
use foregather_results::number::digits;
use foregather_results::table::ResultTable;
use foregather_sim::goal::{GoalOutcome, RankAccount};
use std::cmp::Reverse;

/// The most ranks of a document: of more, those that [`chosen`] names.
const MEASURED_MAX: usize = 4_096;
/// The most ranks of a table, and of each kind of them.
const SHOWN_MAX: usize = 12;
const OF_EACH: usize = 4;
/// Digits of spans, and of moments.
const DIGITS: i32 = 4;
const END_DIGITS: i32 = 8;

/// A number of a rank, with its name in a document and its heading in a table.
type AccountPart = (&'static str, &'static str, fn(&RankAccount) -> f64);

const PARTS: [AccountPart; 6] = [
    ("computing_us", "computing", |of| of.computing.as_us()),
    ("messages_us", "messages", |of| of.overhead.as_us()),
    ("noise_us", "noise", |of| of.noise.as_us()),
    ("late_ranks_us", "late ranks", |of| of.late_peers.as_us()),
    ("network_us", "network", |of| of.network.as_us()),
    ("held_up_others_us", "held up others", |of| of.held_up.as_us()),
];

/// The ranks worth a look: all, or those that end last, waited the longest for others, and held up others the
/// most.
fn chosen(outcome: &GoalOutcome, most: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..outcome.ranks.len()).collect();
    if all.len() <= most {
        return all;
    }
    let keys: [fn(&RankAccount) -> u64; 3] = [|of| of.end.0, |of| of.late_peers.0, |of| of.held_up.0];
    let mut some = Vec::new();
    for key in keys {
        all.sort_by_key(|&rank| (Reverse(key(&outcome.ranks[rank])), rank));
        some.extend(&all[..OF_EACH]);
    }
    some.sort_unstable();
    some.dedup();
    some
}

/// The measurements of a trace: when the last rank ends, and each rank's account.
pub fn measurements(name: &str, outcome: &GoalOutcome) -> Vec<Measurement> {
    let (last, end) = outcome.last();
    let whole = Measurement::from_values(format!("trace/{name}"), "when the last rank ends", "us", vec![end.as_us()])
        .label("trace", name)
        .label("rank", last.to_string())
        .label("end_ns", end.0.to_string())
        .figure("ranks", outcome.ranks.len() as f64)
        .figure("operations", outcome.operations as f64)
        .figure("messages", outcome.messages as f64)
        .figure("events", outcome.events as f64);
    let of_rank = |rank: usize| {
        let account = &outcome.ranks[rank];
        let id = format!("trace/{name}/rank={rank}");
        let mut one = Measurement::from_values(id, "when the rank ends", "us", vec![account.end.as_us()]);
        one = one.label("trace", name).label("rank", rank.to_string());
        for (figure, _, of) in PARTS {
            one = one.figure(figure, of(account));
        }
        let Some(wait) = account.longest else { return one };
        let one = one.label("longest_wait_for", wait.peer.to_string());
        one.figure("longest_wait_us", wait.length.as_us()).figure("longest_wait_from_us", wait.from.as_us())
    };
    [whole].into_iter().chain(chosen(outcome, MEASURED_MAX).into_iter().map(of_rank)).collect()
}

/// Where the time goes, and a table of ranks.
pub fn text(name: &str, network: &str, outcome: &GoalOutcome) -> String {
    let (last, end) = outcome.last();
    let mut table = ResultTable::new(["rank", "end"].into_iter().chain(PARTS.map(|(_, heading, _)| heading)));
    for rank in chosen(outcome, SHOWN_MAX) {
        let account = &outcome.ranks[rank];
        let parts = PARTS.map(|(_, _, of)| digits(of(account), DIGITS));
        table.rows.push([rank.to_string(), digits(account.end.as_us(), END_DIGITS)].into_iter().chain(parts).collect());
    }
    format!(
        "{name}: {} ranks, {} operations, {} messages over {network}\n\
         rank {last} ends last, after {} us; times in us:\n{}",
        outcome.ranks.len(),
        outcome.operations,
        outcome.messages,
        digits(end.as_us(), END_DIGITS),
        table.to_text()
    )
}

/// Which rank held up which: the longest waits of all ranks.
pub fn explained(outcome: &GoalOutcome) -> String {
    let waits = outcome.ranks.iter().enumerate().filter_map(|(rank, account)| Some((rank, account.longest?)));
    let mut waits: Vec<_> = waits.collect();
    waits.sort_by_key(|&(rank, wait)| (Reverse(wait.length), rank));
    if waits.is_empty() {
        return "no rank waited for another one that had not acted yet".to_owned();
    }
    let mut table = ResultTable::new(["rank", "waited for", "us", "from"]);
    for (rank, wait) in waits.into_iter().take(SHOWN_MAX) {
        let row =
            [rank.to_string(), wait.peer.to_string(), digits(wait.length.as_us(), DIGITS), digits(wait.from.as_us(), END_DIGITS)];
        table.rows.push(row.to_vec());
    }
    format!("which rank held up which, by the longest wait of each:\n{}", table.to_text())
}
