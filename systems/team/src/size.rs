//! How many members the machine allows a team: at most what the thread's affinity, its control group's quota
//! and the user's setting allow, and a fair share of the processors that the processes of a launcher have in
//! common.
use core::fmt;
use core::num::NonZeroU32;
use foregather_host::siblings::{self, Siblings};
use foregather_host::{affinity, cgroup, settings};

/// The limits that were found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowed {
    /// Processors that the calling thread may use.
    pub processors: u32,
    /// The control groups' CPU quota, in processors; `None` if they set no limit.
    pub quota: Option<f64>,
    /// The upper limit set by the program or, if it sets none, by `FOREGATHER_THREADS` or `OMP_NUM_THREADS`.
    pub wanted: Option<u32>,
    /// This process's share, if a launcher has started several; only for teams without a requested size.
    pub share: Option<Share>,
}

/// A process's share of the processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The maximum number of members.
    pub members: u32,
    /// The variable from which it was derived.
    pub variable: &'static str,
}

impl Share {
    /// Returns the share of a process that may use these processors and that quota.
    fn now(processors: u32, quota: Option<f64>) -> Option<Self> {
        let fair = siblings::siblings().and_then(|found| Self::among(found, siblings::shared_processors(), processors, quota));
        let most = siblings::most_workers().map(|members| Self { members, variable: "LOKY_MAX_CPU_COUNT" });
        fair.into_iter().chain(most).min_by_key(|share| share.members)
    }

    /// Returns `None` for a process that is bound to fewer processors than `shared`: its launcher has already
    /// divided them.
    fn among(siblings: Siblings, shared: u32, processors: u32, quota: Option<f64>) -> Option<Self> {
        if processors < shared {
            return None;
        }
        let together = quota.map_or(shared, |cpus| shared.min(cpus.ceil() as u32));
        Some(Self { members: together.div_ceil(siblings.count).max(1), variable: siblings.variable })
    }
}

impl Allowed {
    /// Queries the kernel and the environment, in about 10 us. A variable that is not a number sets no limit.
    pub fn now() -> Self {
        Self::under(None)
    }

    /// Returns the same as [`Allowed::now`], but ignores the size that the environment requests.
    pub fn by_default() -> Self {
        let (processors, quota) = (affinity::count_allowed(), cgroup::recent_quota());
        Self { processors, quota, wanted: None, share: Share::now(processors, quota) }
    }

    /// Returns the same as [`Allowed::now`], but with a program's limit instead of the environment's.
    pub fn under(limit: Option<NonZeroU32>) -> Self {
        let wanted = limit.map(NonZeroU32::get).or_else(|| settings::threads().unwrap_or(None));
        match wanted {
            None => Self::by_default(),
            _ => Self { processors: affinity::count_allowed(), quota: cgroup::recent_quota(), wanted, share: None },
        }
    }

    /// Returns the maximum number of members. A fraction of a processor counts as a whole one.
    pub fn members(&self) -> u32 {
        let quota = self.quota.map_or(u32::MAX, |cpus| cpus.ceil() as u32);
        let wanted = self.wanted.or(self.share.map(|share| share.members));
        self.processors.min(quota).min(wanted.unwrap_or(u32::MAX)).max(1)
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} processors", self.processors)?;
        self.quota.map_or(Ok(()), |quota| write!(f, ", a quota of {quota:.2}"))?;
        self.wanted.map_or(Ok(()), |wanted| write!(f, ", {wanted} wanted"))?;
        self.share.map_or(Ok(()), |Share { members, variable }| write!(f, ", a share of {members} by {variable}"))
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
            let allowed = Allowed { processors, quota, wanted, share: None };
            assert_eq!(allowed.members(), members, "{allowed}");
        }
    }

    #[test]
    fn siblings_get_equal_shares_unless_they_are_bound_or_a_size_is_wanted() {
        let among = |count, shared, processors, quota| {
            Share::among(Siblings { count, variable: "MPI_LOCALNRANKS" }, shared, processors, quota).map(|share| share.members)
        };
        assert_eq!(among(2, 8, 8, None), Some(4));
        assert_eq!(among(3, 8, 8, None), Some(3));
        assert_eq!(among(16, 8, 8, None), Some(1));
        assert_eq!(among(2, 8, 4, None), None, "its launcher has divided them");
        assert_eq!(among(2, 64, 64, Some(3.5)), Some(2), "they share the quota");
        let share = Some(Share { members: 4, variable: "MPI_LOCALNRANKS" });
        let allowed = |wanted| Allowed { processors: 8, quota: None, wanted, share };
        assert_eq!((allowed(None).members(), allowed(Some(6)).members()), (4, 6));
        assert_eq!(allowed(None).to_string(), "8 processors, a share of 4 by MPI_LOCALNRANKS");
    }

    #[test]
    fn this_machine_allows_some() {
        let allowed = Allowed::now();
        assert!(allowed.members() >= 1 && allowed.members() <= allowed.processors, "{allowed:?}");
    }
}
