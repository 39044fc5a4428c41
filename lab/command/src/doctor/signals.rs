//! What the adaptive waiter decides by, and how large a team would be: each signal and limit with what
//! switches it off.
use super::{Check, CheckStatus, check, missing, note_unless};
use foregather_blas::{Routine, kept_crossovers};
use foregather_host::affinity::{self, Mask};
use foregather_host::costs::KeptCosts;
use foregather_host::{cgroup, clock, costs, facts, sched, scout, usage};
use foregather_machine::{Costs, CpuId, Nanos, Placement};
use foregather_team::{Allowed, Team};
use foregather_thread::Thread;

/// How long a processor gets to be found idle.
const SCOUTING: Nanos = Nanos::from_ms(30);

/// What to do about costs that are not known, or not confirmed.
const MEASURE: &str = "`foregather measure waits` on an idle machine measures and keeps them";

/// All signals, and the costs that they are weighed by.
pub(super) fn signals() -> Vec<Check> {
    let (kept, refusal) = match costs::load() {
        Ok(kept) => (kept, None),
        Err(error) => (None, Some(check("machine costs: file", CheckStatus::Note, error.to_string(), MEASURE))),
    };
    let costs = machine_costs(kept.as_ref());
    let signals = [cpu_ids(), thread_clocks(), scouting(), moving(), quota(), class(), cycle_clock()];
    refusal.into_iter().chain([costs]).chain(signals).collect()
}

/// `costs` is what happens without it.
fn signal(name: &'static str, there: bool, found: impl Into<String>, remedy: &str, costs: &str) -> Check {
    if there { check(name, CheckStatus::Ok, found, "") } else { missing(name, found, remedy, costs) }
}

/// The costs that programs use, where they come from, and which of them are not confirmed.
fn machine_costs(kept: Option<&KeptCosts>) -> Check {
    let Costs { local_switch, remote_wake, waker, yield_switch, tick, .. } =
        kept.map_or_else(|| Thread::current().costs(), |kept| kept.costs);
    let mut found = format!(
        "local hand-over {yield_switch} by yield, {local_switch} by blocking; remote block and wake {remote_wake}, {waker} of it \
         in the waker; tick {tick}; "
    );
    found += &match kept {
        None => "typical ones, not measured here".to_owned(),
        Some(kept) => {
            kept.measured_unix_s.map_or_else(|| "date unknown".to_owned(), |then| format!("measured {}", clock::date(then)))
        }
    };
    let unconfirmed = kept.map_or(&[][..], |kept| &kept.unconfirmed);
    for (name, cost) in unconfirmed {
        found += &format!("; {name} was measured as {}, which is unusual and not confirmed yet", cost.0);
    }
    let is_known = kept.is_some() && unconfirmed.is_empty();
    check("machine costs", note_unless(is_known), found, if is_known { "" } else { MEASURE })
}

fn cpu_ids() -> Check {
    let there = affinity::is_read_from_memory();
    let found = if there { "read from memory (rseq)" } else { "by a call of the kernel in every wait" };
    signal(
        "signal: cpu ids",
        there,
        found,
        "glibc 2.35 or newer, a kernel with CONFIG_RSEQ, and no glibc.pthread.rseq=0 in GLIBC_TUNABLES",
        "without processors' numbers in memory: a call of the kernel in every wait",
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
        "without threads' clocks: no wait sees which thread has a processor",
    )
}

