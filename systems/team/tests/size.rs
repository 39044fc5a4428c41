//! A fitting team becomes smaller when its members delay it, and larger again. In a test program of its own,
//! because it depends on the processors.
use foregather_team::{Allowed, Team};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use std::time::{Duration, Instant};

/// Computes for `span`.
fn compute(span: Duration) {
    let end = Instant::now() + span;
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

/// Makes calls until the report is as `wanted`, for at most half a minute.
fn until(team: &Team, work: &(impl Fn(u32) + Sync), wanted: impl Fn(&foregather_team::Report) -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(30);
    while !wanted(&team.report()) {
        if Instant::now() > end {
            return false;
        }
        for _ in 0..20 {
            team.run(|member| work(member.rank()));
        }
    }
    true
}

#[test]
fn a_team_that_is_held_up_becomes_smaller_and_grows_again() {
    if Allowed::now().members() < 2 {
        return;
    }
    let (team, held_up, called) = (Team::fitting(), AtomicBool::new(true), AtomicU32::new(0));
    let work = |rank| {
        called.fetch_add(1, Relaxed);
        // A sleep, not a computation: a delayed member needs no processor, so this does not depend on other
        // load.
        if rank > 0 && held_up.load(Relaxed) {
            std::thread::sleep(Duration::from_millis(3));
        } else {
            compute(Duration::from_micros(200));
        }
    };
    let serial = until(&team, &work, |report| report.serial > 0 && report.shrunk > 0);
    assert!(serial, "{}", team.report());
    assert_eq!(team.report().members, 1, "{}", team.report());
    held_up.store(false, Relaxed);
    let before = team.report();
    let grown = until(&team, &work, |report| report.grown > before.grown && report.regions > before.regions);
    assert!(grown, "{}", team.report());
    assert!(called.load(Relaxed) > 0);
}

#[test]
fn a_limit_holds_from_the_next_call_on() {
    let (team, called) = (Team::fitting(), AtomicU32::new(0));
    let width = || {
        called.store(0, Relaxed);
        team.run(|member| called.store(member.size(), Relaxed));
        called.load(Relaxed)
    };
    let most = width();
    for limit in [1, 2, 1, 4_000_000_000] {
        team.set_limit(NonZeroU32::new(limit));
        assert_eq!(team.allowed().wanted, Some(limit.min(4_096)));
        assert!(width() <= limit && team.members() <= limit, "{}", team.report());
    }
    team.set_limit(None);
    assert_eq!((team.limit(), team.report().allowed), (None, Allowed::now()));
    // During a call, the team keeps its members, and the call is made once for each.
    std::thread::scope(|threads| {
        threads.spawn(|| (0..2_000).for_each(|turn| team.set_limit(NonZeroU32::new(turn % 3))));
        for _ in 0..2_000 {
            let sum = AtomicU32::new(0);
            team.run(|member| {
                sum.fetch_add((member.rank() + 1) * 1_000 + member.size(), Relaxed);
            });
            let sizes = sum.load(Relaxed);
            assert!((1..=most.max(2)).any(|n| sizes == n * (n + 1) / 2 * 1_000 + n * n), "{sizes}");
        }
    });
    assert_eq!(Team::new(3).map(|team| (team.set_limit(NonZeroU32::new(1)), team.members()).1).ok(), Some(3));
}

#[test]
fn the_global_team_works_and_says_how_large_it_is() {
    let called = AtomicU32::new(0);
    Team::global().run(|member| {
        called.fetch_add(member.rank() + 1, Relaxed);
    });
    let report = Team::global().report();
    let members = report.members;
    assert_eq!(called.load(Relaxed), members * (members + 1) / 2, "{report}");
    assert!(members <= report.allowed.members(), "{report}");
    let shown = report.to_string();
    for part in ["members", "waiting", "adaptive", "calls", "late", "processors"] {
        assert!(shown.contains(part), "{shown}");
    }
}
