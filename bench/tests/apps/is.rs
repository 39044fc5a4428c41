//! IS finds the ranks that NAS publishes, with any number of threads, and its proof can fail.

use crate::common::{backends, prove};
use foregather_bench::apps::App;
use foregather_bench::apps::is::{Is, Ranked};
use foregather_dsm::memory::{lanes, run};
use foregather_machine::Address;
use foregather_shm::{SegmentSpec, ShmFabric};
use foregather_thread::Thread;

/// Few keys, of the paper's number of values.
const FEW: Is = Is { keys_log2: 12, ..Is::paper() };

#[test]
fn class_s_is_ranked_as_published_by_any_number_of_ranks() {
    for backend in backends() {
        for (ranks, threads) in [(1, 1), (2, 1), (3, 1), (4, 1), (8, 1), (2, 2)] {
            let said = prove(&Is::small(), ranks, threads, backend);
            assert!(said.as_ref().is_ok_and(|said| said.contains("class S: 50")), "{backend:?}, {ranks} x {threads}: {said:?}");
        }
    }
}

#[test]
fn values_of_the_paper_are_ranked_with_fewer_and_with_more_threads_than_regions() {
    for backend in backends() {
        for (ranks, regions) in [(1, 8), (3, 8), (4, 3), (3, 1), (2, 5)] {
            let said = prove(&Is { regions, ..FEW }, ranks, 1, backend);
            assert!(said.as_ref().is_ok_and(|said| said.contains("4096 keys")), "{backend:?}, {ranks}, {regions}: {said:?}");
        }
    }
}

#[test]
fn class_w_is_ranked_as_published() {
    let said = prove(&Is::class("W").unwrap(), 2, 1, backends()[0]);
    assert!(said.as_ref().is_ok_and(|said| said.contains("class W: 50")), "{said:?}");
}

#[test]
#[cfg_attr(debug_assertions, ignore = "half a minute without optimisation")]
fn class_a_is_ranked_as_published() {
    let said = prove(&Is::class("A").unwrap(), 2, 1, backends()[0]);
    assert!(said.as_ref().is_ok_and(|said| said.contains("class A: 50")), "{said:?}");
}

#[test]
fn the_sequential_program_passes_the_same_proof() {
    for is in [Is::small(), FEW, Is { iterations: 1, ..FEW }] {
        let said = is.validate(&[is.sequential()]);
        assert!(said.is_ok(), "{is:?}: {said:?}");
    }
}

#[test]
fn wrong_results_are_refused() {
    type Wrong = fn(&mut Ranked);
    let cases: [(Wrong, &str); 7] = [
        (|result| result.ranks.swap(100, 101), "not sorted at rank"),
        (|result| result.ranks[7] = result.ranks[8], "two keys have the rank"),
        (|result| result.ranks[7] = 1 << 16, "of 65536 keys"),
        (|result| result.keys[5] ^= 1, "the keys are not those"),
        (|result| result.watched[12].less += 1, "iteration: 3, which: 2"),
        (|result| result.watched.truncate(49), "49 ranks of watched keys"),
        (|result| result.ranks.truncate(99), "not sorted at rank"),
    ];
    let right = Is::small().sequential();
    for (spoil, why) in cases {
        let mut wrong = right.clone();
        spoil(&mut wrong);
        let said = Is::small().validate(&[wrong]);
        assert!(said.as_ref().is_err_and(|said| said.contains(why)), "{why}: {said:?}");
    }
}

#[test]
fn another_generator_would_be_found_by_the_published_ranks() {
    // The same program with keys of another class's size has other ranks than those published.
    let of_s = Is::small();
    let fewer = Is { values_log2: 10, ..of_s };
    assert!(of_s.validate(&[fewer.sequential()]).is_err());
}

#[test]
fn impossible_inputs_are_refused() {
    for is in [Is { regions: 0, ..FEW }, Is { iterations: 11, ..FEW }, Is { values_log2: 2, ..FEW }, Is { keys_log2: 3, ..FEW }] {
        assert!(refusal(&is).contains("the input of IS"), "{is:?}");
    }
}

/// The reason why a rank cannot begin.
fn refusal(is: &Is) -> String {
    let exchange = ShmFabric::between_threads(SegmentSpec::new(1, lanes(1))).unwrap();
    let lane = |lane| exchange.lane(Thread::current(), Address { rank: 0, lane }).unwrap();
    let lanes = (0..lanes(1)).map(lane).collect();
    let run = run(lanes, FEW.settings(), |layout| is.layout(layout), |thread, counts| is.run(thread, counts));
    run.unwrap_err().to_string()
}
