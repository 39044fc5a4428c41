//! How much processor time this process may use, and how to give other processes less: Linux's control
//! groups, of both versions.
mod group;
mod place;

pub use group::QuotaGroup;
use place::{CgroupDir, Version};
use std::fs;

/// How many processors' worth of time the control groups around this process allow it; `None` if they set no
/// limit. A busy process is stopped for the rest of each period (mostly 100 ms) in which it has used up its
/// quota.
pub fn quota() -> Option<f64> {
    let read = |path: &std::path::Path| fs::read_to_string(path).ok();
    places().iter().filter_map(|place| place.limit(read)).min_by(f64::total_cmp)
}

/// The versions in use for processor time: `v1`, `v2`, `v1 and v2` or `none`.
pub fn version() -> &'static str {
    let places = places();
    let has = |version| places.iter().any(|place| place.version == version);
    match (has(Version::V1), has(Version::V2)) {
        (true, true) => "v1 and v2",
        (true, false) => "v1",
        (false, true) => "v2",
        (false, false) => "none",
    }
}

fn places() -> Vec<CgroupDir> {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    place::find(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))
}
