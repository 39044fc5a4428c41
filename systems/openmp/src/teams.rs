//! Leagues of teams on the host: a construct's teams are done one after the other by the thread that meets
//! it, each with regions of its own.
use crate::contention::OwnGroup;
use crate::frames::enter;
use crate::here::{change, first_task, icvs, join_league, task};
use crate::icv::{Icvs, League};
use crate::settings::settings;
use crate::tasking::finish_alone;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Teams of a league for which neither the program nor the environment names a number.
const USUAL: u32 = 3;

/// Teams of a league that names no number (`nteams-var`), and the most threads of each
/// (`teams-thread-limit-var`), as the program has set them.
static SET: [AtomicU32; 2] = [AtomicU32::new(UNSET), AtomicU32::new(UNSET)];
const UNSET: u32 = u32::MAX;

fn set_or(which: usize, otherwise: u32) -> u32 {
    Some(SET[which].load(Relaxed)).filter(|&set| set != UNSET).unwrap_or(otherwise)
}

/// Teams of a league that names no number; 0 if that is left to the runtime.
pub fn most_teams() -> u32 {
    set_or(0, settings().devices.teams)
}

/// Sets [`most_teams`].
pub fn set_most_teams(teams: u32) {
    SET[0].store(teams, Relaxed);
}

/// The most threads of a team; 0 if there is no limit.
pub fn thread_limit() -> u32 {
    set_or(1, settings().devices.thread_limit)
}

/// Sets [`thread_limit`].
pub fn set_thread_limit(threads: u32) {
    SET[1].store(threads, Relaxed);
}

/// The teams of a league that asks for `teams` (0: as is usual) of at most `threads` (0: as is usual) each:
/// `body` is called once by each.
pub fn each(teams: u32, threads: u32, body: impl Fn()) {
    let teams = [teams, most_teams(), USUAL].into_iter().find(|&teams| teams > 0).unwrap_or(1);
    let limit = [threads, thread_limit(), icvs().thread_limit].into_iter().find(|&limit| limit > 0);
    let icvs = Icvs { thread_limit: limit.unwrap_or(u32::MAX), ..icvs() };
    for number in 0..teams {
        first(League { number, teams }, icvs, &body);
    }
}

/// Does `body` as a team's first task, outside of all regions.
fn first<T>(league: League, icvs: Icvs, body: impl FnOnce() -> T) -> T {
    let group = OwnGroup::new();
    let _inside = enter(&first_task(league, icvs, &group), 0, None);
    let result = body();
    finish_alone();
    result
}

/// Does `body` as if it began the program: outside of all regions, with the control variables that the
/// environment gave.
pub fn outside<T>(body: impl FnOnce() -> T) -> T {
    first(League::ALONE, settings().icvs, body)
}

/// The calling thread, which began outside of all leagues, is the first of `teams`, of at most `threads` each
/// if that is not 0.
pub fn begin(teams: u32, threads: u32) {
    if threads > 0 {
        change(|icvs| icvs.thread_limit = threads);
    }
    join_league(League { number: 0, teams: teams.max(1) });
}

/// The calling thread is the next team of its league. `false` if there is none.
pub fn next() -> bool {
    let League { number, teams } = task().league;
    let another = number + 1 < teams;
    if another {
        join_league(League { number: number + 1, teams });
    }
    another
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn teams_come_one_after_the_other_and_leave_nothing() {
        let (seen, before) = (RefCell::new(Vec::new()), (task().league, icvs().thread_limit));
        each(3, 2, || seen.borrow_mut().push((task().league.number, task().league.teams, icvs().thread_limit)));
        assert_eq!(seen.take(), [(0, 3, 2), (1, 3, 2), (2, 3, 2)]);
        assert_eq!((task().league, icvs().thread_limit), before);
        each(0, 0, || seen.borrow_mut().push((task().league.number, task().league.teams, 0)));
        assert_eq!(seen.take().len(), USUAL as usize);
    }

    #[test]
    fn a_league_may_begin_within_a_target_region() {
        outside(|| {
            assert!(!next());
            begin(2, 5);
            assert_eq!((task().league, icvs().thread_limit), (League { number: 0, teams: 2 }, 5));
            assert!(next() && !next() && task().league.number == 1);
        });
        assert_eq!(task().league, League::ALONE);
    }
}
