//! `[run]` and `[record]`: when a simulation is over, with which seeds it is run, and what is written down.
use super::section::{Section, count};
use super::tree::{Located, ParseResult, Value, mistake};
use foregather_machine::Nanos;
use foregather_sim::smp::{Record, Stop};

pub(super) const KEYS: [&str; 5] = ["stop", "limit", "shuffled", "seeds", "forbid-oversize"];
const NETWORK_KEYS: [&str; 1] = ["seeds"];
pub(super) const RECORD_KEYS: [&str; 3] = ["window", "sample", "spans"];

const STOPS: [(&str, Stop); 3] = [("first-job", Stop::FirstJob), ("all-jobs", Stop::AllJobs), ("limit", Stop::Limit)];
/// Longer than any figure of the paper takes.
const LIMIT: Nanos = Nanos::from_ms(40_000);
const SEEDS_MAX: u64 = 10_000;
/// Windows and samples of one run are kept in memory.
const KEPT_MAX: u64 = 10_000_000;

/// `[run]`.
pub(super) struct RunSection {
    pub(super) stop: Stop,
    pub(super) limit: Nanos,
    pub(super) shuffled: bool,
    pub(super) seeds: Vec<u64>,
    /// Is a job of more threads than processors an error?
    pub(super) forbid_oversize: bool,
}

pub(super) fn read(node: &Located) -> ParseResult<RunSection> {
    let section = Section::new("[run]", node, &KEYS)?;
    let stop = section.choice("stop", &STOPS, Stop::FirstJob)?;
    if stop == Stop::Limit {
        section.need("limit")?;
    }
    Ok(RunSection {
        stop,
        limit: section.span("limit", LIMIT)?,
        shuffled: section.flag("shuffled", true)?,
        seeds: section.get("seeds").map_or(Ok(vec![1]), seeds)?,
        forbid_oversize: section.flag("forbid-oversize", false)?,
    })
}

/// The seeds; nothing else is to be said of a network.
pub(super) fn of_network(node: &Located) -> ParseResult<Vec<u64>> {
    let section = Section::new("the [run] of a network", node, &NETWORK_KEYS)?;
    section.get("seeds").map_or(Ok(vec![1]), seeds)
}

/// So many from 1 on, a list, or a range.
fn seeds(node: &Located) -> ParseResult<Vec<u64>> {
    let one = |node: &Located| count("seeds", node, 0..=u64::MAX / 2);
    let all = match &node.value {
        Value::List(items) => items.iter().map(one).collect::<ParseResult<_>>()?,
        Value::Table(_) => {
            let section = Section::new("seeds", node, &["from", "to"])?;
            let (from, to) = (one(section.need("from")?)?, one(section.need("to")?)?);
            if to.saturating_sub(from) >= SEEDS_MAX {
                return mistake(node.line, format!("more than {SEEDS_MAX} seeds"));
            }
            (from..=to).collect()
        }
        _ => (1..=count("seeds", node, 1..=SEEDS_MAX)?).collect::<Vec<_>>(),
    };
    let mut distinct = all.clone();
    distinct.sort_unstable();
    distinct.dedup();
    if all.is_empty() || distinct.len() < all.len() {
        return mistake(node.line, "`seeds` are at least one, all different");
    }
    Ok(all)
}

pub(super) fn record(node: &Located, limit: Nanos) -> ParseResult<Record> {
    let section = Section::new("[record]", node, &RECORD_KEYS)?;
    let record = Record {
        window: section.time("window", Nanos::ZERO)?,
        sample: section.time("sample", Nanos::ZERO)?,
        spans: section.count("spans", 0..=KEPT_MAX, 0)? as usize,
    };
    for (key, step) in [("window", record.window), ("sample", record.sample)] {
        if step > Nanos::ZERO && limit.0 / step.0 > KEPT_MAX {
            let line = section.need(key)?.line;
            return mistake(
                line,
                format!("every {step} up to the limit of {limit} would be more than {KEPT_MAX}: choose one of them anew"),
            );
        }
    }
    Ok(record)
}
