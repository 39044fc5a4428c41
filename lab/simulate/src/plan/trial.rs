//! `[trial]`: what the nodes do again and again: they come, synchronise, and shift.
use super::network;
use super::read::{
    AnyValue, BoundedCount, NONE, Time, choice, count, entry, nanos, read as read_table, table, unless_none, values,
};
use super::tree::{Located, ParseResult, Value, mistake};
use crate::network::study::BYTES_MAX;
use crate::network::{Interconnect, Shift};
use foregather_barrier::{Algorithm, SignalCost};
use foregather_machine::Nanos;
use foregather_message::Protocol;
use foregather_results::meant;
use foregather_sim::net::Skew;
use serde::de::IgnoredAny;

table! {
    "[trial]" Table {
        barrier: (usize, String);
        shift: (usize, IgnoredAny), skew: IgnoredAny, resynchronised: (usize, bool), trials: (usize, BoundedCount<1, TRIALS_MAX>),
        skipped: (usize, BoundedCount<0, TRIALS_MAX>)
    }
}

table! { "" ShiftTable { protocol: ProtocolName, bytes: (usize, Bytes); } }

values! {
    ProtocolName(Protocol) = |value| choice(value, &Protocol::ALL.map(|protocol| (protocol.name(), protocol)));
    /// A length in bytes, as `32768` or `"32 KiB"`.
    Bytes(u32) = bytes;
}

/// Makes a law of skew of its time.
type Law = fn(Nanos) -> Skew;
/// Laws of how late nodes come, by the names of those that have a time.
pub(super) const SKEWS: [(&str, Law); 4] =
    [("last", Skew::Last), ("one", Skew::One), ("uniform", Skew::Uniform), ("exponential", Skew::Exponential)];
/// The skew that one trial leaves is that of the next.
const CARRIED: &str = "carried";

/// How many trials the experiments of Seidel & Davis 1992 §4 have.
const TRIALS: u32 = 50;
const TRIALS_MAX: u64 = 1_000_000;
/// The most times of one run that are kept, nodes times trials: together they take 400 MB.
const KEPT_MAX: u64 = 1 << 24;

/// What `[trial]` asks for.
pub(super) struct Wanted {
    pub(super) barrier: Option<Algorithm>,
    pub(super) shift: Option<Shift>,
    pub(super) skew: Skew,
    pub(super) resynchronised: bool,
    pub(super) trials: u32,
    pub(super) skipped: u32,
}

pub(super) fn read(node: &Located, machine: &Interconnect, nodes: u32) -> ParseResult<Wanted> {
    let table: Table = read_table(node)?;
    let barrier = barrier(&table.barrier, machine, nodes)?;
    let given = unless_none(node, "shift", None, |given: ShiftTable| given)?;
    let given = given.zip(table.shift).map(|(given, (line, _))| shift(line, &given, machine, nodes));
    let shift = given.transpose()?;
    if barrier.is_none() && shift.is_none() {
        return mistake(node.line, "there is nothing to do: no barrier and no shift");
    }
    let skew = node.get("skew").map_or(Ok(Some(Skew::Carried)), skew)?;
    let carried = skew == Some(Skew::Carried);
    if let Some((line, true)) = table.resynchronised.filter(|_| carried) {
        let what = "nothing is carried over if an ideal hand brings the nodes together: choose another `skew`, such as \"none\"";
        return mistake(line, what);
    }
    let resynchronised = table.resynchronised.map_or(!carried, |(_, flag)| flag);
    let trials = table.trials.map_or(TRIALS, |(_, trials)| u32::from(trials));
    if u64::from(nodes) * u64::from(trials) > KEPT_MAX {
        let what =
            format!("{trials} trials of {nodes} nodes are more than {KEPT_MAX} times to keep: choose fewer, and more seeds");
        return mistake(table.trials.map_or(node.line, |(line, _)| line), what);
    }
    let skipped = table.skipped.map_or(0, |(_, skipped)| u32::from(skipped));
    if skipped >= trials {
        return mistake(
            table.skipped.map_or(node.line, |(line, _)| line),
            format!("of {trials} trials, {skipped} skipped ones leave none that counts"),
        );
    }
    // No node is late if the last one is late by nothing.
    let skew = skew.unwrap_or(Skew::Last(Nanos::ZERO));
    Ok(Wanted { barrier, shift, skew, resynchronised, trials, skipped })
}

