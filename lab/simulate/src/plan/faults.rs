//! `[network.faults]`: what goes wrong with packets, nodes and clocks.
use super::section::{Section, count, span};
use super::tree::{Located, ParseResult, Value, mistake};
use foregather_machine::{Nanos, Rank};
use foregather_sim::net::{Drift, Faults, Pause};

pub(super) const KEYS: [&str; 6] = ["loss", "duplicate", "delayed", "delay", "pauses", "drifts"];
pub(super) const PAUSE_KEYS: [&str; 3] = ["node", "from", "length"];
pub(super) const DRIFT_KEYS: [&str; 3] = ["node", "ppm", "ahead"];

/// A clock that gains or loses more than a tenth is none.
const PPM_MAX: i64 = 100_000;
const PPM_MIN: i64 = -PPM_MAX;

pub(super) fn read(node: &Located, nodes: u32) -> ParseResult<Faults> {
    let section = Section::new("[network.faults]", node, &KEYS)?;
    // One in a million is the smallest share there is.
    let share = |key| Ok((section.real(key, 0.0..=1.0, 0.0)? * 1e6).round() as u32);
    let delay_ppm = share("delayed")?;
    let delay = if delay_ppm > 0 { span("delay", section.need("delay")?)? } else { section.time("delay", Nanos::ZERO)? };
    Ok(Faults {
        loss_ppm: share("loss")?,
        duplicate_ppm: share("duplicate")?,
        delay_ppm,
        delay,
        pauses: each(&section, "pauses", |node| pause(node, nodes))?,
        drifts: each(&section, "drifts", |node| drift(node, nodes))?,
        seed: 0,
    })
}

fn each<T>(section: &Section<'_>, key: &str, read: impl Fn(&Located) -> ParseResult<T>) -> ParseResult<Vec<T>> {
    let Some(node) = section.get(key) else { return Ok(vec![]) };
    match node.items() {
        Some(items) => items.iter().map(read).collect(),
        None => mistake(node.line, format!("`{key}` is a list of tables, each with its `node`")),
    }
}

fn rank(section: &Section<'_>, nodes: u32) -> ParseResult<Rank> {
    Ok(count("node", section.need("node")?, 0..=u64::from(nodes - 1))? as Rank)
}

fn pause(node: &Located, nodes: u32) -> ParseResult<Pause> {
    let section = Section::new("a pause", node, &PAUSE_KEYS)?;
    let (from, length) = (section.time("from", Nanos::ZERO)?, span("length", section.need("length")?)?);
    Ok(Pause { node: rank(&section, nodes)?, from, length })
}

fn drift(node: &Located, nodes: u32) -> ParseResult<Drift> {
    let section = Section::new("a drift", node, &DRIFT_KEYS)?;
    let ppm = match section.need("ppm")? {
        Located { value: Value::Whole(ppm @ PPM_MIN..=PPM_MAX), .. } => *ppm as i32,
        Located { line, .. } => return mistake(*line, format!("`ppm` is a whole number from {PPM_MIN} to {PPM_MAX}")),
    };
    Ok(Drift { node: rank(&section, nodes)?, ppm, ahead: section.time("ahead", Nanos::ZERO)? })
}
