//! `[trial]`: what the nodes do again and again: they come, synchronise, and shift.
use super::network::{self, NONE, is_none};
use super::section::{Section, choice, count, meant, nanos, text, time};
use super::tree::{Located, ParseResult, Value, mistake};
use crate::network::study::BYTES_MAX;
use crate::network::{Interconnect, Shift};
use foregather_barrier::{Algorithm, SignalCost};
use foregather_machine::Nanos;
use foregather_message::Protocol;
use foregather_sim::net::Skew;

pub(super) const KEYS: [&str; 6] = ["barrier", "shift", "skew", "resynchronised", "trials", "skipped"];
pub(super) const SHIFT_KEYS: [&str; 2] = ["protocol", "bytes"];
/// A law of skew with its time.
type Law = fn(Nanos) -> Skew;
/// Laws of how late nodes come that have a time.
pub(super) const SKEWS: [(&str, Law); 4] =
    [("last", Skew::Last), ("one", Skew::One), ("uniform", Skew::Uniform), ("exponential", Skew::Exponential)];
/// What remains of one trial is the skew of the next.
const CARRIED: &str = "carried";

/// Of the experiments of Seidel & Davis 1992 §4.
const TRIALS: u32 = 50;
const TRIALS_MAX: u32 = 1_000_000;
/// What is kept of one run's trials while it runs: so many nodes times trials are 400 MB.
const KEPT_MAX: u64 = 1 << 24;

/// What `[trial]` says.
pub(super) struct Wanted {
    pub(super) barrier: Option<Algorithm>,
    pub(super) shift: Option<Shift>,
    pub(super) skew: Skew,
    pub(super) resynchronised: bool,
    pub(super) trials: u32,
    pub(super) skipped: u32,
}

pub(super) fn read(node: &Located, machine: &Interconnect, nodes: u32) -> ParseResult<Wanted> {
    let section = Section::new("[trial]", node, &KEYS)?;
    let barrier = barrier(section.need("barrier")?, machine, nodes)?;
    let shift = section.get("shift").filter(|node| !is_none(node)).map(|node| shift(node, machine, nodes)).transpose()?;
    if barrier.is_none() && shift.is_none() {
        return mistake(section.line(), "there is nothing to do: no barrier and no shift");
    }
    let skew = section.get("skew").map_or(Ok(Some(Skew::Carried)), skew)?;
    let carried = skew == Some(Skew::Carried);
    let resynchronised = section.flag("resynchronised", !carried)?;
    if carried && resynchronised {
        let what = "nothing is carried over if an ideal hand brings the nodes together: choose another `skew`, such as \"none\"";
        return mistake(section.need("resynchronised")?.line, what);
    }
    let trials = section.count32("trials", 1..=TRIALS_MAX, TRIALS)?;
    let line = |key| section.get(key).map_or(section.line(), |node| node.line);
    if u64::from(nodes) * u64::from(trials) > KEPT_MAX {
        let what =
            format!("{trials} trials of {nodes} nodes are more than {KEPT_MAX} times to keep: choose fewer, and more seeds");
        return mistake(line("trials"), what);
    }
    let skipped = section.count32("skipped", 0..=TRIALS_MAX, 0)?;
    if skipped >= trials {
        return mistake(line("skipped"), format!("of {trials} trials, {skipped} skipped ones leave none that counts"));
    }
    // Nobody is late if the last one is late by nothing.
    let skew = skew.unwrap_or(Skew::Last(Nanos::ZERO));
    Ok(Wanted { barrier, shift, skew, resynchronised, trials, skipped })
}

/// `none`, `gsync` as the paper calls the butterfly, or any barrier made of messages.
fn barrier(node: &Located, machine: &Interconnect, nodes: u32) -> ParseResult<Option<Algorithm>> {
    let name = text("barrier", node)?;
    let kind = match (name, Algorithm::parse(name)) {
        (NONE, _) => return Ok(None),
        ("gsync", _) => Algorithm::Butterfly,
        (_, Some(Algorithm::Rds { .. })) => {
            let (send, latency) = network::hop(machine);
            Algorithm::Rds { hop: SignalCost { send, latency } }
        }
        (_, Some(Algorithm::Central)) => {
            let what = "the central barrier is made of words that all share, and nodes share none: dissemination and the others \
                        are made of messages";
            return mistake(node.line, what);
        }
        (_, Some(kind)) => kind,
        (_, None) => {
            let names: Vec<&str> = [NONE, "gsync"]
                .into_iter()
                .chain(Algorithm::ALL.into_iter().filter(|kind| *kind != Algorithm::Central).map(Algorithm::name))
                .collect();
            return mistake(node.line, format!("`{name}` is no barrier{}", meant(name, &names)));
        }
    };
    kind.takes(nodes).map_or_else(|error| mistake(node.line, error.to_string()), |()| Ok(Some(kind)))
}

