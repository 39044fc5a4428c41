//! `[network]`: nodes, what lies between them, and what disturbs them.
use super::faults;
use super::section::{Section, choice, count, picos, text};
use super::tree::{Located, Mistake, ParseResult, Value, mistake};
use crate::network::Interconnect;
use foregather_machine::{Cause, Error, LogGp, Nanos};
use foregather_sim::event::Heap;
use foregather_sim::net::{Arbitration, Circuits, Faults, HeaderBuffers, Interrupts, Model, Network, profile};

/// Of every network.
pub(super) const KEYS: [&str; 5] = ["profile", "nodes", "dimension", "interrupts", "faults"];
pub(super) const CIRCUIT_KEYS: [&str; 13] = [
    "null",
    "send",
    "long",
    "byte",
    "short-limit",
    "set-up",
    "receive",
    "null-hold",
    "jitter",
    "arbitration",
    "links",
    "hop",
    "pool",
];
pub(super) const LOGGP_KEYS: [&str; 5] = ["latency", "send-overhead", "receive-overhead", "gap", "byte"];
pub(super) const POOL_KEYS: [&str; 2] = ["buffers", "release"];
pub(super) const INTERRUPT_KEYS: [&str; 2] = ["length", "period"];

/// As many as the simulator takes.
const NODES_MAX: u64 = 1 << 24;
/// Before its parameters are read.
const NOTHING: LogGp =
    LogGp { latency: Nanos::ZERO, send_overhead: Nanos::ZERO, receive_overhead: Nanos::ZERO, gap: Nanos::ZERO, byte_ps: 0 };
/// How a switch is turned off, as in `interrupts = "none"`.
pub(super) const NONE: &str = "none";
/// A network of which every parameter is given.
const LOGGP: &str = "loggp";

/// What `[network]` says.
pub(super) struct Wanted {
    pub(super) machine: Interconnect,
    pub(super) nodes: u32,
    pub(super) interrupts: Option<Interrupts>,
    pub(super) faults: Faults,
}

pub(super) fn read(node: &Located, seed: u64) -> ParseResult<Wanted> {
    let section = Section::new("[network]", node, &[&KEYS[..], &CIRCUIT_KEYS, &LOGGP_KEYS].concat())?;
    let nodes = nodes(&section)?;
    let (machine, interrupts) = named(&section)?;
    let machine = match machine {
        Interconnect::Circuits(base) => {
            only(&section, &CIRCUIT_KEYS, "circuits, which the other profiles are")?;
            Interconnect::Circuits(circuits(&section, Circuits { seed, ..base })?)
        }
        Interconnect::LogGp(base) => {
            only(&section, &LOGGP_KEYS, "a profile of LogGP, where nobody is in anybody's way")?;
            Interconnect::LogGp(loggp(&section, base)?)
        }
    };
    let interrupts = section.get("interrupts").map_or(Ok(interrupts), |node| disturbed(node, interrupts))?;
    let faults = section.get("faults").map_or_else(|| Ok(Faults::default()), |node| faults::read(node, nodes))?;
    let faults = Faults { seed, ..faults };
    // Rules that hold for all sizes, or for powers of two, need no large network to be tried.
    let size = if nodes.is_power_of_two() { 1 } else { 3 };
    let tried = match machine {
        Interconnect::Circuits(model) => attempt(size, model, interrupts, &faults),
        Interconnect::LogGp(model) => attempt(size, model, interrupts, &faults),
    };
    tried.map_err(|error| blame(&section, nodes, &error))?;
    Ok(Wanted { machine, nodes, interrupts, faults })
}

/// `nodes`, or the dimension of a hypercube.
fn nodes(section: &Section<'_>) -> ParseResult<u32> {
    match (section.get("nodes"), section.get("dimension")) {
        (Some(_), Some(node)) => mistake(node.line, "`dimension` is short for 2^dimension `nodes`: give one of them"),
        (_, Some(node)) => Ok(1 << count("dimension", node, 0..=u64::from(NODES_MAX.ilog2()))?),
        (None, None) => section.need("nodes").map(|_| 0),
        (Some(node), None) => Ok(count("nodes", node, 1..=NODES_MAX)? as u32),
    }
}

/// What the profile says.
fn named(section: &Section<'_>) -> ParseResult<(Interconnect, Option<Interrupts>)> {
    let mut known: Vec<(String, (Interconnect, Option<Interrupts>))> =
        profile::CIRCUITS.map(|(name, model, interrupts)| (name.to_owned(), (Interconnect::Circuits(model), interrupts))).into();
    let free = |name: String, model: LogGp| (name, (Interconnect::LogGp(model), None));
    known.extend(profile::LOGGP.map(|(name, model)| free(format!("{LOGGP}:{name}"), model)));
    known.push(free(LOGGP.to_owned(), NOTHING));
    let known: Vec<(&str, _)> = known.iter().map(|(name, what)| (name.as_str(), *what)).collect();
    if section.text("profile")? == Some(LOGGP) {
        LOGGP_KEYS.iter().try_for_each(|key| section.need(key).map(drop))?;
    }
    choice("profile", section.need("profile")?, &known)
}

/// Are there none but these keys besides those of every network? The others would have no effect.
fn only(section: &Section<'_>, keys: &[&str], what: &str) -> ParseResult<()> {
    let others = CIRCUIT_KEYS.iter().chain(&LOGGP_KEYS).filter(|key| !keys.contains(key));
    match others.filter_map(|key| Some((key, section.get(key)?))).min_by_key(|(_, node)| node.line) {
        None => Ok(()),
        Some((key, node)) => {
            let other = if keys == CIRCUIT_KEYS { "a profile of LogGP" } else { "circuits" };
            mistake(node.line, format!("`{key}` is of {other}, but here are {what}; its own keys are {}", keys.join(", ")))
        }
    }
}

