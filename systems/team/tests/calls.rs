//! The guarantee of a call: every part runs exactly once, on any thread, whatever else happens.
use foregather_team::{Team, TeamMember};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};
use std::time::{Duration, Instant};

const SIZES: [u32; 5] = [1, 2, 3, 4, 7];

/// Returns a counter per member.
fn counts(n: usize) -> Vec<AtomicU32> {
    (0..n).map(|_| AtomicU32::new(0)).collect()
}

fn all_are(counts: &[AtomicU32], value: u32) -> bool {
    counts.iter().all(|count| count.load(Relaxed) == value)
}

#[test]
fn every_member_is_called_once() {
    for size in SIZES {
        let team = Team::new(size).unwrap();
        for round in 0..300 {
            let called = counts(size as usize);
            team.run(|member| {
                assert_eq!(member.size(), size);
                called[member.rank() as usize].fetch_add(1, Relaxed);
                // In some rounds a member is delayed, so the caller runs parts that other members have not
                // started.
                if round % 50 == 0 && member.rank() == round / 50 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            assert!(all_are(&called, 1), "{size} members, round {round}: {called:?}");
        }
        let report = team.report();
        assert_eq!((report.regions, report.serial), if size == 1 { (0, 300) } else { (300, 0) }, "{report}");
    }
}

#[test]
fn every_part_of_a_split_is_done_once() {
    for size in SIZES {
        let team = Team::new(size).unwrap();
        for parts in [0, 1, 2, 3, 5, 8, 13, 100] {
            for _ in 0..30 {
                let done = counts(parts);
                team.split(parts, |part| {
                    done[part].fetch_add(1, Relaxed);
                });
                assert!(all_are(&done, 1), "{size} members, {parts} parts: {done:?}");
            }
        }
    }
}

#[test]
fn what_members_write_is_seen_by_the_caller_and_what_it_wrote_by_them() {
    let team = Team::new(3).unwrap();
    let mut data = vec![0_u64; 999];
    for round in 1..=500 {
        data.fill(round);
        let sums: Vec<AtomicUsize> = (0..3).map(|_| AtomicUsize::new(0)).collect();
        team.run(|member: TeamMember| {
            let sum: u64 = data[member.share(data.len())].iter().sum();
            sums[member.rank() as usize].store(sum as usize, Relaxed);
        });
        assert_eq!(sums.iter().map(|sum| sum.load(Relaxed)).sum::<usize>(), 999 * round as usize);
    }
}

#[test]
fn a_panic_of_any_member_reaches_the_caller_after_all_are_done() {
    let team = Team::new(4).unwrap();
    for who in [0, 1, 3] {
        let called = counts(4);
        let end = catch_unwind(AssertUnwindSafe(|| {
            team.run(|member| {
                called[member.rank() as usize].fetch_add(1, Relaxed);
                assert!(member.rank() != who, "member {who} is unwell");
            });
        }));
        let message = end.unwrap_err().downcast::<String>().unwrap();
        assert!(message.contains(&format!("member {who} is unwell")), "{message}");
        assert!(all_are(&called, 1), "{called:?}");
        let after = counts(4);
        team.run(|member| {
            after[member.rank() as usize].fetch_add(1, Relaxed);
        });
        assert!(all_are(&after, 1), "the team works on");
    }
    #[cfg(feature = "probes")]
    assert!(foregather_machine::reached_in_process().contains_key("team:J2"));
}

#[test]
fn all_panic_and_one_is_told() {
    let team = Team::new(3).unwrap();
    let end = catch_unwind(AssertUnwindSafe(|| team.run(|member| panic!("{}", member.rank()))));
    assert!(end.unwrap_err().is::<String>());
    team.run(|_| ());
}

#[test]
fn a_call_within_a_call_is_serial() {
    let team = Team::new(3).unwrap();
    let (inner, parts) = (AtomicU32::new(0), counts(5));
    team.run(|_| {
        team.run(|member| {
            assert_eq!((member.rank(), member.size()), (0, 1));
            inner.fetch_add(1, Relaxed);
        });
        team.split(5, |part| {
            parts[part].fetch_add(1, Relaxed);
        });
    });
    assert_eq!(inner.load(Relaxed), 3);
    assert!(all_are(&parts, 3));
    assert_eq!(team.report().busy, 6);
}

#[test]
fn a_call_of_another_team_within_a_call_uses_that() {
    let (outer, inner) = (Team::new(2).unwrap(), Team::new(2).unwrap());
    let called = AtomicU32::new(0);
    outer.run(|_| {
        inner.run(|_| {
            called.fetch_add(1, Relaxed);
        });
    });
    assert!((3..=4).contains(&called.load(Relaxed)), "one of two may have found it busy: {called:?}");
}

#[test]
fn callers_at_the_same_time_never_wait_for_each_other() {
    let (team, begun, called) = (Team::new(2).unwrap(), Barrier::new(2), AtomicU32::new(0));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            team.run(|member| {
                if member.rank() == 0 {
                    begun.wait();
                    // The other caller returns from all its calls before this one ends.
                    begun.wait();
                }
            });
        });
        begun.wait();
        for _ in 0..100 {
            team.run(|member| {
                assert_eq!(member.size(), 1);
                called.fetch_add(1, Relaxed);
            });
        }
        begun.wait();
    });
    assert_eq!(called.load(Relaxed), 100);
}

#[test]
fn many_callers_do_all_their_work() {
    let team = Team::new(3).unwrap();
    let done = counts(4 * 200 * 6);
    std::thread::scope(|threads| {
        for caller in 0..4 {
            let (team, done) = (&team, &done);
            threads.spawn(move || {
                for call in 0..200 {
                    team.run(|member| {
                        for part in member.share(6) {
                            done[(caller * 200 + call) * 6 + part].fetch_add(1, Relaxed);
                        }
                    });
                }
            });
        }
    });
    assert!(all_are(&done, 1));
    #[cfg(feature = "probes")]
    {
        // One caller after another, both alive: neither finds the team busy.
        team.run(|_| {});
        std::thread::scope(|threads| drop(threads.spawn(|| team.run(|_| {})).join()));
        assert!(foregather_machine::reached_in_process().contains_key("team:J5"));
    }
}

#[test]
fn more_threads_than_processors_do_no_harm() {
    let team = Team::new(32).unwrap();
    for _ in 0..50 {
        let called = counts(32);
        team.run(|member| {
            called[member.rank() as usize].fetch_add(1, Relaxed);
        });
        assert!(all_are(&called, 1));
    }
}

#[test]
fn sizes_that_make_no_sense_are_errors() {
    for members in [0, 4_097, u32::MAX] {
        let error = Team::new(members).err().unwrap().to_string();
        assert!(error.contains("team") && error.contains("4096"), "{error}");
    }
}

#[test]
fn teams_come_and_go() {
    for round in 0..50 {
        let team = Team::new(1 + round % 4).unwrap();
        let called = AtomicU32::new(0);
        for _ in 0..round % 3 {
            team.run(|_| {
                called.fetch_add(1, Relaxed);
            });
        }
        assert_eq!(called.load(Relaxed), (1 + round % 4) * (round % 3));
    }
    // The threads of dropped teams exit; no caller waits for them, so this may take a moment.
    let end = Instant::now() + Duration::from_secs(20);
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        tasks.filter(|task| std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name == "team 3\n")).count()
    };
    while threads() > 8 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(threads() <= 8, "twelve such teams are gone; other tests have some");
}