fn shift(node: &Located, machine: &Interconnect, nodes: u32) -> ParseResult<Shift> {
    let section = Section::new("shift", node, &SHIFT_KEYS)?;
    if nodes < 2 || !nodes.is_power_of_two() {
        let what = format!(
            "a shift goes around the Gray code's ring, which {nodes} nodes have not: it needs a power of two from 2 on; \
             without a shift, rds, dissemination and others take any size"
        );
        return mistake(node.line, what);
    }
    let protocols = Protocol::ALL.map(|protocol| (protocol.name(), protocol));
    let protocol = choice("protocol", section.need("protocol")?, &protocols)?;
    let given = section.need("bytes")?;
    let bytes = bytes(given)?;
    match (protocol, machine) {
        (Protocol::Short, Interconnect::Circuits(model)) if bytes > model.short_limit => {
            let most = model.short_limit;
            mistake(given.line, format!("a short message has at most {most} bytes, not {bytes}: choose another protocol"))
        }
        (_, Interconnect::Circuits(model)) if model.byte_ps == 0 => {
            mistake(node.line, "what a byte takes on that machine is not known: give `byte` and `long` in [network]")
        }
        _ => Ok(Shift { protocol, bytes }),
    }
}

/// `32768` or `"32 KiB"`.
fn bytes(node: &Located) -> ParseResult<u32> {
    let whole = match &node.value {
        Value::Text(word) => {
            let digits = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
            let unit = match word[digits..].trim() {
                "B" => Some(1_u64),
                "KiB" => Some(1 << 10),
                "MiB" => Some(1 << 20),
                _ => None,
            };
            match word[..digits].parse::<u64>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(unit)) {
                Some(bytes) => bytes,
                None => {
                    return mistake(node.line, format!("`{word}` is no length: write 32768, or \"32 KiB\", in B, KiB or MiB"));
                }
            }
        }
        _ => count("bytes", node, 0..=u64::MAX / 2)?,
    };
    match u32::try_from(whole).ok().filter(|&bytes| bytes <= BYTES_MAX) {
        Some(bytes) => Ok(bytes),
        None => {
            let what = format!("a message of {whole} bytes is beyond what one node's memory would hold; at most {BYTES_MAX}");
            mistake(node.line, what)
        }
    }
}

/// `"carried"`, `"none"`, `"last 600 us"`, or `{ last = "600 us" }`, of which the time can be swept.
fn skew(node: &Located) -> ParseResult<Option<Skew>> {
    let names = SKEWS.map(|(name, _)| name);
    let law = |name: &str| SKEWS.iter().find(|(known, _)| *known == name).map(|(_, law)| law);
    match &node.value {
        Value::Text(word) if word == CARRIED => Ok(Some(Skew::Carried)),
        Value::Text(word) if word == NONE => Ok(None),
        Value::Text(word) => {
            let (name, by) = word.split_once(' ').unwrap_or((word, ""));
            let Some(law) = law(name) else {
                let known = [&[NONE, CARRIED][..], &names].concat();
                return mistake(node.line, format!("`{name}` is no law of skew{}", meant(name, &known)));
            };
            nanos(by)
                .map(|by| Some(law(by)))
                .or_else(|what| mistake(node.line, format!("`skew`, as in \"{name} 50 us\": {what}")))
        }
        _ => {
            Section::new("skew", node, &names)?;
            match node.entries() {
                Some([(name, by)]) => Ok(law(name).map(|law| time(name, by).map(law)).transpose()?),
                _ => mistake(node.line, "`skew` has one law, with its time: { last = \"600 us\" }"),
            }
        }
    }
}
