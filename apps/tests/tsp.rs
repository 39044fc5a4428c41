//! TSP finds a shortest tour, however many look for it and whatever is shared as one, and its proof can fail.
mod common;

use common::{backends, prove};
use foregather_apps::App;
use foregather_apps::tsp::{Cities, Found, Tsp};

fn random() -> Tsp {
    Tsp { cities: Cities::random(10, 7), level: 6, ..Tsp::small() }
}

#[test]
fn a_shortest_tour_is_found_by_any_number_of_ranks() {
    for backend in backends() {
        for (ranks, threads) in [(1, 1), (2, 1), (3, 1), (4, 1), (8, 1), (2, 2)] {
            for (tsp, name) in [(Tsp::small(), "burma14: 3323"), (random(), "random10-7: ")] {
                let said = prove(&tsp, ranks, threads, backend);
                assert!(said.as_ref().is_ok_and(|said| said.contains(name)), "{backend:?}, {ranks} x {threads}: {said:?}");
            }
        }
    }
}

#[test]
fn neither_the_grain_nor_the_push_nor_a_full_pool_changes_what_is_found() {
    for backend in backends() {
        for unit_bytes in [128, 148, 256, 4_096] {
            for push in [false, true] {
                let said = prove(&Tsp { unit_bytes, push, ..random() }, 3, 1, backend);
                assert!(said.is_ok(), "{backend:?}, {unit_bytes} bytes, {push}: {said:?}");
            }
        }
        for pool in [1, 5, 20] {
            let said = prove(&Tsp { pool, ..random() }, 2, 1, backend);
            assert!(said.is_ok(), "{backend:?}, room for {pool}: {said:?}");
        }
    }
}

#[test]
fn threads_of_one_rank_share_the_pool() {
    // Whatever is not finished at once is split: the pool is what the work comes from.
    let tsp = Tsp { level: 2, ..random() };
    let said = prove(&tsp, 2, 2, backends()[0]);
    assert!(said.is_ok(), "{said:?}");
}

#[test]
fn the_sequential_program_finds_published_optima() {
    for name in ["burma14", "ulysses16", "gr17"] {
        let cities = Cities::published(name).unwrap();
        let (optimum, _) = cities.optimum();
        assert_eq!(Tsp { cities, ..Tsp::small() }.sequential(), optimum, "{name}");
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "minutes without optimisation")]
fn the_sequential_program_finds_optima_of_more_cities() {
    let published = ["gr21", "ulysses22"].map(|name| Cities::published(name).unwrap());
    for cities in published.into_iter().chain((1..=3).map(|seed| Cities::random(19, seed))) {
        let (optimum, _) = cities.optimum();
        assert_eq!(Tsp { cities: cities.clone(), ..Tsp::small() }.sequential(), optimum, "{}", cities.name());
    }
}

#[test]
fn wrong_results_are_refused() {
    // A tour of burma14 that is as long as its optimum.
    let tour = vec![0, 1, 13, 2, 3, 4, 5, 11, 6, 12, 7, 10, 8, 9];
    let right = Found { length: 3_323, tour, finished: vec![0, 4] };
    let validate = |outputs: &[Found]| Tsp::small().validate(outputs);
    assert!(validate(&[right.clone(), Found { finished: vec![1], ..right.clone() }]).is_ok());

    type Wrong = fn(&mut Found);
    let cases: [(Wrong, &str); 5] = [
        (|found| found.length -= 1, "not 3322"),
        (|found| found.tour[3] = 1, "no tour of 14 cities"),
        (|found| found.tour.truncate(13), "no tour of 14 cities"),
        (|found| found.tour.swap(2, 3), "not 3323"),
        (|found| found.finished.push(4), "finished twice"),
    ];
    for (spoil, why) in cases {
        let mut wrong = right.clone();
        spoil(&mut wrong);
        let said = validate(&[wrong]);
        assert!(said.as_ref().is_err_and(|said| said.contains(why)), "{why}: {said:?}");
    }
    let longer = Found { length: 6_479, tour: (0..14).collect(), finished: vec![] };
    let length = validate(std::slice::from_ref(&longer)).unwrap_err();
    let walked: u32 = length.split([' ', ',']).find_map(|word| word.parse().ok()).unwrap();
    let said = validate(&[Found { length: walked, ..longer }]);
    assert!(said.as_ref().is_err_and(|said| said.contains("the shortest one of burma14 takes 3323")), "{said:?}");
}

#[test]
fn impossible_inputs_are_refused() {
    for tsp in [Tsp { pool: 0, ..random() }, Tsp { unit_bytes: 6, ..random() }, Tsp { unit_bytes: 0, ..random() }] {
        let refused = std::panic::catch_unwind(|| prove(&tsp, 1, 1, backends()[0]));
        assert!(refused.is_err(), "{tsp:?}");
    }
}
