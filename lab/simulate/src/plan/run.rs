//! `[run]` and `[record]`: when a simulation is over, with which seeds it is run, and what is written down.
use super::read::{AnyValue, BoundedCount, Span, Time, choice, count, read as read_table, table, values};
use super::tree::{Located, ParseResult, mistake};
use foregather_machine::Nanos;
use foregather_sim::smp::{Record, Stop};
use std::collections::BTreeSet;

table! { "[run]" Table { ; stop: StopName, limit: Span, shuffled: bool, seeds: Seeds, forbid_oversize: bool } }
// A network has no other keys here.
table! { "the [run] of a network" NetworkTable { ; seeds: Seeds } }
table! { "[record]" RecordTable { ; window: (usize, Time), sample: (usize, Time), spans: BoundedCount<0, KEPT_MAX> } }

values! {
    StopName(Stop) = |value| choice(value, &[("first-job", Stop::FirstJob), ("all-jobs", Stop::AllJobs), ("limit", Stop::Limit)]);
    /// How many seeds from 1 on, a list of them, or a range.
    Seeds(Vec<u64>) = seeds;
}

const SEED_MAX: u64 = u64::MAX / 2;
/// The default limit: longer than any figure of the paper takes.
const LIMIT: Nanos = Nanos::from_ms(40_000);
const SEEDS_MAX: u64 = 10_000;
/// The most windows and samples of one run: they are kept in memory.
const KEPT_MAX: u64 = 10_000_000;

/// What `[run]` says.
pub(super) struct RunSection {
    pub(super) stop: Stop,
    pub(super) limit: Nanos,
    pub(super) shuffled: bool,
    pub(super) seeds: Vec<u64>,
    /// Whether a job of more threads than processors is an error.
    pub(super) forbid_oversize: bool,
}

pub(super) fn read(node: &Located) -> ParseResult<RunSection> {
    let table: Table = read_table(node)?;
    let stop = table.stop.map_or(Stop::FirstJob, Stop::from);
    if stop == Stop::Limit && table.limit.is_none() {
        return mistake(node.line, "[run] needs `limit`");
    }
    Ok(RunSection {
        stop,
        limit: table.limit.map_or(LIMIT, Nanos::from),
        shuffled: table.shuffled.unwrap_or(true),
        seeds: table.seeds.map_or(vec![1], |seeds| seeds.0),
        forbid_oversize: table.forbid_oversize == Some(true),
    })
}

/// The seeds of a network's plan.
pub(super) fn of_network(node: &Located) -> ParseResult<Vec<u64>> {
    Ok(read_table::<NetworkTable>(node)?.seeds.map_or(vec![1], |seeds| seeds.0))
}

fn seeds(value: &AnyValue) -> Result<Vec<u64>, String> {
    let all = match value {
        AnyValue::List(items) => items.iter().map(|item| count(item, 0..=SEED_MAX)).collect::<Result<_, _>>()?,
        AnyValue::Table(range) => {
            let [Some(from), Some(to), None] =
                [range.get("from"), range.get("to"), range.keys().find(|key| *key != "from" && *key != "to").and(Some(value))]
            else {
                return Err("`seeds` are a number, a list, or a range: { from = 1, to = 8 }".to_owned());
            };
            let (from, to) = (count(from, 0..=SEED_MAX)?, count(to, 0..=SEED_MAX)?);
            if to.saturating_sub(from) >= SEEDS_MAX {
                return Err(format!("more than {SEEDS_MAX} seeds"));
            }
            (from..=to).collect()
        }
        _ => (1..=count(value, 1..=SEEDS_MAX)?).collect::<Vec<_>>(),
    };
    let distinct: BTreeSet<&u64> = all.iter().collect();
    if all.is_empty() || distinct.len() < all.len() {
        return Err("`seeds` are at least one, all different".to_owned());
    }
    Ok(all)
}

pub(super) fn record(node: &Located, limit: Nanos) -> ParseResult<Record> {
    let table: RecordTable = read_table(node)?;
    for (line, Time(step)) in [&table.window, &table.sample].into_iter().flatten() {
        if *step > Nanos::ZERO && limit.0 / step.0 > KEPT_MAX {
            let what = format!("every {step} up to the limit of {limit} would be more than {KEPT_MAX}: choose one of them again");
            return mistake(*line, what);
        }
    }
    let time = |given: Option<(usize, Time)>| given.map_or(Nanos::ZERO, |(_, time)| time.0);
    let spans = table.spans.map_or(0, |spans| spans.0 as usize);
    Ok(Record { window: time(table.window), sample: time(table.sample), spans })
}
