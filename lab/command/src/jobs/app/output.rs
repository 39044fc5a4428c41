//! The results of a program's runs, as measurements and as tables.
use super::AppReport;
use super::ranks::{ManagerCounts, RankResults};
use crate::cli::AppOptions as Options;
use foregather_bench::apps::ThreadResult;
use foregather_dsm::node::WaitKind;
use foregather_results::Measurement;
use foregather_results::apps::{self, PARTS};
use foregather_results::number::short;
use foregather_results::table::Shows::{By, Figure, Label};
use foregather_results::table::{Heading, ResultTable, Shows, three_digits};

/// What threads wait for, in the order of [`PARTS`] behind computing.
const KINDS: [WaitKind; PARTS.len() - 1] =
    [WaitKind::ReadFault, WaitKind::WriteFault, WaitKind::Upgrade, WaitKind::Prefetch, WaitKind::Lock, WaitKind::Barrier];
/// How often each, as figures.
const COUNTS: [&str; KINDS.len()] = ["read_faults", "write_faults", "upgrades", "awaited_ahead", "locks", "barriers"];
const MS: f64 = 1e-6;

/// All that the answers say: those of as many ranks are repetitions.
pub(super) fn found(options: &Options, answers: Vec<RankResults>) -> AppReport {
    let mut found = AppReport::default();
    let mut ranks: Vec<u32> = answers.iter().map(|answer| answer.ranks).collect();
    ranks.sort_unstable();
    ranks.dedup();
    for ranks in ranks {
        let same: Vec<&RankResults> = answers.iter().filter(|answer| answer.ranks == ranks).collect();
        found.measurements.extend(of_runs(options, &same));
    }
    apps::speedups(&mut found.measurements);
    for answer in answers {
        let ranks = match answer.ranks {
            1 => "1 rank".to_owned(),
            more => format!("{more} ranks"),
        };
        match answer.proof {
            Ok(proof) => note(&mut found.notes, format!("{} on {ranks} is right: {proof}", options.name.name())),
            Err(wrong) => note(&mut found.wrong, format!("{} on {ranks} is wrong: {wrong}", options.name.name())),
        }
        found.explained.extend(Some(answer.explained).filter(|text| !text.is_empty()));
    }
    found
}

fn note(notes: &mut Vec<String>, text: String) {
    if !notes.contains(&text) {
        notes.push(text);
    }
}

/// Under which circumstances: fabric, back end, and what was chosen besides the class.
fn series(options: &Options, answer: &RankResults) -> String {
    let chosen = [
        options.policy.clone(),
        (options.threads > 1).then(|| format!("{} threads", options.threads)),
        options.chunk.map(|level| format!("chunk {level}")),
        options.unit.map(|bytes| format!("unit {bytes}")),
        options.no_push.then(|| "no push".to_owned()),
        options.no_prefetch.then(|| "no prefetch".to_owned()),
    ];
    let own = [options.class.clone(), answer.fabric.clone(), answer.backend.clone()];
    own.into_iter().chain(chosen.into_iter().flatten()).collect::<Vec<_>>().join(" ")
}

/// A run and its ranks, from all its repetitions.
fn of_runs(options: &Options, same: &[&RankResults]) -> Vec<Measurement> {
    let (app, ranks) = (options.name.name(), same[0].ranks);
    let series = series(options, same[0]);
    let labelled = |m: Measurement| m.label("class", options.class.clone()).label("backend", same[0].backend.clone());
    let mine = |rank: Option<u32>| -> Vec<Vec<&ThreadResult<()>>> {
        let of = |at: usize| rank.is_none_or(|rank| at as u32 / options.threads == rank);
        let one = |answer: &&RankResults| -> Vec<usize> { (0..answer.threads.len()).filter(|&at| of(at)).collect() };
        same.iter().map(|answer| one(answer).into_iter().map(|at| &answer.threads[at]).collect()).collect()
    };
    let all = mine(None);
    let mut run = labelled(apps::run(app, &series, ranks, spans_ms(&all), parts_ms(&all)));
    run = counted(run, &all);
    let mean = |of: &dyn Fn(&RankResults) -> f64| same.iter().map(|answer| of(answer)).sum::<f64>() / same.len() as f64;
    let cold = |answer: &RankResults| answer.threads.iter().map(|played| played.cold_ns).max().unwrap_or_default() as f64 * MS;
    let traffic = |name: &str, of: fn(&ManagerCounts) -> u64, m: Measurement| m.figure(name, mean(&|a| of(&a.traffic) as f64));
    run = run
        .label("fabric", same[0].fabric.clone())
        .label("threads", options.threads.to_string())
        .figure("cold_ms", mean(&cold))
        .figure("cpu_ms", mean(&|answer| answer.cpu_ns as f64 * MS))
        .figure("processors", mean(&|answer| answer.cpu_ns as f64 / answer.wall_ns as f64));
    for (name, of) in TRAFFIC {
        run = traffic(name, of, run);
    }
    let of_rank = |rank: u32| {
        let mine = mine(Some(rank));
        counted(labelled(apps::rank(app, &series, (ranks, rank), spans_ms(&mine), parts_ms(&mine))), &mine)
    };
    std::iter::once(run).chain((0..ranks).map(of_rank)).collect()
}

