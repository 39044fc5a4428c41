//! The words that were replaced, and by which: what has a name in the field bears that name.
//!
//! A word that is ordinary English elsewhere is old only for some kinds of items, or only at some places.

/// What can bear a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// A struct, enum, union, alias or trait.
    Type,
    Variant,
    /// A method too.
    Function,
    Field,
    Module,
}
use ItemKind::{Field, Function, Module, Type, Variant};

/// A word that is not used any more.
pub(super) struct Old {
    pub(super) old: &'static str,
    pub(super) now: &'static str,
    /// The kinds of items that may not bear it.
    pub(super) kinds: &'static [ItemKind],
    /// How the paths begin where it is old; none for the whole workspace.
    pub(super) place: &'static [&'static str],
}

impl Old {
    pub(super) fn forbids(&self, name: &str, kind: ItemKind, path: &str) -> bool {
        let here = self.place.is_empty() || self.place.iter().any(|place| path.starts_with(place));
        here && self.old == name && self.kinds.contains(&kind)
    }
}

const fn row(kinds: &'static [ItemKind], place: &'static [&'static str], old: &'static str, now: &'static str) -> Old {
    Old { old, now, kinds, place }
}

const T: &[ItemKind] = &[Type];
const F: &[ItemKind] = &[Function];
const V: &[ItemKind] = &[Variant];
/// What is written in capitals.
const CAPITAL: &[ItemKind] = &[Type, Variant];
/// What is written in small letters.
const SMALL: &[ItemKind] = &[Function, Field, Module];

const ANYWHERE: &[&str] = &[];
const MACHINE: &[&str] = &["core/machine/"];
const MACHINE_AND_WORLDS: &[&str] = &["core/machine/", "worlds/"];
/// Where words are words of memory. A simulator also arms timers and keeps notes, and a launcher's exchange
/// is the collective.
const HARDWARE: &[&str] = &["core/machine/", "worlds/thread/", "worlds/shm/", "worlds/ofi/"];
/// All of these but where it is the accessor of what was called so.
const HARDWARE_BUT_SHM: &[&str] = &["core/machine/", "worlds/thread/", "worlds/ofi/"];
const WAIT: &[&str] = &["core/wait/"];
const CORE_TO_SYSTEMS: &[&str] = &["core/", "worlds/", "systems/"];
const BARRIER: &[&str] = &["core/barrier/"];
const MESSAGE: &[&str] = &["core/message/"];
const SHM: &[&str] = &["worlds/shm/"];
const OFI: &[&str] = &["worlds/ofi/"];
const SIM: &[&str] = &["worlds/sim/"];
const DSM: &[&str] = &["systems/dsm/"];
/// Its tests copy other things than pages.
const DSM_ITSELF: &[&str] = &["systems/dsm/src/"];
const SYSTEMS: &[&str] = &["systems/"];
const TEAM: &[&str] = &["systems/team/"];
const LAB: &[&str] = &["lab/"];
const SIM_LAB_BENCH: &[&str] = &["worlds/sim/", "lab/", "bench/"];
const SIM_LAB_CONFORMANCE: &[&str] = &["worlds/sim/", "lab/", "conformance/"];

pub(super) const OLD: [Old; 88] = [
    // The machine.
    row(F, HARDWARE, "note", "store"),
    row(F, HARDWARE_BUT_SHM, "exchange", "compare_exchange"),
    row(F, MACHINE_AND_WORLDS, "blink", "spin_briefly"),
    row(F, MACHINE_AND_WORLDS, "patience", "max_spin"),
    row(F, MACHINE_AND_WORLDS, "at_once", "run_inline"),
    row(F, HARDWARE, "arm", "prepare_park"),
    row(F, ANYWHERE, "run_ready", "block_on"),
    row(T, MACHINE, "Done", "Ready"),
    row(T, ANYWHERE, "Why", "WaitContext"),
    row(T, MACHINE, "Line", "CachePadded"),
    row(T, ANYWHERE, "Quad", "WordLine"),
    row(T, MACHINE, "Lines", "SharedLines"),
    row(T, ANYWHERE, "Tolls", "FabricCosts"),
    row(F, CORE_TO_SYSTEMS, "tolls", "costs"),
    row(F, HARDWARE, "fill", "write_with"),
    row(F, MACHINE, "look", "peek"),
    row(F, ANYWHERE, "conceal", "unexpose"),
    row(F, ANYWHERE, "owe", "charge"),
    row(F, MACHINE, "help", "progress"),
    row(V, ANYWHERE, "Concealed", "Unexposed"),
    row(V, ANYWHERE, "Garbled", "ProtocolViolation"),
    row(V, MACHINE, "Missing", "Unavailable"),
    // Waiting.
    row(T, ANYWHERE, "Whom", "WaitFor"),
    row(T, ANYWHERE, "Awaited", "WaitFor"),
    row(T, CORE_TO_SYSTEMS, "Chooser", "Waiter"),
    row(F, ANYWHERE, "glance", "try_wait"),
    row(F, ANYWHERE, "persist", "wait_slow"),
    row(F, ANYWHERE, "be_at", "publish_cpu"),
    row(F, ANYWHERE, "be_seen", "publish_cpu"),
    row(T, WAIT, "Memory", "AdaptiveState"),
    row(F, WAIT, "and", "union"),
    // Barriers.
    row(T, BARRIER, "Kind", "Algorithm"),
    row(T, BARRIER, "Flags", "SignalMatrix"),
    row(T, ANYWHERE, "FlagEndpoint", "Signaller"),
    row(T, ANYWHERE, "Hop", "SignalCost"),
    row(CAPITAL, ANYWHERE, "DisseminationBy", "KDissemination"),
    row(F, BARRIER, "outside", "to_parent_rank"),
    row(CAPITAL, ANYWHERE, "TeamMaster", "Leader"),
    row(CAPITAL, ANYWHERE, "TeamSlave", "Worker"),
    row(CAPITAL, BARRIER, "Team", "ForkJoin"),
    // Messages.
    row(SMALL, ANYWHERE, "arrears", "backlog"),
    row(F, ANYWHERE, "pay_arrears", "retry_credits"),
    row(T, MESSAGE, "Kept", "Unexpected"),
    row(T, MESSAGE, "Blame", "Lost"),
    // Shared memory between processes.
    row(T, SHM, "Exchange", "ShmFabric"),
    row(F, SHM, "exchange", "fabric"),
    // Distributed shared memory.
    row(T, ANYWHERE, "Ways", "Links"),
    row(T, DSM, "Way", "Link"),
    row(T, DSM, "Parcel", "Transfer"),
    row(SMALL, ANYWHERE, "bed", "wait_queue"),
    row(T, DSM_ITSELF, "Copies", "PageStore"),
    row(T, ANYWHERE, "Pot", "Reduction"),
    row(SMALL, ANYWHERE, "pot", "reduction"),
    row(T, DSM, "Post", "Mailbox"),
    row(T, DSM, "Crew", "RankThreads"),
    row(T, DSM, "Seats", "ThreadTable"),
    row(T, DSM, "Chair", "Entry"),
    row(T, ANYWHERE, "Catcher", "FaultHandler"),
    row(V, ANYWHERE, "Allot", "Allocate"),
    row(SMALL, ANYWHERE, "goodbye", "detach"),
    row(CAPITAL, DSM, "Bye", "Detach"),
    row(CAPITAL, DSM, "Ahead", "Prefetch"),
    row(SMALL, DSM, "ahead", "prefetched"),
    row(T, SYSTEMS, "Tally", "Stats"),
    // Teams of threads.
    row(T, TEAM, "Heat", "IdleSpin"),
    row(T, ANYWHERE, "Patience", "HelpPolicy"),
    row(T, TEAM, "Room", "Migration"),
    row(T, ANYWHERE, "Follower", "TeamWorker"),
    row(SMALL, ANYWHERE, "heir", "fork_child"),
    row(T, TEAM, "Lead", "Threads"),
    // The worlds.
    row(CAPITAL, ANYWHERE, "Hub", "Coordinator"),
    row(SMALL, ANYWHERE, "hub", "coordinator"),
    row(CAPITAL, ANYWHERE, "Steward", "Heartbeat"),
    row(SMALL, ANYWHERE, "steward", "heartbeat"),
    row(CAPITAL, ANYWHERE, "Vigil", "FailureDetector"),
    row(SMALL, ANYWHERE, "vigil", "failure_detector"),
    row(T, OFI, "Card", "EndpointAddress"),
    row(T, ANYWHERE, "Tender", "ProgressThread"),
    row(CAPITAL, SHM, "Met", "Attached"),
    row(&[Field, Module], SHM, "met", "attached"),
    row(F, SIM_LAB_BENCH, "told", "describe"),
    row(T, LAB, "Told", "Description"),
    row(T, SIM, "Happening", "Event.."),
    row(SMALL, SIM_LAB_CONFORMANCE, "stuck", "deadlocked"),
    // The laboratory.
    row(CAPITAL, ANYWHERE, "Likeness", "Calibration"),
    row(SMALL, ANYWHERE, "likeness", "calibration"),
    row(CAPITAL, ANYWHERE, "Played", "RunResult"),
    row(F, ANYWHERE, "play", "run"),
];
