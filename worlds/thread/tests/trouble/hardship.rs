//! Scarce resources: one processor for many threads, a quota that shrinks, a slow clock.
use crate::alone::{alone, alone_while, skipped};
use crate::team::{meet, uneven};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use foregather_barrier::{Algorithm, Group};
use foregather_host::cgroup::QuotaGroup;
use foregather_host::child::Child;
use foregather_host::{affinity, cgroup, clock};
use foregather_machine::{Nanos, Placement, block_on};
use foregather_thread::Thread;
use foregather_wait::Policy;
use std::time::Duration;

#[test]
fn eight_threads_meet_on_one_processor() {
    alone(|| {
        affinity::pin(affinity::allowed()[0]).unwrap();
        let waits = meet(8, |_| None, |episode| episode < 500, uneven);
        assert_eq!((waits.moves, waits.pulls), (0, 0), "there is nowhere to go: {waits}");
    });
}

#[test]
fn half_a_thousand_threads_meet() {
    const THREADS: u32 = 512;
    alone(|| {
        for kind in [Algorithm::Central, Algorithm::Dissemination, Algorithm::Tree] {
            let group = Group::new(kind, THREADS).unwrap();
            let live = |cpu, rank| {
                let mut member = group.member(cpu, rank, Policy::default())?;
                (0..20).try_for_each(|_| block_on(member.wait_for(crate::team::LOST)))
            };
            let ends = foregather_thread::run(THREADS, |_| None, live).unwrap();
            assert!(ends.iter().all(Result::is_ok), "{kind:?}: {:?}", ends.iter().find(|end| end.is_err()));
        }
    });
}

#[test]
fn a_team_meets_by_the_kernels_clock_where_the_counter_is_none() {
    alone_while(
        &[("FOREGATHER_CLOCK", "monotonic")],
        |_| (),
        || {
            assert_eq!(clock::facts().source, "monotonic");
            meet(4, |_| None, |episode| episode < 1_000, uneven);
        },
    );
}

/// The process moves from a group of one and a half processors into one of half a processor.
#[test]
fn a_quota_that_shrinks_is_noticed_and_outlived() {
    let squeeze = |child: &Child| {
        let groups = [QuotaGroup::new(1.5), QuotaGroup::new(0.5)];
        let [Ok(wide), Ok(narrow)] = &groups else {
            skipped("this user may not limit processor time");
            return groups;
        };
        wide.enter(child.id()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        narrow.enter(child.id()).unwrap();
        groups
    };
    alone_while(&[], squeeze, || {
        let until = clock::now() + Nanos::from_ms(3_000);
        let width = || Thread::current().affinity().unwrap().width;
        let squeezed = || cgroup::quota().is_some_and(|cpus| cpus < 1.0);
        let noticed = AtomicBool::new(false);
        // A member's view of its quota is a second old at most.
        let go_on = |_| {
            noticed.fetch_or(squeezed() && width() == 1, Relaxed);
            !noticed.load(Relaxed) && clock::now() < until
        };
        meet(4, |_| None, go_on, uneven);
        assert!(noticed.into_inner() || !squeezed(), "a member believes in its old quota");
    });
}
