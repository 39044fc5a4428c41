//! How many members the machine allows a team: no more than the thread's affinity, its control group's quota
//! and the user's setting allow.
use core::fmt;
use core::num::NonZeroU32;
use foregather_host::{affinity, cgroup, settings};

/// The bounds that were found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowed {
    /// Processors that the calling thread may use.
    pub processors: u32,
    /// Processors' worth of time that the control groups allow; `None` if they set no limit.
    pub quota: Option<f64>,
    /// What the program, else `FOREGATHER_THREADS`, else `OMP_NUM_THREADS`, asks for at most.
    pub wanted: Option<u32>,
}

impl Allowed {
    /// Asks the kernel and the environment, in some ten microseconds. A variable that is no number sets no
    /// bound.
    pub fn now() -> Self {
        Self::under(None)
    }

    /// As [`Allowed::now`], but for a program's limit in place of the environment's.
    pub fn under(limit: Option<NonZeroU32>) -> Self {
        let wanted = limit.map(NonZeroU32::get).or_else(|| settings::threads().unwrap_or(None));
        Self { processors: affinity::count_allowed(), quota: cgroup::recent_quota(), wanted }
    }

    /// The most members. A fraction of a processor counts as one that is there part of the time.
    pub fn members(&self) -> u32 {
        let quota = self.quota.map_or(u32::MAX, |cpus| cpus.ceil() as u32);
        self.processors.min(quota).min(self.wanted.unwrap_or(u32::MAX)).max(1)
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} processors", self.processors)?;
        self.quota.map_or(Ok(()), |quota| write!(f, ", a quota of {quota:.2}"))?;
        self.wanted.map_or(Ok(()), |wanted| write!(f, ", {wanted} wanted"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_all_limits_holds_and_there_is_always_one() {
        for (processors, quota, wanted, members) in [
            (8, None, None, 8),
            (8, Some(2.5), None, 3),
            (8, Some(0.1), None, 1),
            (8, Some(2.5), Some(2), 2),
            (2, None, Some(16), 2),
            (0, None, None, 1),
        ] {
            let allowed = Allowed { processors, quota, wanted };
            assert_eq!(allowed.members(), members, "{allowed}");
        }
    }

    #[test]
    fn this_machine_allows_some() {
        let allowed = Allowed::now();
        assert!(allowed.members() >= 1 && allowed.members() <= allowed.processors, "{allowed:?}");
    }
}
