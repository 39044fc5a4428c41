//! How a team of threads ends when one of them panics.
#![cfg(not(loom))]
use foregather_barrier::ForkJoin;
use foregather_machine::{Cause, Error, block_on};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// Rank `panics` panics in the second region; returns the results of the others.
fn ends(panics: u32) -> Vec<(u32, Result<(), Error>)> {
    let (team, ends) = (ForkJoin::new(3).unwrap(), Mutex::new(vec![]));
    let regions = |cpu, rank| {
        if rank == 0 {
            let mut leader = team.lead(cpu)?;
            for region in 1..=3 {
                assert_eq!(leader.fork()?, region);
                assert!(panics != 0 || region < 2, "as planned");
                block_on(leader.join())?;
            }
            return leader.finish();
        }
        let mut worker = team.join(cpu, rank)?;
        while let Some(region) = block_on(worker.wait())? {
            assert!(panics != rank || region < 2, "as planned");
            worker.done()?;
        }
        Ok(())
    };
    let caught = catch_unwind(AssertUnwindSafe(|| {
        foregather_thread::run(
            3,
            |_| None,
            |cpu, rank| {
                let end = regions(cpu, rank);
                ends.lock().unwrap().push((rank, end));
            },
        )
    }));
    assert!(caught.is_err(), "the panic goes on to the caller that started the threads");
    let mut ends = ends.into_inner().unwrap();
    ends.sort_by_key(|(rank, _)| *rank);
    ends
}

#[test]
fn a_panic_of_any_member_is_an_error_of_the_others_by_its_name() {
    for panics in 0..3 {
        let named = || Err(Error::from(Cause::Poisoned { by: Some(panics) }));
        let others: Vec<_> = (0..3).filter(|&rank| rank != panics).map(|rank| (rank, named())).collect();
        assert_eq!(ends(panics), others);
    }
}