fn circuits(section: &Section<'_>, base: Circuits) -> ParseResult<Circuits> {
    let arbitrations = Arbitration::ALL.map(|arbitration| (arbitration.name(), arbitration));
    Ok(Circuits {
        null: section.span("null", base.null)?,
        send: section.time("send", base.send)?,
        long: section.time("long", base.long)?,
        byte_ps: per_byte(section, base.byte_ps)?,
        short_limit: section.count32("short-limit", 0..=u32::MAX, base.short_limit)?,
        set_up: section.time("set-up", base.set_up)?,
        receive: section.time("receive", base.receive)?,
        null_hold: unless_none(section, "null-hold", base.null_hold, |node| super::section::time("null-hold", node))?,
        jitter: section.time("jitter", base.jitter)?,
        arbitration: section.choice("arbitration", &arbitrations, base.arbitration)?,
        links: section.flag("links", base.links)?,
        hop: section.time("hop", base.hop)?,
        pool: unless_none(section, "pool", base.pool, pool)?,
        seed: base.seed,
    })
}

fn loggp(section: &Section<'_>, base: LogGp) -> ParseResult<LogGp> {
    Ok(LogGp {
        latency: section.time("latency", base.latency)?,
        send_overhead: section.time("send-overhead", base.send_overhead)?,
        receive_overhead: section.time("receive-overhead", base.receive_overhead)?,
        gap: section.time("gap", base.gap)?,
        byte_ps: per_byte(section, base.byte_ps)?,
    })
}

fn per_byte(section: &Section<'_>, base: u64) -> ParseResult<u64> {
    let Some(node) = section.get("byte") else { return Ok(base) };
    picos(text("byte", node)?).or_else(|what| mistake(node.line, format!("`byte`: {what}")))
}

/// What `key` says, or nothing if that is `"none"`.
fn unless_none<T>(
    section: &Section<'_>,
    key: &str,
    base: Option<T>,
    read: impl Fn(&Located) -> ParseResult<T>,
) -> ParseResult<Option<T>> {
    match section.get(key) {
        None => Ok(base),
        Some(node) if is_none(node) => Ok(None),
        Some(node) => read(node).map(Some),
    }
}

/// Is it `"none"`?
pub(super) fn is_none(node: &Located) -> bool {
    matches!(&node.value, Value::Text(word) if word == NONE)
}

fn pool(node: &Located) -> ParseResult<HeaderBuffers> {
    let section = Section::new("pool", node, &POOL_KEYS)?;
    let number = |key| Ok(count(key, section.need(key)?, 1..=u64::from(u16::MAX))? as u16);
    Ok(HeaderBuffers { buffers: number("buffers")?, release: number("release")? })
}

fn disturbed(node: &Located, base: Option<Interrupts>) -> ParseResult<Option<Interrupts>> {
    if is_none(node) {
        return Ok(None);
    }
    let section = Section::new("interrupts", node, &INTERRUPT_KEYS)?;
    if base.is_none() {
        INTERRUPT_KEYS.iter().try_for_each(|key| section.need(key).map(drop))?;
    }
    let base = base.unwrap_or(profile::AS_STATED);
    Ok(Some(Interrupts { length: section.span("length", base.length)?, period: section.span("period", base.period)? }))
}

/// Does the simulator take it?
fn attempt<M: Model>(size: u32, model: M, interrupts: Option<Interrupts>, faults: &Faults) -> Result<(), Error> {
    let network = Network::<Heap, M>::new(size, 0, model)?.faulty(faults)?;
    interrupts.map_or(Ok(()), |interrupts| network.interrupted(interrupts, 0).map(drop))
}

/// At which of the keys a contradiction lies.
fn blame(section: &Section<'_>, nodes: u32, error: &Error) -> Mistake {
    let keys: &[&str] = match error.cause() {
        Cause::Size { .. } => &["links"],
        Cause::Setting { what: "the send time", .. } => &["send", "null"],
        Cause::Setting { what: "the set-up time", .. } => &["set-up", "send"],
        Cause::Setting { what: "set-up and receive time", .. } => &["receive", "set-up", "null"],
        Cause::Setting { what: "the hold of a null message", .. } => &["null-hold", "null", "receive", "set-up"],
        Cause::Setting { what: "the pool", .. } => &["pool"],
        Cause::Setting { what: "interrupts", .. } => &["interrupts"],
        _ => &["faults"],
    };
    let Some((key, node)) = keys.iter().find_map(|key| Some((key, section.get(key)?))) else {
        return Mistake { line: section.line(), what: error.to_string() };
    };
    let what = match error.cause() {
        Cause::Size { needs, .. } => format!("`{key}`: {nodes} nodes are no hypercube: links need {needs}"),
        _ => format!("`{key}`: {error}"),
    };
    Mistake { line: node.line, what }
}

/// What `send` and `latency` of a hop are on that machine: the waits of RDS follow from them. Its last send of several
/// begins that many gaps later.
pub(super) fn hop(machine: &Interconnect) -> (Nanos, Nanos) {
    match machine {
        Interconnect::Circuits(model) => (model.send, model.null),
        Interconnect::LogGp(model) => (model.send_overhead.max(model.gap), model.null()),
    }
}
