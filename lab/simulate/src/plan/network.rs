//! `[network]`: nodes, what lies between them, and what disturbs them.
use super::read::{
    AnyValue, BoundedCount, KEY, PerByte, Span, Time, choice, count_at, read as read_table, real, table, unless_none, values,
};
use super::tree::{Located, Mistake, ParseResult, mistake};
use crate::network::Interconnect;
use foregather_machine::{Cause, Error, LogGp, LogGpVariant, Nanos, Rank};
use foregather_sim::event::Heap;
use foregather_sim::net::{Arbitration, Circuits, Drift, Faults, HeaderBuffers, Interrupts, Model, Network, Pause, profile};
use serde::de::IgnoredAny;

table! {
    "[network]" Table {
        profile: ProfileName;
        nodes: BoundedCount<1, NODES_MAX>, dimension: (usize, BoundedCount<0, { NODES_MAX.ilog2() as u64 }>), interrupts: IgnoredAny,
        faults: (usize, FaultTable), null: Span, send: Time, long: Time, byte: PerByte,
        short_limit: BoundedCount<0, { u32::MAX as u64 }>, set_up: Time, receive: Time, null_hold: IgnoredAny, jitter: Time,
        arbitration: ArbitrationName, links: bool, hop: Time, pool: IgnoredAny, latency: Time, send_overhead: Time,
        receive_overhead: Time, gap: Time, variant: VariantName
    }
}

/// Keys that only one kind of network has.
const CIRCUIT_KEYS: [&str; 12] =
    ["null", "send", "long", "short-limit", "set-up", "receive", "null-hold", "jitter", "arbitration", "links", "hop", "pool"];
const LOGGP_KEYS: [&str; 5] = ["latency", "send-overhead", "receive-overhead", "gap", "variant"];

table! { "" Pool { buffers: BoundedCount<1, { u16::MAX as u64 }>, release: BoundedCount<1, { u16::MAX as u64 }>; } }
table! { "" InterruptTable { ; length: Span, period: Span } }

values! {
    /// The name of a profile. `loggp` has no values of its own: all keys must be given.
    ProfileName((Interconnect, Option<Interrupts>)) = |value| {
        let free = |model: LogGp| (Interconnect::LogGp(model), None);
        let circuits = profile::CIRCUITS.map(|(name, model, interrupts)| (name.to_owned(), (Interconnect::Circuits(model), interrupts)));
        let loggp = profile::LOGGP.map(|(name, model)| (format!("{LOGGP}:{name}"), free(model)));
        let known: Vec<_> = circuits.into_iter().chain(loggp).chain([(LOGGP.to_owned(), free(NOTHING))]).collect();
        choice(value, &known.iter().map(|(name, what)| (name.as_str(), *what)).collect::<Vec<_>>())
    };
    VariantName(LogGpVariant) = |value| choice(value, &VARIANTS.map(|variant| (variant.name(), variant)));
    ArbitrationName(Arbitration) = |value| choice(value, &Arbitration::ALL.map(|arbitration| (arbitration.name(), arbitration)));
}

const VARIANTS: [LogGpVariant; 2] = [LogGpVariant::BothSides, LogGpVariant::SenderOnly];
/// The most nodes that the simulator takes.
const NODES_MAX: u64 = 1 << 24;
/// Stands for a network whose parameters have not been read yet.
const NOTHING: LogGp = LogGp {
    latency: Nanos::ZERO,
    send_overhead: Nanos::ZERO,
    receive_overhead: Nanos::ZERO,
    gap: Nanos::ZERO,
    byte_ps: 0,
    variant: LogGpVariant::BothSides,
};
/// The name of the profile of which every parameter is given.
const LOGGP: &str = "loggp";

/// What `[network]` asks for.
pub(super) struct Wanted {
    pub(super) machine: Interconnect,
    pub(super) nodes: u32,
    pub(super) interrupts: Option<Interrupts>,
    pub(super) faults: Faults,
}

