//! Decides how many members a team uses: as many as its processors allow, fewer while more would not be
//! faster, and more again by trial.
//!
//! A pure state machine: the caller passes the time, the timing of regions and the machine's limit.
use crate::protocol::Course;
use core::num::NonZeroU32;
use foregather_machine::Nanos;

/// How long a measured limit of the machine is used before it is measured again.
const BELIEVED: Nanos = Nanos::from_ms(1_000);
/// A decision needs this much work and this many regions, because time slices are a few milliseconds long.
const WINDOW: Nanos = Nanos::from_ms(10);
const ENOUGH: u32 = 8;
/// A team is not worthwhile if its regions take more than this share of the time of its members' parts run
/// one after another.
const WORTH_PERCENT: u64 = 90;
/// If more than three of four regions had late members, the late members have no processors.
const LATE: (u32, u32) = (3, 4);
/// If members were late in this many regions in a row, which together took this long, they are not just
/// waking up: they have no processor now.
const GONE: (u32, Nanos) = (8, Nanos::from_us(500));
/// The minimum and maximum time for which a smaller team is kept.
const HOLD: (Nanos, Nanos) = (Nanos::from_ms(20), Nanos::from_ms(1_000));
/// A smaller team is kept for at most this many calls, because calls may become longer.
const MOST_CALLS: u32 = 256;
/// This many good decisions in a row clear the earlier bad ones.
const GOOD: u32 = 8;

/// Decides the team size between calls.
#[derive(Debug)]
pub(crate) struct Governor {
    /// The machine's limit when it was last measured, and the program's limit then.
    ceiling: u32,
    asked_at: Option<Nanos>,
    limit: Option<NonZeroU32>,
    /// The number of members that is worthwhile; at most the ceiling is used.
    width: u32,
    hold: Nanos,
    hold_until: Nanos,
    /// Calls that the smaller team still has to make. Without this, if calls are rare, there would be as many
    /// trials as other calls.
    hold_calls: u32,
    window: Window,
    /// How many regions in a row had late members, and how long they took.
    late: (u32, Nanos),
    good: u32,
    pub(crate) shrunk: u64,
    pub(crate) grown: u64,
}

/// Sums over the regions since the last decision.
#[derive(Debug, Default)]
struct Window {
    regions: u32,
    late: u32,
    spent: Nanos,
    /// The time of all parts run one after another, assuming that each takes as long as the leader's.
    alone: Nanos,
}

impl Governor {
    pub(crate) const fn new() -> Self {
        let window = Window { regions: 0, late: 0, spent: Nanos::ZERO, alone: Nanos::ZERO };
        let (hold, hold_until) = (HOLD.0, Nanos::ZERO);
        Self {
            ceiling: 1,
            asked_at: None,
            limit: None,
            width: u32::MAX,
            hold,
            hold_until,
            hold_calls: 0,
            window,
            late: (0, Nanos::ZERO),
            good: 0,
            shrunk: 0,
            grown: 0,
        }
    }

    /// Returns the number of members for the next call. Calls `ceiling` from time to time, and when `limit`
    /// has changed.
    #[inline]
    pub(crate) fn width(&mut self, now: Nanos, limit: Option<NonZeroU32>, ceiling: impl FnOnce() -> u32) -> u32 {
        if self.limit != limit || self.asked_at.is_none_or(|at| now - at >= BELIEVED) {
            self.limit = limit;
            self.asked_at = Some(now);
            self.ceiling = ceiling().max(1);
        }
        self.hold_calls = self.hold_calls.saturating_sub(1);
        if self.width < self.ceiling && now >= self.hold_until && self.hold_calls == 0 {
            self.width = (self.width * 2).min(self.ceiling);
            self.window = Window::default();
            self.grown += 1;
        }
        self.members()
    }

    fn members(&self) -> u32 {
        self.width.min(self.ceiling)
    }

    /// Returns the machine's limit as last measured.
    pub(crate) fn ceiling(&self) -> u32 {
        self.ceiling
    }

    /// Records the timing of a region of the current width that ended at `now`.
    #[inline]
    pub(crate) fn learn(&mut self, now: Nanos, course: Course) {
        let members = self.members();
        let window = &mut self.window;
        window.regions += 1;
        window.late += u32::from(course.late > 0);
        window.spent += course.whole;
        window.alone += course.own * u64::from(members);
        let (regions, spent) = self.late;
        self.late = if course.late > 0 { (regions + 1, spent + course.whole) } else { (0, Nanos::ZERO) };
        if self.late.0 >= GONE.0 && self.late.1 >= GONE.1 {
            self.shrink(now);
        } else if window.regions >= ENOUGH && window.spent >= WINDOW {
            self.judge(now);
        }
    }

    #[cold]
    fn judge(&mut self, now: Nanos) {
        let window = &self.window;
        let pays = window.spent <= window.alone.percent(WORTH_PERCENT);
        if pays && window.late * LATE.1 <= window.regions * LATE.0 {
            self.window = Window::default();
            self.good += 1;
            if self.good >= GOOD {
                self.hold = HOLD.0;
            }
            return;
        }
        self.shrink(now);
    }

