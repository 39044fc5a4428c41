//! This process's place in the mounted hierarchies, and its limits there. Functions of text, so that other
//! machines' files can be tested.
use super::Throttling;
use foregather_machine::Nanos;
use std::path::{Component, Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CgroupVersion {
    /// One hierarchy for each controller (or a few): here that of `cpu`.
    V1,
    /// One hierarchy for all controllers.
    V2,
}

/// This process's group in one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CgroupDir {
    pub(super) version: CgroupVersion,
    /// Where the hierarchy is mounted.
    pub(super) mount: PathBuf,
    /// This process's group, at or below `mount`.
    pub(super) own: PathBuf,
}

/// Finds the groups that limit processor time, from the text of `/proc/self/cgroup` and
/// `/proc/self/mountinfo`.
pub(super) fn find(cgroup: &str, mountinfo: &str) -> Vec<CgroupDir> {
    let place = |line: &str| {
        let (version, root, mount) = parse_mount(line)?;
        let path = cgroup.lines().find_map(|line| parse_membership(line, version))?;
        // In a container the path may be given as seen from outside; the mounted directory is then its own
        // group.
        let inside = path.strip_prefix(&root).ok().filter(|path| path.components().all(|part| part != Component::ParentDir));
        Some(CgroupDir { version, own: inside.map_or(mount.clone(), |inside| mount.join(inside)), mount })
    };
    mountinfo.lines().filter_map(place).collect()
}

/// A line `id parent device root mount options [tags] - type source super-options` of a hierarchy that may
/// limit processor time, as version, root and mount.
fn parse_mount(line: &str) -> Option<(CgroupVersion, PathBuf, PathBuf)> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(3);
    let (root, mount) = (unescape(left.next()?), unescape(left.next()?));
    let mut right = right.split(' ');
    let (kind, options) = (right.next()?, right.nth(1)?);
    let version = match kind {
        "cgroup" if options.split(',').any(|option| option == "cpu") => CgroupVersion::V1,
        "cgroup2" => CgroupVersion::V2,
        _ => return None,
    };
    Some((version, root.into(), mount.into()))
}

/// A line `number:controllers:path`, as the path, if it belongs to the version's hierarchy.
fn parse_membership(line: &str, version: CgroupVersion) -> Option<&Path> {
    let mut parts = line.splitn(3, ':');
    let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let fits = match version {
        CgroupVersion::V1 => controllers.split(',').any(|controller| controller == "cpu"),
        CgroupVersion::V2 => number == "0" && controllers.is_empty(),
    };
    (fits && path.starts_with('/')).then_some(Path::new(path))
}

/// The kernel writes blanks and backslashes in paths as three octal digits.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if byte.is_ascii() => {
                plain.push(char::from(byte));
                plain.push_str(&part[3..]);
            }
            _ => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

impl CgroupDir {
    /// The smallest limit of this group and those around it, in processors.
    pub(super) fn limit(&self, read: impl Fn(&Path) -> Option<String>) -> Option<f64> {
        let groups = self.own.ancestors().take_while(|group| group.starts_with(&self.mount));
        let limit = |group: &Path| match self.version {
            CgroupVersion::V1 => parse_v1(&read(&group.join("cpu.cfs_quota_us"))?, &read(&group.join("cpu.cfs_period_us"))?),
            CgroupVersion::V2 => parse_v2(&read(&group.join("cpu.max"))?),
        };
        groups.filter_map(limit).min_by(f64::total_cmp)
    }
}

impl CgroupDir {
    /// The cpuset in force, as a list: that of the innermost group that has one. Only the second version has
    /// it in this hierarchy.
    pub(super) fn cpuset(&self, read: impl Fn(&Path) -> Option<String>) -> Option<String> {
        let groups = self.own.ancestors().take_while(|group| group.starts_with(&self.mount));
        groups.filter_map(|group| read(&group.join("cpuset.cpus.effective"))).find(|list| !list.trim().is_empty())
    }
}

impl CgroupDir {
    /// The counters of the group around this one that was stopped most often.
    pub(super) fn throttling(&self, read: impl Fn(&Path) -> Option<String>) -> Option<Throttling> {
        let groups = self.own.ancestors().take_while(|group| group.starts_with(&self.mount));
        groups.filter_map(|group| parse_stat(&read(&group.join("cpu.stat"))?)).max_by_key(|found| found.throttled)
    }
}

/// `cpu.stat` of both versions: the first counts nanoseconds, the second microseconds.
fn parse_stat(text: &str) -> Option<Throttling> {
    let number = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse::<u64>().ok());
    let stopped = number("throttled_usec").map(Nanos::from_us).or_else(|| number("throttled_time").map(Nanos));
    Some(Throttling { periods: number("nr_periods")?, throttled: number("nr_throttled")?, stopped: stopped? })
}

/// Microseconds of processor time a period (-1: no limit), and the period.
fn parse_v1(quota: &str, period: &str) -> Option<f64> {
    // -1 is no number of this type, like any other text that sets no limit.
    ratio(quota.trim(), period.trim())
}

/// `50000 100000`, or `max 100000` for no limit.
fn parse_v2(max: &str) -> Option<f64> {
    let (quota, period) = max.trim().split_once(' ')?;
    ratio(quota, period)
}

