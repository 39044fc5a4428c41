//! Slices with teams of any size: the same bits, every item once, and panics without side effects.
use foregather_team::{Team, for_each, reduce};
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

fn teams() -> Vec<Team> {
    (1..=4).map(|members| Team::new(members).unwrap()).collect()
}

/// Sums slowly enough that the team is called.
fn slowly(part: &[f64]) -> f64 {
    std::thread::sleep(std::time::Duration::from_micros(30));
    part.iter().sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_sum_has_the_same_bits_for_any_team(len in 0_usize..3_000, seed in 1_u32..1_000) {
        let numbers: Vec<f64> = (0..len as u32).map(|n| f64::from(n.wrapping_mul(seed) % 9_973).sqrt()).collect();
        let alone = Team::new(1).unwrap().reduce(&numbers, |part| part.iter().sum::<f64>(), |a, b| a + b);
        for team in teams() {
            let sum = team.reduce(&numbers, slowly, |a, b| a + b);
            prop_assert_eq!(sum.to_bits(), alone.to_bits());
        }
    }

    #[test]
    fn each_item_is_visited_once(len in 0_usize..2_000) {
        for team in teams() {
            let mut items = vec![0_u32; len];
            team.for_each(&mut items, |item| {
                *item += 1;
                std::hint::black_box((0..200).sum::<u32>());
            });
            prop_assert!(items.iter().all(|&item| item == 1));
        }
    }
}

#[test]
fn nothing_is_one_empty_part() {
    assert_eq!(reduce(&[] as &[u8], <[u8]>::len, |_, _| unreachable!("one part")), 0);
    for_each(&mut [] as &mut [u8], |_| unreachable!("no item"));
}

#[test]
fn a_panic_goes_on_in_the_caller_and_what_was_made_is_dropped() {
    static ALIVE: AtomicU32 = AtomicU32::new(0);
    struct Counted;
    impl Counted {
        fn new() -> Self {
            ALIVE.fetch_add(1, Relaxed);
            Self
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Relaxed);
        }
    }
    let items: Vec<u32> = (0..1_000).collect();
    for bad in [0, 8, 500, 999] {
        for team in teams() {
            let end = catch_unwind(AssertUnwindSafe(|| {
                let map = |part: &[u32]| {
                    std::thread::sleep(std::time::Duration::from_micros(30));
                    if part.contains(&bad) {
                        std::panic::resume_unwind(Box::new("on purpose"));
                    }
                    Counted::new()
                };
                drop(team.reduce(&items, map, |one, _| one));
            }));
            assert!(end.is_err_and(|panic| panic.downcast_ref() == Some(&"on purpose")));
            assert_eq!(ALIVE.load(Relaxed), 0, "dropped once each");
            assert_eq!(team.reduce(&items, |part| part.len(), |a, b| a + b), 1_000, "the team works on");
        }
    }
}

#[test]
fn within_a_call_of_the_team_the_caller_does_all() {
    let (items, team) = ((0..1_000).collect::<Vec<u64>>(), Team::new(2).unwrap());
    let sums = AtomicU32::new(0);
    team.run(|_| {
        let sum = team.reduce(&items, |part| part.iter().sum::<u64>(), |a, b| a + b);
        assert_eq!(sum, 499_500);
        sums.fetch_add(1, Relaxed);
    });
    assert_eq!(sums.into_inner(), 2);
}
