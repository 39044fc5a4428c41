//! Several teams at once in one process, each of which runs the same cell.
use crate::CellResult;
use std::sync::Barrier;
use std::thread;

/// As a field of cells says it: 1 is not written, so that older programs read such cells, too.
pub(crate) fn is_one(teams: &u32) -> bool {
    *teams == 1
}

/// The default of that field.
pub(crate) fn one() -> u32 {
    1
}

/// Runs `team` on that many threads at once, the caller's among them; one team runs on the caller alone.
///
/// # Errors
/// The first error of a team.
pub fn side_by_side<E: Send>(teams: u32, team: impl Fn() -> Result<CellResult, E> + Sync) -> Result<CellResult, E> {
    if teams == 1 {
        return team();
    }
    let line = Barrier::new(teams as usize);
    let begin = || {
        line.wait();
        team()
    };
    let results: Vec<Result<CellResult, E>> = thread::scope(|scope| {
        let others: Vec<_> = (1..teams).map(|_| scope.spawn(begin)).collect();
        let mine = begin();
        let others = others.into_iter().map(|other| other.join().expect("a team's error is its result"));
        [mine].into_iter().chain(others).collect()
    });
    let results = results.into_iter().collect::<Result<Vec<_>, E>>()?;
    // Each team has seen the processor time of the whole process.
    let cpu_ns = results.iter().map(|result| result.cpu_ns).max().unwrap_or(0);
    Ok(CellResult { cpu_ns, ..CellResult::of_all(&results) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    #[test]
    fn two_teams_count_their_episodes_and_share_one_processor_time() {
        let turn = AtomicU64::new(1);
        let team = || {
            let turn = turn.fetch_add(1, Relaxed);
            Ok::<_, ()>(CellResult { episodes: 10 * turn, wall_ns: 1_000, cpu_ns: 500 * turn, ..CellResult::default() })
        };
        let both = side_by_side(2, team).unwrap();
        assert_eq!((both.episodes, both.wall_ns, both.cpu_ns), (30, 2_000, 1_000));
        assert_eq!(side_by_side(1, || Err::<CellResult, _>("why")), Err("why"));
        assert_eq!(side_by_side(2, || Err::<CellResult, _>("why")), Err("why"));
    }
}