    #[cold]
    fn shrink(&mut self, now: Nanos) {
        let tried = std::mem::take(&mut self.window).regions;
        self.hold_calls = tried.saturating_mul((self.hold.0 / HOLD.0.0) as u32).min(MOST_CALLS);
        self.late = (0, Nanos::ZERO);
        self.good = 0;
        self.width = (self.members() / 2).max(1);
        self.hold_until = now + self.hold;
        self.hold = (self.hold * 2).min(HOLD.1);
        self.shrunk += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;

    /// A governor and its clock.
    struct Run {
        governor: Governor,
        now: Nanos,
        ceiling: u32,
    }

    impl Run {
        fn new(ceiling: u32) -> Self {
            Self { governor: Governor::new(), now: Nanos(1), ceiling }
        }

        /// Makes `calls` calls with the timing that `course` returns for a width; returns the width of the
        /// last.
        fn calls(&mut self, calls: u32, course: impl Fn(u32) -> Course) -> u32 {
            let mut width = 0;
            for _ in 0..calls {
                let ceiling = self.ceiling;
                width = self.governor.width(self.now, None, || ceiling);
                let course = course(width);
                self.now += course.whole;
                if width > 1 {
                    self.governor.learn(self.now, course);
                }
            }
            width
        }
    }

    /// Returns the timing on an idle machine: a part takes 500 us on a processor of its own.
    fn quiet(width: u32) -> Course {
        let own = Nanos(1_000 * US / u64::from(width));
        Course { own, whole: own + Nanos(20 * US), late: 0 }
    }

    fn held_up(width: u32) -> Course {
        let own = quiet(width).own;
        Course { own, whole: own * u64::from(width), late: 0 }
    }

    #[test]
    fn a_team_that_pays_stays_as_large_as_it_may_be() {
        for ceiling in [1, 2, 7] {
            let mut run = Run::new(ceiling);
            assert_eq!(run.calls(1_000, quiet), ceiling);
            assert_eq!((run.governor.shrunk, run.governor.grown), (0, 0));
        }
    }

    #[test]
    fn one_that_does_not_pay_becomes_serial_and_tries_ever_more_rarely() {
        let mut run = Run::new(4);
        run.calls(60, held_up);
        assert_eq!(run.governor.width, 1, "{:?}", run.governor);
        let (tried, at) = (run.governor.grown, run.now);
        run.calls(20_000, held_up);
        let trials = run.governor.grown - tried;
        let most = (run.now - at).0 / HOLD.1.0 + 8;
        assert!((2..=2 * most).contains(&trials), "{trials} trials of at most {most}");
    }

    #[test]
    fn it_grows_again_when_the_hogs_are_gone() {
        let mut run = Run::new(2);
        run.calls(200, held_up);
        run.calls(3_000, quiet);
        assert_eq!(run.calls(200, quiet), 2);
        assert_eq!(run.governor.hold, HOLD.0, "and has forgotten them");
    }

    #[test]
    fn members_that_are_always_late_are_let_go_even_if_that_costs_nothing() {
        let late = |width| Course { late: 1, ..quiet(width) };
        let mut run = Run::new(2);
        run.calls(100, late);
        assert_eq!(run.governor.width, 1);
        let mut run = Run::new(2);
        let sometimes = |width| if width == 2 { quiet(2) } else { quiet(1) };
        assert_eq!(run.calls(1_000, sometimes), 2);
    }

    #[test]
    fn members_that_do_not_come_are_given_up_soon_but_not_while_they_wake() {
        let short = |late| move |_| Course { own: Nanos(5 * US), whole: Nanos(12 * US), late };
        let mut run = Run::new(2);
        assert_eq!(run.calls(40, short(1)), 2, "480 us: it may still wake up");
        run.calls(1, short(0));
        assert_eq!(run.calls(40, short(1)), 2, "it did, and the count begins again");
        assert_eq!(run.calls(3, short(1)), 1);
        assert_eq!(run.governor.shrunk, 1);
    }

    #[test]
    fn rare_calls_are_not_trials_every_other_time() {
        let mut run = Run::new(2);
        let mut trials = 0;
        for _ in 0..1_000 {
            run.now += Nanos::from_ms(50);
            trials += u32::from(run.calls(1, held_up) == 2);
        }
        assert!((8..100).contains(&trials), "{trials} of 1000");
    }

    #[test]
    fn a_pause_is_no_lateness() {
        let late = |_| Course { own: Nanos(5 * US), whole: Nanos(12 * US), late: 1 };
        let mut run = Run::new(2);
        for _ in 0..5 {
            assert_eq!(run.calls(8, late), 2);
            run.now += Nanos::from_ms(50);
        }
        assert_eq!(run.governor.shrunk, 0);
    }

    #[test]
    fn what_the_machine_allows_is_asked_once_a_second() {
        let mut run = Run::new(4);
        assert_eq!(run.calls(10, quiet), 4);
        run.ceiling = 2;
        assert_eq!(run.calls(1, quiet), 4, "not yet");
        run.now += BELIEVED;
        assert_eq!(run.calls(1, quiet), 2);
        run.ceiling = 3;
        run.now += BELIEVED;
        assert_eq!(run.calls(1, quiet), 3, "and it grows");
    }

    #[test]
    fn a_changed_limit_is_asked_for_at_once_and_no_trial() {
        let mut run = Run::new(8);
        assert_eq!(run.calls(10, quiet), 8);
        assert_eq!(run.governor.width(run.now, NonZeroU32::new(1), || 1), 1);
        assert_eq!(run.governor.width(run.now, None, || 8), 8);
        run.calls(200, held_up);
        let until = run.governor.hold_until;
        assert_eq!(run.governor.width, 1);
        assert_eq!(run.governor.width(run.now, NonZeroU32::new(4), || 4), 1, "more members pay no better");
        assert_eq!(run.governor.hold_until, until);
    }
}
