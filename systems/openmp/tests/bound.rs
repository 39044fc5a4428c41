//! Threads that are bound to places, which only the environment asks for, and is read once: the tests run in
//! processes of their own.
#![cfg(not(loom))]

use core::sync::atomic::{AtomicU64, Ordering::*};
use foregather_host::affinity::allowed;
use foregather_openmp::worksharing::barrier;
use foregather_openmp::{ProcBind, RegionSpec, change, parallel, partition, place, settings, task};
use std::process::Command;

fn passes(test: &str, variables: &[(&str, &str)]) {
    let this = std::env::current_exe().unwrap();
    let tests = Command::new(this).args(["--ignored", "--exact", test]).envs(variables.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&tests.stdout);
    assert!(tests.status.success() && said.contains("1 passed"), "{test}: {said}");
}

#[test]
fn members_stay_at_their_places() {
    for bind in ["close", "spread", "true"] {
        passes("bound", &[("OMP_PLACES", "threads"), ("OMP_PROC_BIND", bind)]);
    }
    passes("clauses", &[("OMP_PLACES", "threads"), ("OMP_PROC_BIND", "close")]);
    passes("unbound", &[("OMP_PLACES", "threads"), ("OMP_PROC_BIND", "false")]);
}

#[test]
#[ignore = "runs in a child process, whose environment binds threads"]
fn bound() {
    let places = &settings().places.places;
    let size = places.len() as u32;
    let seen: Vec<AtomicU64> = places.iter().map(|_| AtomicU64::new(0)).collect();
    for _ in 0..50 {
        parallel(size, &|| {
            barrier();
            if let Some(at) = place() {
                assert_eq!(allowed(), places[at as usize], "not at its place");
                seen[at as usize].fetch_add(1, Relaxed);
            }
            barrier();
        });
    }
    // The opener is bound if it is the program's first thread, which a test's is not.
    let all = seen.into_iter().skip(1).map(AtomicU64::into_inner);
    assert!(all.into_iter().all(|times| times == 50), "a place without its member");
}

#[test]
#[ignore = "runs in a child process, whose environment binds threads"]
fn clauses() {
    change(|icvs| icvs.active_levels = 2);
    let size = settings().places.places.len() as u32;
    let spread = RegionSpec { threads: size, bind: Some(ProcBind::Spread), ..RegionSpec::default() };
    parallel(spread, &|| {
        let own = partition().unwrap();
        assert_eq!((own.first, own.count), (task().rank, 1), "each has places of its own");
        parallel(RegionSpec { threads: 3, bind: Some(ProcBind::Close), ..RegionSpec::default() }, &|| {
            assert!(task().rank == 0 || place() == Some(own.first), "within the opener's partition");
            barrier();
        });
    });
    let primary = RegionSpec { threads: size, bind: Some(ProcBind::Primary), ..RegionSpec::default() };
    parallel(primary, &|| assert!(task().rank == 0 || place() == Some(0)));
    assert_eq!(partition().unwrap().count, size);
}

#[test]
#[ignore = "runs in a child process, whose environment forbids to bind threads"]
fn unbound() {
    let before = allowed();
    parallel(RegionSpec { threads: 2, bind: Some(ProcBind::Spread), ..RegionSpec::default() }, &|| {
        assert_eq!((place(), partition()), (None, None));
        // Moves for balance lend a thread another mask for a moment.
        assert!((0..1_000).any(|_| allowed() == before));
    });
}
