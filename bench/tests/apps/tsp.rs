//! TSP finds a shortest tour, with any number of threads and any unit of sharing, and its proof can fail.

use crate::common::{backends, prove};
use foregather_bench::apps::App;
use foregather_bench::apps::tsp::{BestTour, Cities, Tsp};
use foregather_dsm::memory::{Settings, lanes, run};
use foregather_machine::Address;
use foregather_shm::{SegmentSpec, ShmFabric};
use foregather_thread::Thread;

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
    // Tours that are not finished at once are split: all work comes from the pool.
    let tsp = Tsp { level: 2, ..random() };
    let said = prove(&tsp, 2, 2, backends()[0]);
    assert!(said.is_ok(), "{said:?}");
}

#[test]
fn published_optima_are_found_alone_and_together() {
    for name in ["burma14", "ulysses16", "gr17", "gr21", "ulysses22"] {
        let cities = Cities::published(name).unwrap();
        let (optimum, _) = cities.optimum();
        let tsp = Tsp { cities, ascent: 100, ..Tsp::small() };
        assert_eq!(tsp.sequential(), optimum, "{name}");
        let said = prove(&tsp, 2, 1, backends()[0]);
        assert!(said.as_ref().is_ok_and(|said| said.contains(&format!("{name}: {optimum}, published"))), "{said:?}");
    }
}

#[test]
fn neither_bounds_nor_tolls_change_what_is_found() {
    for (count, seed) in [(2, 1), (3, 1), (4, 2), (9, 3), (11, 4), (12, 5)] {
        let cities = Cities::random(count, seed);
        let (optimum, _) = cities.optimum();
        for tree in [1, 5, 32] {
            for ascent in [0, 1, 30] {
                let tsp = Tsp { cities: cities.clone(), tree, ascent, level: 4, ..Tsp::small() };
                assert_eq!(tsp.sequential(), optimum, "{}, {tree}, {ascent}", cities.name());
            }
        }
        let said = prove(&Tsp { cities, tree: 5, ascent: 30, level: 4, ..Tsp::small() }, 2, 1, backends()[0]);
        assert!(said.is_ok(), "{said:?}");
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "a minute without optimisation")]
fn shortest_tours_of_nineteen_random_cities_are_found() {
    for tsp in [1, 2, 17].map(|seed| Tsp { cities: Cities::random(19, seed), ..Tsp::paper() }) {
        let (optimum, _) = tsp.cities.optimum();
        assert_eq!(Tsp { tree: 1, ascent: 50, ..tsp.clone() }.sequential(), optimum, "{}", tsp.cities.name());
        assert_eq!(prove(&Tsp { tree: 1, ..tsp }, 2, 1, backends()[0]).map(drop), Ok(()));
    }
}

#[test]
fn wrong_results_are_refused() {
    // A tour of burma14 that is as long as its optimum.
    let tour = vec![0, 1, 13, 2, 3, 4, 5, 11, 6, 12, 7, 10, 8, 9];
    let right = BestTour { length: 3_323, tour, finished: vec![0, 4] };
    let validate = |outputs: &[BestTour]| Tsp::small().validate(outputs);
    assert!(validate(&[right.clone(), BestTour { finished: vec![1], ..right.clone() }]).is_ok());

    type Wrong = fn(&mut BestTour);
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
    let longer = BestTour { length: 6_479, tour: (0..14).collect(), finished: vec![] };
    let length = validate(std::slice::from_ref(&longer)).unwrap_err();
    let walked: u32 = length.split([' ', ',']).find_map(|word| word.parse().ok()).unwrap();
    let said = validate(&[BestTour { length: walked, ..longer }]);
    assert!(said.as_ref().is_err_and(|said| said.contains("the shortest one of burma14 takes 3323")), "{said:?}");
}

#[test]
fn impossible_inputs_are_refused() {
    for tsp in [Tsp { pool: 0, ..random() }, Tsp { pool: 1 << 24, ..random() }, Tsp { unit_bytes: 6, ..random() }] {
        assert!(refusal(&tsp).contains("the input of TSP"), "{tsp:?}");
    }
}

/// The reason why a rank cannot begin.
fn refusal(tsp: &Tsp) -> String {
    let exchange = ShmFabric::between_threads(SegmentSpec::new(1, lanes(1))).unwrap();
    let lane = |lane| exchange.lane(Thread::current(), Address { rank: 0, lane }).unwrap();
    let settings = Settings { bytes: 1 << 20, ..Tsp::small().settings() };
    let run = run((0..lanes(1)).map(lane).collect(), settings, |layout| tsp.layout(layout), |thread, pool| tsp.run(thread, pool));
    run.unwrap_err().to_string()
}
