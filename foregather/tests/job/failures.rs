//! Ranks that are threads and fail: the others end with an error that names them.
use crate::bounded;
use foregather::engine::{Cause, Error};
use foregather::{Communicator, job};
use std::panic::catch_unwind;
use std::sync::Mutex;

/// Makes the call in which the other ranks are when rank 1 fails.
fn wait(me: &Communicator, verb: usize) -> Result<(), Error> {
    match verb {
        0 => me.barrier(),
        1 => me.sum(1_u32).map(drop),
        2 => me.receive(1, &mut [0_u8]).map(drop),
        3 => me.send(1, &vec![0_u8; 1 << 20]),
        4 => me.broadcast(1, &mut [0_u8; 9]),
        _ => me.exchange(1, &[0_u8], &mut [0]).map(drop),
    }
}

const VERBS: usize = 6;

#[test]
fn an_error_of_a_body_is_the_jobs_and_the_others_blame_its_rank() {
    for verb in 0..VERBS {
        let (end, heard) = bounded(move || {
            let heard = Mutex::new(Vec::new());
            let end = job(3, |me| {
                if me.rank() == 1 {
                    return me.send(9, &[0_u8]);
                }
                let end = wait(me, verb);
                heard.lock().unwrap().push(end.clone());
                end
            });
            (end, heard.into_inner().unwrap())
        });
        assert!(matches!(Error::of(&end), Some(Cause::Rank { rank: 9, size: 3 })), "{verb}: {end:?}");
        assert_eq!(heard.len(), 2);
        for end in heard {
            assert!(matches!(Error::of(&end), Some(Cause::Poisoned { by: Some(1) })), "{verb}: {end:?}");
        }
    }
}

#[test]
fn a_rank_that_returns_while_others_need_it_fails_the_job() {
    for verb in 0..VERBS {
        let end = bounded(move || job(3, |me| if me.rank() == 1 { Ok(()) } else { wait(me, verb) }));
        let told = Error::of(&end).unwrap_or_else(|| panic!("{verb}: it went well"));
        assert!(matches!(told, Cause::Closed { peer: Some(1) }), "{verb}: {end:?}");
    }
}

#[test]
fn a_panic_is_told_to_the_others_and_goes_on_in_the_caller() {
    for verb in 0..VERBS {
        let (end, heard) = bounded(move || {
            let heard = Mutex::new(Vec::new());
            let end = catch_unwind(|| {
                job(3, |me| {
                    if me.rank() == 1 {
                        panic!("rank 1 panics");
                    }
                    let end = wait(me, verb);
                    heard.lock().unwrap().push(end.clone());
                    // A consequence: not the panic that the caller gets.
                    end.unwrap();
                    Ok(())
                })
            });
            (end, heard.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()))
        });
        let panic = end.expect_err("it goes on");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"rank 1 panics"));
        assert_eq!(heard.len(), 2);
        for end in heard {
            assert!(matches!(Error::of(&end), Some(Cause::Poisoned { by: Some(1) })), "{verb}: {end:?}");
        }
    }
}

#[test]
fn a_rank_out_of_range_is_named_and_a_job_of_one_says_how_to_start_more() {
    for act in [
        |me: &Communicator| me.send(3, &[0_u8]),
        |me: &Communicator| me.receive(3, &mut [0_u8]).map(drop),
        |me: &Communicator| me.receive_vec::<u8>(3).map(drop),
        |me: &Communicator| me.broadcast(3, &mut [0_u8]),
        |me: &Communicator| me.exchange(3, &[0_u8], &mut [0]).map(drop),
    ] {
        let end = bounded(move || job(2, act));
        assert!(matches!(Error::of(&end), Some(Cause::Rank { rank: 3, size: 2 })), "{end:?}");
        let end = bounded(move || job(1, act)).unwrap_err().to_string();
        assert!(end.contains("foregather run -n 4"), "{end}");
    }
    let none = job(0, |_| Ok(())).unwrap_err().to_string();
    assert!(none.contains("at least one rank"), "{none}");
}

#[test]
fn a_job_of_one_works_alone() {
    let got = bounded(|| {
        job(1, |me| {
            me.barrier()?;
            let mut data = [5_u8];
            me.broadcast(0, &mut data)?;
            me.exchange(0, &[7_u8], &mut data)?;
            Ok((me.sum(3_u32)?, data))
        })
    });
    assert_eq!(got, Ok(vec![(3, [7])]));
}