/// `none`, `gsync` as the paper calls the butterfly, or any barrier made of messages.
fn barrier((line, name): &(usize, String), machine: &Interconnect, nodes: u32) -> ParseResult<Option<Algorithm>> {
    let kind = match (name.as_str(), Algorithm::parse(name)) {
        (NONE, _) => return Ok(None),
        ("gsync", _) => Algorithm::Butterfly,
        (_, Some(Algorithm::Rds { .. })) => {
            let (send, latency) = network::hop(machine);
            Algorithm::Rds { hop: SignalCost { send, latency } }
        }
        (_, Some(Algorithm::Central)) => {
            let what = "the central barrier is made of words that all share, and nodes share none: dissemination and the others \
                        are made of messages";
            return mistake(*line, what);
        }
        (_, Some(kind)) => kind,
        (_, None) => {
            let names: Vec<&str> = [NONE, "gsync"]
                .into_iter()
                .chain(Algorithm::ALL.into_iter().filter(|kind| *kind != Algorithm::Central).map(Algorithm::name))
                .collect();
            return mistake(*line, format!("`{name}` is no barrier{}", meant(name, &names)));
        }
    };
    kind.takes(nodes).map_or_else(|error| mistake(*line, error.to_string()), |()| Ok(Some(kind)))
}

fn shift(line: usize, given: &ShiftTable, machine: &Interconnect, nodes: u32) -> ParseResult<Shift> {
    if nodes < 2 || !nodes.is_power_of_two() {
        let what = format!(
            "a shift goes around the Gray code's ring, which {nodes} nodes have not: it needs a power of two from 2 on; \
             without a shift, rds, dissemination and others take any size"
        );
        return mistake(line, what);
    }
    let (protocol, bytes) = (given.protocol.0, given.bytes.1.0);
    match (protocol, machine) {
        (Protocol::Short, Interconnect::Circuits(model)) if bytes > model.short_limit => {
            let most = model.short_limit;
            mistake(given.bytes.0, format!("a short message has at most {most} bytes, not {bytes}: choose another protocol"))
        }
        (_, Interconnect::Circuits(model)) if model.byte_ps == 0 => {
            mistake(line, "what a byte takes on that machine is not known: give `byte` and `long` in [network]")
        }
        _ => Ok(Shift { protocol, bytes }),
    }
}

fn bytes(value: &AnyValue) -> Result<u32, String> {
    let whole = match value {
        AnyValue::Text(word) => {
            let digits = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
            let unit =
                [("B", 1_u64), ("KiB", 1 << 10), ("MiB", 1 << 20)].into_iter().find(|(name, _)| *name == word[digits..].trim());
            let whole = word[..digits].parse::<u64>().ok().zip(unit).and_then(|(number, (_, unit))| number.checked_mul(unit));
            whole.ok_or_else(|| format!("`{word}` is no length: write 32768, or \"32 KiB\", in B, KiB or MiB"))?
        }
        _ => count(value, 0..=u64::MAX / 2)?,
    };
    let fits = u32::try_from(whole).ok().filter(|&bytes| bytes <= BYTES_MAX);
    fits.ok_or_else(|| format!("a message of {whole} bytes is beyond what one node's memory would hold; at most {BYTES_MAX}"))
}

/// The skew: `"carried"`, `"none"`, `"last 600 us"`, or `{ last = "600 us" }`, of which the time can be
/// swept. `None` if no node is late.
fn skew(node: &Located) -> ParseResult<Option<Skew>> {
    let names = SKEWS.map(|(name, _)| name);
    let law = |line: usize, name: &str, known: &[&str]| match SKEWS.iter().find(|(known, _)| *known == name) {
        Some((_, law)) => Ok(law),
        None => mistake(line, format!("`{name}` is no law of skew{}", meant(name, known))),
    };
    match &node.value {
        Value::Text(word) if word == CARRIED => Ok(Some(Skew::Carried)),
        Value::Text(word) if word == NONE => Ok(None),
        Value::Text(word) => {
            let (name, by) = word.split_once(' ').unwrap_or((word, ""));
            let law = law(node.line, name, &[&[NONE, CARRIED][..], &names].concat())?;
            let wrong = |what| mistake(node.line, format!("`skew`, as in \"{name} 50 us\": {what}"));
            nanos(by).map_or_else(wrong, |by| Ok(Some(law(by))))
        }
        _ => match node.entries() {
            Some([(name, by)]) => {
                let law = law(by.line, name, &names)?;
                Ok(entry(node, name)?.map(|Time(by)| law(by)))
            }
            _ => mistake(node.line, "`skew` has one law, with its time: { last = \"600 us\" }"),
        },
    }
}
