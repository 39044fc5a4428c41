//! Determines which rank failed first. Several may have exited by the time the launcher checks, some because
//! of another.
use foregather_machine::Rank;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// How a rank's process has exited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RankEnd {
    Status(ExitStatus),
    /// Unknown: its tracer holds the status, and `/proc` does not show it.
    Unknown,
}

impl RankEnd {
    pub(super) fn is_success(self) -> bool {
        matches!(self, Self::Status(status) if status.success())
    }

    fn is_by_signal(self) -> bool {
        matches!(self, Self::Status(status) if status.signal().is_some()) || self == Self::Unknown
    }

    /// Returns the job's exit code for it.
    pub(super) fn code(self) -> u8 {
        let Self::Status(status) = self else { return u8::MAX };
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        // A failure never looks like success.
        u8::try_from(code).ok().filter(|&code| code > 0).unwrap_or(u8::MAX)
    }
}

/// What is known about the failures of a job.
#[derive(Debug, Default)]
pub(super) struct Blame {
    /// Ranks that reported a failure or showed signs of exiting, in this order.
    seen: Vec<Rank>,
    /// Ranks that reported a failure of their own, with the distance from the original failure.
    reported: Vec<(Rank, u32)>,
    /// Ranks that are known to have exited, and how.
    ended: Vec<(Rank, RankEnd)>,
}

/// The rank that failed first, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Culprit {
    /// No rank has failed.
    Nobody,
    /// The first rank that failed has not been reaped yet.
    Pending,
    Found(Rank, RankEnd),
}

impl Blame {
    /// Records that the rank shows signs of exiting: it has exited, or closed its output streams.
    pub(super) fn shows_an_end(&mut self, rank: Rank) {
        if !self.seen.contains(&rank) {
            self.seen.push(rank);
        }
    }

    /// Records that the rank reported a failure of its own. It does so before any other rank can learn of the
    /// failure.
    pub(super) fn reports(&mut self, rank: Rank, distance: u32) {
        self.shows_an_end(rank);
        self.reported.push((rank, distance));
    }

    /// Records how the rank exited. A later call for the same rank replaces a [`RankEnd::Unknown`].
    pub(super) fn ends(&mut self, rank: Rank, end: RankEnd) {
        self.shows_an_end(rank);
        self.ended.retain(|(of, _)| *of != rank);
        self.ended.push((rank, end));
    }

    /// Returns the rank that failed first. `may_change`: another rank is about to exit, for example while the
    /// kernel writes its core dump, and may have failed first.
    pub(super) fn culprit(&self, may_change: bool) -> Culprit {
        let Some((first, end)) = self.first_of_ended() else { return Culprit::Nobody };
        let has_ended = |rank: Rank| self.end_of(rank).is_some();
        let is_earlier = |rank: Rank| self.order(rank, false) < self.order(first, end.is_by_signal());
        if may_change || self.reported.iter().any(|&(rank, _)| !has_ended(rank) && is_earlier(rank)) {
            return Culprit::Pending;
        }
        Culprit::Found(first, end)
    }

    /// Returns the rank that failed first among those that have exited.
    pub(super) fn first_of_ended(&self) -> Option<(Rank, RankEnd)> {
        let failed = self.ended.iter().copied().filter(|(_, end)| !end.is_success());
        failed.min_by_key(|(rank, end)| self.order(*rank, end.is_by_signal()))
    }

    /// Returns how that rank has exited.
    pub(super) fn end_of(&self, rank: Rank) -> Option<RankEnd> {
        self.ended.iter().find(|(of, _)| *of == rank).map(|(_, end)| *end)
    }

    /// Returns the sort key of a rank: reports and deaths by signal come before their consequences; after
    /// that, the order in which they were seen decides.
    fn order(&self, rank: Rank, by_signal: bool) -> (u32, Option<usize>) {
        let report = self.reported.iter().find(|(of, _)| *of == rank).map(|(_, distance)| *distance);
        let class = if by_signal { 0 } else { report.unwrap_or(u32::MAX) };
        (class, self.seen.iter().position(|of| *of == rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(code: i32) -> RankEnd {
        RankEnd::Status(ExitStatus::from_raw(code << 8))
    }

    fn signal(number: i32) -> RankEnd {
        RankEnd::Status(ExitStatus::from_raw(number))
    }

    #[test]
    fn a_job_that_ends_well_has_no_culprit() {
        let mut blame = Blame::default();
        assert_eq!(blame.culprit(false), Culprit::Nobody);
        blame.ends(0, code(0));
        assert_eq!(blame.culprit(true), Culprit::Nobody);
    }

    #[test]
    fn the_first_end_that_shows_is_to_blame_and_a_signal_before_all_others() {
        let mut blame = Blame::default();
        blame.shows_an_end(2);
        blame.ends(1, code(1));
        blame.ends(2, code(7));
        assert_eq!(blame.culprit(false), Culprit::Found(2, code(7)));
        blame.ends(0, signal(9));
        assert_eq!(blame.culprit(false), Culprit::Found(0, signal(9)));
        assert_eq!((code(7).code(), signal(9).code(), RankEnd::Unknown.code(), code(256).code()), (7, 137, 255, 255));
    }

    #[test]
    fn a_rank_that_reported_its_failure_is_awaited_and_blamed() {
        let mut blame = Blame::default();
        blame.reports(1, 0);
        blame.ends(2, code(1));
        blame.ends(0, code(1));
        assert_eq!(blame.culprit(false), Culprit::Pending);
        blame.ends(1, code(101));
        assert_eq!(blame.culprit(false), Culprit::Found(1, code(101)));
    }

    #[test]
    fn a_report_nearer_to_the_cause_counts_more_and_a_later_one_less() {
        let mut blame = Blame::default();
        blame.reports(0, 2);
        blame.reports(1, 0);
        blame.reports(2, 0);
        for rank in 0..3 {
            blame.ends(rank, code(rank as i32 + 1));
        }
        assert_eq!(blame.culprit(false), Culprit::Found(1, code(2)));
    }

    #[test]
    fn a_rank_that_recovers_from_its_failure_is_not_blamed() {
        let mut blame = Blame::default();
        blame.reports(1, 0);
        blame.ends(1, code(0));
        blame.ends(2, code(3));
        assert_eq!(blame.culprit(false), Culprit::Found(2, code(3)));
    }

    #[test]
    fn a_core_dump_under_way_is_awaited() {
        let mut blame = Blame::default();
        blame.ends(0, code(1));
        assert_eq!(blame.culprit(true), Culprit::Pending);
        blame.ends(1, signal(6));
        assert_eq!(blame.culprit(false), Culprit::Found(1, signal(6)));
    }

    #[test]
    fn an_unknown_end_counts_as_one_by_a_signal_until_it_is_known() {
        let mut blame = Blame::default();
        blame.ends(2, RankEnd::Unknown);
        blame.ends(0, code(3));
        assert_eq!(blame.culprit(false), Culprit::Found(2, RankEnd::Unknown));
        blame.ends(2, code(0));
        assert_eq!(blame.culprit(false), Culprit::Found(0, code(3)));
    }
}
