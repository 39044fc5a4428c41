//! A forked child has a team of its own, and the parent's team keeps working.
use crate::Team;
use foregather_host::forks::in_child;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

fn forked(child: impl FnOnce() -> i32) -> Option<i32> {
    in_child(child).exit_status()
}

/// Returns the sum of 1 to 999 computed on the team, and how many members computed it.
fn sum(team: &Team) -> (u64, u64) {
    let (sum, members) = (AtomicU64::new(0), AtomicU64::new(0));
    team.run(|member| {
        members.fetch_add(1, Relaxed);
        sum.fetch_add(member.share(1_000).map(|n| n as u64).sum(), Relaxed);
    });
    (sum.into_inner(), members.into_inner())
}

#[test]
fn a_child_computes_with_a_team_of_its_own() {
    let team = Team::new(3).unwrap();
    let right = |team: &Team, members: u64| (0..100).all(|_| sum(team) == (499_500, members));
    assert!(right(&team, 3));
    assert_eq!(forked(|| i32::from(!right(&team, 3))), Some(0), "a child after calls of its parent");
    assert_eq!(forked(|| forked(|| i32::from(!right(&team, 3))).unwrap_or(9)), Some(0), "and its child, which had none");
    let of_both = || forked(|| i32::from(!right(&team, 3))).map(|code| code + 2 * i32::from(!right(&team, 3)));
    assert_eq!(forked(|| i32::from(!right(&team, 3)) + of_both().unwrap_or(9)), Some(0), "and its child, which had some");
    #[cfg(feature = "probes")]
    assert_eq!(forked(|| i32::from(sum(&team).1 != 3 || !foregather_machine::reached_here().contains_key("team:J4"))), Some(0));
    assert_eq!(forked(|| (team.report().regions != 0).into()), Some(0), "its report is its own");
    assert_eq!(forked(|| i32::from(sum(Team::global()).0 != 499_500)), Some(0), "the first global call in a child");
    assert!(right(&team, 3), "the parent's team is untouched");

    // Fork while another thread of the parent has the team.
    let (stop, calls) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !stop.load(Relaxed) {
                team.run(|_| std::hint::spin_loop());
                calls.fetch_add(1, Relaxed);
            }
        });
        for _ in 0..20 {
            let before = calls.load(Relaxed);
            assert_eq!(forked(|| i32::from(!right(&team, 3))), Some(0), "a child of a parent in the middle of a call");
            while calls.load(Relaxed) < before + 2 {
                std::thread::yield_now();
            }
        }
        stop.store(true, Relaxed);
    });
    let child = || {
        drop(team);
        0
    };
    assert_eq!(forked(child), Some(0), "a child may drop its parent's team");
}
