//! Several jobs in one process, without a launcher.
use crate::bounded;
use foregather::engine::{Cause, Error};
use foregather::job;

#[test]
fn a_second_job_is_a_new_one() {
    let ends = bounded(|| {
        [
            job(2, |me| me.sum(1_u32)),
            job(3, |me| if me.rank() == 1 { me.send(9, &[0_u8]).map(|()| 0) } else { me.sum(1) }),
            job(4, |me| me.sum(1)),
        ]
    });
    assert_eq!((&ends[0], &ends[2]), (&Ok(vec![2; 2]), &Ok(vec![4; 4])));
    assert!(matches!(Error::of(&ends[1]), Some(Cause::Rank { .. })), "{:?}", ends[1]);
}

#[test]
fn a_job_within_a_job_is_refused_and_one_beside_it_is_not() {
    let ends = bounded(|| {
        job(2, |me| {
            let within = job(2, |me| me.barrier());
            // A thread that a body starts is not a rank.
            let beside = std::thread::scope(|threads| threads.spawn(|| job(2, |me| me.sum(1_u32))).join()).unwrap();
            me.barrier()?;
            Ok((within.unwrap_err().to_string(), beside))
        })
    })
    .unwrap();
    for (within, beside) in ends {
        assert!(within.contains("rank of a job already"), "{within}");
        assert_eq!(beside, Ok(vec![2, 2]));
    }
}

#[test]
fn after_a_panic_the_thread_is_no_rank_any_more() {
    let end = bounded(|| {
        let _ = std::panic::catch_unwind(|| job(2, |_| -> Result<(), Error> { panic!("on purpose") }));
        job(2, |me| me.sum(1_u32))
    });
    assert_eq!(end, Ok(vec![2, 2]));
}