pub(super) fn read(node: &Located, seed: u64) -> ParseResult<Wanted> {
    let mut table: Table = read_table(node)?;
    let nodes = match (table.nodes, &table.dimension) {
        (Some(_), Some((line, _))) => return mistake(*line, "`dimension` is short for 2^dimension `nodes`: give one of them"),
        (_, Some((_, dimension))) => 1 << dimension.0,
        (None, None) => return mistake(node.line, "[network] needs `nodes`"),
        (Some(nodes), None) => u32::from(nodes),
    };
    let (machine, interrupts) = table.profile.0;
    let (interrupts, faults) = (disturbed(node, interrupts)?, table.faults.take());
    let machine = match machine {
        Interconnect::Circuits(base) => {
            only(node, &LOGGP_KEYS, "a profile of LogGP", "circuits, which the other profiles are", &CIRCUIT_KEYS)?;
            Interconnect::Circuits(table.circuits(node, Circuits { seed, ..base })?)
        }
        Interconnect::LogGp(base) => {
            only(node, &CIRCUIT_KEYS, "circuits", "a profile of LogGP, which has no links", &LOGGP_KEYS)?;
            let missing =
                || LOGGP_KEYS.iter().filter(|key| **key != "variant").chain(&["byte"]).find(|key| node.get(key).is_none());
            if let Some(key) = missing().filter(|_| base == NOTHING) {
                return mistake(node.line, format!("[network] needs `{key}`"));
            }
            Interconnect::LogGp(table.loggp(base))
        }
    };
    let faults = faults.map_or_else(|| Ok(Faults::default()), |(line, table)| table.faults(line, nodes))?;
    let faults = Faults { seed, ..faults };
    // Rules that hold for all sizes, or for powers of two, can be tried on a small network.
    let size = if nodes.is_power_of_two() { 1 } else { 3 };
    let tried = match machine {
        Interconnect::Circuits(model) => attempt(size, model, interrupts, &faults),
        Interconnect::LogGp(model) => attempt(size, model, interrupts, &faults),
    };
    tried.map_err(|error| blame(node, nodes, &error))?;
    Ok(Wanted { machine, nodes, interrupts, faults })
}

/// Refuses keys that only another kind of network has: they would have no effect.
fn only(table: &Located, others: &[&str], of: &str, here: &str, own: &[&str]) -> ParseResult<()> {
    match others.iter().filter_map(|key| Some((key, table.get(key)?))).min_by_key(|(_, node)| node.line) {
        None => Ok(()),
        Some((key, node)) => {
            let own = own.join(", ");
            mistake(node.line, format!("`{key}` is of {of}, but here are {here}; its own keys are {own}, byte"))
        }
    }
}

/// The given value, or else `base`.
fn or<T>(given: Option<impl Into<T>>, base: T) -> T {
    given.map_or(base, Into::into)
}

impl Table {
    fn circuits(self, node: &Located, base: Circuits) -> ParseResult<Circuits> {
        let pool = |pool: Pool| HeaderBuffers { buffers: pool.buffers.0 as u16, release: pool.release.0 as u16 };
        Ok(Circuits {
            null: or(self.null, base.null),
            send: or(self.send, base.send),
            long: or(self.long, base.long),
            byte_ps: or(self.byte, base.byte_ps),
            short_limit: or(self.short_limit, base.short_limit),
            set_up: or(self.set_up, base.set_up),
            receive: or(self.receive, base.receive),
            null_hold: unless_none(node, "null-hold", base.null_hold, |hold: Time| hold.0)?,
            jitter: or(self.jitter, base.jitter),
            arbitration: or(self.arbitration, base.arbitration),
            links: or(self.links, base.links),
            hop: or(self.hop, base.hop),
            pool: unless_none(node, "pool", base.pool, pool)?,
            seed: base.seed,
        })
    }

    fn loggp(self, base: LogGp) -> LogGp {
        LogGp {
            latency: or(self.latency, base.latency),
            send_overhead: or(self.send_overhead, base.send_overhead),
            receive_overhead: or(self.receive_overhead, base.receive_overhead),
            gap: or(self.gap, base.gap),
            byte_ps: or(self.byte, base.byte_ps),
            variant: or(self.variant, base.variant),
        }
    }
}