fn ratio(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    const V1: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
        32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
        33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";
    const V2: &str = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    fn limit(place: &CgroupDir, files: &[(&str, &str)]) -> Option<f64> {
        let files: HashMap<_, _> = files.iter().map(|&(path, text)| (PathBuf::from(path), text.to_owned())).collect();
        place.limit(|path| files.get(path).cloned())
    }

    #[test]
    fn the_cpu_hierarchy_of_version_1_is_found() {
        let found = find("9:cpuset:/other\n4:cpu,cpuacct:/jobs/7\n0::/x\n", V1);
        let mount = "/sys/fs/cgroup/cpu,cpuacct";
        assert_eq!(found, [CgroupDir { version: CgroupVersion::V1, mount: mount.into(), own: format!("{mount}/jobs/7").into() }]);
    }

    #[test]
    fn throttling_is_that_of_the_group_that_was_stopped_most() {
        let place = CgroupDir { version: CgroupVersion::V2, mount: "/m".into(), own: "/m/a/b".into() };
        let inner = "usage_usec 9\nnr_periods 10\nnr_throttled 2\nthrottled_usec 7\n";
        let outer = "nr_periods 30\nnr_throttled 5\nthrottled_time 9000\n";
        let read = |path: &Path| match path.to_str() {
            Some("/m/a/b/cpu.stat") => Some(inner.to_owned()),
            Some("/m/a/cpu.stat") => Some(outer.to_owned()),
            _ => None,
        };
        assert_eq!(place.throttling(read), Some(Throttling { periods: 30, throttled: 5, stopped: Nanos::from_us(9) }));
        assert_eq!(parse_stat(inner), Some(Throttling { periods: 10, throttled: 2, stopped: Nanos::from_us(7) }));
        assert_eq!(parse_stat("usage_usec 9\n"), None, "a group without a quota");
    }

    #[test]
    fn the_hierarchy_of_version_2_is_found() {
        let found = find("0::/user.slice/a b\n", V2);
        assert_eq!(found[0].own, Path::new("/sys/fs/cgroup/user.slice/a b"));
        assert_eq!(find("0::/x\n4:cpu:/y\n", &[V1, V2].concat()).len(), 2, "a machine with both");
    }

    #[test]
    fn a_container_sees_its_own_group_at_the_mount() {
        let mount = "40 31 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n";
        let own = |text| find(text, mount)[0].own.clone();
        assert_eq!(own("4:cpu:/docker/abc\n"), Path::new("/sys/fs/cgroup/cpu"));
        assert_eq!(own("4:cpu:/docker/abc/in\n"), Path::new("/sys/fs/cgroup/cpu/in"));
        assert_eq!(own("4:cpu:/elsewhere\n"), Path::new("/sys/fs/cgroup/cpu"));
        assert_eq!(find("0::/../../secret\n", V2)[0].own, Path::new("/sys/fs/cgroup"));
    }

    #[test]
    fn malformed_lines_are_passed_over() {
        for mounts in ["", "nonsense", "1 2 3 - cgroup2", "1 2 3 4 - cgroup2 x", " - cgroup2 x y", "1 2 3 / - cgroup2 x y"] {
            assert_eq!(find("0::/\n", mounts), [], "{mounts}");
        }
        for cgroup in ["", "0", "0:", "0::", "0::relative", "1:name=systemd:/", "4:cpuset:/"] {
            assert_eq!(find(cgroup, &[V1, V2].concat()), [], "{cgroup}");
        }
    }

    #[test]
    fn escapes_in_paths_are_undone() {
        for (text, plain) in
            [(r"/a\040b", "/a b"), (r"/a\134b", r"/a\b"), (r"/a\", r"/a\"), (r"/a\9é", r"/a\9é"), (r"\777", r"\777")]
        {
            assert_eq!(unescape(text), plain);
        }
    }

    #[test]
    fn limits_of_version_1_are_read_and_malformed_ones_ignored() {
        assert_eq!(parse_v1("50000\n", "100000\n"), Some(0.5));
        assert_eq!(parse_v1("765000\n", "100000\n"), Some(7.65));
        for (quota, period) in
            [("-1\n", "100000\n"), ("", ""), ("0", "100000"), ("5", "0"), ("x", "100000"), ("5", "-1"), ("1 2", "3")]
        {
            assert_eq!(parse_v1(quota, period), None, "{quota} of {period}");
        }
    }

    #[test]
    fn limits_of_version_2_are_read_and_malformed_ones_ignored() {
        assert_eq!(parse_v2("150000 100000\n"), Some(1.5));
        for wrong in ["max 100000\n", "", "150000", "150000 ", "a b", "1 0", "0 1", "-5 10", "99999999999999999999999 1"] {
            assert_eq!(parse_v2(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_tightest_group_around_decides() {
        let place = CgroupDir { version: CgroupVersion::V2, mount: "/m".into(), own: "/m/a/b".into() };
        let (a, b) = ("/m/a/cpu.max", "/m/a/b/cpu.max");
        assert_eq!(limit(&place, &[(a, "50000 100000"), (b, "200000 100000")]), Some(0.5));
        assert_eq!(limit(&place, &[(a, "max 100000"), (b, "200000 100000")]), Some(2.0));
        assert_eq!(limit(&place, &[("/cpu.max", "1 100000"), (b, "max 100000")]), None, "what is above the mount is no group");
        let place = CgroupDir { version: CgroupVersion::V1, ..place };
        assert_eq!(limit(&place, &[("/m/cpu.cfs_quota_us", "7000"), ("/m/cpu.cfs_period_us", "10000")]), Some(0.7));
        assert_eq!(limit(&place, &[("/m/cpu.cfs_quota_us", "7000")]), None, "no period");
    }
}