fn scouting() -> Check {
    const REMEDY: &str = "allow one more thread (ulimit -u); allow sched_setattr (see the container's seccomp filter)";
    const COSTS: &str = "without scouts: no team finds idle processors";
    const NAME: &str = "signal: scout";
    if Thread::current().idle(affinity::current()).is_none() {
        let found = "not sent: threads are not moved here";
        return if moves() {
            signal(NAME, false, "cannot be sent", REMEDY, COSTS)
        } else {
            check(NAME, CheckStatus::Note, found, "")
        };
    }
    let cpus = affinity::allowed();
    let idle: Vec<CpuId> = cpus.iter().copied().filter(|&cpu| found_idle(cpu)).collect();
    // Its thread may have been made and then been refused its class.
    let sent = cpus.iter().any(|&cpu| scout::idle(cpu).is_some());
    signal(NAME, sent, format!("found {} of {} cpus idle: {idle:?}", idle.len(), cpus.len()), REMEDY, COSTS)
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

/// Returns whether threads may be moved here.
fn moves() -> bool {
    Thread::current().affinity().is_some()
}

fn moving() -> Check {
    const NAME: &str = "signal: may move";
    let allowed = Mask::of(None).is_some_and(|mask| mask.give(None));
    let remedy = "allow sched_getaffinity and sched_setaffinity (see the container's seccomp filter)";
    match Thread::current().affinity() {
        _ if !allowed => {
            signal(NAME, false, "masks cannot be set", remedy, "without masks: threads stay where the kernel puts them")
        }
        Some(affinity) => signal(NAME, true, format!("a team fills {} cpus", affinity.width), "", ""),
        None => check(NAME, CheckStatus::Note, "not wanted", "unset FOREGATHER_PLACEMENT, and use an ordinary scheduling class"),
    }
}

fn quota() -> Check {
    const NAME: &str = "signal: cpu quota";
    let cpus = affinity::allowed().len();
    match cgroup::quota() {
        Some(quota) => {
            check(NAME, CheckStatus::Note, format!("{quota:.2} cpus of {cpus}"), "a higher quota, unless it is wanted")
        }
        None if cgroup::version() == "none" => {
            let costs = "without control groups: no team knows its quota";
            signal(NAME, false, "not to be seen", "mount the control groups that limit processor time", costs)
        }
        None => check(NAME, CheckStatus::Ok, "none", ""),
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

/// Size, waiting, what of the settings is not understood, crossovers.
pub(super) fn teams() -> Vec<Check> {
    // No call, no thread.
    let report = Team::fitting().report();
    let mut checks = vec![
        size(&report.allowed, facts::machine().cpus_online, setting()),
        check("team: waiting", CheckStatus::Ok, report.policy, ""),
    ];
    checks.extend(report.trouble.iter().map(|trouble| misunderstood(trouble)));
    checks.push(crossovers(report.allowed.members()));
    checks
}

/// The variable that teams ask.
fn setting() -> &'static str {
    if std::env::var_os("FOREGATHER_THREADS").is_some() { "FOREGATHER_THREADS" } else { "OMP_NUM_THREADS" }
}

/// How many members, and what bounds them.
fn size(allowed: &Allowed, online: u32, setting: &str) -> Check {
    let members = allowed.members();
    let (bound, remedy) = if members >= online {
        ("the machine", String::new())
    } else if members >= allowed.processors {
        ("affinity", "allow it more processors (taskset, cpuset), unless that is wanted".to_owned())
    } else if let Some(share) = allowed.share.filter(|share| share.members == members) {
        (share.variable, "set OMP_NUM_THREADS, or FOREGATHER_SIBLINGS=off to take no account of other processes".to_owned())
    } else if allowed.wanted == Some(members) {
        (setting, format!("raise or unset {setting}, unless it is wanted"))
    } else {
        ("the quota", "a higher quota, unless it is wanted".to_owned())
    };
    let alone = if members < 2 { ", so all calls are serial" } else { "" };
    check("team: size", note_unless(members >= online), format!("{members} by {bound} ({allowed}){alone}"), remedy)
}

fn misunderstood(trouble: &str) -> Check {
    let (found, remedy) = trouble.split_once("; ").unwrap_or((trouble, "correct or unset it: until then it is ignored"));
    check("team: settings", CheckStatus::Note, found, remedy)
}

fn crossovers(members: u32) -> Check {
    const NAME: &str = "blas: crossovers";
    if members < 2 {
        return check(NAME, CheckStatus::Ok, "none are needed, since all calls are serial", "");
    }
    let measure = "`foregather measure blas --crossovers` measures and keeps them";
    let (path, kept) = kept_crossovers(members);
    let Some(path) = path else {
        return check(NAME, CheckStatus::Note, "cannot be kept", "set HOME, XDG_CACHE_HOME or FOREGATHER_MACHINE");
    };
    match kept {
        Err(why) => check(NAME, CheckStatus::Note, why, measure),
        Ok(0) => check(NAME, CheckStatus::Note, format!("none are kept in {} yet", path.display()), measure),
        Ok(routines) => {
            let all = Routine::ALL.len();
            check(NAME, CheckStatus::Ok, format!("of {routines} of {all} routines, in {}", path.display()), "")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_team::Share;

    #[test]
    fn what_bounds_a_team_is_named_with_its_remedy() {
        let name = "OMP_NUM_THREADS";
        for (allowed, bound, status) in [
            (Allowed { processors: 4, quota: None, wanted: None, share: None }, "4 by the machine", CheckStatus::Ok),
            (Allowed { processors: 4, quota: Some(8.0), wanted: Some(6), share: None }, "4 by the machine", CheckStatus::Ok),
            (Allowed { processors: 2, quota: None, wanted: None, share: None }, "2 by affinity", CheckStatus::Note),
            (Allowed { processors: 4, quota: Some(1.5), wanted: None, share: None }, "2 by the quota", CheckStatus::Note),
            (
                Allowed { processors: 4, quota: Some(2.5), wanted: Some(2), share: None },
                "2 by OMP_NUM_THREADS",
                CheckStatus::Note,
            ),
        ] {
            let check = size(&allowed, 4, name);
            assert!(check.found.starts_with(bound) && check.status == status, "{check:?}");
            assert_eq!(check.remedy.is_empty(), status == CheckStatus::Ok, "{check:?}");
        }
        let share = Some(Share { members: 2, variable: "MPI_LOCALNRANKS" });
        let shared = size(&Allowed { processors: 4, quota: None, wanted: None, share }, 4, name);
        assert!(shared.found.starts_with("2 by MPI_LOCALNRANKS") && shared.remedy.contains("FOREGATHER_SIBLINGS"), "{shared:?}");
        let alone = size(&Allowed { processors: 4, quota: None, wanted: Some(1), share: None }, 4, name);
        assert!(alone.found.contains("serial") && alone.remedy.contains(name), "{alone:?}");
    }

    #[test]
    fn costs_have_a_date_and_unconfirmed_ones_are_named() {
        let kept = |remote_wake| KeptCosts::once(Costs { remote_wake, ..Costs::TYPICAL }, Some(1_795_000_000));
        let known = machine_costs(Some(&kept(Costs::TYPICAL.remote_wake)));
        assert!(known.status == CheckStatus::Ok && known.found.contains("measured 2026-11-18"), "{known:?}");
        let unsure = machine_costs(Some(&kept(Nanos(257_000))));
        assert!(unsure.found.contains("remote_wake_ns was measured as 257000") && unsure.remedy.contains("measure waits"));
        assert!(machine_costs(None).found.contains("not measured here"));
    }

    #[test]
    fn what_is_misunderstood_is_told_with_what_it_should_be() {
        let threads = misunderstood("FOREGATHER_THREADS=x is no number of threads: take 1 or more");
        assert!(threads.found.ends_with("take 1 or more") && threads.remedy.contains("unset"), "{threads:?}");
        let wait = misunderstood("FOREGATHER_WAIT: unknown waiting policy `x`; expected one of spin, block");
        assert_eq!(
            (wait.found.as_str(), wait.remedy.as_str()),
            ("FOREGATHER_WAIT: unknown waiting policy `x`", "expected one of spin, block")
        );
    }
}