/// The interrupts that the table gives, or the profile's, or none.
fn disturbed(node: &Located, base: Option<Interrupts>) -> ParseResult<Option<Interrupts>> {
    let given =
        unless_none(node, "interrupts", base.map(|base| (Some(base.length), Some(base.period))), |table: InterruptTable| {
            let [length, period] = [table.length, table.period].map(|span| span.map(Nanos::from));
            (length.or(base.map(|base| base.length)), period.or(base.map(|base| base.period)))
        })?;
    match given {
        None => Ok(None),
        Some((Some(length), Some(period))) => Ok(Some(Interrupts { length, period })),
        Some((length, _)) => {
            let line = node.get("interrupts").map_or(node.line, |node| node.line);
            mistake(line, format!("interrupts needs `{}`", if length.is_none() { "length" } else { "period" }))
        }
    }
}

/// Tries whether the simulator takes the network.
fn attempt<M: Model>(size: u32, model: M, interrupts: Option<Interrupts>, faults: &Faults) -> Result<(), Error> {
    let network = Network::<Heap, M>::new(size, 0, model)?.faulty(faults)?;
    interrupts.map_or(Ok(()), |interrupts| network.interrupted(interrupts, 0).map(drop))
}

/// The mistake, at the key where the contradiction lies.
fn blame(table: &Located, nodes: u32, error: &Error) -> Mistake {
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
    let Some((key, node)) = keys.iter().find_map(|key| Some((key, table.get(key)?))) else {
        return Mistake { line: table.line, what: error.to_string() };
    };
    let what = match error.cause() {
        Cause::Size { needs, .. } => format!("`{key}`: {nodes} nodes are no hypercube: links need {needs}"),
        _ => format!("`{key}`: {error}"),
    };
    Mistake { line: node.line, what }
}

/// The `send` and `latency` of a hop on that machine: the waits of RDS follow from them. A node's last of
/// several sends begins that number of gaps later.
pub(super) fn hop(machine: &Interconnect) -> (Nanos, Nanos) {
    match machine {
        Interconnect::Circuits(model) => (model.send, model.null),
        Interconnect::LogGp(model) => (model.send_overhead.max(model.gap), model.null()),
    }
}

table! {
    "[network.faults]" FaultTable {
        ;
        loss: Share, duplicate: Share, delayed: Share, delay: Time, pauses: Vec<PauseTable>, drifts: Vec<DriftTable>
    }
}

table! { "a pause" PauseTable { node: (usize, AnyValue), length: Span; from: Time } }
table! { "a drift" DriftTable { node: (usize, AnyValue), ppm: Ppm; ahead: Time } }

values! {
    /// A share, kept in millionths: one in a million is the smallest that there is.
    Share(u32) = |value| Ok((real(value, 0.0..=1.0)? * 1e6).round() as u32);
    /// Parts in a million by which a clock drifts: at more than a tenth it is no clock.
    Ppm(i32) = |value| match value {
        AnyValue::Whole(ppm @ -100_000..=100_000) => Ok(*ppm as i32),
        _ => Err(format!("`{KEY}` is a whole number from -100000 to 100000")),
    };
}

impl FaultTable {
    /// The faults of a network of `nodes` nodes; the table is on `line`.
    pub(super) fn faults(self, line: usize, nodes: u32) -> ParseResult<Faults> {
        let share = |share: Option<Share>| share.map_or(0, u32::from);
        let (delay_ppm, delay) = (share(self.delayed), self.delay.map(Nanos::from));
        if delay_ppm > 0 && delay.is_none_or(|delay| delay == Nanos::ZERO) {
            return mistake(line, "[network.faults] needs `delay`, longer than zero");
        }
        let rank = |node: &(usize, AnyValue)| count_at("node", node, 0..=u64::from(nodes - 1)).map(|node| node as Rank);
        let time = |time: Option<Time>| time.map_or(Nanos::ZERO, Nanos::from);
        let pause = |of: PauseTable| Ok(Pause { node: rank(&of.node)?, from: time(of.from), length: of.length.0 });
        let drift = |of: DriftTable| Ok(Drift { node: rank(&of.node)?, ppm: of.ppm.0, ahead: time(of.ahead) });
        Ok(Faults {
            loss_ppm: share(self.loss),
            duplicate_ppm: share(self.duplicate),
            delay_ppm,
            delay: delay.unwrap_or(Nanos::ZERO),
            pauses: self.pauses.into_iter().flatten().map(pause).collect::<ParseResult<_>>()?,
            drifts: self.drifts.into_iter().flatten().map(drift).collect::<ParseResult<_>>()?,
            seed: 0,
        })
    }
}
