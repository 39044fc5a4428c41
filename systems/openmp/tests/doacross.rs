//! Loops whose iterations wait for earlier ones.
#![cfg(not(loom))]

use core::sync::atomic::{AtomicU64, Ordering::*};
use foregather_openmp::doacross::{begin, dimensions, post, wait};
use foregather_openmp::worksharing::{AtEnd, end, next};
use foregather_openmp::{IterationSpace, Schedule, ScheduleKind, parallel};

/// A table whose entries are sums of the entry above and the one to the left, computed row by row.
#[test]
fn each_iteration_comes_after_those_that_it_waits_for() {
    const ROWS: u64 = 40;
    const COLUMNS: u64 = 6;
    for (kind, chunk) in [
        (ScheduleKind::Static, 0),
        (ScheduleKind::Static, 3),
        (ScheduleKind::Dynamic, 1),
        (ScheduleKind::Dynamic, 4),
        (ScheduleKind::Guided, 1),
    ] {
        for size in [1, 2, 3] {
            let table: Vec<AtomicU64> = (0..ROWS * COLUMNS).map(|_| AtomicU64::new(0)).collect();
            let at = |row: u64, column: u64| &table[(row * COLUMNS + column) as usize];
            parallel(size, &|| {
                begin(IterationSpace::signed(Schedule::new(kind, chunk), 0, ROWS as i64, 1), &[ROWS, COLUMNS]);
                assert_eq!(dimensions(), if size > 1 { 2 } else { 0 });
                while let Some((from, to)) = next() {
                    for (row, column) in (from..to).flat_map(|row| (0..COLUMNS).map(move |column| (row, column))) {
                        if row > 0 {
                            wait(&[row - 1, column]);
                        }
                        let above = row.checked_sub(1).map_or(1, |row| at(row, column).load(Relaxed));
                        let left = column.checked_sub(1).map_or(0, |column| at(row, column).load(Relaxed));
                        at(row, column).store((above + left) % 1_000_007, Relaxed);
                        post(&[row, column]);
                    }
                }
                end(AtEnd::Barrier);
            });
            let mut expected = vec![1u64; COLUMNS as usize];
            for row in 0..ROWS {
                for column in 0..COLUMNS as usize {
                    let left = column.checked_sub(1).map_or(0, |left| expected[left]);
                    expected[column] = (expected[column] + left) % 1_000_007;
                    assert_eq!(at(row, column as u64).load(Relaxed), expected[column], "{kind:?},{chunk}, {size} members");
                }
            }
        }
    }
}