/// A figure, and what of the traffic it is.
type TrafficFigure = (&'static str, fn(&ManagerCounts) -> u64);

/// What managers saw, as figures.
const TRAFFIC: [TrafficFigure; 6] = [
    ("given_reads", |of| of.reads),
    ("given_writes", |of| of.writes),
    ("given_upgrades", |of| of.upgrades),
    ("pushed", |of| of.pushed),
    ("invalidated", |of| of.invalidated),
    ("competing", |of| of.competing),
];

/// The slowest thread of each repetition.
fn spans_ms(runs: &[Vec<&ThreadResult<()>>]) -> Vec<f64> {
    let slowest = |run: &Vec<&ThreadResult<()>>| run.iter().map(|played| played.span_ns).max().unwrap_or_default() as f64 * MS;
    runs.iter().map(slowest).collect()
}

/// What a thread's time went into, by the mean of all.
fn parts_ms(runs: &[Vec<&ThreadResult<()>>]) -> [f64; PARTS.len()] {
    let threads: Vec<&ThreadResult<()>> = runs.iter().flatten().copied().collect();
    let mut parts = [0.0; PARTS.len()];
    for played in &threads {
        let waits = KINDS.map(|kind| played.stats.span(kind).0);
        let computed = played.span_ns.saturating_sub(waits.iter().sum());
        for (part, ns) in parts.iter_mut().zip([computed].into_iter().chain(waits)) {
            *part += ns as f64 * MS / threads.len() as f64;
        }
    }
    parts
}

/// How often its threads waited for what, all together, by the mean of the repetitions.
fn counted(m: Measurement, runs: &[Vec<&ThreadResult<()>>]) -> Measurement {
    let count = |kind| runs.iter().flatten().map(|played| played.stats.count(kind)).sum::<u64>() as f64 / runs.len() as f64;
    COUNTS.iter().zip(KINDS).fold(m, |m, (name, kind)| m.figure(name, count(kind)))
}

/// Runs, and then where the time of their ranks went.
pub fn text(all: &[Measurement]) -> String {
    format!("{}\n{}", runs(all).to_text(), breakdown(all).to_text())
}

const RUNS: [Heading; 13] = [
    ("ranks", Label(apps::RANKS)),
    ("class, fabric, back end", Label(apps::SERIES)),
    ("p50 ms", SPAN),
    ("speedup", Figure(apps::SPEEDUP)),
    ("cold ms", Figure("cold_ms")),
    ("cpu ms", Figure("cpu_ms")),
    ("processors", Figure("processors")),
    ("reads", Figure("given_reads")),
    ("writes", Figure("given_writes")),
    ("upgrades", Figure("given_upgrades")),
    ("invalidated", Figure("invalidated")),
    ("pushed", Figure("pushed")),
    ("competing", Figure("competing")),
];
const SPAN: Shows = By(|m| three_digits(m.median()));

fn number(value: f64) -> String {
    if value >= 1e5 { short(value) } else { three_digits(value) }
}

fn runs(all: &[Measurement]) -> ResultTable {
    ResultTable::with(&RUNS, number, all.iter().filter(|m| apps::is_run(m)))
}

fn breakdown(all: &[Measurement]) -> ResultTable {
    let parts = PARTS.iter().map(|(name, _)| ("", Figure(name)));
    let counts = [("read faults", "read_faults"), ("write faults", "write_faults"), ("upgrades", "upgrades"), ("locks", "locks")];
    let own = [("ranks", Label(apps::RANKS)), ("rank", Label(apps::RANK)), ("p50 ms", SPAN)];
    let columns: Vec<Heading> =
        own.into_iter().chain(parts).chain(counts.map(|(heading, name)| (heading, Figure(name)))).collect();
    let mut table = ResultTable::with(&columns, number, all.iter().filter(|m| !apps::is_run(m)));
    for (heading, (_, words)) in table.headings[own.len()..].iter_mut().zip(PARTS) {
        *heading = format!("{words} ms");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_wait_is_a_part_and_a_count() {
        assert_eq!(WaitKind::ALL.to_vec(), KINDS.to_vec());
    }
}
