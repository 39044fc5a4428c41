//! What the adaptive waiter can know and do here, one check a signal. It comes to its end without any of them, only later.
use super::{Check, Status, check, note_unless};
use foregather_host::affinity::{self, Mask};
use foregather_host::{cgroup, clock, costs, sched, scout, usage};
use foregather_machine::{Costs, CpuId, Nanos, Placement};
use foregather_thread::Thread;

/// How long a processor gets to be found idle.
const SCOUTING: Nanos = Nanos::from_ms(30);

/// What to do about costs that are not known well.
const MEASURE: &str = "`foregather measure waits` measures them with care and keeps them";

/// All signals, and the costs that they are weighed by.
pub(super) fn signals() -> Vec<Check> {
    let (kept, refusal) = match costs::load() {
        Ok(kept) => (kept, None),
        Err(error) => (None, Some(check("machine costs: file", Status::Note, error.to_string(), MEASURE))),
    };
    let costs = machine_costs(kept.is_some_and(|kept| !kept.quick));
    let signals = [cpu_ids(), thread_clocks(), scouting(), moving(), quota(), class(), cycle_clock()];
    refusal.into_iter().chain([costs]).chain(signals).collect()
}

fn signal(name: &'static str, there: bool, found: impl Into<String>, remedy: &str) -> Check {
    check(name, if there { Status::Ok } else { Status::Missing }, found, if there { "" } else { remedy })
}

/// Kept ones, or those that any program takes that needs them.
fn machine_costs(careful: bool) -> Check {
    let Costs { local_switch, remote_wake, waker, yield_switch, tick, .. } = Thread::current().costs();
    let found = format!(
        "local hand-over {yield_switch} by yield, {local_switch} by blocking; remote block and wake {remote_wake}, {waker} of it \
         in the waker; tick {tick}{}",
        if careful { "" } else { "; typical ones, or measured in passing" }
    );
    check("machine costs", note_unless(careful), found, if careful { "" } else { MEASURE })
}

fn cpu_ids() -> Check {
    let there = affinity::is_read_from_memory();
    let found = if there { "read from memory (rseq)" } else { "by a call of the kernel in every wait" };
    signal(
        "signal: cpu ids",
        there,
        found,
        "glibc 2.35 or newer, a kernel with CONFIG_RSEQ, and no glibc.pthread.rseq=0 in GLIBC_TUNABLES",
    )
}

fn thread_clocks() -> Check {
    let me = usage::this_thread();
    let there = usage::advances(|| usage::thread_cpu_of(me)) == Some(true);
    let found = if there { "tell who holds a processor" } else { "cannot be read, or stand still" };
    signal(
        "signal: thread clocks",
        there,
        found,
        "allow clock_gettime for the clocks of threads (see the container's seccomp filter)",
    )
}

fn scouting() -> Check {
    const REMEDY: &str =
        "allow one more thread (ulimit -u) and sched_setscheduler to SCHED_IDLE (see the container's seccomp filter)";
    const NAME: &str = "signal: scout";
    if Thread::current().idle(affinity::current()).is_none() {
        let found = "not sent: threads are not moved here";
        return if moves() { signal(NAME, false, "cannot be sent", REMEDY) } else { check(NAME, Status::Note, found, "") };
    }
    let cpus = affinity::allowed();
    let idle: Vec<CpuId> = cpus.iter().copied().filter(|&cpu| found_idle(cpu)).collect();
    // Its thread may have been made and then been refused its class.
    let sent = cpus.iter().any(|&cpu| scout::idle(cpu).is_some());
    signal(NAME, sent, format!("found {} of {} cpus idle: {idle:?}", idle.len(), cpus.len()), REMEDY)
}

fn found_idle(cpu: CpuId) -> bool {
    let end = clock::now() + SCOUTING;
    while clock::now() < end {
        match scout::idle(cpu) {
            Some(true) => return true,
            // Asleep, since the processor asked about may be this one.
            Some(false) => std::thread::sleep(std::time::Duration::from_micros(200)),
            None => return false,
        }
    }
    false
}

/// Are threads moved here, as far as anybody has chosen?
fn moves() -> bool {
    Thread::current().affinity().is_some()
}

fn moving() -> Check {
    const NAME: &str = "signal: may move";
    let allowed = Mask::of(None).is_some_and(|mask| mask.give(None));
    let remedy = "allow sched_getaffinity and sched_setaffinity (see the container's seccomp filter)";
    match Thread::current().affinity() {
        _ if !allowed => signal(NAME, false, "masks cannot be set", remedy),
        Some(affinity) => signal(NAME, true, format!("a team fills {} cpus", affinity.width), ""),
        None => check(NAME, Status::Note, "not wanted", "unset FOREGATHER_PLACEMENT, and use an ordinary scheduling class"),
    }
}

fn quota() -> Check {
    const NAME: &str = "signal: cpu quota";
    let cpus = affinity::allowed().len();
    match cgroup::quota() {
        Some(quota) => check(NAME, Status::Note, format!("{quota:.2} cpus of {cpus}"), "a higher quota, unless it is wanted"),
        None if cgroup::version() == "none" => {
            signal(NAME, false, "not to be seen", "mount the control groups that limit processor time")
        }
        None => check(NAME, Status::Ok, "none", ""),
    }
}

fn class() -> Check {
    let class = sched::class();
    let remedy = if class.is_realtime() { "every spin is bounded under it, and nobody is moved; start without chrt" } else { "" };
    check("signal: scheduling class", note_unless(!class.is_realtime()), format!("{class:?}"), remedy)
}

fn cycle_clock() -> Check {
    let facts = clock::facts();
    let why = facts.why_not_tsc.clone();
    check(
        "signal: cycle clock",
        note_unless(why.is_none()),
        format!("{}, {:.0} ns a reading", facts.source, facts.read_cost_ns),
        why.unwrap_or_default(),
    )
}
