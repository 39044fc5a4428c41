//! The unchanged protocol has no violation, and each injected mistake is found by the property that it
//! breaks.
use super::super::Homes;
use super::{Broken, Explored, Fault, Setup, explore, setups};

fn spread(hosts: u32) -> Setup {
    Setup::new(Homes::spread(hosts).unwrap())
}

fn hold(setups: impl IntoIterator<Item = Setup>) -> Vec<Explored> {
    let mut all = Vec::new();
    for setup in setups {
        match explore(&setup) {
            Ok(explored) => {
                println!("{setup}: {explored}");
                all.push(explored);
            }
            Err(broken) => panic!("{setup}: {broken}"),
        }
    }
    all
}

/// Finds the shortest path to the mistake, whose last property must be `property`.
fn found(property: &str, fault: Fault, setup: Setup) -> Broken {
    match explore(&Setup { fault: Some(fault), ..setup }) {
        Ok(explored) => panic!("{fault:?} is not found in {explored}"),
        Err(broken) => {
            println!("{fault:?}: {broken}");
            assert!(broken.property.starts_with(property), "{fault:?}: {broken}");
            broken
        }
    }
}

#[test]
fn every_property_holds_in_every_state_of_small_jobs() {
    let (two, three) = (spread(2), spread(3));
    let central = Setup::new(Homes::central(3, 0).unwrap());
    let explored = hold([
        three,
        Setup { push: true, ..central },
        Setup { minipages: 2, ..two },
        Setup { threads: 2, ..two },
        Setup { prefetches: 1, push: true, free: true, ..two },
        Setup { prefetches: 2, ..two },
        Setup { minipages: 0, locks: 1, threads: 2, ..two },
        Setup { minipages: 0, flags: 1, threads: 2, ..two },
    ]);
    // As many requests can wait as a host has threads and prefetches, and do.
    assert!(explored.iter().any(|explored| explored.longest_queue == 4));
}

#[test]
#[ignore = "seconds, but only with optimisation: cargo test --release -p foregather-dsm -- --ignored every_property"]
fn every_property_holds_in_every_state_of_jobs_with_everything() {
    hold(setups(false));
}

#[test]
#[ignore = "minutes and gigabytes: cargo test --release -p foregather-dsm -- --ignored every_property"]
fn every_property_holds_in_every_state_of_three_hosts_and_two_minipages() {
    hold(setups(true));
}

#[test]
fn the_same_job_has_the_same_states_every_time() {
    let setup = Setup { push: true, ..spread(2) };
    assert_eq!(explore(&setup), explore(&setup));
}

#[test]
fn opening_the_view_before_the_bytes_are_in_is_found() {
    found("outdated read", Fault::OpenBeforeInstall, spread(2));
}

#[test]
fn copying_before_the_owner_has_closed_its_view_is_found() {
    found("torn copy", Fault::CopyBeforeClose, spread(2));
}

#[test]
fn acknowledging_before_the_view_is_open_is_found() {
    found("single writer", Fault::AcknowledgeBeforeOpen, spread(2));
}

#[test]
fn a_manager_that_does_not_wait_for_the_acknowledgement_is_found() {
    found("single writer", Fault::NotBusyUntilAcknowledged, spread(2));
}

#[test]
fn a_manager_that_does_not_wait_for_closed_copies_is_found() {
    found("single writer", Fault::InvalidationNotAwaited, spread(2));
}

#[test]
fn an_upgrade_that_leaves_the_other_copies_open_is_found() {
    found("single writer", Fault::NobodyInvalidated, spread(2));
}

#[test]
fn a_lock_that_is_granted_twice_is_found() {
    found("mutual exclusion", Fault::LockGrantedTwice, Setup { minipages: 0, locks: 1, ..spread(2) });
}

#[test]
fn a_freed_minipage_whose_requesters_hear_nothing_is_found() {
    found("deadlock", Fault::FreedInSilence, Setup { free: true, ..spread(2) });
}

#[test]
fn sleepers_that_nobody_wakes_are_found() {
    found("deadlock", Fault::SleepersForgotten, Setup { threads: 2, ..spread(2) });
    found("deadlock", Fault::SleepersForgotten, Setup { prefetches: 1, ..spread(2) });
}

#[test]
fn a_post_that_is_lost_since_it_came_too_early_is_found() {
    found("deadlock", Fault::PostForgotten, Setup { minipages: 0, flags: 1, ..spread(2) });
}

#[test]
fn pushes_that_are_not_counted_are_found() {
    found("a wire holds", Fault::HintsUncounted, Setup { prefetches: 1, push: true, ..spread(2) });
}
