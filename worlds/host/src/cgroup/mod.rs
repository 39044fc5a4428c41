//! How much processor time this process may use, and how to give other processes less: Linux's control
//! groups, of both versions.
mod group;
mod place;

use crate::clock;
use core::sync::atomic::{AtomicU64, Ordering::*};
use foregather_machine::Nanos;
pub use group::QuotaGroup;
use place::{CgroupDir, CgroupVersion};
use std::fs;

/// For how long a quota is believed: other programs may change it at any time.
const BELIEVED: Nanos = Nanos::from_ms(1_000);

/// How many processors' worth of time the control groups around this process allow it; `None` if they set no
/// limit. A busy process is stopped for the rest of each period (mostly 100 ms) in which it has used up its
/// quota.
pub fn quota() -> Option<f64> {
    let read = |path: &std::path::Path| fs::read_to_string(path).ok();
    places().iter().filter_map(|place| place.limit(read)).min_by(f64::total_cmp)
}

/// [`quota`] as it was within the last second: one thread a second reads it from the kernel's files.
pub fn recent_quota() -> Option<f64> {
    static READ_AT: AtomicU64 = AtomicU64::new(0);
    static CPUS: AtomicU64 = AtomicU64::new(f64::INFINITY.to_bits());
    let (now, last) = (clock::now(), READ_AT.load(Acquire));
    let stale = now - Nanos(last) >= BELIEVED && READ_AT.compare_exchange(last, now.0, Relaxed, Relaxed).is_ok();
    if last == 0 || stale {
        CPUS.store(quota().unwrap_or(f64::INFINITY).to_bits(), Relaxed);
        READ_AT.store(now.0, Release);
    }
    Some(f64::from_bits(CPUS.load(Relaxed))).filter(|cpus| cpus.is_finite())
}

/// [`quota`] of another process.
pub fn quota_of(process: u32) -> Option<f64> {
    let read = |path: &std::path::Path| fs::read_to_string(path).ok();
    places_of(process).iter().filter_map(|place| place.limit(read)).min_by(f64::total_cmp)
}

/// How often, and for how long, a group was stopped because its quota was used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Periods of the quota in which the group had work.
    pub periods: u64,
    /// Those of them in which it was stopped.
    pub throttled: u64,
    /// How long it was stopped, added up over processors.
    pub stopped: Nanos,
}

/// The throttling of the groups around a process: of the one that was stopped most. `None` if they have no
/// quota, or the system hides it.
pub fn throttling_of(process: u32) -> Option<Throttling> {
    let read = |path: &std::path::Path| fs::read_to_string(path).ok();
    places_of(process).iter().filter_map(|place| place.throttling(read)).max_by_key(|found| found.throttled)
}

/// The processors of the cpuset that the control groups set for this process; `None` if they set none.
pub fn cpuset() -> Option<Vec<u32>> {
    let read = |path: &std::path::Path| fs::read_to_string(path).ok();
    places().iter().find_map(|place| place.cpuset(read)).and_then(|list| crate::facts::parse_list(&list))
}

/// The versions in use for processor time: `v1`, `v2`, `v1 and v2` or `none`.
pub fn version() -> &'static str {
    let places = places();
    let has = |version| places.iter().any(|place| place.version == version);
    match (has(CgroupVersion::V1), has(CgroupVersion::V2)) {
        (true, true) => "v1 and v2",
        (true, false) => "v1",
        (false, true) => "v2",
        (false, false) => "none",
    }
}

fn places() -> Vec<CgroupDir> {
    places_of(std::process::id())
}

/// The groups of a process, in the hierarchies that this one has mounted.
fn places_of(process: u32) -> Vec<CgroupDir> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    place::find(&read(&format!("/proc/{process}/cgroup")), &read("/proc/self/mountinfo"))
}
